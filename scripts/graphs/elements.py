"""Generators of operations on every element by itself, and what maps values into their domains."""

import math

import numpy as np

from .constants import constant

INFINITE = (1e10, 3.4028234663852886e38, math.inf)
"""How files write that there is no bound."""


def scaled(g, v, most):
    """`v`, or a product of it that stays below `most`."""
    if v.most <= most:
        return v
    factor = np.float32(most / v.most)
    return g.node(
        "Mul", [v, constant(g, factor)], v.shape, v.low * factor, v.high * factor, v.batch
    )


def positive(g, v, low=0.05):
    """A value from `low` up that depends on `v`."""
    if v.low >= low:
        return v
    way = g.pick("square", "sigmoid", "clip", "exp")
    if way == "square":
        v = scaled(g, v, 8)
        v = g.node("Mul", [v, v], v.shape, 0, v.most**2, v.batch)
    elif way == "sigmoid":
        v = sigmoid(g, v)
    elif way == "exp":
        v = exp(g, v)
        return v if v.low >= low else positive(g, v, low)
    else:
        return bounded(g, v, low, max(v.high, low + 1))
    shift = low * g.pick(1, 4, 20)
    return g.node("Add", [v, constant(g, shift)], v.shape, v.low + shift, v.high + shift, v.batch)


def bounded(g, v, low, high):
    """`v` between two bounds, either of which may be None."""
    ends = (v.low if low is None else low, v.high if high is None else high)
    new = [min(max(end, ends[0]), max(ends)) for end in (v.low, v.high)]
    if g.opset < 11:
        bounds = {"min": low, "max": high}
        return g.node("Clip", [v], v.shape, *new, v.batch, **bounds)
    given = [None if b is None else g.plain(np.float32(b)) for b in (low, high)]
    return g.node("Clip", [v, *given], v.shape, *new, v.batch)


def operand(g, v):
    """The shape of a constant that can meet `v`, and the item shape of the result."""
    shape = v.shape
    shapes = {"same": shape, "one": (1,), "scalar": (), "batched": (1, *shape)}
    if shape:
        shapes["row"] = shape[-1:]
        shapes["column"] = (shape[0], *[1] * (len(shape) - 1))
    if 1 in shape and v.size < 50:
        shapes["wider"] = tuple(3 if d == 1 else d for d in shape)
    way = g.pick(*shapes)
    return shapes[way], shapes[way] if way == "wider" else shape


def arithmetic(kind):
    """Add, Sub, Mul and Div with a constant, before or after, or with another computed value."""

    def generator(g, v):
        if v.batch:
            return None
        if g.chance(0.4):
            return of_two(g, kind, v)
        shape, out = operand(g, v)
        first = g.chance(0.3)
        c = g.weights(*shape, scale=2)
        if kind == "Div" and first:
            v = positive(g, v)
        elif kind == "Div":
            c = np.where(np.abs(c) < 0.2, 0.5, c).astype(np.float32)
        most = np.abs(c).max()
        ends = {
            "Add": v.most + most,
            "Sub": v.most + most,
            "Mul": v.most * most,
            "Div": most / max(v.low, 1e-9) if first else v.most / np.abs(c).min(),
        }[kind]
        both = [constant(g, c), v] if first else [v, constant(g, c)]
        return g.node(kind, both, out, -ends, ends)

    return generator


def of_two(g, kind, v):
    other = branch(g, v)
    if kind == "Div":
        other = positive(g, other)
    both = [(v.low, v.high), (other.low, other.high)]
    operation = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Div": lambda a, b: a / b,
    }[kind]
    ends = [operation(a, b) for a in both[0] for b in both[1]]
    return g.node(kind, [v, other], v.shape, min(ends), max(ends))


def branch(g, v):
    """A second value of the shape of `v`, computed from it; `v` itself where none comes out."""
    makers = [relu, sigmoid, tanh, clip, arithmetic("Mul")]
    other = makers[g.rng.integers(len(makers))](g, v)
    return v if other is None or other.shape != v.shape else other


