"""What a private training cost, and how the network became better."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table

from .report import cost_table, facts_grid, html_facts, html_table, render

WIDTH, HEIGHT, MARGIN = 480, 240, 40
"""The size of a curve's picture, in pixels."""
CURVES = {"accuracy": "accuracy", "loss": "cross-entropy", "error": "mean squared error"}
"""What may be revealed of an epoch, and what it is called."""


class TrainingReport:
    """The cost of a training, and its curve where that was revealed.

    Attributes
    ----------
    data : dict
        The content, JSON-serialisable: `tacit` (its version), `protocol, security, parties`,
        `numbers, fraction_bits, truncation, network, parameters, batch, batches`, `setup`,
        `offline` and `online` (each `seconds, rounds, bytes_sent`, one entry per party), `epochs`
        (each `epoch, seconds, accuracy, loss, error`) and `peak_memory_bytes`; of one that went on
        from a checkpoint `resumed` (`after` and `of` in mini-batches, `checkpoint`: the file).
    """

    def __init__(self, data: dict[str, Any]):
        self.data = data

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """One entry for each epoch; what was not revealed in it is `None`."""
        return self.data["epochs"]

    def facts(self) -> list[tuple[str, str]]:
        """The settings and the result in words, as (name, value)."""
        d = self.data
        rows = [
            ("protocol", f"{d['protocol']}, {d['security']}"),
            ("parties", str(d["parties"])),
            ("numbers", f"{d['numbers']}, {d['fraction_bits']} fraction bits"),
            ("network", f"{d['network']}, mini-batches of {d['batch']}"),
            ("trained", f"{d['parameters']:,} parameters in {d['batches']} mini-batches"),
        ]
        if d.get("resumed"):
            after, of, file = (d["resumed"][key] for key in ("after", "of", "checkpoint"))
            rows.append(("went on", f"after mini-batch {after} of {of}, from {file}"))
        if d["batches"]:
            phases = (d["offline"]["seconds"], d["online"]["seconds"])
            offline, online = (seconds / d["batches"] for seconds in phases)
            rows.append(("a mini-batch", f"{offline:.2f} s offline, {online:.2f} s online"))
        return rows

    def epoch_table(self) -> Table:
        """The table of the epochs, with what was revealed of them."""
        table = Table(title="Epochs")
        shown = [name for name in CURVES if any(e[name] is not None for e in self.epochs)]
        words = [CURVES[name] for name in shown] or ["on the test data"]
        for word in ("epoch", "seconds", *words):
            table.add_column(word, justify="right")
        for epoch in self.epochs:
            values = [_value(name, epoch[name]) for name in shown] or ["not revealed"]
            table.add_row(str(epoch["epoch"]), f"{epoch['seconds']:.1f}", *values)
        return table

    def picture(self) -> str:
        """The curves as SVG, one for each number that was revealed; empty where none was."""
        curves = []
        for name, words in CURVES.items():
            points = [(e["epoch"], e[name]) for e in self.epochs if e[name] is not None]
            if points:
                curves.append(_curve(words, points, top=1.0 if name == "accuracy" else None))
        return "".join(curves)

    def to_json(self) -> str:
        """The content as JSON."""
        return json.dumps(self.data, indent=2) + "\n"

    def to_html(self) -> str:
        """A page with the tables and the curve."""
        head = '<!doctype html><meta charset="utf-8"><title>Private training</title>'
        style = "<style>body{font-family:sans-serif} td,th{padding:0 1em;text-align:left}</style>"
        return f"{head}{style}{self._repr_html_()}\n"

    def save_json(self, path: str | Path) -> None:
        """Writes the content to `path`."""
        Path(path).write_text(self.to_json())

    def save_html(self, path: str | Path) -> None:
        """Writes a page with the tables and the curve to `path`."""
        Path(path).write_text(self.to_html())

    def __rich__(self) -> Group:
        return Group(facts_grid(self.facts()), "", cost_table(self.data), self.epoch_table())

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        return f"<TrainingReport {self.data['protocol']}, {self.data['batches']} mini-batches>"

    def _repr_html_(self) -> str:
        tables = "".join(map(html_table, (cost_table(self.data), self.epoch_table())))
        return f"{html_facts(self.facts())}{tables}{self.picture()}"


def _value(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{100 * value:.2f} %" if name == "accuracy" else f"{value:.4g}"


def _curve(name: str, points: list[tuple[int, float]], top: float | None) -> str:
    """An SVG line through (epoch, value), the axes with their ends named; up to `top`, if given."""
    last = max(epoch for epoch, _ in points)
    most = top or max(value for _, value in points) or 1.0

    def place(epoch: int, value: float) -> tuple[float, float]:
        across = (epoch - 1) / max(last - 1, 1)
        return (
            MARGIN + across * (WIDTH - 2 * MARGIN),
            HEIGHT - MARGIN - value / most * (HEIGHT - 2 * MARGIN),
        )

    places = [place(*point) for point in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
    low, right, high = HEIGHT - MARGIN, WIDTH - MARGIN, MARGIN
    words = [
        (MARGIN, high - 10, f"{name} on the test data"),
        (4, high + 4, f"{most:.3g}"),
        (4, low + 4, "0"),
        (MARGIN, low + 18, "epoch 1"),
        (right - 50, low + 18, f"epoch {last}"),
    ]
    texts = "".join(f'<text x="{x}" y="{y}">{html.escape(text)}</text>' for x, y, text in words)
    axes = f'<path d="M{MARGIN},{high}V{low}H{right}" fill="none" stroke="gray"/>'
    path = f'<polyline points="{line}" fill="none" stroke="steelblue" stroke-width="2"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'font-size="12" font-family="sans-serif">{axes}{path}{dots}{texts}</svg>'
    )
