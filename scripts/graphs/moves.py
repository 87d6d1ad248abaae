"""Generators of nodes that move, repeat, resize or add up elements, and of folded constants."""

import math

import numpy as np

from .axes import some_axis
from .constants import constant, made


def tile(g, v):
    if v.batch or not v.shape or v.size > 60:
        return None
    times = [g.between(1, 2) for _ in v.shape]
    shape = [n * t for n, t in zip(v.shape, times, strict=True)]
    return g.node("Tile", [v, g.ints(1, *times)], shape, v.low, v.high)


def triangle(g, v):
    if g.opset < 14 or v.batch or len(v.shape) < 2:
        return None
    inputs = [v, g.plain(np.array(g.between(-2, 2)))] if g.chance(0.6) else [v]
    low, high = min(v.low, 0), max(v.high, 0)
    return g.node("Trilu", inputs, v.shape, low, high, upper=g.pick(None, 0, 1))


def running_sum(g, v):
    if g.opset < 11 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    most = v.most * v.shape[along]
    given = {"exclusive": g.pick(None, 1), "reverse": g.pick(None, 1)}
    return g.node("CumSum", [v, g.plain(np.array(axis))], v.shape, -most, most, **given)


def blocks(kind):
    """DepthToSpace and SpaceToDepth, after a node that makes the channels or the space fit."""

    def generator(g, v):
        if v.batch or len(v.shape) != 3 or v.size > 50:
            return None
        deep = kind == "DepthToSpace"
        times = (4, 1, 1) if deep else (1, 2, 2)
        shape = [n * t for n, t in zip(v.shape, times, strict=True)]
        wide = g.node("Tile", [v, g.ints(1, *times)], shape, v.low, v.high)
        c, h, w = shape
        out = (c // 4, h * 2, w * 2) if deep else (c * 4, h // 2, w // 2)
        mode = g.pick(None, "DCR", "CRD") if deep and g.opset >= 11 else None
        return g.node(kind, [wide], out, v.low, v.high, blocksize=2, mode=mode)

    return generator


def centred(g, v):
    if g.opset < 18 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    shape = list(v.shape)
    shape[along] = g.between(1, v.shape[along] + 3)
    low, high = min(v.low, 0), max(v.high, 0)
    return g.node("CenterCropPad", [v, g.ints(shape[along])], shape, low, high, axes=[axis])


def compress(g, v):
    if g.opset < 11 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    chosen = g.rng.random(v.shape[along]) < 0.6
    chosen[g.rng.integers(len(chosen))] = True
    shape = list(v.shape)
    shape[along] = int(chosen.sum())
    return g.node("Compress", [v, g.plain(chosen)], shape, v.low, v.high, axis=axis)


def resize(g, v):
    """Adds a Resize by scales of which onnxruntime and the standard make the same."""
    if g.opset < 11 or v.batch or len(v.shape) != 3 or v.size > 50:
        return None
    mode = g.pick("nearest", "linear", "cubic")
    scales = [1.0, g.pick(0.5, 1.0, 2.0, 3.0), g.pick(0.5, 1.0, 2.0)]
    shape = [math.floor(n * s) for n, s in zip(v.shape, scales, strict=True)]
    if 0 in shape or (mode == "cubic" and 1.0 in scales[1:]):
        return None
    names = [g.plain(np.zeros(0, np.float32)), g.plain(np.array([1.0, *scales], np.float32))]
    place = g.pick(None, "half_pixel", "asymmetric", "align_corners")
    if place == "align_corners" and (mode != "linear" or 1 in shape or 1 in v.shape[1:]):
        place = None
    reach = 1.5 * v.most if mode == "cubic" else v.most
    return g.node("Resize", [v, *names], shape, -reach, reach, mode=mode,
                  coordinate_transformation_mode=place)  # fmt: skip


def upsample(g, v):
    """Adds an Upsample, which the standard had up to operator set 9."""
    if g.opset > 9 or v.batch or len(v.shape) != 3 or v.size > 50:
        return None
    c, h, w = v.shape
    scales = g.plain(np.array([1, 1, 2, 3], np.float32))
    mode = g.pick(None, "nearest", "linear")
    return g.node("Upsample", [v, scales], (c, h * 2, w * 3), v.low, v.high, mode=mode)


def conv_transpose(g, v):
    if len(v.shape) not in (2, 3) or v.batch or v.size > 60:
        return None
    channels, *size = v.shape
    groups = g.pick(*(d for d in range(1, channels + 1) if channels % d == 0))
    each = g.between(1, 2)
    kernel = [g.between(1, 3) for _ in size]
    strides, dilations = ([g.between(1, 2) for _ in size] for _ in range(2))
    added = [g.between(0, s - 1) for s in strides]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = [g.between(0, min(1, s - 1)) for s in spans + spans]
    out = [
        s * (n - 1) + a + k - pads[d] - pads[d + len(size)]
        for d, (n, s, a, k) in enumerate(zip(size, strides, added, spans, strict=True))
    ]
    if min(out) < 1:
        return None
    w = g.weights(channels, each, *kernel, scale=0.5)
    bias = g.weights(each * groups) if g.chance(0.5) else None
    most = np.abs(w).sum() * v.most + (0 if bias is None else np.abs(bias).max())
    names = [constant(g, w), None if bias is None else constant(g, bias)]
    return g.node("ConvTranspose", [v, *names], (each * groups, *out), -most, most, group=groups,
                  strides=strides, dilations=dilations, pads=pads,
                  output_padding=added if any(added) else None)  # fmt: skip


def one_item(kind):
    """Nodes whose indices count the batch axis, where the file's batch is one item."""

    def generator(g, v):
        if g.fixed != 1 or g.opset < 11 or v.batch or not v.shape:
            return None
        full = np.arange(v.size).reshape(1, *v.shape)
        return INDEXED[kind](g, v, full)

    return generator


def gather_elements(g, v, full):
    along, axis = some_axis(g, v)
    index = g.rng.integers(0, v.shape[along], full.shape)
    return g.node("GatherElements", [v, g.plain(index)], v.shape, v.low, v.high, axis=axis)


def gather_nd(g, v, full):
    n = v.shape[0]
    rows = np.array([[[0, g.between(0, n - 1)] for _ in range(3)]])
    return g.node("GatherND", [v, g.plain(rows)], (3, *v.shape[1:]), v.low, v.high)


def scatter_elements(g, v, full):
    along, axis = some_axis(g, v)
    shape = [1 if a == along + 1 else n for a, n in enumerate(full.shape)]
    index = g.rng.integers(0, v.shape[along], shape)
    if g.opset >= 18 and g.chance(0.3):
        updates = g.node("ReduceMax", [v, g.ints(along + 1)], tuple(shape[1:]), v.low, v.high)
        reduction, most = g.pick(None, "add"), 2 * v.most
    else:
        updates = g.plain(g.weights(*shape))
        reduction = g.pick(None, "add", "mul", "max", "min") if g.opset >= 18 else None
        most = v.most + 1
    return g.node("ScatterElements", [v, g.plain(index), updates], v.shape, -most, most,
                  axis=axis, reduction=reduction)  # fmt: skip


def scatter_nd(g, v, full):
    rows = np.array([[[0, g.between(0, v.shape[0] - 1)]]])
    updates = g.weights(1, 1, *v.shape[1:])
    most = max(v.most, 1)
    return g.node("ScatterND", [v, g.plain(rows), g.plain(updates)], v.shape, -most, most)


def reverse(g, v, full):
    if len(v.shape) < 1:
        return None
    length = g.between(1, v.shape[0])
    return g.node("ReverseSequence", [v, g.ints(length)], v.shape, v.low, v.high,
                  batch_axis=0, time_axis=1)  # fmt: skip


def loss(kind):
    """A loss of all classes along the first axis of an item, as a number for each item."""

    def generator(g, v, full):
        if g.opset < 13 or v.shape[0] < 2:
            return None
        classes, space = v.shape[0], v.shape[1:]
        targets = g.rng.integers(0, classes, (1, *space))
        names = [g.plain(targets)]
        if g.chance(0.5):
            names.append(g.plain(np.abs(g.weights(classes)) + 0.1))
        given = {"reduction": g.pick(None, "mean", "sum"), "ignore_index": g.pick(None, -1)}
        most = 1.1 * (v.high - v.low + v.most + math.log(classes)) * math.prod(space)
        out = g.node(kind, [v, *names], (), -most, most, **given)
        return g.node("Reshape", [out, g.ints(1, 1)], (1,), -most, most)

    return generator


INDEXED = {
    "NegativeLogLikelihoodLoss": loss("NegativeLogLikelihoodLoss"),
    "SoftmaxCrossEntropyLoss": loss("SoftmaxCrossEntropyLoss"),
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ReverseSequence": reverse,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
}


def folded(kind, since=9):
    """A constant that a node makes of others, added to the value."""

    def generator(g, v):
        if g.opset < since or v.batch or not v.shape:
            return None
        name, most = FOLDED[kind](g, v)
        return g.node("Add", [v, name], v.shape, v.low - most, v.high + most)

    return generator


def rounded(kind):
    return lambda g, v: (made(g, kind, [g.plain(g.weights(v.shape[-1], scale=3))]), 4)


def number(g, name):
    """Integers as floats of at most 1."""
    return made(g, "Div", [made(g, "Cast", [name], to=1), g.plain(np.float32(64))])


def counted(g, v):
    ends = [g.plain(np.array(n, np.int64)) for n in (0, v.shape[-1], 1)]
    return number(g, made(g, "Range", ends)), v.shape[-1] / 64


def one_hot(g, v):
    inputs = [g.ints(g.between(0, v.shape[-1] - 1)), g.ints(v.shape[-1])]
    return made(g, "OneHot", [*inputs, g.plain(np.array([0.0, 1.0], np.float32))]), 1


def modulo(g, v):
    numbers = g.ints(*(g.between(-9, 9) for _ in range(v.shape[-1])))
    return number(g, made(g, "Mod", [numbers, g.ints(5)])), 1


def places(g, v):
    found = made(g, "NonZero", [g.ints(*[3] * v.shape[-1])])
    return number(g, made(g, "Reshape", [found, g.ints(-1)])), v.shape[-1] / 64


def eye(g, v):
    n = v.shape[-1]
    matrix = made(g, "EyeLike", [g.plain(np.zeros((n, n), np.float32))], k=g.pick(None, 1, -1))
    row = g.plain(np.array(g.between(0, n - 1)))
    return made(g, "Gather", [matrix, row], axis=0), 1


def size(g, v):
    return number(g, made(g, "Size", [g.plain(np.zeros(v.shape))])), v.size / 64


FOLDED = {
    "Ceil": rounded("Ceil"),
    "EyeLike": eye,
    "Floor": rounded("Floor"),
    "Mod": modulo,
    "NonZero": places,
    "OneHot": one_hot,
    "Range": counted,
    "Round": rounded("Round"),
    "Size": size,
}


def affine_grid(g, v):
    """Adds an AffineGrid of a map that is made of some of the elements."""
    if g.fixed != 1 or g.opset < 20 or v.batch or not 6 <= v.size <= 60:
        return None
    flat = g.node("Reshape", [v, g.ints(-1, v.size)], (v.size,), v.low, v.high)
    some = g.node("Gather", [flat, g.ints(*range(6))], (6,), v.low, v.high, axis=1)
    maps = g.node("Reshape", [some, g.ints(-1, 2, 3)], (2, 3), v.low, v.high)
    size = g.ints(1, 1, 2, 3)
    return g.node("AffineGrid", [maps, size], (2, 3, 2), -3 * v.most, 3 * v.most,
                  align_corners=g.pick(None, 0, 1))  # fmt: skip


def cast_like(g, v):
    if g.opset < 15:
        return None
    like = g.plain(np.zeros(1, g.pick(np.float32, np.float64)))
    wide = g.node("CastLike", [v, like], v.shape, v.low, v.high, v.batch)
    return g.node("Cast", [wide], v.shape, v.low, v.high, v.batch, to=1)


MOVES = {
    "AffineGrid": affine_grid,
    "CastLike": cast_like,
    "CenterCropPad": centred,
    "Compress": compress,
    "ConvTranspose": conv_transpose,
    "CumSum": running_sum,
    "DepthToSpace": blocks("DepthToSpace"),
    "Resize": resize,
    "SpaceToDepth": blocks("SpaceToDepth"),
    "Tile": tile,
    "Trilu": triangle,
    "Upsample": upsample,
    **{kind: one_item(kind) for kind in INDEXED},
    **{kind: folded(kind, 11 if kind in ("Range", "Round") else 10) for kind in FOLDED},
}
"""Generators of moves, and of operations that only constants have, by their operations."""
