"""Forms that exporters and converters write, which mean less than they say."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

NODE = helper.make_node
RNG = np.random.default_rng(0)
ROWS = 12
TABLE = RNG.standard_normal((ROWS, 3)).astype(np.float32)
TOKENS = RNG.integers(0, ROWS, (20, 4))


def write(path, nodes, inputs, outputs, constants=(), *, producer=""):
    """Writes a model of named inputs and outputs, each `(kind, shape)`."""
    infos = [
        [helper.make_tensor_value_info(name, kind, ["N", *shape]) for name, (kind, shape) in of]
        for of in (inputs.items(), outputs.items())
    ]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "test", *infos, tensors)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name=producer)
    onnx.save(model, path)
    return path


def runtime(path, x):
    return onnxruntime.InferenceSession(str(path)).run(None, {"x": x})


def private(path, x, samples):
    model = tacit.compile(path, samples=samples)
    return model, tacit.local(protocol="clear").predict(model, x).outputs


def from_the_end(form, kind):
    """`x + ROWS` where `x` is below 0, else `x`, as Keras and its converter write it."""
    less = [NODE("Cast", ["x"], ["f"], to=1), NODE("Less", ["f", "zero"], ["l"])]
    wrapped = NODE("Add", ["x", "rows"], ["a"])
    if form == "where":
        return [*less, wrapped, NODE("Where", ["l", "a", "x"], ["i"])]
    if form == "from 0 on":
        ge = NODE("GreaterOrEqual", ["x", "none"], ["g"])
        return [ge, NODE("Add", ["rows", "x"], ["a"]), NODE("Where", ["g", "x", "a"], ["i"])]
    return [
        *less, wrapped, NODE("Not", ["l"], ["n"]),
        NODE("Cast", ["n"], ["kept"], to=kind), NODE("Mul", ["x", "kept"], ["one"]),
        NODE("Cast", ["l"], ["turned"], to=kind), NODE("Mul", ["turned", "a"], ["other"]),
        NODE("Add", ["other", "one"], ["i"]),
    ]  # fmt: skip


def embedding(path, form, kind, rows=ROWS):
    whole = {TensorProto.INT32: np.int32, TensorProto.INT64: np.int64}[kind]
    constants = {"w": TABLE, "rows": whole(rows), "none": whole(0), "zero": np.float32(0)}
    nodes = [*from_the_end(form, kind), NODE("Gather", ["w", "i"], ["y"], axis=0)]
    ends = {"x": (kind, [4])}, {"y": (TensorProto.FLOAT, [4, 3])}
    return write(path, nodes, *ends, constants), TOKENS.astype(whole)


@pytest.mark.parametrize("kind", [TensorProto.INT32, TensorProto.INT64])
@pytest.mark.parametrize("form", ["where", "from 0 on", "products"])
def test_tokens_that_the_file_counts_from_the_end(tmp_path, form, kind):
    path, x = embedding(tmp_path / "m.onnx", form, kind)
    model, found = private(path, x, x[:5])
    assert not model.warnings
    np.testing.assert_allclose(found["y"], runtime(path, x)[0], atol=1e-4)


def test_what_is_added_to_tokens_is_not_dropped(tmp_path):
    """Of another number of rows the sum is no count from the end: tokens below 0 are refused."""
    path, x = embedding(tmp_path / "m.onnx", "where", TensorProto.INT64, ROWS - 1)
    model, found = private(path, x, x[:5])
    np.testing.assert_allclose(found["y"], runtime(path, x)[0], atol=1e-4)
    with pytest.raises(
        tacit.InputError, match=f"is -1; it takes whole numbers from 0 to {ROWS - 1}"
    ):
        tacit.local(protocol="clear").predict(model, np.full_like(x, -1))


def trees(path, leaf):
    """A stump and a tree that is one leaf, as xgboost and lightgbm write two classes."""
    nodes = [("BRANCH_LT", 1, 2, 0, 0.5), ("LEAF", 0, 0, 0, 0), ("LEAF", 0, 0, 0, 0)]
    nodes.append(("LEAF", 0, 0, 0, 0))
    modes, ones, others, features, values = zip(*nodes, strict=True)
    ensemble = NODE(
        "TreeEnsembleClassifier", ["x"], ["label", "y"], domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0, 1], nodes_nodeids=[0, 1, 2, 0], nodes_modes=modes,
        nodes_truenodeids=ones, nodes_falsenodeids=others, nodes_featureids=features,
        nodes_values=[float(v) for v in values], class_treeids=[0, 0, 1], class_nodeids=[1, 2, 0],
        class_ids=[0, 0, 0], class_weights=[*leaf[:2], leaf[2]], classlabels_int64s=[0, 1],
        post_transform="NONE",
    )  # fmt: skip
    outputs = {"label": (TensorProto.INT64, []), "y": (TensorProto.FLOAT, [2])}
    return write(path, [ensemble], {"x": (TensorProto.FLOAT, [1])}, outputs)


@pytest.mark.parametrize("weights", [(1.0, -1.0, -5.0), (1.0, -1.0, 0.25), (0.25, 0.5, 0.125)])
def test_a_tree_of_one_leaf_counts(tmp_path, weights):
    path = trees(tmp_path / "m.onnx", weights)
    x = np.array([[0.0], [1.0], [2.0]], np.float32)
    _, found = private(path, x, x)
    labels, scores = runtime(path, x)
    np.testing.assert_allclose(found["y"], scores, atol=1e-3)
    assert (found["label"] == labels).all()


def resized(path, producer):
    """Resizes an image to 15.3 by 15.3 places, of which 15 stay."""
    scales = {"s": np.array([1, 1, 1.7, 1.7], np.float32)}
    aligned = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    nodes = [NODE("Resize", ["x", "", "s"], ["y"], **aligned)]
    ends = {"x": (TensorProto.FLOAT, [1, 9, 9])}, {"y": (TensorProto.FLOAT, [1, 15, 15])}
    return write(path, nodes, *ends, scales, producer=producer)


def test_pytorch_aligns_corners_of_whole_places(tmp_path):
    path = resized(tmp_path / "m.onnx", "pytorch")
    x = RNG.standard_normal((4, 1, 9, 9)).astype(np.float32)
    _, found = private(path, x, x)
    np.testing.assert_allclose(found["y"], runtime(path, x)[0], atol=1e-3)


def test_what_runtimes_read_in_two_ways_is_refused(tmp_path):
    x = RNG.standard_normal((4, 1, 9, 9)).astype(np.float32)
    with pytest.raises(tacit.TacitError, match="give sizes instead of scales"):
        private(resized(tmp_path / "m.onnx", "another"), x, x)


def test_a_roll_by_nothing(tmp_path):
    """PyTorch's first exporter joins all to a slice of nothing."""
    constants = {"0": np.array([0]), "end": np.array([2**63 - 1]), "axis": np.array([1])}
    nodes = [
        NODE("Slice", ["x", "0", "end", "axis"], ["all"]),
        NODE("Slice", ["x", "0", "0", "axis"], ["nothing"]),
        NODE("Concat", ["all", "nothing"], ["rolled"], axis=1),
        NODE("Relu", ["rolled"], ["y"]),
    ]
    ends = {"x": (TensorProto.FLOAT, [6, 2])}, {"y": (TensorProto.FLOAT, [6, 2])}
    path = write(tmp_path / "m.onnx", nodes, *ends, constants)
    x = RNG.standard_normal((4, 6, 2)).astype(np.float32)
    _, found = private(path, x, x)
    np.testing.assert_allclose(found["y"], runtime(path, x)[0], atol=1e-3)


