"""Arrays of what other libraries hold: tensors, columns, data frames, lists of these.

No library is imported here: what nobody has loaded nobody can give.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np

from .data import check_finite
from .errors import InputError


def is_tensor(x: Any) -> bool:
    """Whether this is a `torch.Tensor`."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_frame(x: Any) -> bool:
    """Whether this is a data frame, of pandas or of polars."""
    chooses = hasattr(x, "iloc") or hasattr(x, "to_series")
    return chooses and hasattr(x, "columns") and hasattr(x, "dtypes")


def array(what: str, x: Any) -> np.ndarray[Any, Any]:
    """An array of whatever holds one, with the type of number that it has there.

    `what` names it in errors, which show no value.
    """
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(cast("Any", x)):
        raise InputError(
            f"{what} has elements that are masked; fill them with numbers, or leave them out"
        )
    if isinstance(x, np.ndarray):
        return cast("np.ndarray[Any, Any]", x)
    if is_tensor(x):
        return _of_tensor(what, x)
    if is_frame(x):
        return matrix(what, x)
    if hasattr(x, "to_numpy"):
        return _of_series(x)
    if isinstance(x, (list, tuple)):
        items = cast(Sequence[Any], x)
        x = [array(what, each) for each in items] if any(map(is_tensor, items)) else items
    try:
        return np.asarray(x)
    except (TypeError, ValueError):
        # The error of numpy may show a value, which is its owner's secret.
        told = f"{what} is a list whose items differ in shape; give all one shape"
        raise InputError(told) from None


def matrix(what: str, frame: Any, missing: Sequence[bool] | None = None) -> np.ndarray:
    """The numbers of a data frame, `(n, columns)`, float32, in the order of its columns."""
    held = columns(what, frame, missing=missing)
    parts = [exact(f"{what}, column {name!r},", part) for name, part in held]
    return np.stack(parts, axis=1) if parts else np.zeros((len(frame), 0), "<f4")


def columns(
    what: str,
    frame: Any,
    texts: Collection[str] = (),
    missing: Sequence[bool] | None = None,
) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """The columns of a data frame in its order, by their names.

    Refused, by name and type, is what holds no finite numbers, but for those in `texts`. NaN is
    taken in the columns that may be `missing`, of any where none are given.
    """
    held = series(frame)
    kinds = [
        (name, _kind(each))
        for (name, found), each in zip(held, _each(frame), strict=True)
        if not _real(found) and name not in texts
    ]
    if kinds:
        told = ", ".join(f"{name!r} ({kind})" for name, kind in kinds)
        raise InputError(
            f"{what} has no numbers in column{'s' * (len(kinds) > 1)} {told}; make them the "
            "numbers that the model was trained on, or leave them out",
            column=kinds[0][0],
        )
    for at, (name, found) in enumerate(held):
        may_be = missing is None or (at < len(missing) and bool(missing[at]))
        check_finite(f"{what}, column {name!r}", found, column=name, missing=np.array(may_be))
    return held


def series(frame: Any) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """What the columns of a data frame hold, by their names in its order."""
    names = [str(name) for name in frame.columns]
    return list(zip(names, map(_of_series, _each(frame)), strict=True))


def _each(frame: Any) -> list[Any]:
    """The columns of a data frame, which may have any names, and some twice."""
    numbers = range(len(frame.columns))
    return [frame.iloc[:, i] if hasattr(frame, "iloc") else frame.to_series(i) for i in numbers]


def exact(what: str, numbers: np.ndarray) -> np.ndarray:
    """Numbers as float32, whose rounding floats bear; whole ones that it cannot hold are refused.

    Among doubles, whole ones are those below `2^53`: beyond it every double is.
    """
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(numbers, dtype="<f4")
    if numbers.dtype.kind not in "iu" and numbers.dtype.itemsize <= single.dtype.itemsize:
        return single
    with np.errstate(invalid="ignore"):
        lost = single.astype(numbers.dtype) != numbers
    if numbers.dtype.kind == "f":
        lost &= (np.abs(numbers) < 2**53) & (np.trunc(numbers) == numbers)
    if lost.any():
        raise InputError(
            f"{what} holds integers that float32 cannot represent; take a number away from them or "
            "scale them first, or give float32 to have the nearest"
        )
    return single


def _of_tensor(what: str, tensor: Any) -> np.ndarray:
    torch = sys.modules["torch"]
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise InputError(f"{what} is a sparse or quantised tensor; give a dense one of numbers")
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.numpy()


def _of_series(series: Any) -> np.ndarray:
    """One column; what is missing of its numbers is NaN."""
    found = series.to_numpy()
    if found.dtype.kind == "O" and getattr(series.dtype, "kind", "O") in "fiub":
        found = series.to_numpy(dtype="float64", na_value=np.nan)
    return found


def _real(array: np.ndarray) -> bool:
    return array.dtype.kind in "fiub"


def _kind(series: Any) -> str:
    """The type of a column in a word: what some types tell beyond are values."""
    return re.split(r"[\[(]", str(series.dtype))[0]
