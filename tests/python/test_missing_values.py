"""Numbers that are missing: taken where the file says what becomes of them, refused elsewhere."""

import json
from contextlib import suppress

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tacit
from graphs.judge import SETTINGS
from graphs.missing import forest, network
from tacit.inputs import rows
from tacit.serving.described import _are_places

COLUMNS = 4


def holes(x, random, columns=slice(None)):
    """The rows with a third of these columns missing."""
    x = x.copy()
    x[:, columns][random.random(x[:, columns].shape) < 0.3] = np.nan
    return x


def expected(path, x):
    """What onnxruntime has of the rows."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options).run(None, {"x": x})


def places(model):
    """The places of numbers that may be missing."""
    return (model.plan["inputs"][0].get("missing") or {"places": []})["places"]


@pytest.mark.parametrize("seed", range(150))
def test_what_may_be_missing_is_right(seed, tmp_path):
    """No number may be missing of which a file makes NaN, and each gives what it does there."""
    random = np.random.default_rng(seed)
    path = str(tmp_path / "m.onnx")
    onnx.save(network(random, COLUMNS), path)
    x = np.round(random.normal(size=(24, COLUMNS)) * 2, 1).astype("f4")
    try:
        model = tacit.compile(path, samples=x)
    except tacit.CompileError as refused:
        assert "NaN" not in str(refused)
        return
    given = holes(x, random, places(model))
    outputs = tacit.local(protocol="clear").predict(model, given).outputs
    for found, wanted in zip(outputs.values(), expected(path, given), strict=True):
        assert np.isfinite(wanted).all()
        assert (np.abs(found.reshape(wanted.shape) - wanted) <= 2e-3 * (1 + np.abs(wanted))).all()


def test_many_networks_have_numbers_that_may_be_missing(tmp_path):
    """Of the networks of the test before every tenth takes some, so that it compares some."""
    taken = 0
    path = str(tmp_path / "m.onnx")
    for seed in range(150):
        onnx.save(network(np.random.default_rng(seed), COLUMNS), path)
        with suppress(tacit.CompileError):
            taken += bool(places(tacit.compile(path)))
    assert taken >= 15


WIDE = [name for name in SETTINGS if not name.endswith(("31 bits", "32 bits"))]


@pytest.mark.parametrize("before", [None, "Scaler", "Imputer"])
@pytest.mark.parametrize("setting", WIDE)
def test_trees_on_every_protocol(setting, before, tmp_path):
    """Branches of every mode take missing features where the file says."""
    options, run = SETTINGS[setting]
    random = np.random.default_rng(7)
    path = str(tmp_path / "m.onnx")
    onnx.save(forest(random, COLUMNS, before), path)
    x = random.choice([0, 1, -1, 2, -2], size=(24, COLUMNS)) + random.normal(size=(24, COLUMNS))
    x = holes(np.round(x, 1).astype("f4"), random)
    model = tacit.compile(path, samples=x, **options)
    assert places(model) == [*range(COLUMNS)]
    assert model.plan["inputs"][0]["ranked"] == (before is None)
    found = tacit.local(**run, timeout=60).predict(model, x).output
    [wanted] = expected(path, x)
    assert len(np.unique(wanted)) > 8
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 1e-2


@pytest.mark.parametrize("setting", WIDE)
def test_imputers_on_every_protocol(setting, tmp_path):
    options, run = SETTINGS[setting]
    path, x = fitted(tmp_path, make_pipeline(SimpleImputer(), StandardScaler(), Ridge()))
    model = tacit.compile(path, samples=x[40:], **options)
    found = tacit.local(**run, timeout=60).predict(model, x[:20]).output
    [wanted] = expected(path, x[:20])
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 0.02 * wanted.std()


def fitted(tmp_path, estimator, columns=slice(None)):
    """A model that is fitted to rows with missing numbers, and the rows."""
    random = np.random.default_rng(3)
    x = random.normal(0, [1, 10, 0.1, 3], size=(200, COLUMNS)).astype("f4")
    y = x[:, 0] + x[:, 1] / 10 + random.normal(0, 0.1, 200) > 0
    x = holes(x, random, columns)
    estimator.fit(x, y)
    options = {"zipmap": False} if hasattr(estimator, "predict_proba") else None
    path = tmp_path / "m.onnx"
    made = to_onnx(estimator, x[:1], options=options)
    made.graph.input[0].name = "x"
    for node in made.graph.node:
        node.input[:] = ["x" if name == "X" else name for name in node.input]
    path.write_bytes(made.SerializeToString())
    return str(path), x


def by_columns():
    """A pipeline that imputes the first two columns and scales the others."""
    each = [("a", SimpleImputer(), [0, 1]), ("b", StandardScaler(), [2, 3])]
    return make_pipeline(ColumnTransformer(each), LogisticRegression())


def test_only_columns_that_are_imputed_may_be_missing(tmp_path):
    path, x = fitted(tmp_path, by_columns(), [0, 1])
    model = tacit.compile(path, samples=x[40:])
    assert places(model) == [0, 1]
    clear = tacit.local(protocol="clear")
    outputs = clear.predict(model, x[:40]).outputs
    label, likely = expected(path, x[:40])
    np.testing.assert_array_equal(outputs["label"], label)
    np.testing.assert_allclose(outputs["probabilities"], likely, atol=1e-3)
    np.testing.assert_allclose(model.reference(x[:40])["probabilities"], likely, atol=1e-5)
    wrong = x[:40].copy()
    wrong[7, 3] = np.nan
    with pytest.raises(
        tacit.InputError, match=r"item 7, position \[3\], is nan; the model"
    ) as told:
        clear.predict(model, wrong)
    assert (told.value.item, told.value.position) == (7, (3,))
    with pytest.raises(tacit.CompileError, match=r"samples: item 7, position \[3\], of 'x' is NaN"):
        tacit.compile(path, samples=wrong)
    wrong[7, 3] = np.inf
    with pytest.raises(tacit.InputError, match="must be a finite number"):
        clear.predict(model, wrong)


def test_empty_cells_of_a_data_frame(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    path, x = fitted(tmp_path, by_columns(), [0, 1])
    frame = pandas.DataFrame(x[:40].astype("f8"), columns=list("abcd"))
    model = tacit.compile(path, samples=frame)
    clear = tacit.local(protocol="clear")
    found = clear.predict(model, frame).outputs["probabilities"]
    np.testing.assert_allclose(found, expected(path, x[:40])[1], atol=1e-3)
    frame.loc[3, "c"] = None
    with pytest.raises(tacit.InputError, match="column 'c': item 3 is nan; the model does not say"):
        clear.predict(model, frame)


def saved(path, nodes, inputs, width, constants=None):
    """A model of rows of these inputs, by their names and widths, with an output `y`."""

    def of(name, size):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])

    held = [numpy_helper.from_array(np.asarray(c), name) for name, c in (constants or {}).items()]
    inputs = [of(*each) for each in inputs.items()]
    made = helper.make_graph(nodes, "g", inputs, [of("y", width)], held)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(made, opset_imports=versions, ir_version=9), path)
    return str(path)


def imputer(x, y, *numbers):
    """An imputer of missing numbers."""
    return helper.make_node(
        "Imputer", [x], [y], domain="ai.onnx.ml",
        imputed_value_floats=[*map(float, numbers)], replaced_value_float=float("nan"),
    )  # fmt: skip


def test_one_row_of_several_inputs(tmp_path):
    """Of rows of all inputs together each number may be missing that its input says."""
    nodes = [imputer("b", "i", 7), helper.make_node("Concat", ["a", "i"], ["y"], axis=1)]
    path = saved(tmp_path / "m.onnx", nodes, {"a": 2, "b": 3}, 5)
    model = tacit.compile(path)
    x = np.arange(10, dtype="f4").reshape(2, 5) / 4
    x[1, 3] = np.nan
    wanted = np.where(np.isnan(x), 7, x)
    np.testing.assert_allclose(model.reference(x), wanted)
    x[0, 1] = np.nan
    with pytest.raises(tacit.InputError, match=r"item 0, position \[1\], is nan; the model"):
        model.reference(x)


@pytest.mark.parametrize("far", [-1e9, -3.4028235e38])
def test_masks_of_softmaxes_by_what_is_missing(far, tmp_path):
    nodes = [
        helper.make_node("IsNaN", ["x"], ["b"]),
        helper.make_node("Where", ["b", "far", "x"], ["w"]),
        helper.make_node("Softmax", ["w"], ["y"]),
    ]
    path = saved(tmp_path / "m.onnx", nodes, {"x": 4}, 4, {"far": np.float32(far)})
    random = np.random.default_rng(0)
    x = holes(random.normal(size=(16, 4)).astype("f4"), random, slice(3))
    model = tacit.compile(path, samples=random.normal(size=(8, 4)).astype("f4"))
    found = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(found, expected(path, x)[0], atol=1e-3)


def test_what_fits_without_marks_alone_compiles_without(tmp_path):
    """Rows without missing numbers are predicted, and trained on, as before."""
    nodes = [
        imputer("x", "i", 1e30),
        helper.make_node("Clip", ["i", "low", "high"], ["c"]),
        helper.make_node("Gemm", ["c", "w"], ["y"]),
    ]
    constants = {
        "low": np.float32(-3),
        "high": np.float32(3),
        "w": np.random.default_rng(0).normal(size=(4, 2)).astype("f4"),
    }
    path = saved(tmp_path / "m.onnx", nodes, {"x": 4}, 2, constants)
    x = np.random.default_rng(1).normal(size=(16, 4)).astype("f4")
    model = tacit.compile(path, samples=x)
    assert places(model) == []
    [told] = model.warnings
    assert "NaN is refused" in told and "values up to 1.00e30" in told
    np.testing.assert_allclose(model.reference(x), expected(path, x)[0], atol=1e-5)
    plain = [nodes[0], helper.make_node("Gemm", ["i", "w"], ["y"])]
    path = saved(tmp_path / "n.onnx", plain, {"x": 4}, 2, constants)
    labels = (x[:, 0] > 0).astype(int)
    trained = tacit.Trainer(path, epochs=1, batch=8).fit((x, labels))
    assert trained.report.epochs


def test_nan_to_num_as_the_newer_exporter_writes_it(tmp_path):
    nodes = [
        helper.make_node("IsNaN", ["x"], ["b"]),
        helper.make_node("Where", ["b", "zero", "x"], ["w"]),
        helper.make_node("Less", ["x", "zero"], ["l"]),
        helper.make_node("IsInf", ["x"], ["i"]),
        helper.make_node("And", ["l", "i"], ["a"]),
        helper.make_node("Where", ["a", "least", "w"], ["y"]),
    ]
    constants = {"zero": np.float32(0), "least": np.float32(-3.4e38)}
    path = saved(tmp_path / "m.onnx", nodes, {"x": 2}, 2, constants)
    x = np.array([[np.nan, 1], [-2, np.nan]], "f4")
    model = tacit.compile(path, samples=x)
    np.testing.assert_allclose(model.reference(x), [[0, 1], [-2, 0]])


def test_a_category_beside_imputed_columns(tmp_path):
    """Numbers that choose rows of a table are never missing; those beside them may be."""
    nodes = [
        helper.make_node("Gather", ["x", "last"], ["c"], axis=1),
        helper.make_node("Cast", ["c"], ["ids"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
        helper.make_node("Reshape", ["rows", "flat"], ["e"]),
        helper.make_node("Gather", ["x", "others"], ["o"], axis=1),
        imputer("o", "i", 7, 8),
        helper.make_node("Concat", ["e", "i"], ["y"], axis=1),
    ]
    constants = {
        "last": np.array([2]),
        "others": np.array([0, 1]),
        "flat": np.array([-1, 2]),
        "table": np.arange(10, dtype="f4").reshape(5, 2),
    }
    path = saved(tmp_path / "m.onnx", nodes, {"x": 3}, 4, constants)
    x = np.array([[np.nan, 1, 4], [2, np.nan, 0]], "f4")
    model = tacit.compile(path, samples=x)
    assert places(model) == [0, 1]
    np.testing.assert_allclose(model.reference(x), expected(path, x)[0])
    x[0, 2] = np.nan
    with pytest.raises(tacit.InputError, match=r"item 0, position \[2\], is nan"):
        model.reference(x)


def test_a_frame_beside_a_hostile_description():
    """A party may describe any shape: nothing so large is made for it."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": [1.0]})
    huge = {"name": "x", "shape": [2**31 - 1] * 2, "batch": 0, "texts": None, "missing": None}
    for shape in (huge["shape"], [2**31 - 1]):
        with pytest.raises(tacit.InputError, match="2147483647"):
            rows([{**huge, "shape": shape}], frame)