def total(g, v):
    """Sum of one to three inputs, of which one may be constant."""
    if v.batch:
        return None
    parts = [v, *(branch(g, v) for _ in range(g.between(0, 2)))]
    low, high = sum(p.low for p in parts), sum(p.high for p in parts)
    if len(parts) < 3 and g.chance(0.3):
        c = g.weights(*operand(g, v)[0][-len(v.shape) :])
        if np.broadcast_shapes(c.shape, v.shape) == v.shape:
            parts.append(constant(g, c))
            low, high = low - np.abs(c).max(), high + np.abs(c).max()
    return g.node("Sum", parts, v.shape, low, high)


def relu(g, v):
    return g.node("Relu", [v], v.shape, max(v.low, 0), max(v.high, 0), v.batch)


def leaky_relu(g, v):
    alpha = g.pick(None, 0.1, 0.5, -0.3, 2.0)
    ends = [e if e > 0 else (0.01 if alpha is None else alpha) * e for e in (v.low, v.high)]
    low = min(0, *ends) if v.low < 0 else v.low
    return g.node("LeakyRelu", [v], v.shape, low, max(0, *ends), v.batch, alpha=alpha)


def clip(g, v):
    if v.batch:
        return None
    low = g.pick(0.0, None, -1.0, -0.5 * v.most, *(-b for b in INFINITE))
    high = g.pick(6.0, None, 1.0, 0.5 * v.most, *INFINITE)
    return bounded(g, v, low, high)


def sigmoid(g, v):
    return g.node(
        "Sigmoid", [v], v.shape, *(1 / (1 + np.exp(-e)) for e in (v.low, v.high)), v.batch
    )


def tanh(g, v):
    return g.node("Tanh", [v], v.shape, math.tanh(v.low), math.tanh(v.high), v.batch)


def erf(g, v):
    return g.node("Erf", [v], v.shape, math.erf(v.low), math.erf(v.high), v.batch)


def exp(g, v):
    v = scaled(g, v, g.pick(1.0, 4.0))
    return g.node("Exp", [v], v.shape, math.exp(v.low), math.exp(v.high), v.batch)


def gelu(g, v):
    if g.opset < 20 or v.batch:
        return None
    return g.node(
        "Gelu", [v], v.shape, min(-0.18, v.low), max(v.high, 0),
        approximate=g.pick(None, "none", "tanh"),
    )  # fmt: skip


def sqrt(g, v):
    if v.batch:
        return None
    v = positive(g, v, g.pick(0.05, 0.05, 0.001))
    return g.node("Sqrt", [v], v.shape, math.sqrt(v.low), math.sqrt(v.high))


def reciprocal(g, v):
    if v.batch:
        return None
    v = positive(g, v)
    return g.node("Reciprocal", [v], v.shape, 1 / v.high, 1 / v.low)


def power(g, v):
    if v.batch:
        return None
    exponent = g.pick(-1.0, 0.5, 1.0, 2.0, 3.0)
    v = positive(g, v) if exponent in (-1.0, 0.5) else scaled(g, v, 6.0)
    ends = [abs(e) ** exponent for e in (v.low, v.high)]
    low = -max(ends) if exponent in (1.0, 3.0) else 0
    shape = g.pick((), (1,))
    return g.node(
        "Pow", [v, g.plain(np.full(shape, exponent, np.float32))], v.shape, low, max(ends)
    )


def negative(g, v):
    return g.node("Neg", [v], v.shape, -v.high, -v.low, v.batch)


def identity(g, v):
    return g.node("Identity", [v], v.shape, v.low, v.high, v.batch)


def dropout(g, v):
    if g.opset < 12:
        return g.node("Dropout", [v], v.shape, v.low, v.high, v.batch, ratio=g.pick(None, 0.3))
    extra = g.pick([], [g.plain(np.float32(0.3))])
    if extra and g.chance(0.5):
        extra.append(g.plain(np.array(False)))
    return g.node("Dropout", [v, *extra], v.shape, v.low, v.high, v.batch)


def cast(g, v):
    wide = g.node("Cast", [v], v.shape, v.low, v.high, v.batch, to=11)
    return g.node("Cast", [wide], v.shape, v.low, v.high, v.batch, to=1)
