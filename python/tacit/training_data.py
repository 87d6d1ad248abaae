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
    """The bytes of items of a shape, but for axes of one element, or of flat items."""
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        told = f"the items hold {array.dtype} values; give real numbers, such as float32"
        raise InputError(told, input="items")
    if array.ndim < 2 or not is_alike(array.shape[1:], shape):
        wanted = ", ".join(map(str, ("n", *shape)))
        raise InputError(
            f"the items have shape {array.shape}, the network takes ({wanted}); reshape the array",
            input="items",
        )
    return np.ascontiguousarray(array, dtype="<f4").tobytes()


def is_alike(given: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether an item lies as one of a shape: the same axes, those of one element aside, or flat.

    Others of as many elements, such as pictures whose channels come last, would be read wrong.
    """
    first, second = ([n for n in each if n != 1] for each in (given, shape))
    return first in (second, [int(np.prod(shape))])


def parts(items: int | Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Owners and their numbers of items; a number alone is party 1's."""
    given = [(1, items)] if isinstance(items, int) else items
    return [(owner, n) for owner, n in given if n]


def target_bytes(y: ArrayLike, n: int, outputs: int) -> bytes:
    """The bytes of one-hot classes, or of values; of one output there are no classes."""
    array = np.asarray(y)
    if outputs > 1 and array.shape == (n,) and array.dtype.kind in "iub":
        if n and not 0 <= array.min() <= array.max() < outputs:
            raise InputError(
                f"the classes are {array.min()} to {array.max()}; the network has {outputs} "
                f"outputs, for classes 0 to {outputs - 1}",
                input="targets",
            )
        return np.eye(outputs, dtype="<f4")[array.astype(np.int64)].tobytes()
    whole = array.ndim > 0 and len(array) == n and is_alike(array.shape[1:], (outputs,))
    if whole and array.dtype.kind in "fiub":
        return np.ascontiguousarray(array, dtype="<f4").tobytes()
    raise InputError(
        f"the targets are {array.dtype} of shape {array.shape}; give {n} integer classes, "
        f"or ({n}, {outputs}) values",
        input="targets",
    )
