"""What the kind of truncation does to a model's accuracy."""

# The stubs of matplotlib tell no types of further keywords.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import importlib.util
import io
import json
import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .. import pages
from .._tacit import TacitError
from ..curves import Axis, Line, curve
from ..data import label_list
from ..errors import MissingPackageError
from ..model import Model, compile
from ..notebook import Progress, shown
from ..options import to_json
from ..report import count, render, scientific

if TYPE_CHECKING:
    import pandas as pd

PICTURES = (".svg", ".png")
"""What a plot can be written as."""
SHORT = {"multiply-then-truncate": "mult-then-trc", "truncate-then-multiply": "trc-then-mult"}
"""The orders as the paper's Table 3 writes them."""
E1 = {"e1_per_item_predicted": "forecast", "e1_per_item": "metered, if any"}
"""The numbers of large errors that a row has, and how each was found."""
SAMPLES = 64
"""Inputs that a module of torch is exported with."""
NOTE = (
    "f: fraction bits of values and weights. (r): random masks. (f): a fixed mask, which is "
    "insecure and hides e1, the large error of ABY3's truncation. right: the accuracy; same: the "
    "float32 model's answer. P(e1): of the largest truncated value under a random mask, "
    "2^-(l - lx - 1). The forecast of e1 holds while values are right; wrong ones make more."
)


