"""The cases of ONNX's own backend suite, as models that Tacit may be given.

A case is eligible if its operation could be part of a model with one float input: one of its
inputs is a tensor of floats with at least one element, which becomes the model's input, the first
such if there are several; all its other inputs are tensors of numbers or bools, which become
constants of the file; and its outputs are tensors of floats, integers or bools. A case whose name
says `_expanded` is the same operation written out as the function that the standard defines, and is
counted apart.
"""

import functools
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import tacit

FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
NUMBERS = FLOATS | {
    TensorProto.BOOL, TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64,
}  # fmt: skip

ABSOLUTE, RELATIVE = 1e-3, 1e-3
"""What an output may be off: so much, and so much of its value."""

LAST_PLACE = 2.0**-7
"""What an output of bfloat16 may be off of its value: a unit in its last place, which is more."""


@dataclass
class Case:
    """A model of one input, what it is given, and what it must answer."""

    name: str
    operation: str
    model: onnx.ModelProto
    x: np.ndarray
    wanted: list[np.ndarray]

    @property
    def expanded(self):
        """Whether the operation is written out as a function of others."""
        return "_expanded" in self.name


@dataclass
class Outcome:
    """What became of a case: "right", "refused" or "wrong", and why."""

    case: Case
    kind: str
    why: str = ""


def element_type(value):
    """The type of a tensor's elements; None of what is no tensor."""
    kind = value.type
    return kind.tensor_type.elem_type if kind.HasField("tensor_type") else None


def as_array(value):
    """The numbers of a tensor, as the suite has them: some as a file's tensor."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def eligible(case):
    """The model that a case of the suite becomes; None where it is not eligible."""
    graph = case.model.graph
    types = {value.name: element_type(value) for value in graph.input}
    inputs, outputs = case.data_sets[0]
    given = dict(zip(types, inputs, strict=False))
    secret = next(
        (name for name, array in given.items() if types[name] in FLOATS and np.size(array)), None
    )
    results = {element_type(value) for value in graph.output}
    if secret is None or not set(types.values()) <= NUMBERS or not results <= NUMBERS:
        return None
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.input[:]
    model.graph.input.extend(value for value in graph.input if value.name == secret)
    constants = {name: as_array(value) for name, value in given.items() if name != secret}
    model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in constants.items())
    return Case(
        case.name,
        operation_of(case),
        model,
        as_array(given[secret]).astype(np.float32),
        [as_array(output) for output in outputs],
    )


def operation_of(case):
    """The operation that a case tests: that of its node, or of its twin's where it is expanded."""
    twin = re.sub(r"_expanded.*", "", case.name)
    nodes = _operations().get(twin) or [node.op_type for node in case.model.graph.node]
    return nodes[-1] if len(set(nodes)) > 1 else nodes[0]


@functools.cache
def _all():
    from onnx.backend.test.case.node import collect_testcases

    return collect_testcases(None)


@functools.cache
def _operations():
    return {case.name: [node.op_type for node in case.model.graph.node] for case in _all()}


def cases():
    """All eligible cases, in the suite's order."""
    with np.errstate(all="ignore"):
        return [model for case in _all() if (model := eligible(case)) is not None]


def nodes(model):
    """All nodes of a model, those of graphs within nodes among them."""
    found = list(model.graph.node)
    for node in found:
        found.extend(inner for a in node.attribute if a.HasField("g") for inner in a.g.node)
    return found


def outcome(case):
    """Compiles and runs a case under the protocol without cryptography."""
    try:
        answers = run(case)
    except tacit.TacitError as error:
        return Outcome(case, "refused", str(error))
    for value, wanted in zip(case.model.graph.output, case.wanted, strict=True):
        coarse = element_type(value) == TensorProto.BFLOAT16
        why = distance(answers[value.name], wanted, LAST_PLACE if coarse else RELATIVE)
        if why:
            return Outcome(case, "wrong", f"{value.name}: {why}")
    return Outcome(case, "right")


def distance(output, wanted, relative):
    """What is wrong with an output, where anything is."""
    if output.shape != wanted.shape:
        return f"the shape {output.shape} instead of {wanted.shape}"
    if wanted.dtype.kind in "US" or output.dtype.kind in "US":
        same = output.astype(str) == wanted.astype(str)
        return "" if same.all() else "other words"
    wanted = wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(output - wanted) - relative * np.abs(wanted)
    # Not a number is no answer that could be right.
    if np.all(error <= ABSOLUTE):
        return ""
    at = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    return f"{output[at]} instead of {wanted[at]}"


def run(case):
    """The outputs of a case by their names; its input is also what the planner is shown.

    It is one item where the model has no batch axis, and a batch of items where it has one.
    """
    # A little more than the largest, which is rounded.
    limit = 1.01 * float(np.abs(case.x).max())
    known = {"protocol": "clear", "input_range": limit if limit and np.isfinite(limit) else None}
    # One number is one item.
    x = case.x if case.x.ndim else case.x[None]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(case.model, path)
        try:
            model = tacit.compile(path, samples=x, **known)
        except tacit.TacitError as error:
            if "samples: they have the shape" not in str(error):
                raise
            x = case.x[None]
            model = tacit.compile(path, samples=x, **known)
    answers = tacit.local(protocol="clear").predict(model, x).outputs
    return {name: v if x is case.x else v[0] for name, v in answers.items()}
