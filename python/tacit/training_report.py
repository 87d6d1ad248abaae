"""What a private training cost, and how the network became better."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

from .curves import Axis, Line, curve
from .report import cost_table, count, facts_grid, html_facts, html_table, render

CURVES = {"accuracy": "accuracy", "loss": "cross-entropy", "error": "mean squared error"}
"""What may be revealed of an epoch, and what it is called."""
UNITS = {"accuracy": ", %", "loss": ", nats", "error": ""}
"""What each is measured in; an error in the squares of what the network gives."""


class TrainingReport:
    """The cost of a training, and its curve where that was revealed.

    Attributes
    ----------
    data : dict
        The content, JSON-serialisable: `tacit` (its version), `protocol, security, parties`,
        `numbers, fraction_bits, truncation, network, parameters, batch, batches`, `setup`,
        `offline` and `online` (each `seconds, rounds, bytes_sent`, one entry per party), `epochs`
        (each `epoch, seconds, accuracy, loss, error`) and `peak_memory_bytes`; of one that went on
        from a checkpoint `resumed` (`after` and `of` in mini-batches, `checkpoint`: the file);
        `revealed` (each `what` was opened, `to` which parties, `count`: how many of it, and in how
        many `openings`); of all parties on one machine `brought` (each `party`, and how many items
        of `training` and `test` data it has).
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
            (
                "trained",
                f"{count(d['parameters'], 'parameter')} in {count(d['batches'], 'mini-batch')}",
            ),
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
            digits = 1 if epoch["seconds"] >= 1 else 3
            table.add_row(str(epoch["epoch"]), f"{epoch['seconds']:.{digits}f}", *values)
        return table

    def picture(self) -> str:
        """The curves as SVG, one for each number that was revealed; empty where none was."""
        return "".join(self.curves())

    def curves(self) -> list[str]:
        """The pictures of :meth:`picture`, one by one."""
        made: list[str] = []
        for name, words in CURVES.items():
            times = 100 if name == "accuracy" else 1
            points = [(e["epoch"], times * e[name]) for e in self.epochs if e[name] is not None]
            most = 100 if name == "accuracy" else math.inf
            up = Axis(f"{words} on the test data{UNITS[name]}", 0, most)
            made.append(curve([Line("", points)], Axis("epoch"), up))
        return [*filter(None, made)]

    def to_json(self) -> str:
        """The content as JSON."""
        return json.dumps(self.data, indent=2) + "\n"

    def to_html(self) -> str:
        """A page with the curve, the tables and the settings."""
        from . import pages  # noqa: PLC0415

        return pages.of_training(self).render()

    def save_json(self, path: str | Path) -> None:
        """Writes the content to `path`."""
        Path(path).write_text(self.to_json())

    def save_html(self, path: str | Path) -> None:
        """Writes that page to `path`."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def __rich__(self) -> Group:
        return Group(facts_grid(self.facts()), "", cost_table(self.data), self.epoch_table())

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        return (
            f"<TrainingReport {self.data['protocol']}, {count(self.data['batches'], 'mini-batch')}>"
        )

    def _repr_html_(self) -> str:
        tables = "".join(map(html_table, (cost_table(self.data), self.epoch_table())))
        return f"{html_facts(self.facts())}{tables}{self.picture()}"


def brought(
    train: Iterable[tuple[int, Any, Any]], test: Iterable[tuple[int, Any, Any]]
) -> list[dict[str, int]]:
    """How many items of training and test data each party brought, by the party's number."""
    found: dict[int, dict[str, int]] = {}
    for kind, sets in (("training", train), ("test", test)):
        for owner, items, _ in sets:
            empty = {"party": int(owner), "training": 0, "test": 0}
            found.setdefault(int(owner), empty)[kind] += len(np.asarray(items))
    return [found[party] for party in sorted(found)]


def _value(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{100 * value:.2f} %" if name == "accuracy" else f"{value:.4g}"
