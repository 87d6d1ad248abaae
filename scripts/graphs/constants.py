"""Constants, made in all the ways that files make them."""

import numpy as np
from onnx import numpy_helper

from .build import Value


def constant(g, array):
    """The name of these numbers, made in one of the ways that files have."""
    array = np.asarray(array, np.float32)
    way = g.pick("plain", "plain", "plain", *CONSTANTS)
    return g.plain(array) if way == "plain" else CONSTANTS[way](g, array)


def made(g, kind, inputs, more=None, **attributes):
    """The name of a node of constants."""
    return g.node(kind, inputs, (), 0, 0, **(more or {}), **attributes).name


def for_every_item(g, array):
    """The name of a constant that is the same for every item."""
    if g.fixed:
        return g.plain(np.repeat(array[None], g.fixed, 0))
    items = made(g, "Gather", [made(g, "Shape", [g.input]), g.ints(0)], axis=0)
    shape = made(g, "Concat", [items, g.ints(*array.shape)], axis=0)
    return made(g, "Expand", [g.plain(array[None]), shape])


def axes(g, inputs, which, since=13):
    """Inputs and attributes of a node whose axes are an attribute before an operator set."""
    if g.opset < since:
        return inputs, {"axes": which}
    return [*inputs, g.ints(*which)], {}


def sliced(g, v, starts, ends, along, steps):  # noqa: PLR0917
    """Slice of a value or of the constant of a name; the caller knows the shape."""
    if isinstance(v, str):
        v = Value(v, (), 0, 0)
    if g.opset < 10:
        return g.node("Slice", [v], (), v.low, v.high, starts=starts, ends=ends, axes=along)
    given = [g.ints(*starts), g.ints(*ends), g.ints(*along)]
    if steps is not None:
        given.append(g.ints(*steps))
    return g.node("Slice", [v, *given], (), v.low, v.high)


def onnx_tensor(array):
    return numpy_helper.from_array(np.ascontiguousarray(array))


def _given(g, array):
    attribute = {"value": onnx_tensor(array)}
    if array.ndim == 1 and g.opset >= 12:
        attribute = g.pick(attribute, {"value_floats": array.tolist()})
    return made(g, "Constant", [], **attribute)


def _of_shape(g, array):
    zeros = made(
        g, "ConstantOfShape", [g.plain(np.asarray(array.shape, np.int64))],
        value=g.pick(None, onnx_tensor(np.zeros(1, np.float32))),
    )  # fmt: skip
    return made(g, "Add", [zeros, g.plain(array)])


def _cast(g, array):
    """The constant cast from a double, from float16, or from integers beside a fraction."""
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
        far = made(g, "Add", [cut, g.plain(np.array(512, _type(g, cut)))])
        cut = made(g, "Cast", [far], to=3)
    return made(g, "Add", [made(g, "Cast", [cut], to=1), g.plain(array - whole)])


def _type(g, name):
    """The type of the integers that the Cast of this output makes."""
    node = next(node for node in g.nodes if name in node.output)
    return np.int32 if node.attribute[0].i == 6 else np.int64


def _moved(g, array):
    flat = array.ndim == 0 or len(array) < 2
    way = g.pick("Reshape", "Transpose", "Identity") if flat else g.pick(*MOVES)
    return MOVES[way](g, array)


def _gathered(g, array):
    order = g.rng.permutation(len(array))
    mixed = np.empty_like(array)
    mixed[order] = array
    return made(g, "Gather", [g.plain(mixed), g.plain(order)], axis=0)


def _unsqueezed(g, array):
    more = made(g, "Unsqueeze", *axes(g, [g.plain(array)], [0]))
    return made(g, "Squeeze", *axes(g, [more], [0]))


def _cut(g, array):
    more = np.concatenate([array, array[:1]])
    return sliced(g, g.plain(more), [0], [-1], [0], None).name


def _joined(g, array):
    half = len(array) // 2
    return made(g, "Concat", [g.plain(array[:half]), g.plain(array[half:])], axis=0)


MOVES = {
    "Concat": _joined,
    "Gather": _gathered,
    "Identity": lambda g, array: made(g, "Identity", [g.plain(array)]),
    "Reshape": lambda g, array: made(
        g, "Reshape", [g.plain(array.reshape(-1)), g.ints(*array.shape)]
    ),
    "Slice": _cut,
    "Transpose": lambda g, array: made(g, "Transpose", [g.plain(np.ascontiguousarray(array.T))]),
    "Unsqueeze": _unsqueezed,
}


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
