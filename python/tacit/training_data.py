"""The data of a training, as the extension module takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import InputError

Owned = tuple[int, ArrayLike, ArrayLike]
"""A party's data: its number, items, and classes or values."""


def listed(data: Any) -> Sequence[Owned]:
    """The data of all owners, of party 1 where none is named."""
    return [(1, *data)] if len(data) == 2 and not isinstance(data[0], tuple) else data


def item_bytes(x: ArrayLike, shape: Sequence[int]) -> bytes:
    """The bytes of items of a shape, or of as many elements."""
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        told = f"the items hold {array.dtype} values; give real numbers, such as float32"
        raise InputError(told, input="items")
    if array.ndim < 2 or array[0].size != np.prod(shape):
        wanted = ", ".join(map(str, ("n", *shape)))
        raise InputError(
            f"the items have shape {array.shape}, the network takes ({wanted}); reshape the array",
            input="items",
        )
    return np.ascontiguousarray(array, dtype="<f4").tobytes()


def parts(items: int | Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Owners and their numbers of items; a number alone is party 1's."""
    given = [(1, items)] if isinstance(items, int) else items
    return [(owner, n) for owner, n in given if n]


def target_bytes(y: ArrayLike, n: int, outputs: int) -> bytes:
    """The bytes of one-hot classes, or of values."""
    array = np.asarray(y)
    if array.shape == (n,) and array.dtype.kind in "iub":
        if n and not 0 <= array.min() <= array.max() < outputs:
            raise InputError(
                f"the classes are {array.min()} to {array.max()}; the network has {outputs} "
                f"outputs, for classes 0 to {outputs - 1}",
                input="targets",
            )
        return np.eye(outputs, dtype="<f4")[array.astype(np.int64)].tobytes()
    if array.size == n * outputs and array.dtype.kind in "fiub":
        return np.ascontiguousarray(array, dtype="<f4").tobytes()
    raise InputError(
        f"the targets are {array.dtype} of shape {array.shape}; give {n} integer classes, "
        f"or ({n}, {outputs}) values",
        input="targets",
    )
