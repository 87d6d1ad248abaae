"""Generators of operations that find whole numbers, of quantised numbers, and of the first of some.

Near a step either side of it may be found, so what is left of a value is made to be the same on
both.
"""

import numpy as np

from .axes import some_axis
from .constants import constant
from .elements import positive, scaled
from .moves import folded


def bent(g, rest, width):
    """`r (width - r)` of a rest from 0 to `width`, which is 0 at both ends."""
    turned = g.node("Neg", [rest], rest.shape, -width, 0, rest.batch)
    other = g.node(
        "Add", [turned, constant(g, np.float32(width))], rest.shape, 0, width, rest.batch
    )
    return g.node("Mul", [rest, other], rest.shape, 0, width**2 / 4, rest.batch)


def squared(g, rest, most):
    return g.node("Mul", [rest, rest], rest.shape, 0, most**2, rest.batch)


def rounded(kind, since=7):
    """Floor, Ceil and Round, of constants or of a value, and what they leave of that."""
    of_constants = folded(kind, max(since, 10))

    def generator(g, v):
        if g.opset < since:
            return None
        if g.chance(0.3):
            return of_constants(g, v)
        whole = g.node(kind, [v], v.shape, np.floor(v.low), np.ceil(v.high), v.batch)
        both = [whole, v] if kind == "Ceil" else [v, whole]
        if kind == "Round":
            return squared(g, g.node("Sub", both, v.shape, -0.5, 0.5, v.batch), 0.5)
        return bent(g, g.node("Sub", both, v.shape, 0, 1, v.batch), 1)

    return generator


def modulo(g, v):
    """Adds a Mod by one number of either sign, or of positive values with 'fmod'."""
    if g.opset < 13 or v.batch:
        return None
    if g.chance(0.3):
        return folded("Mod", 10)(g, v)
    width = g.pick(0.75, 1.0, 3.0)
    fmod = g.opset < 28 or g.pick(0, 1)
    if fmod:
        v = positive(g, v)
        rest = g.node("Mod", [v, constant(g, np.float32(width))], v.shape, 0, width, fmod=1)
    else:
        rest = g.node("Mod", [v, constant(g, np.float32(width))], v.shape, 0, width)
    return bent(g, rest, width)


def quantised(g, v):
    """QuantizeLinear and back, for the whole value or by channels, and what it leaves."""
    if g.opset < 13 or v.batch or not v.shape:
        return None
    v = scaled(g, v, 20.0)
    scale, zero = np.float32(g.pick(0.25, 0.5)), g.pick(np.uint8(128), np.int8(0), np.int8(-3))
    along, axis = some_axis(g, v)
    if g.chance(0.5):
        scale = (scale * g.pick(np.ones, np.zeros)(v.shape[along]) + 0.25).astype(np.float32)
        zero = np.full(v.shape[along], zero)
    else:
        axis = None
    numbers = [constant(g, scale), g.plain(zero)]
    whole = g.node("QuantizeLinear", [v, *numbers], v.shape, 0, 255, axis=axis)
    back = g.node("DequantizeLinear", [whole, *numbers], v.shape, v.low, v.high, axis=axis)
    return squared(g, g.node("Sub", [v, back], v.shape, -20, 20), 20)


def top(g, v):
    """The values of TopK: of places, those of nearly equal elements may be swapped."""
    if g.opset < 11 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    k = g.between(1, v.shape[along])
    shape = [k if a == along else n for a, n in enumerate(v.shape)]
    name = f"top_{len(g.nodes)}"
    outputs = [f"{name}_values", f"{name}_places"]
    return g.node(
        "TopK", [v, g.ints(k)], shape, v.low, v.high, outputs=outputs, axis=axis,
        largest=g.pick(None, 0, 1),
    )  # fmt: skip


WHOLE = {
    "Ceil": rounded("Ceil"),
    "DequantizeLinear": quantised,
    "Floor": rounded("Floor"),
    "Mod": modulo,
    "QuantizeLinear": quantised,
    "Round": rounded("Round", 11),
    "TopK": top,
}
"""Generators of operations that find whole numbers, by their names."""
