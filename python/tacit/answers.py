"""What the answers of a model are, and the first few of them in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

MOST = 5
"""Answers that are shown."""
LONG = 60
"""Characters of a class's name that are shown."""
PROBABILITIES = ("probabilities", "output_probability")
"""What converters of classifiers call the output of probabilities."""
TELL_PROBABILITIES = ("Softmax", "Sigmoid", "UnitSum")
"""Functions at the end of a file that give probabilities."""


@dataclass(frozen=True)
class Reading:
    """How an output is to be read.

    Attributes
    ----------
    kind : str
        `class`; `classes`: the K likeliest, in their order; `probability` or `score`: a number for
        each class; `value`: a number by itself; `numbers`: anything else.
    axis : int
        The axis of the items.
    names : tuple or None
        What the classes of a `probability` or a `score` are called; their numbers when None.
    """

    kind: str
    axis: int = 0
    names: tuple[Any, ...] | None = None

    def items(self, array: np.ndarray) -> np.ndarray:
        """The numbers of each item, `(n, numbers)`."""
        return np.moveaxis(array, self.axis, 0).reshape(array.shape[self.axis], -1)

    def columns(self) -> list[str]:
        """The headers of what :meth:`cells` gives."""
        if self.kind in ("probability", "score"):
            return ["class", self.kind]
        return [self.kind]

    def cells(self, numbers: np.ndarray) -> list[str]:
        """The numbers of one item in words."""
        if self.kind in ("probability", "score"):
            best = int(numbers.argmax())
            return [_word(self.names[best] if self.names else best), f"{numbers[best]:.4g}"]
        if self.kind == "numbers":
            return [f"{numbers.size} numbers, {numbers.min():.4g} to {numbers.max():.4g}"]
        return [", ".join(_word(number) for number in numbers.tolist())]


class Outputs(dict[str, np.ndarray]):
    """Arrays by the names of the outputs.

    Attributes
    ----------
    readings : dict of str to Reading
        How each is to be read: what the plan says of it, and nothing of what it holds.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], read: Mapping[str, Reading]):
        super().__init__(arrays)
        self.readings: dict[str, Reading] = dict(read)


def readings(outputs: Sequence[Mapping[str, Any]], reveal: str) -> dict[str, Reading]:
    """How the outputs of a plan are to be read, by their names."""
    named = [tuple(*each["classes"].values()) for each in outputs if each["classes"]]
    found: dict[str, Reading] = {}
    for each in outputs:
        kind = _kind(each, reveal)
        size = math.prod(each["shape"])
        fits = kind in ("probability", "score") and named and len(named[0]) == size
        found[each["name"]] = Reading(kind, each["batch"], named[0] if fits else None)
    return found


def rows(
    outputs: Mapping[str, np.ndarray], read: Mapping[str, Reading], most: int = MOST
) -> tuple[list[str], list[list[str]]]:
    """The headers and the first few items, numbered from 0."""
    headers = ["item"]
    columns: list[list[list[str]]] = []
    for name, array in outputs.items():
        reading = read.get(name, Reading("numbers"))
        words = reading.columns()
        headers += words if len(outputs) == 1 else [f"{name}: {word}" for word in words]
        items = reading.items(array)[:most]
        columns.append([reading.cells(numbers) for numbers in items])
    lines = enumerate(zip(*columns, strict=True))
    return headers, [[str(i), *(cell for part in parts for cell in part)] for i, parts in lines]


def table(outputs: Mapping[str, np.ndarray], read: Mapping[str, Reading]) -> Table:
    """The first few answers as a table."""
    made = Table(title="Answers")
    headers, lines = rows(outputs, read)
    for header in headers:
        made.add_column(Text(header), justify="right")
    for line in lines:
        made.add_row(*map(Text, line))
    return made


def classes(outputs: Mapping[str, np.ndarray], read: Mapping[str, Reading]) -> np.ndarray | None:
    """The class of each item as its name or its number; None where the model tells none."""
    for name, array in outputs.items():
        reading = read.get(name, Reading("numbers"))
        if reading.kind in ("class", "classes"):
            first = reading.items(array)[:, 0]
            return first.astype(np.int64) if first.dtype.kind == "f" else first
        if reading.kind in ("probability", "score"):
            best = reading.items(array).argmax(axis=1)
            return best if reading.names is None else np.asarray(reading.names)[best]
    return None


def _kind(output: Mapping[str, Any], reveal: str) -> str:
    """What the numbers of an output are."""
    size = math.prod(output["shape"])
    tail = [step["function"] for step in output["tail"]]
    if reveal.startswith("top-"):
        return "classes"
    if output["classes"] or reveal == "class" or "ArgMax" in tail:
        return "class" if size == 1 else "numbers"
    if size == 1:
        return "value"
    if len(output["shape"]) > 1:
        return "numbers"
    likely = output["name"] in PROBABILITIES or any(step in TELL_PROBABILITIES for step in tail)
    return "probability" if likely else "score"


def _word(value: Any) -> str:
    """A class, cut where its name is long, or a number with a sensible number of digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:LONG]
