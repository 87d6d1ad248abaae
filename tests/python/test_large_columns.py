"""Numbers as they are measured: times in seconds beside shares, series of thousands.

Products of times and what is taken from them are beyond the ring; their sums are within it. The
inverse of a deviation of thousands is a few units of the fraction bits of other numbers.
"""

import numpy as np
import pytest
from nets import Net

import tacit

MIDDLE, SCALE = 1.5e9, 2.0**25
RNG = np.random.default_rng(0)
PROTOCOLS = pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])


def check(protocol, path, x, right, share=2e-3):
    """Plans with two thirds of the rows; the others' answers are so near, without a warning."""
    seen = 2 * len(x) // 3
    model = tacit.compile(path, samples=x[:seen], protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x[seen:]).output
    assert np.abs(found - right[seen:]).max() < share * right.std()
    assert not [text for text in model.warnings if "rounding" in text]


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


@PROTOCOLS
def test_times_beside_shares(table, protocol):
    check(protocol, *table)


LENGTH = 16


@pytest.fixture(scope="module")
def forecast(tmp_path_factory):
    """A line of a series less its mean and by its deviation, which are given back to its answer."""
    net = Net([LENGTH])
    mean = net("ReduceMean", "x", np.array([1]))
    less = net("Sub", "x", mean)
    variance = net("ReduceMean", net("Mul", less, less), np.array([1]))
    root = net("Sqrt", net("Add", variance, np.array(1e-5)))
    weights = net.weights(LENGTH, 4).astype(np.float32)
    line = net("MatMul", net("Div", less, root), weights)
    path = tmp_path_factory.mktemp("series") / "forecast.onnx"
    net.save(path, net("Add", net("Mul", line, root), mean))
    steps = RNG.normal(0, 0.3, (60, LENGTH)).cumsum(1) + RNG.normal(0, 3, (60, 1))
    x = (5000 * steps).astype(np.float32)
    mean = x.mean(1, keepdims=True, dtype=float)
    return path, x, (x - mean) @ weights.astype(float) + mean


@PROTOCOLS
def test_series_of_thousands_by_their_deviation(forecast, protocol):
    check(protocol, *forecast)


@PROTOCOLS
def test_prices_by_their_logarithms(tmp_path, protocol):
    """Twice the logarithm of a price would be that of its square, which no ring holds."""
    net = Net([3])
    weights, offset = np.array([[0.7], [-0.5], [0.3]], np.float32), np.float32(14)
    out = net("Exp", net("Gemm", "x", net.constant(weights), net.constant([offset])))
    net.save(tmp_path / "prices.onnx", out)
    x = np.random.default_rng(1).standard_normal((90, 3)).astype(np.float32)
    right = np.exp(x @ weights.astype(float) + offset)
    check(protocol, tmp_path / "prices.onnx", x, right, 5e-3)


@pytest.mark.parametrize("least", [1e-2, 1e-5])
def test_small_columns_beside_large_ones(tmp_path, least):
    """A price and a rate: each is near beside how it deviates, or a warning says it is not."""
    net = Net([6])
    weights = net.weights(6, 2) * [3e4, least]
    net.save(tmp_path / "both.onnx", net("MatMul", net("Relu", "x"), weights))
    x = np.random.default_rng(2).standard_normal((120, 6)).astype(np.float32)
    right = np.maximum(x, 0) @ weights
    model = tacit.compile(tmp_path / "both.onnx", samples=x[:80])
    found = tacit.local(protocol="clear").predict(model, x[80:]).output
    error = np.abs(found - right[80:]).max(0) / right.std(0)
    warned = [text for text in model.warnings if "a column of the outputs errs" in text]
    assert warned or error.max() < 1e-2
    assert not warned or least < 1e-4


@pytest.mark.parametrize("rate", [1e-5, 1e-6, 1e-9])
def test_columns_that_no_bits_save_cost_others_none(tmp_path, rate):
    """A price of raw columns, and a share of it that is too small for one scale of weights."""
    rng = np.random.default_rng(4)
    x = (rng.normal(0, 1, (150, 3)) * [3e4, 10, 0.2] + [5e4, 40, 1]).astype(np.float32)
    price = np.array([4, 2e3, 5e4])
    net = Net([3])
    weights = np.stack([price, rate * price], 1).astype(np.float32)
    net.save(tmp_path / "both.onnx", net("MatMul", "x", net.constant(weights)))
    model = tacit.compile(tmp_path / "both.onnx", samples=x[:100])
    found = tacit.local(protocol="clear").predict(model, x[100:]).output
    right = x[100:].astype(float) @ weights
    error = np.abs(found - right).max(0) / right.std(0)
    assert error[0] < 1e-2
    assert error[1] < 1e-2 or any("a column of the outputs errs" in t for t in model.warnings)
