"""Generators of comparisons, logic, choices and extremes.

A comparison of what is nearly equal may go either way, so each is followed by a product with the
difference of what it compares: on both sides of it the result is near 0.
"""

import numpy as np

from .axes import reduced, some_axis
from .constants import constant
from .elements import branch, operand

FLOAT = 1


def threshold(g, v):
    """The name of a number among those of `v`."""
    return g.plain(np.float32(g.rng.uniform(v.low, v.high)))


def by_difference(g, v, holds, at):
    """A truth as a number, times the difference of `v` to the threshold."""
    number = g.node("Cast", [holds], v.shape, 0, 1, v.batch, to=FLOAT)
    span = v.high - v.low
    difference = g.node("Sub", [v, at], v.shape, -span, span, v.batch)
    return g.node("Mul", [number, difference], v.shape, -span, span, v.batch)


def truth(g, kind, v, at):
    return g.node(kind, [v, at], v.shape, 0, 1, v.batch)


def compared(kind, since=9):
    """Whether values are on a side of a number."""

    def generator(g, v):
        if g.opset < since:
            return None
        at = threshold(g, v)
        return by_difference(g, v, truth(g, kind, v, at), at)

    return generator


def equal(g, v):
    """Where a value is the number, the number, which it is already."""
    if g.opset < 11:
        return None
    at = threshold(g, v)
    holds = truth(g, "Equal", v, at)
    return g.node("Where", [holds, at, v], v.shape, v.low, v.high, v.batch)


def logic(kind):
    """Makes And, Or, Xor and Not of comparisons with one number, at which alone it changes."""

    def generator(g, v):
        at = threshold(g, v)
        above, below = truth(g, "Greater", v, at), truth(g, "Less", v, at)
        if kind == "Not":
            holds = g.node("Not", [below], v.shape, 0, 1, v.batch)
        else:
            holds = g.node(kind, [above, g.pick(above, below)], v.shape, 0, 1, v.batch)
        return by_difference(g, v, holds, at)

    return generator


def where(g, v):
    if v.batch:
        return None
    if g.chance(0.5):
        at = threshold(g, v)
        holds = truth(g, "Greater", v, at)
        return g.node("Where", [holds, *g.pick((v, at), (at, v))], v.shape, v.low, v.high)
    mask = g.plain(g.rng.random(v.shape) < 0.5)
    number = np.float32(g.rng.uniform(-1, 1))
    other = g.pick(constant(g, number), branch(g, v))
    low, high = (number, number) if isinstance(other, str) else (other.low, other.high)
    both = g.pick((v, other), (other, v))
    return g.node("Where", [mask, *both], v.shape, min(v.low, low), max(v.high, high))


def sign(g, v):
    signs = g.node("Sign", [v], v.shape, -1, 1, v.batch)
    return g.node("Mul", [signs, v], v.shape, 0, v.most, v.batch)


def extreme(kind):
    """Max, Min and Mean of one to three inputs, of which one may be constant."""
    join = {"Max": max, "Min": min, "Mean": lambda *ends: sum(ends) / len(ends)}[kind]

    def generator(g, v):
        if v.batch:
            return None
        parts = [v, *(branch(g, v) for _ in range(g.between(0, 2)))]
        ends = [(p.low, p.high) for p in parts]
        if len(parts) < 3 and g.chance(0.4):
            c = g.weights(*operand(g, v)[0][-len(v.shape) :])
            if np.broadcast_shapes(c.shape, v.shape) == v.shape:
                parts.append(constant(g, c))
                ends.append((c.min(), c.max()))
        low, high = (join(*(e[i] for e in ends)) if len(ends) > 1 else ends[0][i] for i in (0, 1))
        return g.node(kind, parts, v.shape, low, high)

    return generator


def hardmax(g, v):
    """Adds a Hardmax and the sum of what it marks: the largest of a line, of equals whichever."""
    if g.opset < 13 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    if v.shape[along] == 1:
        return None
    marks = g.node("Hardmax", [v], v.shape, 0, 1, axis=axis)
    times = g.node("Mul", [marks, v], v.shape, min(v.low, 0), max(v.high, 0))
    shape = [1 if a == along else n for a, n in enumerate(v.shape)]
    return g.node("ReduceSum", [times, g.ints(axis)], shape, v.low, v.high)


CHOICES = {
    "And": logic("And"),
    "Equal": equal,
    "Greater": compared("Greater"),
    "GreaterOrEqual": compared("GreaterOrEqual", 12),
    "Hardmax": hardmax,
    "Less": compared("Less"),
    "LessOrEqual": compared("LessOrEqual", 12),
    "Max": extreme("Max"),
    "Mean": extreme("Mean"),
    "Min": extreme("Min"),
    "Not": logic("Not"),
    "Or": logic("Or"),
    "ReduceMax": reduced("ReduceMax", 18),
    "ReduceMin": reduced("ReduceMin", 18),
    "Sign": sign,
    "Where": where,
    "Xor": logic("Xor"),
}
"""Generators of comparisons and choices, by their operations."""
