"""ResNet-18 as in torchvision, for images of 32 x 32, with random weights: its size is what counts.

Normalisations are part of the convolutions before them, as exporters write them for inference.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (3, 32, 32)
CLASSES = 1000
CHANNELS = (64, 128, 256, 512)
"""Channels of the four stages, of two blocks each; all but the first halve the image."""


class Builder:
    """An ONNX graph under construction."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def node(self, kind, inputs, **attributes):
        """Adds a node and returns the name of its output."""
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def weight(self, *shape, spread):
        """Adds random numbers of this deviation and returns their name."""
        name = f"weight_{len(self.weights)}"
        values = self.rng.normal(0.0, spread, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, x, sizes, kernel, stride=1, gain=2.0):
        """A convolution with a bias that keeps the size of values, `gain` times their squares."""
        taps = sizes[0] * kernel * kernel
        factors = self.weight(sizes[1], sizes[0], kernel, kernel, spread=(gain / taps) ** 0.5)
        terms = self.weight(sizes[1], spread=0.01)
        around = [kernel // 2] * 4
        return self.node(
            "Conv",
            [x, factors, terms],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=around,
        )

    def block(self, x, sizes, stride):
        """Two convolutions beside a way around them."""
        inner = self.node("Relu", [self.conv(x, sizes, 3, stride)])
        outer = self.conv(inner, (sizes[1], sizes[1]), 3, gain=0.5)
        around = x if stride == 1 else self.conv(x, sizes, 1, stride, gain=1.0)
        return self.node("Relu", [self.node("Add", [outer, around])])


def write(path, seed=1):
    """Writes the network as ONNX."""
    made = Builder(seed)
    x = made.node("Relu", [made.conv("input", (SHAPE[0], CHANNELS[0]), 7, 2)])
    x = made.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = CHANNELS[0]
    for channels in CHANNELS:
        for stride in (1 if channels == before else 2, 1):
            x = made.block(x, (before, channels), stride)
            before = channels
    x = made.node("Flatten", [made.node("GlobalAveragePool", [x])])
    factors = made.weight(before, CLASSES, spread=before**-0.5)
    terms = made.weight(CLASSES, spread=0.01)
    y = made.node("Gemm", [x, factors, terms])
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *shape])
        for name, shape in (("input", SHAPE), (y, (CLASSES,)))
    ]
    graph = helper.make_graph(made.nodes, "resnet18", ends[:1], ends[1:], made.weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
