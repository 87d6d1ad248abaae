"""Generators of graphs within nodes: branches of constant conditions, loops of constant length."""

import numpy as np
from onnx import TensorProto, helper


def value(name, kind=TensorProto.FLOAT, shape=None):
    """A value of an inner graph."""
    return helper.make_tensor_value_info(name, kind, shape)


def names(g, *parts):
    """Names that no other graph has."""
    return [f"{part}_{len(g.nodes)}" for part in parts]


def branch(g, v):
    """One of two sums with constants, which reads a value around it."""
    condition, (out,) = bool(g.chance(0.5)), names(g, "branch")
    terms = g.rng.uniform(-1, 1, 2).astype(np.float32)
    sides = [
        helper.make_graph(
            [helper.make_node("Add", [v.name, g.plain(term)], [out])], side, [], [value(out)]
        )
        for side, term in zip(("then", "else"), terms, strict=True)
    ]
    term = float(terms[0 if condition else 1])
    return g.node(
        "If", [g.plain(np.array(condition))], v.shape, v.low + term, v.high + term, v.batch,
        then_branch=sides[0], else_branch=sides[1],
    )  # fmt: skip


def loop(g, v):
    """A few turns, each of a half of the value and a constant."""
    turns, term = g.between(0, 3), np.float32(g.rng.uniform(-1, 1))
    turn, go, goes, x, half, out = names(g, "turn", "go", "goes", "x", "half", "out")
    body = helper.make_graph(
        [
            helper.make_node("Identity", [go], [goes]),
            helper.make_node("Mul", [x, g.plain(np.float32(0.5))], [half]),
            helper.make_node("Add", [half, g.plain(term)], [out]),
        ],
        "body",
        [value(turn, TensorProto.INT64, []), value(go, TensorProto.BOOL, []), value(x)],
        [value(goes, TensorProto.BOOL), value(out)],
    )
    low, high = v.low, v.high
    for _ in range(turns):
        low, high = 0.5 * low + term, 0.5 * high + term
    inputs = [g.plain(np.array(turns, np.int64)), g.plain(np.array(True)), v]
    return g.node("Loop", inputs, v.shape, low, high, v.batch, body=body)


def scan(g, v):
    """A turn for each of some constants, which are added to a half of the value."""
    terms = g.rng.uniform(-1, 1, g.between(1, 3)).astype(np.float32)
    x, term, half, out = names(g, "x", "term", "half", "out")
    shape = [*v.shape[: v.batch], g.fixed, *v.shape[v.batch :]]
    body = helper.make_graph(
        [
            helper.make_node("Mul", [x, g.plain(np.float32(0.5))], [half]),
            helper.make_node("Add", [half, term], [out]),
        ],
        "body",
        [value(x, shape=shape), value(term, shape=[])],
        [value(out, shape=shape)],
    )
    low, high = v.low, v.high
    for each in terms:
        low, high = 0.5 * low + float(each), 0.5 * high + float(each)
    return g.node(
        "Scan", [v, g.plain(terms)], v.shape, low, high, v.batch, body=body, num_scan_inputs=1
    )


NESTED = {"If": branch, "Loop": loop, "Scan": scan}
"""Generators of nodes that hold graphs, by their operations."""