def test_one_input_for_each_column(tmp_path):
    """Where each column is an input of its own, those that are imputed may be missing."""
    nodes = [imputer("a", "i", 7), helper.make_node("Add", ["i", "b"], ["y"])]
    path = saved(tmp_path / "m.onnx", nodes, {"a": 1, "b": 1}, 1)
    hole = np.array([[np.nan], [1]], "f4")
    whole = np.array([[3], [4]], "f4")
    model = tacit.compile(path, samples={"a": hole, "b": whole})
    clear = tacit.local(protocol="clear")
    found = clear.predict(model, {"a": hole, "b": whole}).output
    np.testing.assert_allclose(found, [[10], [5]], atol=1e-3)
    with pytest.raises(tacit.InputError, match=r"'b': item 0, position \[0\], is nan; the model"):
        clear.predict(model, {"a": whole, "b": hole})


def test_trees_that_know_of_no_missing_values_take_them_if_samples_have_them(tmp_path):
    path = str(tmp_path / "m.onnx")
    random = np.random.default_rng(1)
    made = forest(random, COLUMNS, None)
    for attribute in made.graph.node[0].attribute:
        if attribute.name == "nodes_missing_value_tracks_true":
            attribute.ints[:] = [0] * len(attribute.ints)
    onnx.save(made, path)
    x = np.round(random.normal(size=(24, COLUMNS)), 1).astype("f4")
    given = holes(x, random)
    assert places(tacit.compile(path, samples=x)) == []
    model = tacit.compile(path, samples=given)
    found = tacit.local(protocol="clear").predict(model, given).output
    [wanted] = expected(path, given)
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 1e-2


