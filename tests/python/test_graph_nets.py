"""Graph nets on fixed edges, as layers of torch_geometric are exported: nodes along axis 1."""

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from test_counted_places import F32, I64, RNG, check, node, saved

import tacit

NODES, WIDTH = 5, 3
EDGES = np.array([[0, 1, 1, 2, 3, 4, 2, 0], [1, 0, 2, 1, 4, 3, 3, 4]])
SOURCES, TARGETS = EDGES
LOWEST = np.finfo(F32).min


def at(places, width=WIDTH):
    """The target of every edge, for each number of it."""
    return np.broadcast_to(places[None, :, None], (1, len(places), width)).astype(I64)


def wide(shape):
    """`places` and a tensor of zeros, one for each item of `x`."""
    return [
        node("Shape", "x", "items", start=0, end=1),
        node("Concat", "items", shape, "s", axis=0),
        node("ConstantOfShape", "s", "zeros"),
        node("Concat", "items", "edges", "t", axis=0),
        node("Expand", "places", "t", "at"),
        node("Gather", "x", "from", "sent", axis=1),
    ]


CONSTANTS = {
    "size": I64([NODES, WIDTH]),
    "edges": I64([len(SOURCES), WIDTH]),
    "places": at(TARGETS),
    "from": SOURCES,
}


@pytest.mark.parametrize("protocol", ["clear", "falcon"])
def test_degrees_of_fixed_edges(tmp_path, protocol):
    """A sum of the neighbours by the roots of degrees, which are sums of constants."""
    nodes = [
        node("ScatterElements", "none", "to", "ones", "degree", axis=0, reduction="add"),
        node("Sqrt", "degree", "root"),
        node("Gather", "root", "to", "by"),
        node("Unsqueeze", "by", "last", "share"),
        *wide("size"),
        node("Div", "sent", "share", "m"),
        node("ScatterElements", "zeros", "at", "m", "y", axis=1, reduction="add"),
    ]
    of = {"to": TARGETS, "none": np.zeros(NODES, F32), "ones": np.ones(len(TARGETS), F32)}
    x = RNG.standard_normal((12, NODES, WIDTH)).astype(F32)
    check(tmp_path, nodes, {"x": x}, protocol, last=I64([1]), **CONSTANTS, **of)


@pytest.mark.parametrize("kind", [F32, I64])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_constants_that_are_joined(tmp_path, reduction, kind):
    nodes = [
        node("ScatterElements", "c", "to", "u", "j", axis=0, reduction=reduction),
        node("Cast", "j", "f", to=TensorProto.FLOAT),
        node("Mul", "x", "f", "y"),
    ]
    c, u = np.arange(NODES) - 2, np.arange(len(TARGETS)) - 3
    x = RNG.standard_normal((12, NODES)).astype(F32)
    check(tmp_path, nodes, {"x": x}, c=c.astype(kind), u=u.astype(kind), to=TARGETS)


@pytest.mark.parametrize("protocol", ["clear", "falcon"])
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("into", ["x", "zeros", "far"])
def test_the_largest_of_what_is_sent(tmp_path, into, reduction, protocol):
    """Beside what stands there, beside 0, or alone (`include_self=False`)."""
    far = LOWEST if reduction == "max" else -LOWEST
    value = numpy_helper.from_array(np.array([far], F32))
    nodes = [
        *wide("size"),
        node("ConstantOfShape", "s", "far", value=value),
        node("ScatterElements", into, "at", "sent", "y", axis=1, reduction=reduction),
    ]
    x = RNG.standard_normal((12, NODES, WIDTH)).astype(F32)
    check(tmp_path, nodes, {"x": x}, protocol, **CONSTANTS)


def test_nodes_that_hear_nothing_are_refused(tmp_path):
    """The largest of nothing is as low as a float reaches, which no party holds."""
    value = numpy_helper.from_array(np.array([LOWEST], F32))
    nodes = [
        *wide("size"),
        node("ConstantOfShape", "s", "far", value=value),
        node("ScatterElements", "far", "at", "sent", "y", axis=1, reduction="max"),
    ]
    x = RNG.standard_normal((12, NODES, WIDTH)).astype(F32)
    constants = CONSTANTS | {"places": at(np.minimum(TARGETS, 3))}
    saved(tmp_path / "m.onnx", nodes, {"x": x}, constants)
    with pytest.raises(tacit.CompileError, match="no update is for element 12"):
        tacit.compile(tmp_path / "m.onnx")


def test_attention_over_edges(tmp_path):
    """A softmax over what each node hears, as GAT has it."""
    nodes = [
        *wide("size"),
        node("ScatterElements", "zeros", "at", "sent", "top", axis=1, reduction="max"),
        node("Gather", "top", "to", "tops", axis=1),
        node("Sub", "sent", "tops", "d"),
        node("Exp", "d", "e"),
        node("ScatterElements", "zeros", "at", "e", "sum", axis=1, reduction="add"),
        node("Gather", "sum", "to", "sums", axis=1),
        node("Div", "e", "sums", "y"),
    ]
    x = RNG.standard_normal((40, NODES, WIDTH)).astype(F32)
    check(tmp_path, nodes, {"x": x}, samples=x, to=TARGETS, **CONSTANTS)


def test_the_last_of_a_mask_by_its_turned_form(tmp_path):
    """sentence-transformers has it: 7 - where(no mark, 7, the place of the first from the end)."""
    nodes = [
        node("Slice", "mask", "end", "begin", "axis", "back", "turned"),
        node("ReduceMax", "turned", "some", axes=[1], keepdims=0),
        node("ArgMax", "turned", "first", axis=1, keepdims=0),
        node("Equal", "some", "zero", "none"),
        node("Where", "none", "most", "first", "told"),
        node("Sub", "most", "told", "place"),
        node("Unsqueeze", "place", "axis", "places"),
        node("GatherElements", "x", "places", "y", axis=1),
    ]
    ends = {"end": I64([-1]), "begin": I64([-99]), "axis": I64([1]), "back": I64([-1])}
    x = RNG.standard_normal((12, 8)).astype(F32)
    mask = (np.arange(8) < RNG.integers(0, 9, (12, 1))).astype(I64)
    mask[0] = 0
    check(tmp_path, nodes, {"x": x, "mask": mask}, zero=I64(0), most=I64(7), **ends)
