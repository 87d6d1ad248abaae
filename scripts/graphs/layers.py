"""Generators of layers: products with weights, windows, normalisations, recurrent networks."""

import math

import numpy as np

from .axes import some_axis
from .constants import constant
from .elements import scaled


def gemm(g, v):
    if len(v.shape) != 1 or v.batch:
        return None
    k, n = v.shape[0], g.between(1, 6)
    w = g.weights(k, n, scale=2 / math.sqrt(k))
    alpha, beta = (float(g.pick(1.0, 1.0, 0.5, -2.0)) for _ in range(2))
    turned = g.chance(0.5)
    bias = g.weights(*g.pick((n,), (1, n), (1,), ())) if g.chance(0.7) or g.opset < 11 else None
    most = abs(alpha) * np.abs(w).sum(0).max() * v.most
    most += abs(beta) * (0 if bias is None else np.abs(bias).max())
    names = [constant(g, w.T if turned else w), None if bias is None else constant(g, bias)]
    attributes = {"transB": 1 if turned else g.pick(0, None)}
    attributes["alpha"] = None if alpha == 1 and g.chance(0.5) else alpha
    attributes["beta"] = None if beta == 1 and g.chance(0.5) else beta
    return g.node("Gemm", [v, *names], (n,), -most, most, **attributes)


