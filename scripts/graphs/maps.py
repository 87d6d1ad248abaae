"""Generators of linear maps with constant numbers, and of products of elements of one value."""

import math

import numpy as np

from .axes import some_axis
from .elements import scaled


def grid_sample(g, v):
    """Adds a GridSample at points of which some lie outside; two axes of space."""
    if g.opset < 16 or g.fixed != 1 or v.batch or len(v.shape) != 3:
        return None
    out = (g.between(1, 3), g.between(1, 3))
    points = g.plain(g.weights(1, *out, 2, scale=1.5))
    mode = g.pick(*((None, "nearest", "cubic") if g.opset >= 20 else ("bilinear", "bicubic")))
    outside = g.pick(None, "zeros", "border", "reflection")
    shape, most = (v.shape[0], *out), 2.5 * v.most
    return g.node("GridSample", [v, points], shape, -most, most, mode=mode, padding_mode=outside,
                  align_corners=g.pick(None, 0, 1))  # fmt: skip


def with_parts(g, v, parts):
    """The value, its last axis of so many numbers: some of it, under another shape."""
    size = v.size // parts * parts
    if v.batch or not size:
        return None
    flat = g.node("Reshape", [v, g.ints(-1, v.size)], (v.size,), v.low, v.high)
    some = g.node("Gather", [flat, g.ints(*range(size))], (size,), v.low, v.high, axis=1)
    shape = (size // parts, parts)
    return g.node("Reshape", [some, g.ints(-1, *shape)], shape, v.low, v.high)


def fourier(g, v):
    if g.opset < 17 or v.size > 40:
        return None
    parts = g.pick(1, 2)
    x = with_parts(g, v, parts)
    if x is None:
        return None
    x = scaled(g, x, 8)
    n = x.shape[0]
    given = {"onesided": 1} if parts == 1 and g.chance(0.5) else {"inverse": g.pick(None, 1)}
    length = g.pick(None, n, n + 2, max(n - 1, 1))
    size = length or n
    inputs = [x, None if length is None else g.plain(np.array(length))]
    if g.opset < 20:
        given["axis"] = 1
    elif g.chance(0.5):
        inputs = [*inputs, g.plain(np.array(1))]
    out = size // 2 + 1 if "onesided" in given else size
    most = 2 * n * x.most
    return g.node("DFT", inputs, (out, 2), -most, most, **given)


def frames(g, v):
    if g.opset < 17 or v.size < 4 or v.size > 40:
        return None
    x = with_parts(g, v, 1)
    if x is None:
        return None
    n, size, step = x.shape[0], g.between(2, min(4, v.size)), g.between(1, 3)
    window = g.plain(g.weights(size))
    inputs = [x, g.plain(np.array(step)), window]
    shape, most = (1 + (n - size) // step, size // 2 + 1, 2), size * x.most
    return g.node("STFT", inputs, shape, -most, most, onesided=1)


def columns(g, v):
    """Blocks of two by two, of as many channels as the value has of four."""
    if g.opset < 18 or v.batch or v.size < 4:
        return None
    image = (g.between(2, 4), g.between(2, 4))
    blocks = (image[0] - 1) * (image[1] - 1)
    channels = v.size // (4 * blocks)
    if not channels:
        return None
    size = 4 * blocks * channels
    flat = g.node("Reshape", [v, g.ints(-1, v.size)], (v.size,), v.low, v.high)
    some = g.node("Gather", [flat, g.ints(*range(size))], (size,), v.low, v.high, axis=1)
    shape = (4 * channels, blocks)
    x = g.node("Reshape", [some, g.ints(-1, *shape)], shape, v.low, v.high)
    return g.node("Col2Im", [x, g.ints(*image), g.ints(2, 2)], (channels, *image),
                  -4 * v.most, 4 * v.most)  # fmt: skip


def determinant(g, v):
    n = g.pick(2, 3)
    x = None if v.batch or v.size < n * n else scaled(g, v, 2)
    if x is None or g.opset < 11:
        return None
    flat = g.node("Reshape", [x, g.ints(-1, x.size)], (x.size,), x.low, x.high)
    places = g.ints(*range(n * n))
    some = g.node("Gather", [flat, places], (n * n,), x.low, x.high, axis=1)
    matrix = g.node("Reshape", [some, g.ints(-1, 1, n, n)], (1, n, n), x.low, x.high)
    most = math.factorial(n) * x.most**n
    return g.node("Det", [matrix], (1,), -most, most)


def rotary(g, v):
    """Adds a RotaryEmbedding of rows of heads or heads of rows, with own places or none."""
    if g.opset < 23 or v.batch or not v.shape or v.shape[-1] % 2 or len(v.shape) not in {2, 3}:
        return None
    *heads, rows, width = v.shape
    angles = g.rng.uniform(-3, 3, (rows + 2, width // 2)).astype(np.float32)
    given = {"interleaved": g.pick(None, 1)} | ({} if heads else {"num_heads": 1})
    if g.fixed != 1 or g.chance(0.5):
        if g.fixed is None:
            return None
        places = g.rng.integers(0, rows + 2, rows)
        inputs = [*map(g.plain, (np.cos(angles), np.sin(angles)))]
        inputs = [*inputs, g.plain(np.repeat(places[None], g.fixed, 0))]
    else:
        inputs = [*map(g.plain, (np.cos(angles[None, 2:]), np.sin(angles[None, 2:])))]
    most = 2**0.5 * v.most
    return g.node("RotaryEmbedding", [v, *inputs], v.shape, -most, most, **given)


def unpool(g, v):
    """Adds a MaxUnpool of windows of two, each element at one of its own window's places."""
    if g.opset < 11 or g.fixed != 1 or v.batch or len(v.shape) != 3 or v.size > 40:
        return None
    c, h, w = v.shape
    channel, row, column = np.indices(v.shape)
    rows = 2 * row + g.rng.integers(0, 2, v.shape)
    columns = 2 * column + g.rng.integers(0, 2, v.shape)
    places = (channel * 2 * h + rows) * 2 * w + columns
    shape, low, high = (c, 2 * h, 2 * w), min(v.low, 0), max(v.high, 0)
    return g.node("MaxUnpool", [v, g.plain(places[None])], shape, low, high, kernel_shape=[2, 2],
                  strides=[2, 2])  # fmt: skip


def cache(g, v):
    """Rows of constants in place of a value's, from a row on."""
    if g.opset < 24 or g.fixed != 1 or v.batch or len(v.shape) < 2:
        return None
    along, axis = some_axis(g, v)
    shape = list(v.shape)
    shape[along] = g.between(1, v.shape[along])
    circular = g.chance(0.5)
    start = g.between(0, v.shape[along] - (1 if circular else shape[along]))
    update = g.plain(g.weights(1, *shape))
    most = max(v.most, 1)
    return g.node("TensorScatter", [v, update, g.ints(start)], v.shape, -most, most, axis=axis,
                  mode="circular" if circular else None)  # fmt: skip


def scatter(g, v):
    if g.opset > 10 or g.fixed != 1 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    shape = [1 if a == along + 1 else n for a, n in enumerate((1, *v.shape))]
    index = g.rng.integers(0, v.shape[along], shape)
    most = max(v.most, 1)
    return g.node("Scatter", [v, g.plain(index), g.plain(g.weights(*shape))], v.shape, -most, most,
                  axis=axis)  # fmt: skip


MAPS = {
    "Col2Im": columns,
    "DFT": fourier,
    "Det": determinant,
    "GridSample": grid_sample,
    "MaxUnpool": unpool,
    "RotaryEmbedding": rotary,
    "STFT": frames,
    "Scatter": scatter,
    "TensorScatter": cache,
}
"""Generators of maps, by their operations."""
