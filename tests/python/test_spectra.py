"""Powers and magnitudes of short-time spectra, whose quiet bins are far below other values."""

import numpy as np
import onnxruntime
import pytest
from nets import Net

import tacit

SIZE, STEP, BINS, MELS = 64, 32, 12, 5
PROTOCOLS = ["clear", "falcon", "bicoptor", "shamir", "sirnn"]


def sounds(seed, n, length=192):
    """A tone or two, and a little noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(length) / 8000
    tones = [np.sin(2 * np.pi * rng.uniform(200, 1400, (n, 1)) * t) for _ in range(2)]
    x = 0.3 * tones[0] + 0.05 * tones[1] + rng.normal(0, 1e-3, (n, length))
    return x[:, None].astype(np.float32)


def parts(net):
    """Real and imaginary parts, by convolutions with waves below a window."""
    n, k = np.arange(SIZE), np.arange(BINS)[:, None]
    window = np.hanning(SIZE) / SIZE
    waves = np.exp(-2j * np.pi * k * n / SIZE) * window
    return [
        net("Conv", "x", part[:, None].astype(np.float32), strides=[STEP])
        for part in (waves.real, waves.imag)
    ]


def power(net):
    """The sums of their squares."""
    squares = [net("Mul", part, part) for part in parts(net)]
    return net("Add", *squares)


def mels(net, bins):
    """Triangles over the bins, as narrow as in use: their weights are far below 1."""
    at = np.linspace(0, BINS - 1, MELS + 2)[1:-1]
    triangles = np.maximum(0, 1 - np.abs(np.arange(BINS)[:, None] - at) / 2.2) / 50
    turned = net("Transpose", bins, perm=[0, 2, 1])
    return net("MatMul", turned, triangles.astype(np.float32))


def with_epsilon(net):
    return net("Log", net("Add", power(net), np.float32(1e-10)))


def clipped(net):
    return net("Log", net("Clip", power(net), np.float32(1e-10), ""))


def above(net):
    """No less than a number, by Max."""
    return net("Log", net("Max", power(net), np.float32(1e-10)))


def of_mels(net):
    return net("Log", net("Clip", mels(net, power(net)), np.float32(1e-10), ""))


def of_magnitudes(net):
    """A power by a magnitude, which is moved before its square."""
    root = net("Sqrt", power(net))
    square = net("Pow", net("Transpose", root, perm=[0, 2, 1]), np.float32(2))
    return net("Log", net("Add", square, np.float32(1e-10)))


LOGARITHMS = [with_epsilon, clipped, above, of_mels, of_magnitudes]


def checked(path, made, protocol, items=4):
    """The largest error over the deviation, and the model."""
    net = Net([1, 192])
    net.save(path, made(net))
    x = sounds(2, items)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=sounds(1, 8), protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x).output
    return np.abs(found - right).max() / right.std(), model


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("made", LOGARITHMS)
def test_quiet_bins_have_their_logarithm(tmp_path, made, protocol):
    """Products were rounded to 26 fraction bits before it: it erred by a deviation and more."""
    error, _ = checked(tmp_path / "m.onnx", made, protocol)
    assert error < 0.005


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_magnitudes_are_right_small_and_large(tmp_path, protocol):
    """Two parties had 13 fraction bits of the inverse root, and times its number errors of 1 %."""

    def loud(net):
        return net("Sqrt", net("Mul", power(net), np.float32(2e5)))

    error, _ = checked(tmp_path / "m.onnx", loud, protocol)
    assert error < 1e-3


def test_the_square_of_a_root_is_what_it_is_of(tmp_path):
    """No root is left, also where it was moved before."""
    _, model = checked(tmp_path / "m.onnx", of_magnitudes, "clear")
    assert not [layer for layer in model.plan["layers"] if layer["op"] == "SquareRoot"]


def test_the_square_of_a_root_of_any_number_keeps_the_root(tmp_path):
    """Of negative numbers onnxruntime has none: they are refused, as the numbers would not be."""
    net = Net([3])
    root = net("Sqrt", "x")
    path = tmp_path / "m.onnx"
    net.save(path, net("Mul", root, root))
    samples = np.float32([[1, 2, 3], [0.5, 0, 1]])
    model = tacit.compile(path, samples=samples)
    assert [layer for layer in model.plan["layers"] if layer["op"] == "SquareRoot"]
    with pytest.raises(tacit.TacitError, match="numbers from 0 on only"):
        tacit.compile(path, samples=samples - 1)


def test_a_quotient_by_a_root_takes_its_inverse(tmp_path):
    """Both quotients have one inverse, and no root is made that nothing reads."""
    net = Net([4])
    root = net("Sqrt", net("Add", net("Mul", "x", "x"), np.float32(0.5)))
    quotients = [net("Div", "x", root), net("Div", np.float32(3), root)]
    path = tmp_path / "m.onnx"
    net.save(path, net("Add", *quotients))
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    model = tacit.compile(path, samples=x[:20])
    kinds = [layer["op"] for layer in model.plan["layers"]]
    assert kinds.count("InverseSqrt") == 1 and "SquareRoot" not in kinds
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    assert np.abs(tacit.local("clear").predict(model, x).output - right).max() < 1e-4


def test_a_number_by_its_own_root_is_the_root(tmp_path):
    """A number times its inverse root had the bounds of a product of any two."""
    net = Net([4])
    number = net("Add", net("Mul", "x", "x"), np.float32(1e-3))
    net.save(tmp_path / "m.onnx", net("Div", number, net("Sqrt", number)))
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    model = tacit.compile(tmp_path / "m.onnx", samples=x[:20])
    kinds = [layer["op"] for layer in model.plan["layers"]]
    assert "SquareRoot" in kinds and "InverseSqrt" not in kinds


@pytest.mark.parametrize("kind", ["Log", "Sqrt"])
@pytest.mark.parametrize("bits", [None, 24])
def test_samples_without_quiet_numbers_leave_room_for_them(tmp_path, kind, bits):
    """The function had no room below half of the least power that samples have."""
    net = Net([6])
    weights = np.random.default_rng(0).normal(size=(6, 6))
    product = net("MatMul", "x", weights.astype(np.float32))
    power = net("Add", net("Mul", product, product), np.float32(7e-6))
    net.save(tmp_path / "m.onnx", net(kind, power))

    def numbers(seed, least):
        rng = np.random.default_rng(seed)
        sizes = np.exp(rng.uniform(np.log(least), np.log(17), (40, 6)))
        signed = sizes * rng.choice([-1, 1], (40, 6))
        return (signed @ np.linalg.inv(weights)).astype(np.float32)

    x = numbers(2, 0.05)
    right = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"x": x})[0]
    model = tacit.compile(tmp_path / "m.onnx", samples=numbers(1, 1.0), fraction_bits=bits)
    found = tacit.local("clear").predict(model, x).output
    assert np.abs(found - right).max() / right.std() < 1e-3
