"""Generators of reductions, norms and normalisations."""

import math

import numpy as np

from .axes import reduced, some_axis
from .constants import constant
from .elements import positive, scaled
from .layers import window


def small(g, v):
    """The value scaled so that a product of some elements is no large number."""
    return scaled(g, v, 1.5)


def away(g, v):
    """The value made positive, so that no sum of squares is too small for its root."""
    return positive(g, v, 0.2)


def norm(p):
    return lambda v, n: (0, n ** (1 / p) * v.most)


SUMS = {
    "ReduceL1": reduced("ReduceL1", 18, image=norm(1)),
    "ReduceL2": reduced("ReduceL2", 18, away, norm(2)),
    "ReduceLogSum": reduced(
        "ReduceLogSum", 18, away, lambda v, n: (math.log(v.low * n), math.log(v.high * n))
    ),
    "ReduceLogSumExp": reduced(
        "ReduceLogSumExp", 18, image=lambda v, n: (v.low, v.high + math.log(n))
    ),
    "ReduceProd": reduced(
        "ReduceProd", 18, small, lambda v, n: (-(max(v.most, 1) ** n), max(v.most, 1) ** n)
    ),
    "ReduceSum": reduced("ReduceSum", 13, image=lambda v, n: (v.low * n, v.high * n)),
    "ReduceSumSquare": reduced(
        "ReduceSumSquare", 18, lambda g, v: scaled(g, v, 4.0), lambda v, n: (0, n * v.most**2)
    ),
}
"""Generators of reductions that compute; the others lie where their elements do."""


def of_channels(kind, since=9, groups=None):
    """Makes generators of InstanceNormalization and GroupNormalization."""

    def generator(g, v):
        if g.opset < since or v.batch or len(v.shape) < 2:
            return None
        channels = v.shape[0]
        many = channels if groups is None else g.pick(*groups(channels))
        given = {} if groups is None else {"num_groups": many}
        scale, bias = (g.weights(channels) for _ in range(2))
        most = math.sqrt(v.size // many) * np.abs(scale).max() + np.abs(bias).max()
        names = [constant(g, scale), constant(g, bias)]
        epsilon = g.pick(1e-3, 1e-2)
        return g.node(kind, [v, *names], v.shape, -most, most, epsilon=epsilon, **given)

    return generator


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def mean_variance(g, v):
    """Adds a MeanVarianceNormalization of elements that differ: its epsilon is of no use."""
    if g.opset < 9 or v.batch or len(v.shape) < 2:
        return None
    v = scaled(g, v, 4.0)
    ramp = np.linspace(-1, 1, v.size, dtype=np.float32).reshape(v.shape) * 4 * v.most
    apart = g.node("Add", [v, constant(g, ramp)], v.shape, -5 * v.most, 5 * v.most)
    some = g.pick([len(v.shape)], list(range(1, len(v.shape) + 1)))
    n = math.prod(v.shape[a - 1] for a in some)
    if n < 3:
        return None
    most = math.sqrt(n)
    return g.node("MeanVarianceNormalization", [apart], v.shape, -most, most, axes=some)


def response(g, v):
    """LRN, which onnxruntime has of images alone."""
    if v.batch or len(v.shape) != 3:
        return None
    v = scaled(g, v, 8.0)
    given = {"alpha": g.pick(None, 0.1), "beta": g.pick(None, 0.5), "bias": g.pick(None, 2.0)}
    return g.node("LRN", [v], v.shape, v.low, v.high, size=g.pick(1, 3, 5), **given)


def unit_length(g, v):
    if v.batch or not v.shape:
        return None
    v = away(g, v)
    _, axis = some_axis(g, v)
    return g.node("LpNormalization", [v], v.shape, 0, 1, axis=axis, p=g.pick(None, 1, 2))


def norm_pool(g, v):
    """LpPool; padding adds zeros."""
    if len(v.shape) not in (2, 3) or v.batch:
        return None
    v = away(g, v)
    channels, *size = v.shape
    kernel = [g.between(1, min(3, n)) for n in size]
    fits = window(g, size, kernel, pads=False, dilate=False)
    if fits is None:
        return None
    given, out, _ = fits
    p = g.pick(None, 1, 2, 3)
    most = v.most * math.prod(kernel) ** (1 / (p or 2))
    return g.node("LpPool", [v], (channels, *out), 0, most, kernel_shape=kernel, p=p, **given)


def whole_norm(g, v):
    """GlobalLpPool, which onnxruntime has up to operator set 21."""
    if g.opset > 21 or len(v.shape) not in (2, 3) or v.batch:
        return None
    v = away(g, v)
    shape = (v.shape[0], *[1] * (len(v.shape) - 1))
    p = g.pick(None, 1, 2, 3)
    most = v.most * (v.size // v.shape[0]) ** (1 / (p or 2))
    return g.node("GlobalLpPool", [v], shape, 0, most, p=p)


NORMS = {
    "GlobalLpPool": whole_norm,
    "GroupNormalization": of_channels("GroupNormalization", 21, divisors),
    "InstanceNormalization": of_channels("InstanceNormalization"),
    "LRN": response,
    "LpNormalization": unit_length,
    "LpPool": norm_pool,
    "MeanVarianceNormalization": mean_variance,
}
"""Generators of norms and normalisations, by their operations."""
