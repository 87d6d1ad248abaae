"""Models of several outputs, held against onnxruntime: by every protocol, commands and parties."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from ports import move_ports
from test_party import edit, finish, start

import tacit
from graphs.judge import SETTINGS
from tacit import TacitError
from tacit.cli import main

NAMES = ["label", "probabilities", "hidden"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A classifier of 6 numbers that gives its label, its probabilities and its hidden layer."""
    rng = np.random.default_rng(4)
    weights = {"first": rng.normal(0, 0.5, (6, 5)), "second": rng.normal(0, 0.8, (5, 4))}
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["product"]),
        helper.make_node("Relu", ["product"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "second"], ["logits"]),
        helper.make_node("ArgMax", ["logits"], ["label"], axis=1, keepdims=0),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    kinds = [
        (TensorProto.INT64, ["n"]),
        (TensorProto.FLOAT, ["n", 4]),
        (TensorProto.FLOAT, ["n", 5]),
    ]
    outputs = [helper.make_tensor_value_info(n, *k) for n, k in zip(NAMES, kinds, strict=True)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])
    held = [numpy_helper.from_array(v.astype("f4"), name) for name, v in weights.items()]
    graph = helper.make_graph(nodes, "several", [x], outputs, held)
    file = tmp_path_factory.mktemp("several") / "several.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file)
    return file


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(5).normal(0, 1, (9, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def right(path, x):
    """The outputs of onnxruntime by their names."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(zip(NAMES, session.run(NAMES, {"x": x}), strict=True))


def check(outputs, right):
    assert list(outputs) == NAMES
    np.testing.assert_array_equal(outputs["label"], right["label"])
    for name in NAMES[1:]:
        assert outputs[name].shape == right[name].shape
        np.testing.assert_allclose(outputs[name], right[name], atol=0.02)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_protocol_gives_all_outputs(setting, path, x, right):
    compiled, run = SETTINGS[setting]
    model = tacit.compile(path, samples=x, **compiled)
    result = tacit.local(**run).predict(model, x, right["label"], check=True)
    check(result.outputs, right)
    report = result.report
    assert (report.accuracy, report.agreement, report.reveal) == (1, 1, "probabilities")
    assert report.max_abs_error < 0.02
    with pytest.raises(TacitError, match=r"several outputs; take outputs\[...\] of 'label'"):
        _ = result.output


def test_as_processes_that_stay(path, x, right):
    model = tacit.compile(path, samples=x)
    with tacit.local(processes=True) as session:
        for rows in (slice(0, 9), slice(2, 4)):
            outputs = session.predict(model, x[rows]).outputs
            check(outputs, {name: values[rows] for name, values in right.items()})


def test_a_model_says_what_its_outputs_are(path, x, right):
    model = tacit.compile(path, samples=x)
    assert model.output_shape == {"label": (), "probabilities": (4,), "hidden": (5,)}
    assert "of 'label' the class, of what is opened for another output" in model.plan["opened"]
    reference = model.reference(x)
    check(reference, right)
    assert model.accuracy(reference, right["label"]) == 1
    alone = tacit.compile(path, samples=x, outputs=["label"])
    assert (alone.output_shape, alone.plan["reveal"]) == ((), "class")
    result = tacit.local().predict(alone, x)
    np.testing.assert_array_equal(result.output, right["label"])
    assert list(result.outputs) == ["label"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"outputs": ["logits"]}, "'logits' cannot be computed: the model has 'label', "),
        ({"outputs": ["label", "label"]}, "it is named twice"),
        ({"outputs": "label"}, "outputs is a list of names"),
        ({"reveal": "class"}, "outputs 'label', 'probabilities', 'hidden': 'class' cannot be"),
        ({"reveal": "top-2"}, "classes are found of one output"),
    ],
)
def test_what_does_not_fit_is_refused(options, why, path):
    with pytest.raises(TacitError, match=why):
        tacit.compile(path, **options)


def test_labels_need_one_output_of_classes(path, x, right):
    model = tacit.compile(path, samples=x, outputs=["probabilities", "hidden"])
    with pytest.raises(TacitError, match="which of the 2 outputs they are of is not known"):
        tacit.local().predict(model, x, right["label"])


def test_commands_write_arrays_by_their_names(path, x, right, tmp_path, capsys):
    np.save(tmp_path / "x.npy", x)
    line = ["run", str(path), "--input", str(tmp_path / "x.npy"), "--protocol", "clear"]
    assert main([*line, "--output", str(tmp_path / "out.npz")]) == 0
    with np.load(tmp_path / "out.npz") as outputs:
        check(dict(outputs), right)
    assert main([*line, "--output", str(tmp_path / "out.npy")]) == 2
    assert "let its name end in .npz" in capsys.readouterr().err
    chosen = ["--outputs", "hidden", "--output", str(tmp_path / "hidden.npy")]
    assert main([*line, *chosen]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "hidden.npy"), right["hidden"], atol=0.01)
    with pytest.raises(SystemExit):
        main([*line, "--outputs", "hidden,"])
    assert "a name at every place" in capsys.readouterr().err


def test_the_batch_stands_where_the_file_has_it(x, tmp_path):
    """One output whose second axis is the batch, and one whose first is; in memory, in files."""
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axis"], ["one"]),
        helper.make_node("Concat", ["one", "one"], ["both"], axis=0),
        helper.make_node("ReduceSum", ["both", "axis"], ["sum"], keepdims=0),
    ]
    kinds = {"both": [2, "n", 6], "sum": ["n", 6]}
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, k) for n, k in kinds.items()]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])
    held = [numpy_helper.from_array(np.array([0]), "axis")]
    graph = helper.make_graph(nodes, "turned", [given], outputs, held)
    file = tmp_path / "turned.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file)
    right = {"both": np.stack([x, x]), "sum": 2 * x}
    found = [tacit.local(protocol="clear").predict(tacit.compile(file, samples=x), x).outputs]
    with tacit.local(processes=True) as session:
        found.append(session.predict(tacit.compile(file, samples=x), x).outputs)
    np.save(tmp_path / "x.npy", x)
    line = ["run", str(file), "--input", str(tmp_path / "x.npy"), "--protocol", "clear"]
    assert main([*line, "--output", str(tmp_path / "out.npz")]) == 0
    with np.load(tmp_path / "out.npz") as outputs:
        found.append(dict(outputs))
    for outputs in found:
        for name, values in right.items():
            assert outputs[name].shape == values.shape
            np.testing.assert_allclose(outputs[name], values, atol=0.01)


@pytest.fixture
def parties(path, x, tmp_path):
    """Three parties, ready to start."""
    np.save(tmp_path / "x.npy", x)
    folder = tmp_path / "parties"
    files = ["--model", str(path), "--input", str(tmp_path / "x.npy")]
    assert main(["init", str(folder), "--parties", "3", *files]) == 0
    move_ports(folder.glob("*/party.toml"))
    return folder


def test_a_party_writes_arrays_by_their_names(parties, right):
    edit(parties, 1, '"output.npy"', '"output.npz"')
    edit(
        parties,
        0,
        r"^order = .*",
        'order = "multiply-then-truncate"\noutputs = ["hidden", "label"]',
    )
    ended = finish(start(parties))
    assert [code for *_, code in ended] == [0, 0, 0], ended
    with np.load(parties / "party1" / "output.npz") as outputs:
        assert list(outputs) == ["hidden", "label"]
        np.testing.assert_allclose(outputs["hidden"], right["hidden"], atol=0.01)
        np.testing.assert_array_equal(outputs["label"], right["label"])
    report = json.loads((parties / "party1" / "report.json").read_text())
    assert report["reveal"] == "logits"


def test_a_party_whose_file_holds_one_array_is_refused_before_the_run(parties):
    ended = finish(start(parties))
    assert [code for *_, code in ended] == [2, 2, 2], ended
    assert "let its name end in .npz" in ended[1][1]
    assert not list(parties.glob("*/output.np*"))
