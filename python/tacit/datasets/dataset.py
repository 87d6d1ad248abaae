"""What a loader gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .._tacit import TacitError
from .schema import Schema

MOST_CLASSES = 1000
"""The most classes of labels and columns: more are a mistake, and one-hot a lot of memory."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items and what is to be learnt of them.

    Attributes
    ----------
    x : numpy.ndarray
        The items, `(n, *shape)`, float32; images channels first, in [0, 1] unless normalised.
    y : numpy.ndarray
        Their classes, `(n,)`, int64; of a regression their values, float32.
    classes : int or None
        How many classes there are; None for a regression.
    names : list of str or None
        What the classes are called.
    schema : Schema or None
        How a table was encoded, for :func:`tacit.datasets.load` of its test file.
    """

    x: np.ndarray
    y: np.ndarray
    classes: int | None = None
    names: list[str] | None = None
    schema: Schema | None = None

    def __len__(self) -> int:
        return len(self.y)

    def targets(self) -> np.ndarray:
        """What a network should put out: `(n, classes)` one-hot, or values `(n, 1)`; float32."""
        if self.classes is None:
            return self.y.astype(np.float32)[:, None]
        targets = np.zeros((len(self), self.classes), np.float32)
        targets[np.arange(len(self)), self.y] = 1
        return targets

    def head(self, n: int) -> Dataset:
        """The first `n` items, or all where there are fewer."""
        if n < 1:
            raise TacitError(f"the first {n} items are no data set: take at least 1")
        return replace(self, x=self.x[:n], y=self.y[:n])

    def split(self, parts: int) -> list[Dataset]:
        """Deals the items out to so many owners, in turn: sorted files give fair parts too."""
        if not 1 <= parts <= len(self):
            raise TacitError(f"{len(self)} items cannot be dealt out to {parts} owners")
        return [replace(self, x=self.x[i::parts], y=self.y[i::parts]) for i in range(parts)]


def checked_labels(
    file: Path, labels: np.ndarray, items: int, classes: int | None
) -> tuple[np.ndarray, int]:
    """The labels of `items` items as int64, and how many classes: as they say when not given."""
    if labels.shape != (items,):
        raise TacitError(
            f"{file} holds labels of shape {labels.shape} for {items:,} items; "
            "items and labels must come from the same set"
        )
    most = classes or MOST_CLASSES
    wrong = np.flatnonzero((labels < 0) | (labels >= most))
    if len(wrong):
        raise TacitError(
            f"{file}: label {labels[wrong[0]]} of item {wrong[0]} is not in 0 to {most - 1}; "
            "count classes from 0"
        )
    return labels.astype(np.int64), classes or int(labels.max()) + 1
