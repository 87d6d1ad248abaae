"""Transformer encoders with random weights: what they cost does not depend on the weights.

Layers as in BERT, normalised after each sum, with GELU by the error function; their input is the
embeddings of a text of 128 tokens. Needs only numpy; `save_onnx` also needs onnx.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from networks import write_onnx

TOKENS = 128


@dataclass(frozen=True)
class Encoder:
    """An encoder: how many layers it has, and the sizes of each."""

    layers: int
    size: int
    heads: int
    inner: int


ENCODERS = {
    "bert-tiny": Encoder(2, 128, 2, 512),
    "bert-base-layer": Encoder(1, 768, 12, 3072),
}
"""BERT-tiny, and one of the twelve layers of BERT-base."""

PARTS = ("query", "key", "value", "output", "inner", "outer")
"""The products of a layer, in their order."""


def texts(name, n):
    """`n` random embeddings of texts, (n, 128, size) float32."""
    shape = (n, TOKENS, ENCODERS[name].size)
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def weights(name):
    """The weights and biases of the products of each layer, by their names, (in, out)."""
    rng, made = np.random.default_rng(2), []
    encoder = ENCODERS[name]
    shapes = dict.fromkeys(PARTS, (encoder.size, encoder.size))
    shapes |= {"inner": (encoder.size, encoder.inner), "outer": (encoder.inner, encoder.size)}
    for _ in range(encoder.layers):
        layer = {}
        for part, shape in shapes.items():
            weight = rng.standard_normal(shape) * shape[0] ** -0.5
            bias = rng.standard_normal(shape[1]) * 0.05
            layer[part] = (weight.astype(np.float32), bias.astype(np.float32))
        made.append(layer)
    return made


def save_onnx(name, folder):
    """Writes the encoder as `folder/name.onnx` and returns the path."""
    from onnx import helper

    encoder, nodes, constants = ENCODERS[name], [], {}

    def add(kind, *inputs, **attributes):
        out = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [out], out, **attributes))
        return out

    def hold(label, array):
        constants[label] = array
        return label

    apart = hold("apart", np.array([0, 0, encoder.heads, encoder.size // encoder.heads]))
    joined = hold("joined", np.array([0, 0, encoder.size]))
    one = hold("one", np.ones(encoder.size, np.float32))
    root = hold("root", np.float32((encoder.size // encoder.heads) ** 0.5))
    half, two = hold("half", np.float32(0.5)), hold("root of two", np.float32(2**0.5))
    plus = hold("1", np.float32(1))
    x = "input"
    for at, layer in enumerate(weights(name)):

        def linear(part, value, at=at, layer=layer):
            weight, bias = (
                hold(f"{at}.{part}.{kind}", array)
                for kind, array in zip(("weight", "bias"), layer[part], strict=True)
            )
            return add("Add", add("MatMul", value, weight), bias)

        def heads(part, order, x=x, linear=linear):
            return add("Transpose", add("Reshape", linear(part, x), apart), perm=order)

        q, k = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])
        scores = add("Div", add("MatMul", q, k), root)
        mixed = add("MatMul", add("Softmax", scores, axis=-1), heads("value", [0, 2, 1, 3]))
        back = add("Reshape", add("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        x = add("LayerNormalization", add("Add", linear("output", back), x), one, epsilon=1e-5)
        inner = linear("inner", x)
        bent = add("Add", add("Erf", add("Div", inner, two)), plus)
        inner = add("Mul", add("Mul", inner, bent), half)
        x = add("LayerNormalization", add("Add", linear("outer", inner), x), one, epsilon=1e-5)
    shape = [TOKENS, encoder.size]
    path = Path(folder) / f"{name}.onnx"
    return write_onnx(path, nodes, constants, ("input", shape), (x, shape))
