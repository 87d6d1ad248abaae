"""Models predicted privately, compared with onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper

import tacit

RNG = np.random.default_rng(0)


def floats(*shape, scale=1.0):
    return (RNG.uniform(-scale, scale, shape)).astype(np.float32)


def node(kind, *inputs, name=None, out="y", **attributes):
    return helper.make_node(kind, ["x", *inputs], [out], name or kind.lower(), **attributes)


AXES = np.array([2], np.int64)
# name: (nodes, input shape, output shape, constants)
CASES = {
    "gemm": ([node("Gemm", "w", "b", transB=1)], [6], [4], {"w": floats(4, 6), "b": floats(4)}),
    "matmul": ([node("MatMul", "w")], [6], [3], {"w": floats(6, 3)}),
    "conv": (
        [node("Conv", "w", "b", strides=[2, 1], pads=[1, 0, 2, 1])],
        [2, 7, 6], [3, 4, 5], {"w": floats(3, 2, 3, 3), "b": floats(3)},
    ),
    "depthwise": ([node("Conv", "w", group=4)], [4, 5, 5], [4, 3, 3], {"w": floats(4, 1, 3, 3)}),
    "dilated": (
        [node("Conv", "w", dilations=[2, 2])], [1, 7, 7], [2, 3, 3], {"w": floats(2, 1, 3, 3)},
    ),
    "relu": ([node("Relu")], [9], [9], {}),
    "clip": (
        [node("Clip", "low", "high")], [9], [9], {"low": np.float32(0), "high": np.float32(1.5)},
    ),
    "maxpool": (
        [node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])],
        [2, 6, 6], [2, 3, 3], {},
    ),
    "averagepool": (
        [node("AveragePool", kernel_shape=[3, 3], strides=[2, 2])], [2, 7, 7], [2, 3, 3], {},
    ),
    "globalaveragepool": ([node("GlobalAveragePool")], [3, 4, 5], [3, 1, 1], {}),
    "batchnorm": (
        [node("BatchNormalization", "s", "b", "m", "v")], [3, 4, 4], [3, 4, 4],
        {"s": floats(3), "b": floats(3), "m": floats(3), "v": np.abs(floats(3)) + 0.5},
    ),
    "add": ([node("Add", "c")], [5], [5], {"c": floats(5)}),
    "sub": ([node("Sub", "c")], [5], [5], {"c": floats(5)}),
    "mul": ([node("Mul", "c")], [5], [5], {"c": floats(5)}),
    "square": ([helper.make_node("Mul", ["x", "x"], ["y"], "square")], [50], [50], {}),
    "flatten": ([node("Flatten")], [2, 3], [6], {}),
    "reshape": (
        [node("Reshape", "s")], [2, 6], [4, 3], {"s": np.array([0, 4, 3], np.int64)},
    ),
    "transpose": ([node("Transpose", perm=[0, 2, 1])], [2, 3], [3, 2], {}),
    "squeeze": ([node("Squeeze", "a")], [3, 1], [3], {"a": AXES}),
    "unsqueeze": ([node("Unsqueeze", "a")], [3], [3, 1], {"a": AXES}),
    "concat": ([helper.make_node("Concat", ["x", "x"], ["y"], "concat", axis=1)], [3], [6], {}),
    "pad": (
        [node("Pad", "p")], [2, 2], [4, 3], {"p": np.array([0, 1, 0, 0, 1, 1], np.int64)},
    ),
    "softmax": ([node("Softmax", axis=1)], [5], [5], {}),
    "frames of a signal without parts": (
        [node("STFT", "step", "window", "size", onesided=1)], [20], [4, 5, 2],
        {"step": np.array(4), "window": floats(8), "size": np.array(8)},
    ),
}  # fmt: skip


def runtime(path, x):
    return onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]


@pytest.mark.parametrize("name", CASES)
def test_operation(name, save_onnx):
    nodes, shape, out_shape, constants = CASES[name]
    path = save_onnx(nodes, shape, out_shape, constants)
    x = floats(3, *shape, scale=4)
    model = tacit.compile(path)
    expected = runtime(path, x)
    for output in (model.reference(x), tacit.local().predict(model, x).output):
        assert output.shape == expected.shape
        np.testing.assert_allclose(output, expected, atol=2e-4)


def test_arg_max_gives_the_class(save_onnx):
    path = save_onnx([node("ArgMax", axis=1, keepdims=0)], [5], [])
    x = floats(20, 5, scale=4)
    model = tacit.compile(path)
    result = tacit.local().predict(model, x, labels=x.argmax(1), check=True)
    np.testing.assert_array_equal(result.output.ravel(), x.argmax(1))
    assert result.report.accuracy == 1
    assert result.report.agreement == 1


def test_products_are_never_off_by_one(save_onnx):
    """Decoders of other systems were, near negative integers."""
    path = save_onnx([helper.make_node("Mul", ["x", "x"], ["y"], "square")], [100_000], [100_000])
    x = floats(1, 100_000, scale=6.1)
    output = tacit.local().predict(tacit.compile(path), x).output
    assert np.abs(output - x.astype(np.float64) ** 2).max() < 1e-3


def near(output, expected, model, most):
    """Asserts an error within the plan's, which is a small share of what outputs differ by."""
    error = model.plan["error"]
    assert np.abs(output - expected).max() <= error <= most * np.abs(expected).max()


@pytest.mark.parametrize("name", ["network-a", "network-b", "network-c", "lenet"])
@pytest.mark.parametrize("ring", [64, 32])
def test_reference_model(name, ring, models):
    samples = np.load(models / f"{name}.samples.npz")
    x = samples["x"]
    model = tacit.compile(models / f"{name}.onnx", samples=x[:32], ring=ring)
    session = onnxruntime.InferenceSession(str(models / f"{name}.onnx"))
    expected = session.run(None, {session.get_inputs()[0].name: x[32:]})[0]
    output = tacit.local().predict(model, x[32:]).output
    # A plan states four times the error of its trial.
    near(output, expected, model, most=1 / 2000 if ring == 64 else 1 / 7)
    assert (output.argmax(1) == expected.argmax(1)).mean() >= (1 if ring == 64 else 0.95)


def test_alexnet(models):
    samples = np.load(models / "alexnet-cifar10.samples.npz")
    x = samples["x"]
    model = tacit.compile(models / "alexnet-cifar10.onnx", samples=x[:32])
    output = tacit.local().predict(model, x[32:40]).output
    near(output, samples["logits"][32:40], model, most=1 / 64)
