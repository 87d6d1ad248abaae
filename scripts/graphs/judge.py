"""What a protocol makes of a model, held against onnxruntime in float32.

A run is right if every output of every input is within

    2 % of the outputs' spread + 2^-10 of the largest + 8 units of the plan's last fraction bit.

The spread is the largest distance of an output from the mean of all, so one that collapses to a
constant, to another input's answer or to 0 is far beyond it, unless it hardly varies: 2^-10 is the
relative error that the functions state. Where all of it cancels, so that the output varies by less
than 2^-12 of what its last operation reads, 2^-10 of that is allowed too. A place that ArgMax gives
is right if the score there is as close as that to the largest. Where a value is wrong under a
warning, models that end earlier tell the first node that is: the warning is of the very layer if
it names that node, one that it depends on, or one that reads it.
"""

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import tacit

from .build import Graph

SHARE, RELATIVE, UNITS = 0.02, 2.0**-10, 8

SETTINGS = {
    "clear, 64 bits": ({"ring": 64}, {"protocol": "clear"}),
    "clear, 32 bits": ({"ring": 32}, {"protocol": "clear"}),
    "falcon, 64 bits": ({"ring": 64}, {"protocol": "falcon"}),
    "falcon, 32 bits": ({"ring": 32}, {"protocol": "falcon"}),
    "bicoptor ubl, 64 bits": ({"ring": 64}, {"protocol": "bicoptor", "sharing": "ubl"}),
    "bicoptor ubl, 32 bits": ({"ring": 32}, {"protocol": "bicoptor", "sharing": "ubl"}),
    "bicoptor rss, 64 bits": ({"ring": 64}, {"protocol": "bicoptor", "sharing": "rss"}),
    "bicoptor rss, 32 bits": ({"ring": 32}, {"protocol": "bicoptor", "sharing": "rss"}),
    "shamir, 61 bits": ({"field": 61}, {"protocol": "shamir"}),
    "shamir, 31 bits": ({"field": 31}, {"protocol": "shamir"}),
    "sirnn": ({}, {"protocol": "sirnn"}),
}
"""What a model is compiled and run with."""

VERDICTS = ("right", "right, warned", "refused", "wrong, warned", "wrong, warned elsewhere",
            "silently wrong")  # fmt: skip


@dataclass
class Verdict:
    """How a run ended, and what was said."""

    kind: str
    why: str = ""
    error: float = 0.0
    bound: float = 0.0


