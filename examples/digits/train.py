"""Trains the digit network of the demo and writes it as ONNX.

    python examples/digits/train.py            # needs numpy, scikit-learn and onnx

A small convolutional network, in plain numpy: no deep-learning framework is needed to retrace
how the shipped file came about. Images are scikit-learn's bundled 8 x 8 handwritten digits,
scaled to [0, 1]; every fifth one is kept for testing (see `data.py`) and never seen here.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from data import load

FILTERS, HIDDEN, EPOCHS, BATCH, RATE = 12, 48, 60, 32, 2e-3
TARGET = Path(__file__).with_name("digits.onnx")


def windows(x):
    """The 3 x 3 neighbourhoods of (n, 8, 8) images padded by one, as (n, 64, 9)."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return view.reshape(len(x), 64, 9)


def initial(rng):
    """He-initialised weights; a dictionary of arrays by ONNX name."""

    def he(*shape, fan_in):
        return rng.standard_normal(shape) * np.sqrt(2 / fan_in)

    flat = FILTERS * 16
    return {
        "conv.weight": he(9, FILTERS, fan_in=9),
        "conv.bias": np.zeros(FILTERS),
        "fc1.weight": he(flat, HIDDEN, fan_in=flat),
        "fc1.bias": np.zeros(HIDDEN),
        "fc2.weight": he(HIDDEN, 10, fan_in=HIDDEN),
        "fc2.bias": np.zeros(10),
    }


def forward(w, x):
    """Logits of (n, 8, 8) images, and what the backward pass needs."""
    patches = windows(x)
    conv = patches @ w["conv.weight"] + w["conv.bias"]
    blocks = conv.reshape(-1, 4, 2, 4, 2, FILTERS).transpose(0, 5, 1, 3, 2, 4)
    blocks = blocks.reshape(len(x), FILTERS, 16, 4)
    winner = blocks.argmax(-1)
    pooled = np.take_along_axis(blocks, winner[..., None], -1)[..., 0]
    features = np.maximum(pooled, 0).reshape(len(x), -1)
    hidden = np.maximum(features @ w["fc1.weight"] + w["fc1.bias"], 0)
    logits = hidden @ w["fc2.weight"] + w["fc2.bias"]
    return logits, (patches, winner, features, hidden)


def gradients(w, x, y):
    """Gradients of the mean cross-entropy."""
    logits, (patches, winner, features, hidden) = forward(w, x)
    soft = np.exp(logits - logits.max(1, keepdims=True))
    d_logits = soft / soft.sum(1, keepdims=True)
    d_logits[np.arange(len(y)), y] -= 1
    d_logits /= len(y)
    d_hidden = (d_logits @ w["fc2.weight"].T) * (hidden > 0)
    d_features = (d_hidden @ w["fc1.weight"].T) * (features > 0)
    d_blocks = np.zeros((len(x), FILTERS, 16, 4))
    np.put_along_axis(d_blocks, winner[..., None], d_features.reshape(winner.shape)[..., None], -1)
    d_conv = d_blocks.reshape(-1, FILTERS, 4, 4, 2, 2).transpose(0, 2, 4, 3, 5, 1)
    d_conv = d_conv.reshape(len(x), 64, FILTERS)
    return {
        "conv.weight": np.einsum("npk,npf->kf", patches, d_conv),
        "conv.bias": d_conv.sum((0, 1)),
        "fc1.weight": features.T @ d_hidden,
        "fc1.bias": d_hidden.sum(0),
        "fc2.weight": hidden.T @ d_logits,
        "fc2.bias": d_logits.sum(0),
    }


def train(x, y, seed=0):
    """Adam with weight decay and a falling step size."""
    rng = np.random.default_rng(seed)
    w = initial(rng)
    first = {k: np.zeros_like(v) for k, v in w.items()}
    second = {k: np.zeros_like(v) for k, v in w.items()}
    steps = EPOCHS * (len(x) // BATCH)
    for step in range(1, steps + 1):
        pick = rng.choice(len(x), BATCH, replace=False)
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
        for k, g in gradients(w, x[pick], y[pick]).items():
            first[k] += 0.1 * (g - first[k])
            second[k] += 0.001 * (g * g - second[k])
            move = first[k] / (1 - 0.9**step)
            scale = np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8
            w[k] -= rate * (move / scale + 1e-3 * w[k])
    return w


def export(w, path):
    """The network as an ONNX file with a free batch axis."""
    weights = dict(w)
    weights["conv.weight"] = w["conv.weight"].T.reshape(FILTERS, 1, 3, 3)
    nodes = [
        helper.make_node(
            "Conv", ["image", "conv.weight", "conv.bias"], ["conv"], "conv", pads=[1, 1, 1, 1]
        ),
        helper.make_node(
            "MaxPool", ["conv"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]
        ),
        helper.make_node("Relu", ["pool"], ["relu1"], "relu1"),
        helper.make_node("Flatten", ["relu1"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["fc1"], "fc1"),
        helper.make_node("Relu", ["fc1"], ["relu2"], "relu2"),
        helper.make_node("Gemm", ["relu2", "fc2.weight", "fc2.bias"], ["digit"], "fc2"),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("digit", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="tacit"
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def main():
    x_train, y_train, x_test, y_test = load()
    w = train(x_train[:, 0].astype(np.float64), y_train)
    right = (forward(w, x_test[:, 0])[0].argmax(1) == y_test).mean()
    export(w, TARGET)
    print(f"{TARGET}: {100 * right:.2f} % of {len(y_test)} test images")


if __name__ == "__main__":
    main()
