"""Columns of times in seconds beside shares.

Their products and offsets are beyond the ring; sums of these are within it.
"""

import numpy as np
import pytest
from nets import Net

import tacit

MIDDLE, SCALE = 1.5e9, 2.0**25
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A line of both columns, its times counted from their middle, and its exact answers."""
    weights = np.array([[1 / SCALE], [1.0]], np.float32)
    offset = np.array([-MIDDLE / SCALE], np.float32)
    net = Net([2])
    out = net("Gemm", "x", net.constant(weights), net.constant(offset))
    path = tmp_path_factory.mktemp("columns") / "line.onnx"
    net.save(path, out)
    x = np.stack([RNG.normal(MIDDLE, SCALE, 60), RNG.random(60)], 1).astype(np.float32)
    return path, x, x.astype(float) @ weights + offset.astype(float)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])
def test_times_beside_shares(table, protocol):
    path, x, right = table
    model = tacit.compile(path, samples=x[:40], protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x[40:]).output
    assert np.abs(found - right[40:]).max() < 2e-3 * right.std()
    assert not [text for text in model.warnings if "rounding" in text]
