"""Data sets of two arrays in an .npz file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._tacit import TacitError
from ..data import INPUT_NAMES, LABEL_NAMES, load_array
from .dataset import MOST_CLASSES, Dataset, checked_labels
from .source import Source


def load(source: Source, what: str) -> Dataset:
    """`x_train` and `y_train` (or `..._test`), else `x` and `y`, or those that options name."""
    file = source.file()
    x = _floats(file, _take(file, source.options.get("x"), (f"x_{what}", *INPUT_NAMES)))
    y = _take(file, source.options.get("y"), (f"y_{what}", *LABEL_NAMES))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if source.choice("task", "classes", "regression") == "regression":
        y = _floats(file, y)
        if y.shape != (len(x),):
            raise TacitError(f"{file} holds values of shape {y.shape} for {len(x):,} items")
        return Dataset(x, y)
    classes = source.count("classes", MOST_CLASSES)
    labels, classes = checked_labels(file, _whole(file, y), len(x), classes)
    return Dataset(x, labels, classes)


def _take(file: Path, name: str | None, names: tuple[str, ...]) -> np.ndarray:
    array = load_array(f"{file}:{name}" if name else str(file), names)
    if array.dtype.kind not in "biuf" or array.ndim == 0 or array.size == 0:
        raise TacitError(
            f"{file} holds an array {array.dtype} {array.shape}: "
            "items and labels are real numbers, first axis = items"
        )
    return array


def _floats(file: Path, array: np.ndarray) -> np.ndarray:
    """Finite float32; bytes of images, which have more than two axes, in [0, 1]."""
    if array.dtype == np.uint8 and array.ndim > 2:
        return np.divide(array, np.float32(255), dtype=np.float32)
    with np.errstate(over="ignore"):
        single = array.astype(np.float32, copy=False)
    if not np.isfinite(single).all():
        first = np.argwhere(~np.isfinite(single))[0].tolist()
        raise TacitError(
            f"{file}: the number at {first} is {array[tuple(first)]}, which float32 cannot hold; "
            "fill in what is missing and scale what is too large"
        )
    return single


def _whole(file: Path, labels: np.ndarray) -> np.ndarray:
    """Labels that are whole numbers, whatever their type."""
    if labels.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = labels.astype(np.int64)
        if not np.array_equal(whole, labels):
            raise TacitError(f"{file}: labels are not whole numbers; values need task=regression")
        return whole
    return labels.astype(np.int8) if labels.dtype.kind == "b" else labels


KINDS = {"npz": (load, ("x", "y", "task", "classes"))}
