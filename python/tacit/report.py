"""What a private prediction cost, and how close it came to the clear-text model."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .alike import grouped

if TYPE_CHECKING:
    import pandas as pd

PHASES = ("setup", "offline", "online")


def megabytes(n: float) -> str:
    """Bytes as megabytes with a sensible number of digits."""
    return f"{n / 1e6:.3f}" if n < 1e8 else f"{n / 1e6:.0f}"


def count(number: int, word: str) -> str:
    """A number of things with their name, such as `1 layer` or `2,000 mini-batches`."""
    ending = "es" if word.endswith("batch") else "s"
    return f"{number:,} {word}{ending if number != 1 else ''}"


def duration(seconds: float) -> str:
    """A time with a unit that fits it."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 300:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def scientific(value: float, digits: int = 2) -> str:
    """An error with so many digits after its first and a power of ten; 0 as it is."""
    return f"{value:.{digits}e}" if value else "0"


def render(item: RenderableType) -> str:
    """A rich item as plain text."""
    console = Console(width=100, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(item)
    return capture.get().rstrip()


def facts_grid(facts: Iterable[tuple[str, str]]) -> Table:
    """Names and values, one pair a line, as they are: what files name may look like markup."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(Text(name, "bold"), Text(value))
    return grid


def cost_table(cost: dict[str, Any], title: str = "Phases") -> Table:
    """The table of the phases of a report, or of a predicted cost."""
    table = Table(title=title)
    table.add_column("phase")
    for name in ("seconds", "rounds", "average sent, MB", "busiest party sent, MB"):
        table.add_column(name, justify="right")
    for name in PHASES:
        phase = cost.get(name)
        if not phase or not phase["bytes_sent"]:
            continue
        sent = phase["bytes_sent"]
        average, most = megabytes(sum(sent) / len(sent)), megabytes(max(sent))
        table.add_row(name, f"{phase['seconds']:.3f}", str(phase["rounds"]), average, most)
    return table


class Report:
    """The cost and the accuracy of one run.

    Bytes are payload bytes as metered on the links; rounds are hops on the longest causal path.
    `layers` tells the online phase apart layer by layer; bytes there are the busiest party's.

    Attributes
    ----------
    data : dict
        The report's content, JSON-serialisable; the keys are those of :meth:`to_dict`.
    """

    def __init__(self, data: dict[str, Any]):
        self.data = data

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(
                f"a report has no {name!r}; it has {', '.join(self.__dict__.get('data', {}))}"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """A copy of the content.

        Keys: `tacit` (its version), `date`, `plan` (its digest), `run` and `met` (where parties
        were apart: the run's name, and each party's `name` and `certificate`), `model_owner` and
        `data_owner` (their numbers, of a prediction), `protocol, parties, security, ring, numbers,
        fraction_bits, truncation, order, public_model, network, images, batch`, `threshold` (of a
        protocol that lets it be chosen), `reveal` (of a prediction: what of the outputs was
        opened), `roles` (of a protocol that has names for its parties), `setup`, `offline` and
        `online` (each `seconds, rounds, bytes_sent`, one entry per party), `layers` (each `name,
        op, shape, seconds, rounds, bytes`), `batches` (each `offline_seconds, online_seconds`),
        `warnings`, `doubt` (where the answers differ by little beside what the plan's trial erred),
        `accuracy`, `agreement` and `max_abs_error` (each `None` where it was not asked for, the
        last also where classes were revealed). Of :func:`tacit.bench` also `op`, `n`, `chunk` and
        `max_ulp_error`, in units of the last place; errors are from the exact function or, of what
        is none, from the same fixed-point computation in the clear. Of several batches that were
        given one by one it is the sum of their runs, and `runs` says how many: the shares are of
        all items, what is a largest is that of any run, and a layer's bytes add up the busiest
        party's of each run.
        """
        return json.loads(json.dumps(self.data))

    def to_dataframe(self) -> pd.DataFrame:
        """The layers as a pandas DataFrame, one row each; needs `pip install tacit[pandas]`."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.data["layers"])

    def to_json(self) -> str:
        """The content as JSON."""
        return json.dumps(self.data, indent=2) + "\n"

    def save_json(self, path: str | Path) -> None:
        """Writes the content to `path`."""
        Path(path).write_text(self.to_json())

    def to_html(self) -> str:
        """A page of what was computed between whom, and where time and traffic went."""
        from . import pages  # noqa: PLC0415

        return pages.of_report(self).render()

    def save_html(self, path: str | Path) -> None:
        """Writes that page to `path`."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def facts(self) -> list[tuple[str, str]]:
        """The settings and the result in words, as (name, value)."""
        d = self.data
        fraction = f", {d['fraction_bits']} fraction bits" if d["fraction_bits"] else ""
        runs = f"{d['runs']} runs, " if d.get("runs") else ""
        rows = [
            ("protocol", f"{d['protocol']}, {d['security']}"),
            ("parties", ", ".join([str(d["parties"]), *d.get("roles", [])])),
            ("numbers", d["numbers"] + fraction),
            ("network", f"{d['network']}, {runs}batches of {d['batch']}"),
        ]
        if d.get("reveal") is not None:
            rows.append(("revealed to the data owner", d["reveal"]))
        if d.get("accuracy") is not None:
            rows.append(("accuracy", f"{100 * d['accuracy']:.2f} %"))
        if d.get("agreement") is not None:
            rows.append(("same answer as in clear text", f"{100 * d['agreement']:.2f} %"))
        if d.get("op") is not None:
            size = f"{d['op']}, n = {d['n']:,}, {d['chunk']:,} at a time"
            rows.insert(0, ("operation", f"{size}, median of {count(d['images'], 'run')}"))
            units = f"{d['max_ulp_error']:.2f} units in the last place"
            rows.append(("largest error", f"{scientific(d['max_abs_error'])}, {units}"))
        elif d.get("max_abs_error") is not None:
            rows.append(("largest difference from clear text", scientific(d["max_abs_error"])))
        rows += [("warning", words) for words in grouped(d.get("warnings", []))]
        if d.get("doubt") is not None:
            rows.append(("warning", d["doubt"]))
        return rows

    def brief(self) -> str:
        """The protocol, its parties, and what the online phase cost, in a line."""
        online = self.data["online"]
        sent = max(online["bytes_sent"], default=0)
        return (
            f"{self.data['protocol']}, {self.data['parties']} parties, online "
            f"{online['seconds']:.3f} s, {online['rounds']} rounds, {megabytes(sent)} MB by the "
            "busiest party"
        )

    def layer_table(self) -> Table:
        """The table of the online phase layer by layer."""
        table = Table(title="Online, layer by layer")
        for name in ("layer", "operation", "output"):
            table.add_column(name)
        for name in ("seconds", "rounds", "MB per party"):
            table.add_column(name, justify="right")
        for layer in self.data["layers"]:
            table.add_row(
                Text(layer["name"]),
                layer["op"],
                " x ".join(map(str, layer["shape"])),
                f"{layer['seconds']:.4f}",
                str(layer["rounds"]),
                megabytes(layer["bytes"]),
            )
        return table

    def __rich__(self) -> Group:
        return Group(facts_grid(self.facts()), "", cost_table(self.data), self.layer_table())

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        online = self.data["online"]
        cost = f"{online['seconds']:.3f} s, {online['rounds']} rounds"
        return f"<Report {self.data['protocol']}, online {cost}>"

    def _repr_html_(self) -> str:
        tables = "".join(map(html_table, (cost_table(self.data), self.layer_table())))
        return html_facts(self.facts()) + tables


def html_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Names and values as an HTML table."""
    lines = (f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in facts)
    return f"<table>{''.join(lines)}</table>"


def html_table(table: Table, most: int | None = None) -> str:
    """A rich table of plain strings as an HTML table, or its first lines."""
    cells = [list(column.cells)[:most] for column in table.columns]
    columns = [[html.escape(str(cell)) for cell in column] for column in cells]
    head = "".join(f"<th>{html.escape(str(column.header))}</th>" for column in table.columns)
    rows = ("".join(f"<td>{cell}</td>" for cell in row) for row in zip(*columns, strict=True))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{html.escape(str(table.title))}</caption><tr>{head}</tr>{body}</table>"
