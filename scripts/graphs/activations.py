"""Generators of activations and other functions of every element, one line of a table for each."""

import numpy as np

from .constants import constant
from .elements import positive, scaled


def each(kind, function, since=9, limit=None, above=None, **choices):
    """A function of numbers up to a limit or above a bound, with attributes from some choices."""

    def generator(g, v):
        if g.opset < since:
            return None
        if above is not None:
            if v.batch:
                return None
            v = positive(g, v, above)
        if limit is not None:
            v = scaled(g, v, limit)
        given = {name: g.pick(None, *values) for name, values in choices.items()}
        known = {name: value for name, value in given.items() if value is not None}
        ends = function(np.linspace(v.low, v.high, 999), **known)
        return g.node(kind, [v], v.shape, ends.min(), ends.max(), v.batch, **given)

    return generator


def softplus(x):
    return np.logaddexp(0, x)


def shrunk(x, lambd=0.5, bias=0.5):
    """Shrink as numpy computes it; without a jump where the bias is the bound."""
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0) if bias == lambd else x


def shrink(g, v):
    """Bias and bound are the same, so that a result on either side of it is near the other."""
    both = g.pick(0.25, 0.5, 1.0)
    ends = shrunk(np.array([v.low, v.high]), both, both)
    return g.node("Shrink", [v], v.shape, *ends, v.batch, lambd=both, bias=both)


def thresholded(g, v):
    """Adds a ThresholdedRelu at 0, where there is no jump."""
    if g.opset < 10:
        return None
    low, high = max(v.low, 0), max(v.high, 0)
    return g.node("ThresholdedRelu", [v], v.shape, low, high, v.batch, alpha=0.0)


def p_relu(g, v):
    if v.batch or not v.shape:
        return None
    slope = g.weights(*g.pick(v.shape, (1,), (v.shape[0], *[1] * (len(v.shape) - 1))))
    most = v.most * max(1.0, float(np.abs(slope).max()))
    return g.node("PRelu", [v, constant(g, slope)], v.shape, -most, most)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


ACTIVATIONS = {
    "Abs": each("Abs", np.abs),
    "Acos": each("Acos", np.arccos, limit=0.9),
    "Acosh": each("Acosh", np.arccosh, above=1.3),
    "Asin": each("Asin", np.arcsin, limit=0.9),
    "Asinh": each("Asinh", np.arcsinh),
    "Atan": each("Atan", np.arctan),
    "Atanh": each("Atanh", np.arctanh, limit=0.9),
    "Celu": each(
        "Celu", lambda x, alpha=1.0: elu(x / alpha, 1.0) * alpha, since=12, alpha=(0.5, 2.0)
    ),
    "Cos": each("Cos", np.cos, limit=4.0),
    "Cosh": each("Cosh", np.cosh, limit=2.0),
    "Elu": each("Elu", elu, alpha=(0.5, 2.0)),
    "HardSigmoid": each(
        "HardSigmoid", lambda x, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1),
        alpha=(0.5,), beta=(0.3,),
    ),
    "HardSwish": each("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), since=14),
    "Log": each("Log", np.log, above=0.05),
    "Mish": each("Mish", lambda x: x * np.tanh(softplus(x)), since=18),
    "PRelu": p_relu,
    "Selu": each("Selu", lambda x: 1.0507 * elu(x, 1.6733)),
    "Shrink": shrink,
    "Sin": each("Sin", np.sin, limit=4.0),
    "Sinh": each("Sinh", np.sinh, limit=2.0),
    "Softplus": each("Softplus", softplus),
    "Softsign": each("Softsign", lambda x: x / (1 + np.abs(x))),
    "Swish": each(
        "Swish", lambda x, alpha=1.0: x / (1 + np.exp(-alpha * x)), since=24, alpha=(0.5, 1.702)
    ),
    "Tan": each("Tan", np.tan, limit=1.2),
    "ThresholdedRelu": thresholded,
}  # fmt: skip
"""Generators of activations, by their operations."""
