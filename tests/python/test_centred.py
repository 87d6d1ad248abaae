"""Rows less their means, where all of a row is one number and its deviation next to nothing."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT = TensorProto.FLOAT


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def scores(axis, mean):
    """Deviations from the mean by the standard deviation and 1e-5, as models write them."""
    return [
        mean,
        node("Sub", "x", "m", "c"),
        node("Mul", "c", "c", "s"),
        node("ReduceMean", "s", "v", axes=axis),
        node("Sqrt", "v", "r"),
        node("Add", "r", "eps", "d"),
        node("Div", "c", "d", "y"),
    ]


def prices(shape, axes, seed):
    """Whole numbers around 100; a third of the rows has the same all along."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=shape) * 20 + 100).round().astype(np.float32)
    first = np.take(x, [0], axis=axes[0])
    for axis in axes[1:]:
        first = np.take(first, [0], axis=axis)
    equal = rng.random(first.shape) < 1 / 3
    return np.where(equal, first, x), np.broadcast_to(equal, shape)


FORMS = {
    "rows": ((12,), [1], node("ReduceMean", "x", "m", axes=[1])),
    "steps": ((9, 4), [1], node("ReduceMean", "x", "m", axes=[1])),
    "maps": ((3, 4, 4), [2, 3], node("GlobalAveragePool", "x", "m")),
}


@pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])
@pytest.mark.parametrize("form", FORMS)
def test_equal_numbers_have_nothing_beyond_their_mean(tmp_path, form, protocol):
    """A mean that is rounded is not the number that all are: 1e-5 made 9 deviations of the rest."""
    shape, axes, mean = FORMS[form]
    nodes = scores(axes, mean)
    tensors = [numpy_helper.from_array(np.float32(1e-5), "eps")]
    ends = [
        [helper.make_tensor_value_info("x", FLOAT, ["N", *shape])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    ]
    graph = helper.make_graph(nodes, "test", *ends, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    samples, _ = prices((100, *shape), axes, 1)
    x, equal = prices((12, *shape), axes, 2)
    right = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"x": x})[0]
    model = tacit.compile(tmp_path / "m.onnx", samples=samples, protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x).output
    # Shamir's truncation may leave a unit of 0, which is divided by 1e-5.
    unit = 0.05 if protocol == "shamir" else 0
    assert np.abs(found).max() > 1
    assert np.abs(found[equal]).max() <= unit
    assert np.abs(found - right)[~equal].max() < 1e-3