@pytest.mark.parametrize("kind", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
def test_comparisons_with_what_no_number_reaches(tmp_path, kind):
    """Bins of one edge, as scikit-learn's converter writes them, and the lowest floats of masks."""
    largest = np.finfo(np.float32).max
    constants = {"c": np.array([largest, 0.5, -largest, -np.inf, np.inf], np.float32)}
    nodes = [NODE(kind, ["x", "c"], ["b"]), NODE("Cast", ["b"], ["y"], to=1)]
    ends = {"x": (TensorProto.FLOAT, [5])}, {"y": (TensorProto.FLOAT, [5])}
    path = write(tmp_path / "m.onnx", nodes, *ends, constants)
    x = RNG.standard_normal((8, 5)).astype(np.float32)
    _, found = private(path, x, x)
    assert (np.round(found["y"], 3) == runtime(path, x)[0]).all()


@pytest.mark.parametrize("kind", ["LessOrEqual", "Greater", "Less", "GreaterOrEqual"])
def test_masks_reach_the_largest_float(tmp_path, kind):
    """What a mask makes is compared as the file has it, or refused."""
    lowest = np.finfo(np.float32).min
    constants = {"0": np.float32(0), "low": np.array(lowest), "lowest": np.array(lowest)}
    nodes = [
        NODE("Greater", ["x", "0"], ["seen"]), NODE("Where", ["seen", "0", "low"], ["mask"]),
        NODE(kind, ["mask", "lowest"], ["b"]), NODE("Cast", ["b"], ["y"], to=1),
    ]  # fmt: skip
    ends = {"x": (TensorProto.FLOAT, [5])}, {"y": (TensorProto.FLOAT, [5])}
    path = write(tmp_path / "m.onnx", nodes, *ends, constants)
    x = RNG.standard_normal((8, 5)).astype(np.float32)
    try:
        _, found = private(path, x, x)
    except tacit.TacitError:
        return
    assert (np.round(found["y"], 3) == runtime(path, x)[0]).all()


@pytest.mark.parametrize("narrow", [TensorProto.BOOL, TensorProto.INT8])
def test_a_cast_that_changes_an_index_is_no_copy(tmp_path, narrow):
    """Of truths each token but 0 chooses row 1."""
    constants = {"w": TABLE, "rows": np.int64(ROWS), "zero": np.float32(0)}
    nodes = [
        *from_the_end("where", TensorProto.INT64),
        NODE("Cast", ["i"], ["narrow"], to=narrow), NODE("Cast", ["narrow"], ["j"], to=7),
        NODE("Gather", ["w", "j"], ["y"], axis=0),
    ]  # fmt: skip
    ends = {"x": (TensorProto.INT64, [4])}, {"y": (TensorProto.FLOAT, [4, 3])}
    path = write(tmp_path / "m.onnx", nodes, *ends, constants)
    try:
        _, found = private(path, TOKENS, TOKENS[:5])
    except tacit.TacitError:
        return
    np.testing.assert_allclose(found["y"], runtime(path, TOKENS)[0], atol=1e-4)


@pytest.mark.parametrize("large", [-1e4, -1e8])
def test_what_a_mask_keeps_beside_a_large_number(tmp_path, large):
    """Of a bias that the number is taken from in float32 nothing would be left."""
    weights = RNG.standard_normal((4, 6)).astype(np.float32) / 5
    constants = {"0": np.float32(0), "large": np.float32(large), "w": weights}
    constants["b"] = np.linspace(-2, 2, 6).astype(np.float32)
    nodes = [
        NODE("Gemm", ["x", "w", "b"], ["h"]), NODE("Greater", ["m", "0"], ["kept"]),
        NODE("Where", ["kept", "h", "large"], ["masked"]),
        NODE("ReduceMax", ["masked"], ["y"], axes=[1], keepdims=0),
    ]  # fmt: skip
    ends = {"x": (TensorProto.FLOAT, [4]), "m": (TensorProto.FLOAT, [6])}
    path = write(tmp_path / "m.onnx", nodes, ends, {"y": (TensorProto.FLOAT, [])}, constants)
    given = {"x": RNG.standard_normal((8, 4)), "m": RNG.integers(0, 2, (8, 6))}
    given = {name: values.astype(np.float32) for name, values in given.items()}
    given["m"][:, 0] = 1
    _, found = private(path, given, given)
    right = onnxruntime.InferenceSession(str(path)).run(None, given)[0]
    assert np.abs(found["y"] - right).max() < 1e-4


@pytest.mark.parametrize("first", ["scores", "masks"])
@pytest.mark.parametrize("low", [np.finfo(np.float32).min, -np.inf])
def test_two_masks_are_added(tmp_path, first, low):
    """One is constant, one of an input: each to the scores, or first to each other."""
    size = 5
    causal = np.triu(np.full((size, size), low, np.float32), 1)
    lowest = np.float32(np.finfo(np.float32).min)
    constants = {"c": causal, "1": np.float32(1), "low": lowest}
    sums = {
        "scores": [NODE("Add", ["x", "c"], ["a"]), NODE("Add", ["a", "m"], ["s"])],
        "masks": [NODE("Add", ["m", "c"], ["a"]), NODE("Add", ["x", "a"], ["s"])],
    }
    nodes = [
        NODE("Cast", ["kept"], ["k"], to=1), NODE("Sub", ["1", "k"], ["left"]),
        NODE("Mul", ["left", "low"], ["m"]), *sums[first],
        NODE("Softmax", ["s"], ["p"], axis=-1), NODE("MatMul", ["p", "v"], ["y"]),
    ]  # fmt: skip
    ends = {
        "x": (TensorProto.FLOAT, [size, size]), "v": (TensorProto.FLOAT, [size, 3]),
        "kept": (TensorProto.INT64, [1, size]),
    }  # fmt: skip
    outputs = {"y": (TensorProto.FLOAT, [size, 3])}
    path = write(tmp_path / "m.onnx", nodes, ends, outputs, constants)
    shapes = {"x": (8, size, size), "v": (8, size, 3)}
    given = {name: RNG.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    given["kept"] = RNG.integers(0, 2, (8, 1, size))
    given["kept"][:, :, 0] = 1
    _, found = private(path, given, given)
    right = onnxruntime.InferenceSession(str(path)).run(None, given)[0]
    assert np.abs(found["y"] - right).max() < 1e-3


def test_an_infinity_of_a_choice_is_named(tmp_path):
    """0 times what a constant choice leaves out would be no number."""
    constants = {"c": np.tri(3, dtype=bool), "low": np.float32(-np.inf)}
    nodes = [NODE("Where", ["c", "x", "low"], ["w"]), NODE("Tanh", ["w"], ["y"])]
    ends = {"x": (TensorProto.FLOAT, [3, 3])}, {"y": (TensorProto.FLOAT, [3, 3])}
    path = write(tmp_path / "m.onnx", nodes, *ends, constants)
    with pytest.raises(
        tacit.CompileError, match=r"'low' holds -inf at element 0; weights must be finite"
    ):
        tacit.compile(path)


def test_the_root_of_a_distance(tmp_path):
    """The old exporter of torch writes the power `1 / 2.000001`; samples may be the same."""
    power = np.float32(1) / np.float32(2.000001)
    constants = {"2": np.float32(2), "half": power}
    nodes = [
        NODE("Sub", ["a", "b"], ["d"]), NODE("Pow", ["d", "2"], ["q"]),
        NODE("ReduceSum", ["q"], ["s"], keepdims=0, noop_with_empty_axes=0),
        NODE("Pow", ["s", "half"], ["y"]),
    ]  # fmt: skip
    nodes[2].input.append("last")
    constants["last"] = np.array([-1])
    ends = {name: (TensorProto.FLOAT, [4]) for name in "ab"}
    path = write(tmp_path / "m.onnx", nodes, ends, {"y": (TensorProto.FLOAT, [])}, constants)
    given = {name: RNG.standard_normal((8, 4)).astype(np.float32) for name in "ab"}
    given["b"][::4] = given["a"][::4]
    _, found = private(path, given, given)
    right = onnxruntime.InferenceSession(str(path)).run(None, given)[0]
    assert np.abs(found["y"] - right).max() < 1e-3


MASKS = {
    "taken away": [
        NODE("Sub", ["one", "m"], ["gone"]),
        NODE("Mul", ["gone", "large"], ["hidden"]),
        NODE("Sub", ["x", "hidden"], ["s"]),
    ],
    "the larger of it and the least float": [
        NODE("Sub", ["one", "m"], ["gone"]),
        NODE("Mul", ["gone", "least"], ["hidden"]),
        NODE("Add", ["x", "hidden"], ["sum"]),
        NODE("Max", ["sum", "least"], ["s"]),
    ],
}


@pytest.mark.parametrize("form", MASKS)
def test_masks_of_xlnet_and_xglm(tmp_path, form):
    """Scores that a mask of the input hides, beyond what a ring holds."""
    x, mask = RNG.standard_normal((24, 3, 5)).astype(np.float32), np.ones((24, 3, 5), np.int64)
    mask[::2, :, 3:] = 0
    constants = {
        "one": np.float32(1),
        "large": np.float32(1e30),
        "least": np.float32(-3.4028235e38),
    }
    nodes = [
        NODE("Cast", ["mask"], ["m"], to=1),
        *MASKS[form],
        NODE("Softmax", ["s"], ["p"], axis=-1),
    ]
    nodes.append(NODE("MatMul", ["p", "w"], ["y"]))
    constants["w"] = RNG.standard_normal((5, 2)).astype(np.float32)
    inputs = {"x": (1, [3, 5]), "mask": (7, [3, 5])}
    path = write(tmp_path / "m.onnx", nodes, inputs, {"y": (1, [3, 2])}, constants)
    given = {"x": x, "mask": mask}
    right = onnxruntime.InferenceSession(str(path)).run(None, given)[0]
    model = tacit.compile(path, samples=given)
    found = tacit.local(protocol="clear").predict(model, given).output
    assert np.abs(found - right).max() < 1e-3 * right.std()
    assert not model.warnings
