"""The outputs of a model as arrays, and classes by the names that it has for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._tacit import TacitError


def class_names(output: dict[str, Any]) -> np.ndarray | None:
    """What the classes of an output are called, from class 0 on; None where they are numbers."""
    if output["classes"] is None:
        return None
    [names] = output["classes"].values()
    return np.asarray(names)


def decoded(outputs: Sequence[dict[str, Any]], rows: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of items, by the names of a plan's outputs, from a row of numbers for each."""
    n = len(rows)
    ends = np.cumsum([math.prod(each["shape"]) for each in outputs])
    parts = zip(outputs, np.split(rows, ends[:-1], axis=1), strict=True)
    shaped = ((each, named(each, part.reshape(n, *each["shape"]))) for each, part in parts)
    return {each["name"]: np.moveaxis(array, 0, each["batch"]) for each, array in shaped}


def named(output: dict[str, Any], numbers: np.ndarray) -> np.ndarray:
    """The names of classes in place of their numbers, where an output has any."""
    names = class_names(output)
    return numbers.copy() if names is None else names[numbers.astype(np.int64)]


def numbered(output: dict[str, Any], classes: np.ndarray) -> np.ndarray:
    """The numbers of classes in place of their names, where an output has any."""
    names = class_names(output)
    if names is None:
        return classes
    numbers = {name: number for number, name in enumerate(names.tolist())}
    unknown = [name for name in classes.ravel().tolist() if name not in numbers]
    if unknown:
        known = ", ".join(map(str, names))
        raise TacitError(f"the model has no class {unknown[0]!r}; it has {known}")
    found = [numbers[name] for name in classes.ravel().tolist()]
    return np.asarray(found, dtype=np.int64).reshape(classes.shape)
