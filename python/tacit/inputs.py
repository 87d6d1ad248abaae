"""What a model is given: an array, or one for each of its inputs by their names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from .data import check_finite
from .errors import InputError
from .given import array as array_of
from .given import columns, exact, is_frame, matrix, series
from .texts import numbered

Given = ArrayLike | Mapping[str, ArrayLike] | Any
"""An array of inputs, or one for each input of the model by its name, as onnxruntime takes them.

Where an array may stand so may a torch tensor, a column or a data frame of pandas or polars.
"""


def rows(inputs: list[dict[str, Any]], x: Given) -> np.ndarray:
    """The items of `x`, float32: of several inputs each item is one row.

    Refuses what is not a batch of such inputs, and never rounds a number silently to another type
    than float32.
    """
    if is_frame(x):
        x = _of_frame(inputs, x)
    if not isinstance(x, Mapping):
        shape = tuple(inputs[0]["shape"]) if len(inputs) == 1 else (_row(inputs),)
        alone = inputs[0] if len(inputs) == 1 else {**inputs[0], "texts": None, **_joined(inputs)}
        return _floats("the input", array_of("the input", x), shape, 0, alone, named=False)
    known = [each["name"] for each in inputs]
    x = cast(Mapping[str, Any], x)
    _check_names(known, list(x))
    parts: list[np.ndarray[Any, Any]] = []
    for each in inputs:
        what = f"the input {each['name']!r}"
        given = array_of(what, x[each["name"]])
        parts.append(_floats(what, given, tuple(each["shape"]), each["batch"], each))
    if len(inputs) == 1:
        return parts[0]
    items = {len(part) for part in parts}
    if len(items) > 1:
        counts = ", ".join(f"{name!r} {len(p)}" for name, p in zip(known, parts, strict=True))
        raise InputError(f"the inputs differ in their number of items: {counts}")
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def names(x: Given) -> list[str]:
    """The names of the arrays or of the columns that are given; none of an array."""
    if isinstance(x, Mapping):
        return list(cast(Mapping[str, Any], x))
    return [str(name) for name in cast(Any, x).columns] if is_frame(x) else []


def without(x: Given, left_out: set[str]) -> Given:
    """What is given but for arrays or columns of these names."""
    if not left_out:
        return x
    if isinstance(x, Mapping):
        arrays = cast(Mapping[str, Any], x)
        return {name: array for name, array in arrays.items() if name not in left_out}
    frame = cast(Any, x)
    return frame[[name for name in frame.columns if name not in left_out]]


def named(samples: Mapping[str, ArrayLike]) -> list[tuple[str, tuple[bytes, list[int]]]]:
    """The arrays of samples as the extension module takes them."""
    return [(name, floats(f"the samples {name!r}", x)) for name, x in samples.items()]


def floats(what: str, x: Any) -> tuple[bytes, list[int]]:
    """The float32 bytes and the shape of numbers, finite ones or NaN."""
    try:
        array = np.ascontiguousarray(array_of(what, x), dtype="<f4")
    except (TypeError, ValueError):
        # The error of numpy shows the value, which is its owner's secret.
        advice = "give arrays by the inputs' names, or a data frame, where some are texts"
        raise InputError(f"{what} are no numbers: {advice}", input="samples") from None
    if array.ndim:
        check_finite(what, array, input="samples", missing=True)
    return array.tobytes(), list(array.shape)


def _of_frame(inputs: list[dict[str, Any]], frame: Any) -> np.ndarray | dict[str, np.ndarray]:
    """The rows of a data frame; of several inputs the column that is named like each."""
    if len(inputs) == 1:
        shape = tuple(inputs[0]["shape"])
        if inputs[0].get("texts"):
            return np.stack([found for _, found in series(frame)], axis=1).reshape(-1, *shape)
        of_columns = shape == (len(frame.columns),)
        missing = _missing(inputs[0]).tolist() if of_columns else None
        rows = matrix("the data frame", frame, missing)
        if len(shape) == 1 and rows.shape[1:] != shape:
            raise InputError(
                f"the data frame has {rows.shape[1]} columns, the model takes {shape[0]} an "
                "item; choose its columns in the order of the training, as with frame[[...]]"
            )
        return rows
    texts = [each["name"] for each in inputs if each.get("texts")]
    may_be = {each["name"]: bool(each.get("missing")) for each in inputs}
    missing = [may_be.get(str(name), True) for name in frame.columns]
    held = dict(columns("the data frame", frame, texts, missing))
    _check_names([each["name"] for each in inputs], list(held))
    found: dict[str, np.ndarray[Any, Any]] = {}
    for each in inputs:
        column, shape = held[each["name"]], each["shape"]
        if math.prod(shape) != 1:
            raise InputError(
                f"the input {each['name']!r} takes {math.prod(shape)} numbers of an item and a "
                "column holds one; give a dict of arrays by the names of the inputs",
                input=each["name"],
            )
        found[each["name"]] = np.moveaxis(column.reshape(-1, *shape), 0, each["batch"])
    return found


def _row(inputs: list[dict[str, Any]]) -> int:
    return sum(math.prod(each["shape"]) for each in inputs)


def _check_names(known: list[str], given: list[str]) -> None:
    for name in given:
        if name not in known:
            told = f"the model reads no input {name!r}; it reads {', '.join(known)}"
            raise InputError(told, input=name)
    for name in known:
        if name not in given:
            told = f"the input {name!r} is missing; the model takes {', '.join(known)}"
            raise InputError(told, input=name)


def _floats(
    what: str,
    array: np.ndarray,
    shape: tuple[int, ...],
    batch: int,
    of: dict[str, Any],
    *,
    named: bool = True,
) -> np.ndarray:
    """The items of an array whose batch stands before axis `batch` of items of this shape.

    `of` is the input; unless it is `named` its items stand first.
    """
    name, texts = of["name"] if named else None, of.get("texts")
    if not texts and array.dtype.kind not in "fiub":
        told = f"{what} holds {array.dtype} values; give real numbers, such as float32"
        raise InputError(told, input=name)
    items = array.shape[batch] if batch < array.ndim else 0
    if array.shape[:batch] + array.shape[batch + 1 :] != shape or items == 0:
        wanted = ", ".join(map(str, (*shape[:batch], "n", *shape[batch:])))
        advice = "reshape the array, first axis = items" if batch == 0 else "n items"
        if not named and of["batch"]:
            advice = f"or give {{{of['name']!r}: array}} as the file lays it out"
        raise InputError(
            f"{what} has shape {array.shape}, the model takes ({wanted}) with n >= 1; {advice}",
            input=name,
        )
    if texts:
        return numbered(what, np.moveaxis(array, batch, 0), texts, name)
    array = np.moveaxis(array, batch, 0)
    check_finite(what, array, input=name, missing=_missing(of))
    return exact(what, array)


def _joined(inputs: list[dict[str, Any]]) -> dict[str, Any]:
    """The shape of an item of all inputs, and which of its numbers may be missing."""
    places: list[int] = []
    start = 0
    for each in inputs:
        told: Any = each.get("missing")
        places += [start + place for place in told["places"]] if told else []
        start += math.prod(each["shape"])
    return {"shape": [start], "missing": {"places": places}}


def _missing(of: dict[str, Any]) -> np.ndarray:
    """Which numbers of an item of an input may be missing."""
    places = np.zeros(tuple(of["shape"]), dtype=bool)
    told = of.get("missing")
    if told:
        places.ravel()[np.asarray(told["places"], dtype=np.int64)] = True
    return places


def used_inputs(path: str | Path) -> list[str]:
    """The inputs of an ONNX file that a node reads; the others are none of the compiled model."""
    import onnx  # noqa: PLC0415

    graph = onnx.load(path, load_external_data=False).graph  # pyright: ignore[reportUnknownMemberType]
    read = {name for node in graph.node for name in node.input}
    return [each.name for each in graph.input if each.name in read]
