"""A model that grows node by node, with an interval that every value keeps to."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LARGEST = 256.0
"""Values of no model get larger, so that they fit a ring of 32 bits beside their fractions."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A computed value: its item shape, where the batch axis stands, and where its elements lie."""

    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    batch: int = 0

    @property
    def full(self):
        """The shape with a batch of one item."""
        return (*self.shape[: self.batch], 1, *self.shape[self.batch :])

    @property
    def size(self):
        """Elements of an item."""
        return math.prod(self.shape)

    @property
    def most(self):
        """The largest magnitude of the value's elements."""
        return max(abs(self.low), abs(self.high))


class Graph:
    """Nodes and constants so far; `fixed` is the batch size that the file gives, if any."""

    def __init__(self, rng, opset, fixed=None):
        self.rng = rng
        self.opset = opset
        self.fixed = fixed
        self.nodes = []
        self.constants = {}
        self.input = None
        self.output = None
        self.used = set()

    def pick(self, *choices):
        """One of the choices, by chance."""
        return choices[self.rng.integers(len(choices))]

    def chance(self, share):
        """True in the share `share` of all calls, by chance."""
        return self.rng.random() < share

    def between(self, low, high):
        """A whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def start(self, shape, limit):
        """The input, of items of this shape, up to a limit."""
        self.input = Value("x", tuple(shape), -limit, limit)
        return self.input

    def node(self, kind, inputs, shape, low, high, batch=0, outputs=None, **attributes):  # noqa: PLR0917
        """Adds a node; inputs are values, names or None for one that is left out."""
        names = [i.name if isinstance(i, Value) else (i or "") for i in inputs]
        while names and not names[-1]:
            names.pop()
        name = f"{kind}_{len(self.nodes)}"
        outs = outputs or [f"v{len(self.nodes)}"]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(kind, names, outs, name, **attributes))
        self.used.add(kind)
        real = next(out for out in outs if out)
        return Value(real, tuple(int(d) for d in shape), float(low), float(high), batch)

    def plain(self, array):
        """A constant of the file."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *values):
        """A constant of integers."""
        return self.plain(np.asarray(values, np.int64))

    def weights(self, *shape, scale=1.0):
        """Even random numbers up to a scale, as an array."""
        return self.rng.uniform(-scale, scale, shape).astype(np.float32)

    def model(self, output=None):
        """The model, ending at the value of this name."""
        batch = self.fixed or "N"
        shape = [batch, *self.input.shape]
        graph = helper.make_graph(
            self.nodes,
            "random",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_empty_tensor_value_info(output or self.output.name)],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()],
        )
        imports = [helper.make_opsetid("", self.opset)]
        return needed(helper.make_model(graph, opset_imports=imports, ir_version=8))

    def save(self, path, output=None):
        """Writes the model as a file."""
        onnx.save(self.model(output), Path(path))


def _inner(node):
    """The graphs that a node holds."""
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def needed(model):
    """The model without nodes and constants that its output does not depend on."""
    graph = model.graph
    used = {out.name for out in graph.output}
    for i in reversed(range(len(graph.node))):
        node = graph.node[i]
        if used.intersection(node.output):
            used.update(node.input)
            used.update(read for inner in _inner(node) for n in inner.node for read in n.input)
        else:
            del graph.node[i]
    for i in reversed(range(len(graph.initializer))):
        if graph.initializer[i].name not in used:
            del graph.initializer[i]
    return model