def window(g, size, kernel, pads=True, dilate=True):
    """Attributes of a window over `size`, and the shape of its output."""
    rank = len(size)
    dilations = [g.pick(1, 1, 2) if dilate else 1 for _ in size]
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    strides = [g.between(1, 3) for _ in size]
    auto = g.pick("NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    given = {
        "strides": strides if set(strides) != {1} or g.chance(0.5) else None,
        "dilations": dilations if set(dilations) != {1} or (dilate and g.chance(0.2)) else None,
    }
    if auto != "NOTSET":
        # onnxruntime refuses what pads less than nothing.
        wide = any(t > k for t, k in zip(strides, kernel, strict=True))
        if auto != "VALID" and (set(dilations) != {1} or wide):
            return None
        given["auto_pad"] = auto
        if auto == "VALID" and any(s > n for s, n in zip(span, size, strict=True)):
            return None
        out = [
            (n - s) // t + 1 if auto == "VALID" else -(-n // t)
            for n, s, t in zip(size, span, strides, strict=True)
        ]
        return given, out, [0] * 2 * rank
    room = [k - 1 if pads else 0 for k in kernel]
    before, after = ([g.between(0, r) for r in room] for _ in range(2))
    full = [n + a + b for n, a, b in zip(size, before, after, strict=True)]
    if any(s > n for s, n in zip(span, full, strict=True)):
        return None
    if any(before + after) or g.chance(0.3):
        given["pads"] = before + after
    out = [(n - s) // t + 1 for n, s, t in zip(full, span, strides, strict=True)]
    return given, out, before + after


def conv(g, v):
    if len(v.shape) not in (2, 3) or v.batch:
        return None
    channels, *size = v.shape
    groups = g.pick(*(d for d in range(1, channels + 1) if channels % d == 0))
    filters = groups * g.between(1, 2)
    kernel = [g.between(1, min(3, n + 1)) for n in size]
    fits = window(g, size, kernel)
    if fits is None:
        return None
    given, out, _ = fits
    taps = channels // groups * math.prod(kernel)
    w = g.weights(filters, channels // groups, *kernel, scale=2 / math.sqrt(taps))
    bias = g.weights(filters) if g.chance(0.5) else None
    most = np.abs(w).reshape(filters, -1).sum(1).max() * v.most
    most += 0 if bias is None else np.abs(bias).max()
    given["group"] = None if groups == 1 and g.chance(0.5) else groups
    given["kernel_shape"] = kernel if g.chance(0.5) else None
    names = [constant(g, w), None if bias is None else constant(g, bias)]
    return g.node("Conv", [v, *names], (filters, *out), -most, most, **given)


def batch_norm(g, v):
    if not v.shape or v.batch:
        return None
    n = v.shape[0]
    scale, bias, mean = (g.weights(n) for _ in range(3))
    variance = (np.abs(g.weights(n)) + 0.3).astype(np.float32)
    epsilon = g.pick(None, 1e-3)
    slope = np.abs(scale / np.sqrt(variance + (epsilon or 1e-5)))
    most = (slope * (v.most + np.abs(mean)) + np.abs(bias)).max()
    names = [constant(g, c) for c in (scale, bias, mean, variance)]
    return g.node("BatchNormalization", [v, *names], v.shape, -most, most, epsilon=epsilon)


def layer_norm(g, v):
    if g.opset < 17 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    shape = v.shape[along:]
    scale, bias = (g.weights(*g.pick(shape, shape, [1], shape[-1:])) for _ in range(2))
    most = math.sqrt(math.prod(shape)) * np.abs(scale).max() + np.abs(bias).max()
    names = [constant(g, scale), constant(g, bias) if g.chance(0.7) else None]
    if along == len(v.shape) - 1 and g.chance(0.5):
        axis = None
    epsilon = g.pick(None, 1e-3, 1e-5)
    return g.node("LayerNormalization", [v, *names], v.shape, -most, most, axis=axis,
                  epsilon=epsilon)  # fmt: skip


def rms_norm(g, v):
    if g.opset < 23 or v.batch or not v.shape:
        return None
    along, axis = some_axis(g, v)
    shape = v.shape[along:]
    scale = g.weights(*g.pick(shape, [1], shape[-1:]))
    most = math.sqrt(math.prod(shape)) * np.abs(scale).max()
    epsilon = g.pick(1e-3, 1e-5)
    return g.node("RMSNormalization", [v, constant(g, scale)], v.shape, -most, most, axis=axis,
                  epsilon=epsilon)  # fmt: skip


def pooled(kind):
    """Makes generators of MaxPool and AveragePool."""

    def generator(g, v):
        if len(v.shape) not in (2, 3) or v.batch:
            return None
        channels, *size = v.shape
        kernel = [g.between(1, min(3, n)) for n in size]
        dilate = g.opset >= (10 if kind == "MaxPool" else 19)
        fits = window(g, size, kernel, dilate=dilate)
        if fits is None:
            return None
        given, out, pads = fits
        if g.opset >= 10 and "auto_pad" not in given and g.chance(0.3):
            given["ceil_mode"] = 1
            out = ceiled(size, kernel, given, pads)
            if out is None:
                return None
        if kind == "AveragePool":
            given["count_include_pad"] = g.pick(None, 0, 1)
        return g.node(kind, [v], (channels, *out), min(v.low, 0), max(v.high, 0),
                      kernel_shape=kernel, **given)  # fmt: skip

    return generator


def ceiled(size, kernel, given, pads):
    """Sizes that are rounded up; None where a window would start in the padding after the end.

    Such a window is left out, but shape inference counts it in some operator sets.
    """
    out = []
    strides = given["strides"] or [1] * len(size)
    dilations = given["dilations"] or [1] * len(size)
    for d, n in enumerate(size):
        room = n + pads[d] + pads[d + len(size)] - (kernel[d] - 1) * dilations[d] - 1
        out.append(-(-room // strides[d]) + 1)
        if (out[-1] - 1) * strides[d] >= n + pads[d]:
            return None
    return out


def whole_pool(kind):
    """Makes generators of GlobalMaxPool and GlobalAveragePool."""

    def generator(g, v):
        if len(v.shape) not in (2, 3) or v.batch:
            return None
        shape = (v.shape[0], *[1] * (len(v.shape) - 1))
        return g.node(kind, [v], shape, v.low, v.high)

    return generator


def recurrent(kind):
    """GRU, LSTM and RNN over the rows of an item."""
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind]

    def generator(g, v):
        if v.batch or len(v.shape) != 2 or v.shape[0] > 6:
            return None
        steps, width = v.shape
        v = scaled(g, v, 8.0)
        hidden = g.between(1, 3)
        direction = g.pick(None, "forward", "reverse", "bidirectional")
        both = 2 if direction == "bidirectional" else 1
        w = constant(g, g.weights(both, gates * hidden, width))
        r = constant(g, g.weights(both, gates * hidden, hidden))
        b = constant(g, g.weights(both, 2 * gates * hidden)) if g.chance(0.5) else None
        given = {"hidden_size": hidden, "direction": direction}
        if kind == "GRU":
            given["linear_before_reset"] = g.pick(None, 0, 1)
        most = 1
        if kind == "RNN" and g.chance(0.3):
            given["activations"] = ["Relu"] * both
            most = v.most * 4.0**steps
        elif g.chance(0.3):
            names = {"GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
            given["activations"] = names.get(kind, ["Tanh"]) * both
        out = f"r{len(g.nodes)}"
        which = g.between(0, 2 if kind == "LSTM" else 1)
        most = steps if which == 2 else most
        outputs = [""] * which + [out]
        # The batch stands beside the directions, or first with layout 1, which onnxruntime lacks.
        turned = g.node("Transpose", [v], v.shape, v.low, v.high, batch=1, perm=[1, 0, 2])
        y = g.node(kind, [turned, w, r, b], (), -most, most, outputs=outputs, **given)
        if which == 0:
            # steps, directions, batch, hidden
            return g.node("Transpose", [y], (steps, both, hidden), -most, most, perm=[2, 0, 1, 3])
        return g.node("Transpose", [y], (both, hidden), -most, most, perm=[1, 0, 2])

    return generator
