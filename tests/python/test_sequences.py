"""Sequences of tensors beside onnxruntime: lists of loops, parts of a tensor, and refusals."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

RNG = np.random.default_rng(0)
F32, I64 = np.float32, np.int64
X = RNG.standard_normal((6, 4, 5)).astype(F32)


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def saved(path, nodes, tensors, items="N"):
    ends = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [items, *X.shape[1:]]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
    ]
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()]
    graph = helper.make_graph(nodes, "test", ends[:1], ends[1:], named)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def check(folder, nodes, protocol="clear", **tensors):
    path = saved(folder / "m.onnx", nodes, tensors)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": X})[0]
    found = tacit.local(protocol=protocol).predict(tacit.compile(path), X).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=1e-3)


def refused(folder, nodes, reason, **tensors):
    path = saved(folder / "m.onnx", nodes, tensors)
    with pytest.raises(tacit.TacitError, match=reason):
        tacit.compile(path)


@pytest.mark.parametrize("new_axis", [0, 1])
@pytest.mark.parametrize("protocol", ["clear", "falcon"])
def test_a_list_that_a_loop_appends_to(tmp_path, protocol, new_axis):
    """`ys.append(torch.tanh(x[:, t]))`, then stack or cat."""
    outputs = [
        helper.make_tensor_value_info("more", TensorProto.BOOL, []),
        helper.make_tensor_sequence_value_info("longer", TensorProto.FLOAT, None),
    ]
    inputs = [
        helper.make_tensor_value_info("t", TensorProto.INT64, []),
        helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
        helper.make_tensor_sequence_value_info("list", TensorProto.FLOAT, None),
    ]
    body = [
        node("Gather", "x", "t", "step", axis=1),
        node("Tanh", "step", "made"),
        node("SequenceInsert", "list", "made", "longer"),
        node("Identity", "goes", "more"),
    ]
    graph = helper.make_graph(body, "body", inputs, outputs)
    nodes = [
        helper.make_node("SequenceEmpty", [], ["empty"]),
        node("Loop", "turns", "true", "empty", "all", body=graph),
        node("ConcatFromSequence", "all", "y", axis=1, new_axis=new_axis),
    ]
    check(tmp_path, nodes, protocol, turns=I64(4), true=np.array(True))


@pytest.mark.parametrize("place", [None, 0, 1, -1, 2])
def test_tensors_are_put_in_at_their_places(tmp_path, place):
    at = [] if place is None else ["place"]
    nodes = [
        node("Neg", "x", "a"),
        node("Relu", "x", "b"),
        node("SequenceConstruct", "x", "a", "s"),
        node("SequenceInsert", "s", "b", *at, "t"),
        node("ConcatFromSequence", "t", "y", axis=2),
    ]
    check(tmp_path, nodes, **({} if place is None else {"place": I64(place)}))


@pytest.mark.parametrize("place", [0, 2, -1, -3])
def test_tensors_are_taken_and_left_out_by_their_places(tmp_path, place):
    nodes = [
        node("Neg", "x", "a"),
        node("Relu", "x", "b"),
        node("SequenceConstruct", "x", "a", "b", "s"),
        node("SequenceAt", "s", "place", "one"),
        node("SequenceErase", "s", "place", "others"),
        node("Identity", "others", "left"),
        node("SequenceLength", "left", "n"),
        node("Cast", "n", "many", to=TensorProto.FLOAT),
        node("SequenceAt", "left", "last", "two"),
        node("Mul", "one", "many", "more"),
        node("Sub", "more", "two", "y"),
    ]
    check(tmp_path, nodes, place=I64(place), last=I64(1))


@pytest.mark.parametrize("parts", [None, I64(2), I64(3), I64([1, 2, 1])])
@pytest.mark.parametrize("axis", [1, -1])
def test_parts_of_a_tensor(tmp_path, axis, parts):
    """Parts are of one size, of which the last may be less, or of the sizes of a list."""
    if parts is not None and parts.ndim and axis == -1:
        parts = I64([1, 2, 2])
    given = [] if parts is None else ["parts"]
    nodes = [
        node("SplitToSequence", "x", *given, "s", axis=axis),
        node("SequenceAt", "s", "last", "end"),
        node("SequenceErase", "s", "t"),
        node("SequenceInsert", "t", "end", "first", "u"),
        node("ConcatFromSequence", "u", "y", axis=axis),
    ]
    constants = {} if parts is None else {"parts": parts}
    check(tmp_path, nodes, last=I64(-1), first=I64(0), **constants)


def test_parts_without_their_axis(tmp_path):
    nodes = [
        node("SplitToSequence", "x", "s", axis=1, keepdims=0),
        node("ConcatFromSequence", "s", "y", axis=-1, new_axis=1),
    ]
    check(tmp_path, nodes)


def test_what_has_no_place_or_no_tensor_is_refused(tmp_path):
    begin = node("SequenceConstruct", "x", "x", "s")
    at = [begin, node("SequenceAt", "s", "place", "y")]
    refused(tmp_path, at, "its place 2 is outside a sequence of 2", place=I64(2))
    refused(tmp_path, at, "its place -3 is outside a sequence of 2", place=I64(-3))
    insert = [
        begin,
        node("SequenceInsert", "s", "x", "place", "t"),
        node("SequenceAt", "t", "zero", "y"),
    ]
    refused(tmp_path, insert, "its place 3 is outside", place=I64(3), zero=I64(0))
    twice = [
        begin,
        node("SequenceConstruct", "s", "s", "t"),
        node("ConcatFromSequence", "t", "y", axis=1),
    ]
    refused(tmp_path, twice, "is a sequence, no tensor")
    empty = [
        helper.make_node("SequenceEmpty", [], ["s"]),
        node("ConcatFromSequence", "s", "c", axis=1),
    ]
    refused(tmp_path, [*empty, node("Add", "c", "x", "y")], "its sequence is empty")
    refused(tmp_path, [begin, node("Relu", "s", "y")], "its input is a sequence of tensors")
    sizes = [
        node("SplitToSequence", "x", "parts", "s", axis=1),
        node("SequenceAt", "s", "zero", "y"),
    ]
    refused(tmp_path, sizes, "are not an axis of 4", parts=I64([1, 2]), zero=I64(0))
    refused(tmp_path, sizes, "its parts have no size", parts=I64(0), zero=I64(0))
    refused(tmp_path, [begin, node("Identity", "s", "y")], "it is a sequence of tensors: stack")


def test_lists_that_grow_without_end_are_refused(tmp_path):
    """A file of a few nodes could ask for all memory by lists of lists' lengths."""
    nodes = [node("SequenceConstruct", *["x"] * 2000, "s0")]
    nodes += [node("SequenceInsert", f"s{i}", "x", f"s{i + 1}") for i in range(600)]
    nodes.append(node("SequenceAt", "s600", "zero", "y"))
    refused(tmp_path, nodes, "more than 1048576 tensors", zero=I64(0))