class Oracle:
    """The outputs of onnxruntime, of one value or of several."""

    def __init__(self, g, names):
        self.fixed = g.fixed
        model = g.model(names[0])
        self.names = names
        for name in set(names[1:]) - {names[0]}:
            model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # Else a value that is asked for may be optimised away.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, x):
        """The values for a batch of inputs."""
        batches = np.split(x, len(x) // self.fixed) if self.fixed else [x]
        runs = [self.session.run(self.names, {"x": batch}) for batch in batches]
        return [np.concatenate(parts) for parts in zip(*runs, strict=True)]


def scores_of(g):
    """What ArgMax or ArgMin finds the place in, its sign, its axis and whether that is kept."""
    for node in reversed(g.nodes):
        if node.op_type in {"ArgMax", "ArgMin"}:
            given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            sign = 1 if node.op_type == "ArgMax" else -1
            return node.input[0], sign, given.get("axis", 0), given.get("keepdims", 1)
    return None


def tolerance(values, unit):
    """What an output may be off: see above."""
    spread = np.abs(values - values.mean()).max()
    return float(SHARE * spread + RELATIVE * np.abs(values).max()) + UNITS * unit


@dataclass
class Trial:
    """A model, its largest input, samples for the planner, inputs, and what it is run under."""

    graph: Graph
    limit: float
    samples: np.ndarray | None
    x: np.ndarray
    setting: str

    def of(self, graph):
        """The trial with another model in place of its own."""
        return replace(self, graph=graph)


def judge(trial, *, blame=True):
    """The verdict on a run; `blame` finds out whether a warning is of the very layer."""
    compile_options, run = SETTINGS[trial.setting]
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            trial.graph.save(path)
            given = {"input_range": trial.limit, **compile_options}
            model, x = compiled(path, trial, given)
            result = tacit.local(**run, timeout=30).predict(model, x)
    except tacit.TacitError as error:
        return Verdict("refused", str(error))
    warnings = told(result.report)
    unit = 2.0 ** -(result.report.fraction_bits or model.plan["fraction_bits"])
    output = result.output if x is trial.x else result.output[:, 0]
    error, bound = distance(trial.graph, trial.x, output, unit)
    why = "; ".join(warnings)
    if error <= bound:
        return Verdict("right, warned" if warnings else "right", why, error, bound)
    if not warnings:
        return Verdict("silently wrong", why, error, bound)
    at = culprit(trial) if blame else None
    known = at is None or any(names(w, related(trial.graph, at)) for w in warnings)
    return Verdict("wrong, warned" if known else "wrong, warned elsewhere", why, error, bound)


def compiled(path, trial, given):
    """The model, and its inputs: with an axis more where the file's batch of one is of an item."""
    samples, x = trial.samples, trial.x
    try:
        model = tacit.compile(path, samples=samples, **given)
    except tacit.TacitError as error:
        if "samples: they have the shape" not in str(error):
            raise
        model = tacit.compile(path, samples=samples[:, None], **given)
    return model, x if model.input_shape == x.shape[1:] else x[:, None]


def told(report):
    """All that a run warned of, before and after its answers came."""
    doubt = report.data.get("doubt")
    return [*(report.warnings or []), *([doubt] if doubt else [])]


def distance(g, x, output, unit):
    """The error of an output, and how large it may be."""
    value, sign, axis, keep = scores_of(g) or (g.output.name, 1, None, None)
    wanted, scores, *read = Oracle(g, [g.output.name, value, *last_read(g)])(x)
    if wanted.shape != output.shape:
        return np.inf, 0.0
    bound = tolerance(scores.astype(np.float64), unit)
    scale = max((float(np.abs(r).max()) for r in read), default=0.0)
    if np.ptp(scores) < RELATIVE / 4 * scale:
        bound += RELATIVE * scale
    if axis is None:
        return float(np.abs(wanted.astype(np.float64) - output).max()), bound
    places = output.astype(np.int64)
    places = places if keep else np.expand_dims(places, axis)
    if places.min() < 0 or places.max() >= scores.shape[axis]:
        return np.inf, 0.0
    scores = sign * scores
    below = scores.max(axis, keepdims=True) - np.take_along_axis(scores, places, axis)
    return float(below.max()), bound


MOVING = {
    "Cast", "CastLike", "Concat", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Neg",
    "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip
"""What only moves elements."""


def makers_of(g):
    """The node that gives each value."""
    return {out: node for node in g.nodes for out in node.output if out}


def last_read(g):
    """The computed values that the last node which computes something reads."""
    makers = makers_of(g)
    at = makers[g.output.name]
    while at.op_type in MOVING and at.input[0] in makers:
        at = makers[at.input[0]]
    return [i for i in at.input if i in makers and prefix(g, i) is not None]


def names(warning, layers):
    """Whether a warning names a layer of these nodes."""
    quoted = re.findall(r"'([^']+)'", warning)
    return any(q == layer or q.startswith(f"{layer}.") for q in quoted for layer in layers)


def related(g, node):
    """The names of a node, of those that it depends on, and of those that read it.

    The last since a plan joins scales and shifts to the layer that follows.
    """
    makers = makers_of(g)
    found, left = {n.name for n in g.nodes if set(n.input) & set(node.output)}, [node]
    while left:
        at = left.pop()
        found.add(at.name)
        left.extend(makers[i] for i in at.input if i in makers and makers[i].name not in found)
    return found


def culprit(trial):
    """The first node whose own output is wrong where the model ends there."""
    for node in trial.graph.nodes:
        part = prefix(trial.graph, next(o for o in node.output if o))
        if part is not None and "wrong" in judge(trial.of(part), blame=False).kind:
            return node
    return None


def prefix(g, out):
    """The model that ends at a value; None where that does not depend on the input."""
    makers = makers_of(g)
    left, seen = [out], set()
    while left:
        at = left.pop()
        if at in seen or not at:
            continue
        seen.add(at)
        left.extend(makers[at].input if at in makers else [])
    if "x" not in seen:
        return None
    part = type(g)(g.rng, g.opset, g.fixed)
    part.input = g.input
    part.constants = g.constants
    part.nodes = [n for n in g.nodes if set(n.output) & seen]
    part.output = type(g.input)(out, (), 0, 0)
    return part
