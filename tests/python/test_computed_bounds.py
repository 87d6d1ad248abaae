"""Clip by bounds that the model computes of each item, as decibels below the loudest one."""

import numpy as np
import onnxruntime
import pytest
from nets import Net
from onnx import TensorProto

import tacit

FLOAT = TensorProto.FLOAT


def clipped(path, bounds):
    """What is below or above a number of the item's own."""
    net = Net([6], inputs=[("x", FLOAT, [6])])
    low = net("Sub", net("ReduceMax", "x", keepdims=0), np.float32(1.5))
    high = net("Mul", net("ReduceMean", "x", keepdims=0), np.float32(2))
    given = {"low": [low], "high": ["", high], "both": [low, high], "mixed": [np.float32(0), high]}
    net.save(path, net("Clip", "x", *given[bounds]), opset=17)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])
@pytest.mark.parametrize("bounds", ["low", "high", "both", "mixed"])
def test_bounds_of_each_item(bounds, protocol, tmp_path):
    """A lower bound above the upper one gives the upper one, as the standard says."""
    path = str(tmp_path / "m.onnx")
    clipped(path, bounds)
    x = np.random.default_rng(1).normal(0, 1, (12, 6)).astype("f4")
    crossed = x.max(1) - 1.5 > 2 * x.mean(1)
    assert crossed.any() and not crossed.all()
    model = tacit.compile(path, samples=x, protocol=protocol)
    found = tacit.local(protocol).predict(model, x).output
    session = onnxruntime.InferenceSession(path)
    right = np.stack([session.run(None, {"x": each})[0] for each in x])
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.001


def test_a_constant_between_computed_bounds(tmp_path):
    """The number itself is known, and how far it may reach is not."""
    path = str(tmp_path / "m.onnx")
    net = Net([6], inputs=[("x", FLOAT, [6])])
    high = net("ReduceMax", "x", keepdims=0)
    net.save(path, net("Clip", np.float32([-1, 0, 1]), np.float32(-0.5), high), opset=17)
    x = np.random.default_rng(1).normal(0, 0.5, (8, 6)).astype("f4")
    model = tacit.compile(path, samples=x)
    found = tacit.local("clear").predict(model, x).output
    right = np.minimum(np.float32([-0.5, 0, 1]), x.max(1)[:, None])
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.001
