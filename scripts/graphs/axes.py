"""Generators of operations along axes, and of those that only move elements."""

import math

import numpy as np

from .build import Value
from .constants import axes, constant, for_every_item, made, sliced
from .elements import (
    branch,
    cast,
    identity,
    leaky_relu,
    negative,
    relu,
    sigmoid,
    tanh,
)


def some_axis(g, v, first=0):
    """An axis of the item from `first` on, as the file counts it: from the start or the end."""
    if len(v.shape) <= first:
        return None
    along = g.between(first, len(v.shape) - 1)
    return along, g.pick(along + 1, along - len(v.shape))


def softmax(g, v, kind="Softmax"):
    if v.batch or not v.shape:
        return None
    if g.opset < 13:
        along, axis = 0, 1
        if len(v.shape) > 1 and g.chance(0.5):
            along, axis = 1, 2
        return g.node(kind, [v], v.shape, *end(kind, v, math.prod(v.shape[along:])), axis=axis)
    along, axis = some_axis(g, v)
    if along == len(v.shape) - 1 and g.chance(0.5):
        axis = None
    return g.node(kind, [v], v.shape, *end(kind, v, v.shape[along]), axis=axis)


def masked_softmax(g, v):
    """Adds a softmax inside a model, where some terms may be left out."""
    if v.batch or not v.shape or g.opset < 13 or g.chance(0.5):
        return softmax(g, v)
    along, axis = some_axis(g, v)
    hidden = g.rng.random(v.shape) < 0.4
    # One of every line is seen.
    np.put_along_axis(hidden, g.rng.integers(0, v.shape[along], hidden.shape), False, along)
    lowest = np.float32(g.pick(-math.inf, -1e4, -1e9, np.finfo(np.float32).min))
    mask = np.where(hidden, lowest, np.float32(0 if g.chance(0.7) else -0.5))
    masked = g.node("Add", [v, g.plain(mask)], v.shape, v.low - 0.5, v.high)
    shares = g.node("Softmax", [masked], v.shape, 0, 1, axis=axis)
    return g.node("Mul", [shares, constant(g, 3.0)], v.shape, 0, 3)


def without_nan(g, v):
    """Shares, of which none is NaN, as exporters of attention write them."""
    if v.batch or not v.shape or g.opset < 13:
        return None
    shares = g.node("Softmax", [v], v.shape, 0, 1, axis=some_axis(g, v)[1])
    missing = g.node("IsNaN", [shares], v.shape, 0, 1)
    shown = g.node("Where", [missing, constant(g, 0.0), shares], v.shape, 0, 1)
    return g.node("Mul", [shown, constant(g, 3.0)], v.shape, 0, 3)


FINITE = {
    "Add", "Cast", "Clip", "Constant", "Conv", "Flatten", "Gather", "Gemm", "Identity", "LeakyRelu",
    "MatMul", "Mul", "Neg", "Relu", "Reshape", "Sigmoid", "Slice", "Squeeze", "Sub", "Tanh",
    "Transpose", "Unsqueeze",
}  # fmt: skip
"""What makes finite numbers of finite numbers, whatever these are."""


def without_infinite(g, v):
    """Zeros where a number is not finite, as exporters write it; none is."""
    if v.batch or g.opset < 10 or not g.used <= FINITE:
        return None
    infinite = g.node("IsInf", [v], v.shape, 0, 1)
    return g.node("Where", [infinite, constant(g, 0.0), v], v.shape, v.low, v.high)


def end(kind, v, size):
    """Where the shares of `size` exponentials lie, or their logarithms."""
    return (0, 1) if kind == "Softmax" else (v.low - v.high - math.log(size), 0)


def log_softmax(g, v):
    return softmax(g, v, "LogSoftmax")


def arg_best(kind):
    """Makes generators of ArgMax and ArgMin."""

    def generator(g, v):
        if v.batch or not v.shape:
            return None
        along, axis = some_axis(g, v)
        if v.shape[along] == 1:
            return None
        keep = g.pick(None, 0, 1)
        shape = [*v.shape[:along], *([] if keep == 0 else [1]), *v.shape[along + 1 :]]
        last = g.pick(None, 0, 1) if g.opset >= 12 else None
        if g.opset < 11:
            axis = along + 1
        out = g.node(
            kind, [v], shape, 0, v.shape[along] - 1, axis=axis, keepdims=keep,
            select_last_index=last,
        )  # fmt: skip
        # The receiver's numbers are floats.
        return g.node("Cast", [out], shape, out.low, out.high, to=1)

    return generator


