"""One generator for every supported operation: it adds a node that fits the value it is given.

A generator returns the new value, or None where the operation does not fit the value. Arguments
outside a function's domain are mapped into it by a node before, so that every input inside the
declared range has a finite answer.
"""

import math

import numpy as np
from onnx import numpy_helper

from .build import LARGEST, Value

INFINITE = (1e10, 3.4028234663852886e38, math.inf)
"""How files write that there is no bound."""


def constant(g, array):
    """The name of these numbers, made in one of the ways that files have."""
    array = np.asarray(array, np.float32)
    way = g.pick("plain", "plain", "plain", *CONSTANTS)
    return g.plain(array) if way == "plain" else CONSTANTS[way](g, array)


def made(g, kind, inputs, more=None, **attributes):
    """The name of a node of constants."""
    return g.node(kind, inputs, (), 0, 0, **(more or {}), **attributes).name


def axes(g, inputs, which, since=13):
    """Inputs and attributes of a node whose axes are an attribute before an operator set."""
    if g.opset < since:
        return inputs, {"axes": which}
    return [*inputs, g.ints(*which)], {}


def _given(g, array):
    attribute = {"value": onnx_tensor(array)}
    if array.ndim == 1 and g.opset >= 12:
        attribute = g.pick(attribute, {"value_floats": array.tolist()})
    return made(g, "Constant", [], **attribute)


def onnx_tensor(array):
    return numpy_helper.from_array(np.ascontiguousarray(array))


def _of_shape(g, array):
    zeros = made(
        g, "ConstantOfShape", [g.plain(np.asarray(array.shape, np.int64))],
        value=g.pick(None, onnx_tensor(np.zeros(1, np.float32))),
    )  # fmt: skip
    return made(g, "Add", [zeros, g.plain(array)])


def _cast(g, array):
    """From a double that no float is, from float16, or from integers beside a fraction."""
    way = g.pick("double", "half", "int")
    if way == "double":
        wide = g.plain(array.astype(np.float64) * (1 + 1e-12))
        return made(g, "Cast", [wide], to=1)
    whole = np.round(array)
    if way == "half":
        rest = array - array.astype(np.float16)
        return made(g, "Add", [made(g, "Cast", [g.plain(array.astype(np.float16))], to=1),
                               g.plain(rest)])  # fmt: skip
    # Truncated toward zero, so a fraction of the right sign does not matter.
    noisy = g.plain(whole + 0.3 * np.sign(whole))
    cut = made(g, "Cast", [noisy], to=g.pick(6, 7))
    if np.abs(whole).max(initial=0) < 100 and g.chance(0.5):
        # A multiple of 256 more is the same in int8.
        far = made(g, "Add", [cut, g.plain(np.array(512, g_type(g, cut)))])
        cut = made(g, "Cast", [far], to=3)
    return made(g, "Add", [made(g, "Cast", [cut], to=1), g.plain(array - whole)])


def g_type(g, name):
    """The type of the integers that the Cast of this output makes."""
    node = next(node for node in g.nodes if name in node.output)
    return np.int32 if node.attribute[0].i == 6 else np.int64


def _moved(g, array):
    way = g.pick("Reshape", "Transpose", "Unsqueeze", "Gather", "Slice", "Concat", "Identity")
    if way == "Reshape":
        return made(g, way, [g.plain(array.reshape(-1)), g.ints(*array.shape)])
    if way == "Transpose":
        return made(g, way, [g.plain(np.ascontiguousarray(array.T))])
    if way == "Identity" or array.ndim == 0:
        return made(g, "Identity", [g.plain(array)])
    if way == "Unsqueeze":
        more = made(g, way, *axes(g, [g.plain(array)], [0]))
        return made(g, "Squeeze", *axes(g, [more], [0]))
    if way == "Gather":
        order = g.rng.permutation(len(array))
        mixed = np.empty_like(array)
        mixed[order] = array
        return made(g, way, [g.plain(mixed), g.plain(order)], axis=0)
    if way == "Slice":
        more = np.concatenate([array, array[:1]])
        return sliced(g, g.plain(more), [0], [-1], [0], None).name
    half = len(array) // 2
    if half == 0:
        return g.plain(array)
    return made(g, "Concat", [g.plain(array[:half]), g.plain(array[half:])], axis=0)


