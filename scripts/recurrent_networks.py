"""Networks of SiRnn's evaluation with random weights: no trained ones are public.

What a private prediction costs does not depend on the weights, nor does its error as long as the
values are of ordinary size. Needs onnx.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from onnx import helper

from networks import write_onnx

INPUT = "input"


class Graph:
    """Nodes and constants as they are added; weights are random and the same every time."""

    def __init__(self):
        self.nodes, self.constants = [], {}
        self.rng = np.random.default_rng(3)

    def add(self, kind, *inputs, **attributes):
        """Adds a node and returns the name of its output."""
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def constant(self, value, kind=np.float32):
        """Adds a constant and returns its name."""
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.asarray(value, kind)
        return name

    def weights(self, *shape, fan_in):
        """Weights that keep the variance of `fan_in` values."""
        return self.constant(self.rng.standard_normal(shape) / np.sqrt(fan_in))

    def biases(self, *shape):
        """Small constants as biases, of deviation 0.05."""
        return self.constant(self.rng.standard_normal(shape) * 0.05)

    def factors(self, rows, columns, rank):
        """A matrix, as the product of two where a rank is given."""
        if rank is None:
            return [self.weights(rows, columns, fan_in=rows)]
        return self.factors(rows, rank, None) + self.factors(rank, columns, None)

    def product(self, x, factors):
        """`x` times the matrix of these factors."""
        for factor in factors:
            x = self.add("MatMul", x, factor)
        return x

    def dense(self, x, rows, columns):
        """A fully connected layer."""
        return self.add("Gemm", x, self.weights(rows, columns, fan_in=rows), self.biases(columns))


def fastgrnn(graph, steps, inputs, hidden, classes, *, ranks=(None, None), zeta, nu):
    """`z = sigmoid(Wx + Uh + b)`, `c = tanh(Wx + Uh + b')`, `h = (zeta (1 - z) + nu) c + z h`."""
    w, u = graph.factors(inputs, hidden, ranks[0]), graph.factors(hidden, hidden, ranks[1])
    gate_bias, update_bias = graph.biases(hidden), graph.biases(hidden)
    slope, most = graph.constant(zeta), graph.constant(zeta + nu)
    from_inputs, h = graph.product(INPUT, w), None
    for step in range(steps):
        a = graph.add("Gather", from_inputs, graph.constant(step, np.int64), axis=1)
        if h is not None:
            a = graph.add("Add", a, graph.product(h, u))
        z = graph.add("Sigmoid", graph.add("Add", a, gate_bias))
        c = graph.add("Tanh", graph.add("Add", a, update_bias))
        new = graph.add("Mul", graph.add("Sub", most, graph.add("Mul", z, slope)), c)
        h = new if h is None else graph.add("Add", new, graph.add("Mul", z, h))
    return [steps, inputs], graph.dense(h, hidden, classes), [classes]


def lstm(graph, steps, inputs, hidden, layers):
    """LSTM nodes one after the other; the last state of the last one is the output."""
    y, width = graph.add("Transpose", INPUT, perm=[1, 0, 2]), inputs
    for _ in range(layers):
        weights = [
            graph.weights(1, 4 * hidden, width, fan_in=width),
            graph.weights(1, 4 * hidden, hidden, fan_in=hidden),
            graph.biases(1, 8 * hidden),
        ]
        y = graph.add("LSTM", y, *weights, hidden_size=hidden)
        y, width = graph.add("Squeeze", y, graph.constant([1], np.int64)), hidden
    last = graph.add("Gather", y, graph.constant(steps - 1, np.int64), axis=0)
    return [steps, inputs], last, [hidden]


def tanh_network(graph, sizes):
    """Fully connected layers with tanh between them."""
    x = INPUT
    for rows, columns in pairwise(sizes[:-1]):
        x = graph.add("Tanh", graph.dense(x, rows, columns))
    return sizes[:1], graph.dense(x, *sizes[-2:]), sizes[-1:]


# How each is built: of Industrial-72 the inputs of a step and the ranks are not public, so 32 and
# full matrices were chosen; of the LSTM the steps. A step of an LSTM of 200 takes 600 sigmoids and
# 400 tanhs, where the paper counts 800 and 200.
NETWORKS = {
    "industrial-72": (fastgrnn, {
        "steps": 7, "inputs": 32, "hidden": 64, "classes": 72, "zeta": 0.1426, "nu": 0.00433,
    }),
    "google-30": (fastgrnn, {
        "steps": 99, "inputs": 32, "hidden": 100, "classes": 30, "ranks": (16, 35),
        "zeta": 0.1426, "nu": 0.00433,
    }),
    "deepsecure-b4": (tanh_network, {"sizes": [5625, 2000, 500, 19]}),
    "minionn-lstm": (lstm, {"steps": 1, "inputs": 200, "hidden": 200, "layers": 2}),
}  # fmt: skip


def save_onnx(name, folder, items):
    """Writes the network as `folder/name.onnx`; returns the path and so many random inputs."""
    build, sizes = NETWORKS[name]
    path = Path(folder) / f"{name}.onnx"
    return path, save(path, items, build, **sizes)


def save(path, items, build, **sizes):
    """Writes the network that `build` makes of these sizes and returns so many random inputs."""
    graph = Graph()
    shape, output, output_shape = build(graph, **sizes)
    write_onnx(path, graph.nodes, graph.constants, (INPUT, shape), (output, output_shape))
    return np.random.default_rng(4).uniform(-1, 1, (items, *shape)).astype(np.float32)
