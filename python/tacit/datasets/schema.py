"""How the columns of a table become numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        As the header says, or its number from 0 where there is none.
    categories : tuple of str, or None
        The texts it may hold, which are encoded one-hot; None for numbers.
    mean, std : float
        What its numbers are normalised by: `(number - mean) / std`.
    """

    name: str
    categories: tuple[str, ...] | None = None
    mean: float = 0.0
    std: float = 1.0

    @property
    def width(self) -> int:
        """How many numbers a cell becomes."""
        return 1 if self.categories is None else len(self.categories)


@dataclass(frozen=True)
class Schema:
    """How a table is encoded: what a train file taught, to encode the test file alike.

    Whoever has it sees the train file's categories, and with `normalise=yes` its means.

    Attributes
    ----------
    columns : tuple of Column
        The columns that items are made of, in order.
    label : Column
        What is to be learnt: its categories are the classes, None for a regression.
    dropped : tuple of str
        The columns that are not used.
    """

    columns: tuple[Column, ...]
    label: Column
    dropped: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many numbers an item has."""
        return sum(column.width for column in self.columns)

    @property
    def features(self) -> list[str]:
        """What each number of an item is, as `column` or `column=category`."""
        return [
            column.name if category is None else f"{column.name}={category}"
            for column in self.columns
            for category in (column.categories or [None])
        ]


def number(cell: Any) -> float:
    """The finite number that a cell holds; NaN if it holds something else."""
    if isinstance(cell, str) and "_" in cell:  # Python reads 1_000 as a number
        return nan
    try:
        value = float(cell)
    except ValueError:
        return nan
    return value if isfinite(value) else nan


def numbers(cells: list[Any]) -> np.ndarray:
    """The finite numbers that cells hold; NaN where they hold something else."""
    try:
        values = np.array([*map(float, cells)])
    except ValueError:
        return np.array([*map(number, cells)])
    # Quickly where all are numbers, unless Python took for some what are none.
    wrong = not np.isfinite(values).all() or "_" in "".join(map(str, cells))
    return np.array([*map(number, cells)]) if wrong else values


class Seen:
    """What the cells of a column have shown so far."""

    def __init__(self, name: str, most: int):
        self.name = name
        self.most = most
        self.texts: set[str] = set()
        """The different cells, of which one too many are kept."""
        self.numbers = self.others = 0
        self.other: tuple[int, Any] | None = None
        """The row and the content of the first cell that is no number."""
        self.mean = self.squares = 0.0

    def add(self, rows: list[int], cells: list[Any]) -> None:
        """Takes in the cells of some rows."""
        values = numbers(cells)
        none = np.isnan(values)
        if self.other is None and none.any():
            at = int(none.argmax())
            self.other = rows[at], cells[at]
        self.others += int(none.sum())
        if len(self.texts) <= self.most:
            self.texts.update(map(str, cells))
        found = values[~none]
        if len(found):
            with np.errstate(over="ignore", invalid="ignore"):
                self._add_moments(found)

    def _add_moments(self, found: np.ndarray) -> None:
        # Chan's update: sums of squares of large numbers would lose the small differences.
        mean, total = float(found.mean()), self.numbers + len(found)
        step = mean - self.mean
        self.squares += float(((found - mean) ** 2).sum())
        self.squares += step * step * self.numbers * len(found) / total
        self.mean += step * len(found) / total
        self.numbers = total

    @property
    def std(self) -> float:
        """The deviation of the numbers; 1 where all are the same."""
        std = (self.squares / self.numbers) ** 0.5
        return std if std > 1e-12 * abs(self.mean) else 1.0  # what is left is rounding