def _computed(g, array):
    way = g.pick("Neg", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Expand")
    if way == "Neg":
        return made(g, way, [g.plain(-array)])
    if way == "Sqrt":
        root = np.sqrt(np.abs(array)).astype(np.float32)
        size = made(g, way, [g.plain(np.square(array))])
        return made(g, "Mul", [size, g.plain(np.sign(array))]) if root.size else size
    if way == "Reciprocal":
        safe = np.where(np.abs(array) < 1e-3, 1e-3, array).astype(np.float32)
        return made(g, way, [g.plain(1 / safe)])
    if way == "Expand":
        zero = made(g, way, [g.plain(np.zeros(1, np.float32)), g.ints(*array.shape)])
        return made(g, "Add", [zero, g.plain(array)])
    other = g.rng.uniform(0.5, 2, array.shape).astype(np.float32)
    first = {"Sub": array + other, "Mul": array / other, "Div": array * other}[way]
    return made(g, way, [g.plain(first), g.plain(other)])


CONSTANTS = {
    "Constant": _given,
    "ConstantOfShape": _of_shape,
    "Cast": _cast,
    "moved": _moved,
    "computed": _computed,
}


# What maps a value into a domain.


def scaled(g, v, most):
    """`v`, or a product of it that stays below `most`."""
    if v.most <= most:
        return v
    factor = np.float32(most / v.most)
    return g.node("Mul", [v, constant(g, factor)], v.shape, v.low * factor, v.high * factor, v.batch)


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
    return g.node(
        "Add", [v, constant(g, shift)], v.shape, v.low + shift, v.high + shift, v.batch
    )


def bounded(g, v, low, high):
    """`v` between two bounds, either of which may be None."""
    ends = (v.low if low is None else low, v.high if high is None else high)
    new = [min(max(end, ends[0]), max(ends)) for end in (v.low, v.high)]
    if g.opset < 11:
        bounds = {"min": low, "max": high}
        return g.node("Clip", [v], v.shape, *new, v.batch, **bounds)
    given = [None if b is None else g.plain(np.float32(b)) for b in (low, high)]
    return g.node("Clip", [v, *given], v.shape, *new, v.batch)


# Linear layers.


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


def matmul(g, v):
    if not v.shape or v.batch:
        return None
    k, n = v.shape[-1], g.between(1, 6)
    w = g.weights(k, n, scale=2 / math.sqrt(k))
    most = np.abs(w).sum(0).max() * v.most
    return g.node("MatMul", [v, constant(g, w)], (*v.shape[:-1], n), -most, most)


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


# Element by element.


def operand(g, v):
    """The shape of a constant that can meet `v`, and the item shape of the result."""
    shape = list(v.shape)
    way = g.pick("same", "one", "row", "column", "batched", "scalar", "higher", "wider")
    if way == "one" or not shape:
        return (1,), v.shape
    if way == "scalar":
        return (), v.shape
    if way == "row":
        return (shape[-1],), v.shape
    if way == "column":
        return (shape[0], *[1] * (len(shape) - 1)), v.shape
    if way == "batched":
        return (1, *shape), v.shape
    if way == "higher" and len(shape) == 1:
        return (1, 1), v.shape
    if way == "wider" and 1 in shape and v.size < 50:
        wide = [3 if d == 1 else d for d in shape]
        return tuple(wide), tuple(wide)
    return v.shape, v.shape


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
    """Another value of the same shape, computed from `v`."""
    makers = [relu, sigmoid, tanh, clip, arithmetic("Mul"), batch_norm]
    other = makers[g.rng.integers(len(makers) - 1)](g, v)
    return v if other is None or other.shape != v.shape else other


def relu(g, v):
    return g.node("Relu", [v], v.shape, max(v.low, 0), max(v.high, 0), v.batch)


def clip(g, v):
    if v.batch:
        return None
    low = g.pick(0.0, None, -1.0, -0.5 * v.most, *(-b for b in INFINITE))
    high = g.pick(6.0, None, 1.0, 0.5 * v.most, *INFINITE)
    return bounded(g, v, low, high)


def sigmoid(g, v):
    return g.node("Sigmoid", [v], v.shape, *(1 / (1 + np.exp(-e)) for e in (v.low, v.high)), v.batch)


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
    exponent = g.pick(0.5, 1.0, 2.0, 3.0)
    v = positive(g, v) if exponent == 0.5 else scaled(g, v, 6.0)
    ends = [abs(e) ** exponent for e in (v.low, v.high)]
    low = -max(ends) if exponent in (1.0, 3.0) else 0
    shape = g.pick((), (1,))
    return g.node("Pow", [v, g.plain(np.full(shape, exponent, np.float32))], v.shape, low, max(ends))


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


# Over an axis.


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


def end(kind, v, size):
    """Where the shares of `size` exponentials lie, or their logarithms."""
    return (0, 1) if kind == "Softmax" else (v.low - v.high - math.log(size), 0)


def log_softmax(g, v):
    return softmax(g, v, "LogSoftmax")


def arg_max(g, v):
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
        "ArgMax", [v], shape, 0, v.shape[along] - 1, axis=axis, keepdims=keep,
        select_last_index=last,
    )  # fmt: skip
    # The receiver's numbers are floats.
    return g.node("Cast", [out], shape, out.low, out.high, to=1)


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


