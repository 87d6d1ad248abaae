"""What computed integers make of each other, and means and shares beside a limit."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


CAST = node("Cast", "q", "y", to=FLOAT)


def saved(path, nodes, x, tensors):
    kind = INT64 if x.dtype == np.int64 else FLOAT
    ends = [
        [helper.make_tensor_value_info("x", kind, ["N", x.shape[1]])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    ]
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()]
    graph = helper.make_graph(nodes, "test", *ends, named)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def check(path, nodes, x, protocol="clear", **tensors):
    """Answers are those of onnxruntime, all of them."""
    saved(path, nodes, x, tensors)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x[::7], protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x).output
    wrong = np.abs(found - right) > 0.25
    assert not wrong.any(), (x[np.argwhere(wrong)[:4, 0]], right[wrong][:4], found[wrong][:4])


def pairs(most, divisors):
    grid = np.meshgrid(np.arange(-most, most + 1), divisors)
    return np.stack([side.ravel() for side in grid], axis=1)


SPLIT = [
    helper.make_node("Split", ["x"], ["a", "b"], axis=1),
    node("Abs", "b", "size"),
    node("Max", "size", "one", "d"),
]


@pytest.mark.parametrize("form", ["Div", "Mod", "fmod"])
def test_two_computed_integers(tmp_path, form):
    """The divisor is an integer from 1 on by the way it is made."""
    kind = "Div" if form == "Div" else "Mod"
    more = {"fmod": 1} if form == "fmod" else {}
    nodes = [*SPLIT, node(kind, "a", "d", "q", **more), CAST]
    x = pairs(60, [1, 2, 3, 7, 10, 49]).astype(np.int64)
    check(tmp_path / "m.onnx", nodes, x, one=np.int64([1]))


def test_a_constant_by_computed_integers(tmp_path):
    x = np.arange(1, 201).reshape(-1, 1)
    check(tmp_path / "m.onnx", [node("Div", "c", "x", "q"), CAST], x, c=np.int64([100]))


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_integers_under_every_protocol(tmp_path, protocol):
    nodes = [*SPLIT, node("Div", "a", "d", "q"), CAST]
    x = pairs(9, [1, 3, 7]).astype(np.int64)
    check(tmp_path / "m.onnx", nodes, x, protocol, one=np.int64([1]))


@pytest.mark.parametrize("size", [2, 3, 7, 10])
def test_means_of_integers_are_integers(tmp_path, size):
    rows = np.random.default_rng(size).integers(-9, 10, (300, size))
    nodes = [node("ReduceMean", "x", "q", axes=[1]), CAST]
    check(tmp_path / "m.onnx", nodes, rows)


@pytest.mark.parametrize("size", [2, 3, 7, 10])
@pytest.mark.parametrize("form", ["Floor", "Ceil", "GreaterOrEqual", "Less", "Equal"])
def test_a_mean_beside_a_whole_number_and_a_limit(tmp_path, size, form):
    """A vote of whole numbers may be just at its limit."""
    rows = np.random.default_rng(size).integers(-1, 2, (400, size)).astype(np.float32)
    last = [node(form, "m", "y")]
    if form not in ("Floor", "Ceil"):
        last = [node(form, "m", "limit", "b"), node("Cast", "b", "y", to=FLOAT)]
    nodes = [node("ReduceMean", "x", "m", axes=[1], keepdims=0), *last]
    check(tmp_path / "m.onnx", nodes, rows, limit=np.float32(0.0))


@pytest.mark.parametrize("form", ["GreaterOrEqual", "Less"])
def test_a_share_of_counts_beside_its_limit(tmp_path, form):
    """Of two counts the share is compared with a quarter, which it just reaches."""
    nodes = [
        *SPLIT, node("Cast", "a", "n", to=FLOAT), node("Cast", "d", "of", to=FLOAT),
        node("Div", "n", "of", "share"), node(form, "share", "limit", "h"),
        node("Cast", "h", "y", to=FLOAT),
    ]  # fmt: skip
    x = pairs(30, [4, 8, 20, 40]).astype(np.int64)
    check(tmp_path / "m.onnx", nodes, x, one=np.int64([1]), limit=np.float32(0.25))


def test_powers_of_integers_are_integers(tmp_path):
    x = np.arange(0, 11).reshape(-1, 1)
    check(tmp_path / "m.onnx", [node("Pow", "c", "x", "q"), CAST], x, c=np.int64([2]))
    check(tmp_path / "s.onnx", [node("Pow", "x", "c", "q"), CAST], x, c=np.int64([3]))


def test_whole_numbers_of_any_making_are_truths(tmp_path):
    """Counts, which are integers by their type, become truths: those other than 0."""
    x = pairs(5, [1, 2, 3]).astype(np.int64)
    nodes = [
        node("ReduceSum", "x", "axes", "s"), node("Cast", "s", "b", to=TensorProto.BOOL),
        node("Cast", "b", "y", to=FLOAT),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, x, axes=np.int64([1]))


def test_what_integers_are_not_made_of_is_refused(tmp_path):
    x = np.arange(12).reshape(-1, 2)
    saved(tmp_path / "m.onnx", [node("Pow", "x", "c", "q"), CAST], x, {"c": np.float32([0.5])})
    with pytest.raises(tacit.CompileError, match="makes integers by a negative exponent"):
        tacit.compile(tmp_path / "m.onnx")
    saved(tmp_path / "r.onnx", [node("ReduceL2", "x", "q", axes=[1]), CAST], x, {})
    with pytest.raises(tacit.CompileError, match="makes integers of what has places"):
        tacit.compile(tmp_path / "r.onnx")
    resized = [
        node("Unsqueeze", "x", "axis", "u"),
        node("Resize", "u", "", "scales", "q", mode="linear"),
        CAST,
    ]
    tensors = {"axis": np.int64([1]), "scales": np.float32([1, 1, 2])}
    saved(tmp_path / "z.onnx", resized, x, tensors)
    with pytest.raises(tacit.CompileError, match="makes integers of what has places"):
        tacit.compile(tmp_path / "z.onnx")