class Analysis:
    """The accuracy of a model for every number of fraction bits, order and kind of mask.

    Attributes
    ----------
    data : dict
        The content, JSON-serialisable: `tacit` (its version), `ring`, `items`, `float_accuracy`
        and `rows`, each with `fraction_bits, order, masks, accuracy, agreement, e1_probability,
        layer, e1_per_item_predicted, e1_per_item, refused`.
    """

    def __init__(self, data: dict[str, Any]):
        self.data = data

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for every number of fraction bits, order and kind of mask."""
        return self.data["rows"]

    def to_dict(self) -> dict[str, Any]:
        """A copy of the content."""
        return json.loads(json.dumps(self.data))

    def to_dataframe(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame; needs `pip install tacit[pandas]`."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.rows)

    def to_json(self) -> str:
        """The content as JSON."""
        return json.dumps(self.data, indent=2) + "\n"

    def save_json(self, path: str | Path) -> None:
        """Writes the content to `path`."""
        Path(path).write_text(self.to_json())

    def to_html(self, title: str = "What truncation does to the accuracy") -> str:
        """A page of the curves, the table and what it means."""
        return pages.of_tables(title, self.notes(), [self.table()], *self.curves()).render()

    def save_html(self, path: str | Path) -> None:
        """Writes that page to `path`."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def curves(self) -> list[str]:
        """The accuracy and the large errors over the fraction bits, as SVG."""
        share: list[Line] = []
        errors: list[Line] = []
        for name, rows in self._lines().items():
            order, masks = name.split(", ")
            bits = [row["fraction_bits"] for row in rows]
            share.append(
                Line(name, [(f, 100 * r["accuracy"]) for f, r in zip(bits, rows, strict=True)])
            )
            if masks != "random":
                continue
            for key, words in E1.items():
                found = [(row["fraction_bits"], row[key]) for row in rows if row[key]]
                errors.append(Line(f"{order}, {words}", found))
        along = Axis("fraction bits")
        level = ("float32 model", 100 * self.data["float_accuracy"])
        accuracy = curve(share, along, Axis("accuracy, %", 0, 100), level)
        return [accuracy, curve(errors, along, Axis("large errors (e1) of an item"))]

    def save_plot(self, path: str | Path, title: str = "") -> None:
        """Draws the accuracy over the fraction bits into `path`, an .svg or .png file.

        Needs `pip install tacit[plot]`.
        """
        check_plot(path)
        Path(path).write_bytes(self.draw(Path(path).suffix, title))

    def draw(self, suffix: str, title: str = "") -> bytes:
        """The plot of :meth:`save_plot`, as the bytes of an `.svg` or `.png` file."""
        from matplotlib import rc_context  # noqa: PLC0415  # pyright: ignore[reportUnknownVariableType]
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot()
        axes.axhline(100 * self.data["float_accuracy"], color="0.6", label="float32 model")
        for marker, (line, rows) in zip("osv^", self._lines().items(), strict=False):
            bits = [row["fraction_bits"] for row in rows]
            accuracy = [100 * row["accuracy"] for row in rows]
            # Hollow markers, since good lines lie on each other.
            axes.plot(bits, accuracy, marker=marker, mfc="none", lw=1, label=line)
        axes.set(xlabel="fraction bits", ylabel="accuracy, %", title=title, ylim=(0, 102))
        axes.legend(title=f"{self.data['ring']}-bit ring, order and masks", fontsize="small")
        axes.grid(alpha=0.3)
        # Without a date or random names, so that the same figures give the same file.
        metadata = {"Date": None} if suffix == ".svg" else None
        file = io.BytesIO()
        with rc_context({"svg.hashsalt": "tacit"}):
            figure.savefig(file, format=suffix[1:], metadata=metadata)
        return file.getvalue()

    def _lines(self) -> dict[str, list[dict[str, Any]]]:
        """The rows that have a result, by order and masks."""
        lines: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            line = lines.setdefault(f"{row['order']}, {row['masks']}", [])
            if row["refused"] is None:
                line.append(row)
        return lines

    def table(self) -> Table:
        """The rows as a table."""
        d = self.data
        title = f"{d['ring']}-bit ring, {count(d['items'], 'item')}; the float32 model has "
        title += f"{100 * d['float_accuracy']:.2f} %"
        table = Table(title=title, box=box.SIMPLE, padding=0, pad_edge=False)
        table.add_column("f", justify="right", no_wrap=True)
        table.add_column("order and masks", no_wrap=True)
        for name in ("right,\n%", "same,\n%", "P(e1)\nup to"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("in layer", no_wrap=True, max_width=16)
        for name in ("e1/item,\nforecast", "\nmetered"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*_cells(row))
        return table

    def notes(self) -> list[str]:
        """How to read the table, and what was refused from which number of fraction bits on."""
        notes = [NOTE]
        for order in dict.fromkeys(row["order"] for row in self.rows):
            refused = [r for r in self.rows if r["order"] == order and r["refused"] is not None]
            if refused:
                f, why = refused[0]["fraction_bits"], refused[0]["refused"]
                notes.append(f"refused from f = {f} on, {order}: {why}")
        return notes

    def __rich__(self) -> Group:
        return Group(self.table(), *map(Text, self.notes()))

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        return f"<Analysis of truncation, {self.data['ring']}-bit ring, {len(self.rows)} rows>"


def _cells(row: dict[str, Any]) -> list[str | Text]:
    """A row of the table."""
    start = [str(row["fraction_bits"]), f"{SHORT[row['order']]} ({row['masks'][0]})"]
    if row["refused"] is not None:
        return [*start, "refused"]
    shares = [f"{100 * row[name]:.2f}" for name in ("accuracy", "agreement")]
    if row["layer"] is None:
        return [*start, *shares, "none"]
    numbers = [scientific(row[name], 1) for name in ("e1_per_item_predicted", "e1_per_item")]
    return [*start, *shares, f"{row['e1_probability']:.1e}", Text(row["layer"]), *numbers]


def check_plot(path: str | Path) -> None:
    """Refuses what no plot can be written to, before a long analysis."""
    if Path(path).suffix not in PICTURES:
        raise TacitError(f"{path}: a plot is written as {' or '.join(PICTURES)}")
    if importlib.util.find_spec("matplotlib") is None:
        told = "a plot needs matplotlib: pip install 'tacit[plot]'"
        raise MissingPackageError(told, extra="plot")


def analyze_truncation(
    model: Model | str | Path | Any,
    x: ArrayLike,
    labels: ArrayLike,
    *,
    fraction_bits: Iterable[int] | None = None,
    ring: int = 64,
    items: int | None = None,
    dims: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Measures what probabilistic truncation does to a model's accuracy.

    The model runs in the clear, with weights of as many fraction bits as the values, and with the
    truncation of ABY3 and SecureML. Its large error `e1` makes a truncated value wrong with
    probability `|x| / 2^ring`; a fixed mask, which protects nothing, hides it. This reproduces
    Figure 2 and Table 3 of Bicoptor 2.0; the default truncation of Tacit has no such error.

    Parameters
    ----------
    model
        A model from :func:`tacit.compile`, or what that takes. How it was planned plays no part:
        the ranges are those that `x` shows.
    x, labels
        Inputs, `(n, *input_shape)`, and their true classes, `(n,)`.
    fraction_bits
        The numbers of fraction bits to try; 4 to 30, or to 28 in the 32-bit ring, when not given.
    ring
        Bits of the ring, 32 or 64.
    items
        How many of the inputs to use; all when not given.
    dims
        As for :func:`tacit.compile`.
    progress
        Called as `progress(phase, layer, done, total)`.

    Raises
    ------
    TacitError
        If an input or an option cannot be used. What leaves the ring at some number of fraction
        bits is no error, but `refused` in its rows.
    """
    x, labels = np.atleast_1d(x), np.atleast_1d(labels)
    if items is not None:
        if items < 1:
            raise TacitError(f"items: {items}; at least 1 is needed")
        x, labels = x[:items], labels[:items]
    if not isinstance(model, Model):
        path = isinstance(model, (str, os.PathLike))
        model = compile(model, samples=None if path else x[:SAMPLES], dims=dims)
    values, shape = model.encode(x)
    if fraction_bits is None:
        fraction_bits = range(4, min(31, ring - 3))
    options = {"fraction_bits": _bits(fraction_bits), "ring": ring}
    with shown(progress) as told_to:
        analysis = model.compiled.analyze_truncation(
            x=(values, shape),
            labels=label_list(labels, shape[0]),
            options=to_json(options),
            progress=told_to,
        )
    return Analysis(json.loads(analysis))


def _bits(fraction_bits: Iterable[int]) -> list[int]:
    """The numbers in order, each once."""
    bits = [operator.index(f) for f in fraction_bits]
    if min(bits, default=0) < 0:
        raise TacitError(f"fraction bits: {min(bits)} is negative")
    return sorted(set(bits))