def test_processes_and_files_take_missing_numbers(tmp_path):
    """The parties of a run read the same files, with NaN in them."""
    path, x = fitted(tmp_path, make_pipeline(SimpleImputer(), StandardScaler(), Ridge()))
    model = tacit.compile(path, samples=x[40:])
    with tacit.local(protocol="falcon", processes=True, timeout=60) as parties:
        found = parties.predict(model, x[:8]).output
    [wanted] = expected(path, x[:8])
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 0.02 * wanted.std()


def test_places_that_a_service_describes_are_places():
    """What parties tell a client may be anything."""

    def told(places):
        return json.loads(json.dumps({"shape": [-1, 3], "batch": 0, "missing": {"places": places}}))

    assert _are_places(told([0, 2])) and _are_places(told([]))
    for wrong in ([3], [-1], [0.5], [True], ["0"], None, {}, [0, 1, 2, 0]):
        assert not _are_places(told(wrong))


def test_a_mark_is_no_constant(tmp_path):
    """Rows that differ in what is missing alone have answers that differ so."""
    nodes = [
        helper.make_node("IsNaN", ["x"], ["b"]),
        helper.make_node("Cast", ["b"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    weight = np.array([[1], [2], [4], [8]], "f4")
    path = saved(tmp_path / "m.onnx", nodes, {"x": 4}, 1, {"w": weight})
    x = np.array([[np.nan if e >> k & 1 else k for k in range(4)] for e in range(16)], "f4")
    model = tacit.compile(path)
    found = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(found.ravel(), np.arange(16), atol=1e-2)