def pooled(kind):
    """MaxPool and AveragePool."""

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
        if kind == "AveragePool":
            given["count_include_pad"] = g.pick(None, 0, 1)
        return g.node(kind, [v], (channels, *out), min(v.low, 0), max(v.high, 0),
                      kernel_shape=kernel, **given)  # fmt: skip

    return generator


def ceiled(size, kernel, given, pads):
    """Sizes that are rounded up, without windows that start in the padding after the end."""
    out = []
    strides = given["strides"] or [1] * len(size)
    dilations = given["dilations"] or [1] * len(size)
    for d, n in enumerate(size):
        room = n + pads[d] + pads[d + len(size)] - (kernel[d] - 1) * dilations[d] - 1
        count = -(-room // strides[d]) + 1
        if (count - 1) * strides[d] >= n + pads[d]:
            count -= 1
        out.append(count)
    return out


def whole_pool(kind):
    """GlobalMaxPool and GlobalAveragePool."""

    def generator(g, v):
        if len(v.shape) not in (2, 3) or v.batch:
            return None
        shape = (v.shape[0], *[1] * (len(v.shape) - 1))
        return g.node(kind, [v], shape, v.low, v.high)

    return generator


def reduced(kind, since):
    """ReduceMean and ReduceSum, whose axes are an input from some operator set on."""

    def generator(g, v):
        if v.batch or not v.shape:
            return None
        some = [a for a in range(len(v.shape)) if g.chance(0.6)] or [len(v.shape) - 1]
        which = [a + 1 if g.opset < 11 else g.pick(a + 1, a - len(v.shape)) for a in some]
        keep = g.pick(None, 0, 1)
        kept = [(a, 1 if a in some else n) for a, n in enumerate(v.shape)]
        shape = [n for a, n in kept if keep != 0 or a not in some]
        times = math.prod(v.shape[a] for a in some) if kind == "ReduceSum" else 1
        inputs, given = axes(g, [v], which, since)
        low, high = v.low * times, v.high * times
        return g.node(kind, inputs, shape, low, high, keepdims=keep, **given)

    return generator


def leaky_relu(g, v):
    alpha = g.pick(None, 0.1, 0.5, -0.3, 2.0)
    ends = [e if e > 0 else (0.01 if alpha is None else alpha) * e for e in (v.low, v.high)]
    low = min(0, *ends) if v.low < 0 else v.low
    return g.node("LeakyRelu", [v], v.shape, low, max(0, *ends), v.batch, alpha=alpha)


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


# Elements that move.


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
    order = g.rng.permutation(len(v.shape))
    shape = [v.shape[i] for i in order]
    return g.node("Transpose", [v], shape, v.low, v.high, perm=[0, *(int(i) + 1 for i in order)])


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
    if g.chance(0.5):
        parts.reverse()
    shape = list(v.shape)
    shape[along] *= len(parts)
    low, high = min(p.low for p in parts), max(p.high for p in parts)
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


def sliced(g, v, starts, ends, along, steps):
    """Slice; the value's shape is that of numpy."""
    if isinstance(v, str):
        v = Value(v, (), 0, 0)
    if g.opset < 10:
        return g.node("Slice", [v], (), v.low, v.high, starts=starts, ends=ends, axes=along)
    given = [g.ints(*starts), g.ints(*ends), g.ints(*along)]
    if steps is not None:
        given.append(g.ints(*steps))
    return g.node("Slice", [v, *given], (), v.low, v.high)


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


# Recurrent networks.


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
        turned = g.node("Transpose", [v], v.shape, v.low, v.high, batch=1, perm=[1, 0, 2])
        w = constant(g, g.weights(both, gates * hidden, width))
        r = constant(g, g.weights(both, gates * hidden, hidden))
        b = constant(g, g.weights(both, 2 * gates * hidden)) if g.chance(0.5) else None
        given = {"hidden_size": hidden, "direction": direction}
        if kind == "GRU":
            given["linear_before_reset"] = g.pick(None, 0, 1)
        out = f"r{len(g.nodes)}"
        if g.chance(0.5):
            y = g.node(kind, [turned, w, r, b], (), -1, 1, outputs=[out], **given)
            # steps, directions, batch, hidden
            shape = (steps, both, hidden)
            return g.node("Transpose", [y], shape, -1, 1, perm=[2, 0, 1, 3])
        y = g.node(kind, [turned, w, r, b], (), -1, 1, outputs=["", out], **given)
        return g.node("Transpose", [y], (both, hidden), -1, 1, perm=[1, 0, 2])

    return generator


GENERATORS = {
    "Add": arithmetic("Add"),
    "AveragePool": pooled("AveragePool"),
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "Div": arithmetic("Div"),
    "Dropout": dropout,
    "Erf": erf,
    "Exp": exp,
    "Expand": expand,
    "Flatten": flatten,
    "GRU": recurrent("GRU"),
    "Gather": gather,
    "Gelu": gelu,
    "Gemm": gemm,
    "GlobalAveragePool": whole_pool("GlobalAveragePool"),
    "GlobalMaxPool": whole_pool("GlobalMaxPool"),
    "Identity": identity,
    "LSTM": recurrent("LSTM"),
    "LayerNormalization": layer_norm,
    "LeakyRelu": leaky_relu,
    "MatMul": matmul,
    "MaxPool": pooled("MaxPool"),
    "Mul": arithmetic("Mul"),
    "Neg": negative,
    "Pad": pad,
    "Pow": power,
    "RNN": recurrent("RNN"),
    "Reciprocal": reciprocal,
    "ReduceMean": reduced("ReduceMean", 18),
    "ReduceSum": reduced("ReduceSum", 13),
    "Relu": relu,
    "Reshape": reshape,
    "Shape": shape_of,
    "Sigmoid": sigmoid,
    "Slice": some_slice,
    "Softmax": softmax,
    "Split": split,
    "Sqrt": sqrt,
    "Squeeze": squeeze,
    "Sub": arithmetic("Sub"),
    "Sum": total,
    "Tanh": tanh,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
"""For every operation on computed values."""

ENDS = {"ArgMax": arg_max, "LogSoftmax": log_softmax, "Softmax": softmax, "Sigmoid": sigmoid}
"""For what the receiver of the result computes."""


def add(g, v, kind):
    """A node of this kind after `v`, if it fits and the values stay small."""
    before = len(g.nodes), set(g.constants)
    new = GENERATORS[kind](g, v)
    if new is not None and new.size <= 200 and np.isfinite([new.low, new.high]).all():
        return scaled(g, new, LARGEST) if new.most > LARGEST else new
    del g.nodes[before[0] :]
    g.constants = {k: c for k, c in g.constants.items() if k in before[1]}
    return None