def reduced(kind, since, prepare=None, image=None):
    """A reduction, whose axes are an input from some operator set on.

    `prepare` maps a value into its domain; `image` tells where results of so many elements lie, if
    not where these do.
    """

    def generator(g, v):
        if v.batch or not v.shape:
            return None
        v = v if prepare is None else prepare(g, v)
        some = [a for a in range(len(v.shape)) if g.chance(0.6)] or [len(v.shape) - 1]
        which = [a + 1 if g.opset < 11 else g.pick(a + 1, a - len(v.shape)) for a in some]
        keep = g.pick(None, 0, 1)
        kept = [(a, 1 if a in some else n) for a, n in enumerate(v.shape)]
        shape = [n for a, n in kept if keep != 0 or a not in some]
        times = math.prod(v.shape[a] for a in some)
        inputs, given = axes(g, [v], which, since)
        low, high = (v.low, v.high) if image is None else image(v, times)
        return g.node(kind, inputs, shape, low, high, keepdims=keep, **given)

    return generator


def flatten(g, v):
    if v.batch or not v.shape:
        return None
    axis = g.pick(1, None) if g.opset < 11 else g.pick(1, None, -len(v.shape))
    return g.node("Flatten", [v], (v.size,), v.low, v.high, axis=axis)


def reshape(g, v):
    if v.batch or not v.shape:
        return None
    shapes = [(v.size,), (v.size, 1), (1, v.size), *(
        (d, v.size // d) for d in range(2, v.size) if v.size % d == 0
    )]  # fmt: skip
    shape = shapes[g.rng.integers(len(shapes))]
    target = list(shape)
    way = g.pick("zero", "batch", "open", "shape")
    if way == "shape":
        # The batch from Shape, as exporters write it.
        sizes = made(g, "Shape", [v])
        index = g.plain(np.array(0, np.int64))
        one = made(g, "Gather", [sizes, index], axis=0)
        one = made(g, "Unsqueeze", *axes(g, [one], [0]))
        rest = g.plain(np.array([-1, *target[1:]], np.int64))
        target = made(g, "Concat", [one, rest], axis=0)
    else:
        if way == "open":
            head = -1
        elif way == "batch":
            head = g.fixed or -1
        else:
            head = 0
        if head != -1 and g.chance(0.5):
            target[g.rng.integers(len(target))] = -1
        target = g.ints(head, *target)
    return g.node("Reshape", [v, target], shape, v.low, v.high)


def transpose(g, v):
    if v.batch or not v.shape:
        return None
    if g.chance(0.3):
        return moved_batch(g, v)
    order = g.rng.permutation(len(v.shape))
    shape = [v.shape[i] for i in order]
    return g.node("Transpose", [v], shape, v.low, v.high, perm=[0, *(int(i) + 1 for i in order)])


def moved_batch(g, v):
    """The batch as another axis, something of every element, and the batch first again."""
    rank = len(v.shape) + 1
    order = [*range(1, rank)]
    at = g.between(1, rank - 1)
    order.insert(at, 0)
    v = g.node("Transpose", [v], v.shape, v.low, v.high, batch=at, perm=order)
    each = [relu, tanh, sigmoid, negative, identity, cast, leaky_relu]
    v = each[g.rng.integers(len(each))](g, v)
    back = [order.index(i) for i in range(rank)]
    return g.node("Transpose", [v], v.shape, v.low, v.high, perm=back)


def squeeze(g, v):
    if v.batch or 1 not in v.shape or len(v.shape) == 1:
        return None
    along = v.shape.index(1)
    shape = v.shape[:along] + v.shape[along + 1 :]
    which = along + 1 if g.opset < 11 else g.pick(along + 1, along - len(v.shape))
    inputs, given = axes(g, [v], [which])
    return g.node("Squeeze", inputs, shape, v.low, v.high, **given)


def unsqueeze(g, v):
    if v.batch or len(v.shape) > 3:
        return None
    along = g.between(0, len(v.shape))
    shape = (*v.shape[:along], 1, *v.shape[along:])
    which = along + 1 if g.opset < 11 else g.pick(along + 1, along - len(shape))
    inputs, given = axes(g, [v], [which])
    return g.node("Unsqueeze", inputs, shape, v.low, v.high, **given)


def concat(g, v):
    if v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    parts = [v, *(branch(g, v) for _ in range(g.between(1, 2)))]
    low, high = min(p.low for p in parts), max(p.high for p in parts)
    if g.chance(0.4):
        parts[1] = for_every_item(g, g.weights(*v.shape))
        low, high = min(low, -1), max(high, 1)
    if g.chance(0.5):
        parts.reverse()
    shape = list(v.shape)
    shape[along] *= len(parts)
    return g.node("Concat", parts, shape, low, high, axis=along + 1 if g.opset < 11 else axis)


def split(g, v):
    if v.batch or not any(d > 1 for d in v.shape):
        return None
    along = int(np.argmax(v.shape))
    n = v.shape[along]
    sizes = [g.between(1, n - 1)]
    sizes.append(n - sizes[0])
    equal = n % 2 == 0 and g.chance(0.5)
    if equal:
        sizes = [n // 2, n // 2]
    which = g.between(0, 1)
    outs = [f"s{len(g.nodes)}_0", f"s{len(g.nodes)}_1"]
    shape = list(v.shape)
    shape[along] = sizes[which]
    given, inputs = {}, [v]
    if g.opset < 13:
        given = {} if equal else {"split": sizes}
    elif not equal:
        inputs = [v, g.ints(*sizes)]
    elif g.opset >= 18:
        given = {"num_outputs": 2}
    out = g.node("Split", inputs, shape, v.low, v.high, outputs=outs, axis=along + 1, **given)
    return Value(outs[which], out.shape, v.low, v.high)


def some_slice(g, v):
    if v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    n = v.shape[along]
    step = g.pick(None, 1, 2, -1) if g.opset >= 10 else None
    start, stop = g.pick((0, n), (-n, n - 1 or n), (n // 2, 2**40), (0, n))
    if step == -1:
        start, stop = g.pick((n, -(2**62)), (n - 1, -n - 1), (-1, -n - 1))
    shape = list(v.shape)
    shape[along] = len(range(n)[slice(start, None if stop < -n else stop, step)])
    if not shape[along]:
        return None
    axis = along + 1 if g.opset < 10 else axis
    steps = None if step is None else [step]
    out = sliced(g, v, [start], [stop], [axis], steps)
    return Value(out.name, tuple(shape), v.low, v.high)


def gather(g, v):
    if v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    n = v.shape[along]
    low = 0 if g.opset < 11 else -n
    picks = g.pick(
        np.array(g.between(low, n - 1)),
        np.array([g.between(low, n - 1) for _ in range(g.between(1, 4))]),
        np.array([[g.between(low, n - 1)], [g.between(low, n - 1)]]),
    )
    if len(v.shape) + picks.ndim > 4:
        return None
    shape = (*v.shape[:along], *picks.shape, *v.shape[along + 1 :])
    return g.node("Gather", [v, g.plain(picks.astype(np.int64))], shape, v.low, v.high, axis=axis)


def pad(g, v):
    if v.batch or not v.shape:
        return None
    before, after = ([0, *(g.between(0, 2) for _ in v.shape)] for _ in range(2))
    shape = [n + a + b for n, a, b in zip(v.shape, before[1:], after[1:], strict=True)]
    if g.chance(0.2):
        along = int(np.argmax(v.shape))
        if v.shape[along] > 1:
            # A negative one removes.
            shape[along] -= before[along + 1] + 1
            before[along + 1] = -1
    if math.prod(shape) > 200:
        return None
    fill = g.pick(None, 0.0, 1.5)
    low, high = min(v.low, fill or 0), max(v.high, fill or 0)
    if g.opset < 11:
        return g.node("Pad", [v], shape, low, high, pads=before + after, value=fill)
    inputs = [v, g.ints(*before, *after)]
    if fill is not None:
        inputs.append(constant(g, np.float32(fill)))
    elif g.opset >= 18 and g.chance(0.5):
        inputs = [v, g.ints(*before[1:], *after[1:]), None]
        inputs.append(g.ints(*range(1, len(before))))
    return g.node("Pad", inputs, shape, low, high, mode=g.pick(None, "constant"))


def expand(g, v):
    if v.batch or 1 not in v.shape or v.size > 60:
        return None
    shape = [3 if d == 1 else d for d in v.shape]
    target = g.pick([1, *shape], shape)
    return g.node("Expand", [v, g.ints(*target)], shape, v.low, v.high)


def shape_of(g, v):
    """A product of sizes, as exporters write a flattening."""
    if v.batch or len(v.shape) < 2:
        return None
    sizes = made(g, "Shape", [v])
    parts = [
        made(g, "Gather", [sizes, g.plain(np.array([i + 1], np.int64))], axis=0)
        for i in range(len(v.shape))
    ]
    total = parts[0]
    for part in parts[1:]:
        total = made(g, "Mul", [total, part])
    target = made(g, "Concat", [g.ints(-1), total], axis=0)
    return g.node("Reshape", [v, target], (v.size,), v.low, v.high)
