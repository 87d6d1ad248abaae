"""Recurrent networks and functions inside a model, compared with onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper

import tacit

RNG = np.random.default_rng(1)
STEPS, WIDTH, HIDDEN = 4, 3, 2
GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def floats(*shape, scale=1.0):
    return RNG.uniform(-scale, scale, shape).astype(np.float32)


def compare(path, x, bound=5e-4):
    """The model in float32 and as predicted privately, beside onnxruntime."""
    expected = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x)
    np.testing.assert_allclose(model.reference(x), expected, atol=1e-5)
    output = tacit.local().predict(model, x).output
    assert output.shape == expected.shape
    np.testing.assert_allclose(output, expected, atol=bound)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", [("GRU", 0), ("GRU", 1), ("LSTM", 0), ("RNN", 0)])
def test_recurrent_node(kind, direction, save_onnx):
    op, reset_after = kind
    directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    attributes = {"linear_before_reset": 1} if reset_after else {}
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node(
            op, ["t", "w", "r", "b"], ["s", "h"], hidden_size=HIDDEN, direction=direction,
            **attributes,
        ),
        helper.make_node("Transpose", ["s"], ["y"], perm=[2, 0, 1, 3]),
    ]  # fmt: skip
    constants = {
        "w": floats(directions, rows, WIDTH),
        "r": floats(directions, rows, HIDDEN),
        "b": floats(directions, 2 * rows),
    }
    path = save_onnx(nodes, [STEPS, WIDTH], [STEPS, directions, HIDDEN], constants)
    compare(path, floats(3, STEPS, WIDTH))


@pytest.mark.parametrize("op", ["Sigmoid", "Tanh", "Exp", "Erf", "Softmax"])
def test_function_inside_a_model(op, save_onnx):
    nodes = [helper.make_node(op, ["x"], ["f"]), helper.make_node("Mul", ["f", "x"], ["y"])]
    compare(save_onnx(nodes, [6], [6]), floats(5, 6, scale=2))


@pytest.mark.parametrize("op", ["Reciprocal", "Sqrt"])
def test_function_of_positive_numbers(op, save_onnx):
    nodes = [helper.make_node(op, ["x"], ["y"])]
    compare(save_onnx(nodes, [6], [6]), np.abs(floats(5, 6, scale=2)) + 0.25)


def test_layer_normalization(save_onnx):
    nodes = [helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"])]
    constants = {"s": floats(6), "b": floats(6)}
    compare(save_onnx(nodes, [3, 6], [3, 6], constants), floats(4, 3, 6, scale=2), 2e-3)


@pytest.mark.parametrize("name", ["gru-fsdd", "fastgrnn-fsdd"])
@pytest.mark.parametrize(("protocol", "items"), [("clear", 32), ("falcon", 4)])
def test_reference_model(name, protocol, items, models):
    samples = np.load(models / f"{name}.samples.npz")
    x, logits = samples["x"], samples["logits"]
    model = tacit.compile(models / f"{name}.onnx", samples=x[:32], ring=64)
    output = tacit.local(protocol).predict(model, x[32 : 32 + items]).output
    np.testing.assert_allclose(output, logits[32 : 32 + items], atol=0.02)
    assert (output.argmax(1) == logits[32 : 32 + items].argmax(1)).all()
