"""Quotients by constants: of whole numbers, and what is rounded of others, at every multiple."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def check(path, nodes, by, x, protocol="clear"):
    """Answers are those of onnxruntime, all of them."""
    kind = INT64 if x.dtype == np.int64 else FLOAT
    ends = [
        [helper.make_tensor_value_info("x", kind, ["N"])],
        [helper.make_tensor_value_info("y", FLOAT, ["N"])],
    ]
    tensors = [numpy_helper.from_array(np.asarray(by, x.dtype), "d")]
    graph = helper.make_graph(nodes, "test", *ends, tensors)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x[::7], protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x).output
    wrong = np.abs(found - right) > 0.25
    assert not wrong.any(), (x[wrong][:4], right[wrong][:4], found[wrong][:4])
    assert not [text for text in model.warnings if "rounding" in text]


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


CAST = node("Cast", "q", "y", to=FLOAT)
ROUNDED = {
    "Floor": [node("Div", "x", "d", "q"), node("Floor", "q", "y")],
    "Ceil": [node("Div", "x", "d", "q"), node("Ceil", "q", "y")],
    "Cast": [
        node("Div", "x", "d", "p"), node("Cast", "p", "q", to=INT64), CAST,
    ],
    "digits": [
        node("Div", "x", "d", "q"), node("Floor", "q", "f"), node("Mul", "f", "d", "m"),
        node("Sub", "x", "m", "y"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("by", [2, 7, 25, 60, 100, 365, 1000, -7, -100])
def test_whole_numbers_are_divided_without_a_rest(tmp_path, by):
    """ONNX drops what stands after the point, towards 0."""
    x = np.concatenate([np.arange(-1200, 1201), np.array([99_999, 100_000, -100_000])])
    check(tmp_path / "m.onnx", [node("Div", "x", "d", "q"), CAST], by, x)


@pytest.mark.parametrize("by", [7, 25, 60, 100, 365, -12])
@pytest.mark.parametrize("form", ROUNDED)
def test_what_is_rounded_of_a_quotient_is_exact(tmp_path, form, by):
    """At a multiple the quotient is a whole number, though no reciprocal is exact."""
    x = np.arange(-1500, 1501).astype(np.float32)
    check(tmp_path / "m.onnx", ROUNDED[form], by, x)


@pytest.mark.parametrize(("by", "limit"), [(100, 3), (60, 2), (7, 3), (255, 0.2)])
@pytest.mark.parametrize("kind", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_quotient_beside_its_limit(tmp_path, kind, by, limit, turned):
    x = np.arange(-400, 401).astype(np.float32)
    limit = numpy_helper.from_array(np.float32(limit))
    sides = ["k", "q"] if turned else ["q", "k"]
    nodes = [
        helper.make_node("Constant", [], ["k"], value=limit),
        node("Div", "x", "d", "q"), node(kind, *sides, "b"), node("Cast", "b", "y", to=FLOAT),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, by, x)


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_quotients_under_every_protocol(tmp_path, protocol):
    x = np.arange(-300, 301, 25)
    check(tmp_path / "m.onnx", [node("Div", "x", "d", "q"), CAST], 100, x, protocol)
    nodes = ROUNDED["Floor"]
    check(tmp_path / "f.onnx", nodes, 25, x.astype(np.float32), protocol)


def test_dates_come_apart(tmp_path):
    """The year of a date that is one number, near the largest that an input holds."""
    x = np.array([9991231, 1000101, 240229, 16770000, 16769999, 260930])
    check(tmp_path / "m.onnx", [node("Div", "x", "d", "q"), CAST], 10_000, x)


def test_division_by_what_may_be_0_is_refused(tmp_path):
    """Nothing keeps the divisor above 0, and no samples show that it is."""
    ends = [
        [helper.make_tensor_value_info("x", INT64, ["N"])],
        [helper.make_tensor_value_info("y", INT64, ["N"])],
    ]
    tensors = [numpy_helper.from_array(np.array(100), "d")]
    graph = helper.make_graph([node("Div", "d", "x", "y")], "test", *ends, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(tacit.CompileError, match="keep the argument above 0"):
        tacit.compile(tmp_path / "m.onnx")
