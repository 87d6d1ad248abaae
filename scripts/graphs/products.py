"""Generators of products of two tensors along axes that both have."""

import math

import numpy as np

from .build import LARGEST
from .constants import constant, for_every_item
from .elements import branch, scaled


def matmul(g, v):
    """Adds a MatMul by a constant on either side, or with another computed value."""
    if not v.shape or v.batch:
        return None
    way = g.pick("right", "left", "both") if len(v.shape) > 1 else "right"
    if way == "both":
        return of_two(g, v)
    at = -1 if way == "right" else -2
    k, n = v.shape[at], g.between(1, 6)
    w = g.weights(k, n, scale=2 / math.sqrt(k))
    most = np.abs(w).sum(0).max() * v.most
    if way == "right":
        return g.node("MatMul", [v, constant(g, w)], (*v.shape[:-1], n), -most, most)
    shape = (*v.shape[:-2], n, v.shape[-1])
    return g.node("MatMul", [constant(g, w.T), v], shape, -most, most)


def of_two(g, v):
    """The rows of a value by those of another of its shape."""
    v, other, most = factors(g, v, v.shape[-1])
    order = [*range(len(v.shape) + 1)]
    order[-2:] = order[:-3:-1]
    turned = g.node("Transpose", [other], v.shape, other.low, other.high, perm=order)
    return g.node("MatMul", [v, turned], (*v.shape[:-1], v.shape[-2]), -most, most)


def factors(g, v, terms):
    """Two values whose sums of so many products stay small, and how large these are."""
    v = scaled(g, v, math.sqrt(LARGEST / terms))
    other = branch(g, v)
    return v, other, terms * v.most * other.most


def attention(g, v):
    """A value's rows by themselves or by constant ones; of three axes the first counts heads."""
    if g.opset < 23 or v.batch or len(v.shape) not in {2, 3}:
        return None
    v = scaled(g, v, 8)
    *heads, rows, width = v.shape
    attributes = {"is_causal": g.pick(None, 1), "scale": g.pick(None, 0.25)}
    attributes["softcap"] = g.pick(None, 3.0)
    if not heads:
        attributes |= {"q_num_heads": 1, "kv_num_heads": 1}
    if g.chance(0.3):
        seen, low, high = g.between(rows, 6), -1, 1
        keys, values = (for_every_item(g, g.weights(*heads, seen, width)) for _ in range(2))
    else:
        seen, low, high = rows, v.low, v.high
        keys, values = branch(g, v), v
    mask = []
    if g.chance(0.5):
        kept = (g.rng.random((rows, seen)) < 0.6) | np.eye(rows, seen, dtype=bool)
        mask = [g.plain(g.pick(kept, np.where(kept, g.weights(rows, seen), np.float32(-1e9))))]
    return g.node("Attention", [v, keys, values, *mask], v.shape, low, high, **attributes)


FORMS = {
    1: ["bi,io->bo", "bi,bo->bio", "bi,oi->bo", "bi,o->bo"],
    2: ["bij,bkj->bik", "bij,jo->boi", "bij,ijo->bo", "bij,ijo->bio", "bij,bij->bi", "...ij,...ik",
        "bij,bkj->bi", "bij,io->bo"],
    3: ["bhij,bhkj->bhik", "bihj,bkhj->bhik", "bhij,hjo->biho", "...ij,jo->...oi"],
}  # fmt: skip
"""Equations for values of so many axes; their second input is computed if it has b or ... in it."""


def einsum(g, v):
    if g.opset < 12 or v.batch or len(v.shape) not in FORMS:
        return None
    forms = FORMS[len(v.shape)]
    equation = forms[g.rng.integers(len(forms))]
    terms, _, out = equation.replace("...", "b" + "h" * (len(v.shape) == 3)).partition("->")
    left, right = terms.split(",")
    out = out or "".join(c for c in "bh" if c in left) + "jk"
    sizes = dict(zip(left[1:], v.shape, strict=True))
    computed = right[0] == "b"
    if computed:
        sizes.update(zip(right[1:], v.shape, strict=True))
    sizes.setdefault("o", g.between(1, 5))
    inner = math.prod(n for c, n in sizes.items() if c not in out)
    shape = tuple(sizes[c] for c in out[1:])
    if computed:
        v, other, most = factors(g, v, inner)
        return g.node("Einsum", [v, other], shape, -most, most, equation=equation)
    w = g.weights(*(sizes[c] for c in right), scale=2 / math.sqrt(inner))
    most = inner * np.abs(w).max() * v.most
    return g.node("Einsum", [v, constant(g, w)], shape, -most, most, equation=equation)
