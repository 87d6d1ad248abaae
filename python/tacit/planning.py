"""What runs of a model would cost on every protocol, and which to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ._tacit import TacitError
from .protocols import OPTIONS

if TYPE_CHECKING:
    from .model import Model
    from .notebook import Progress

AUTO = "auto"
"""The name of no protocol: the quickest."""

PHASES = ("setup", "offline", "online")
"""The phases of a predicted cost: the first comes once, the others with every batch."""

WORDS = {"setup": "set-up"}
"""What phases are called where not by their names."""

WAYS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"protocol": "falcon"}, "one curious party of three"),
    (
        {"protocol": "falcon", "security": "malicious"},
        "one cheating party of three, by ending the run",
    ),
    ({"protocol": "bicoptor"}, "one curious party of three; two compute, one assists"),
    ({"protocol": "bicoptor", "sharing": "rss"}, "one curious party of three"),
    ({"protocol": "shamir"}, "fewer than half of the parties, curious"),
    ({"protocol": "sirnn"}, "the other party, curious; nobody else takes part"),
)
"""Protocols with what their options change most, and whom each protects against."""


@dataclass(frozen=True)
class Comparison:
    """What one batch would cost in every way to compute it.

    Attributes
    ----------
    rows : list of dict
        Of each way its `settings` as :func:`tacit.local` takes them, whom it `protects` against,
        and its `cost` as :meth:`tacit.Model.predict_cost` tells it or why it is `refused`.
    batch : int
        Items at a time.
    network : str
        The network.
    """

    rows: list[dict[str, Any]]
    batch: int
    network: str

    @property
    def best(self) -> dict[str, Any]:
        """The settings that take the fewest seconds, offline and online together."""
        return dict(min(self.possible, key=lambda row: seconds(row["cost"]))["settings"])

    @property
    def possible(self) -> list[dict[str, Any]]:
        """The rows of ways that can compute it, at least one."""
        found = [row for row in self.rows if row["cost"]]
        if not found:
            why = "; ".join(f"{named(row['settings'])}: {row['refused']}" for row in self.rows)
            raise TacitError(f"no protocol can run this model as asked: {why}")
        return found

    def __rich__(self) -> Table:
        """The table, the best way marked."""
        items = "1 item" if self.batch == 1 else f"{self.batch} items"
        table = Table(title=f"{items} at a time, network: {self.network}")
        for name in ("protocol", "protects against"):
            table.add_column(name)
        heads = ("set-up, s", "offline, s", "online, s", "rounds", "sent, MB", "memory, MB")
        for name in heads:
            table.add_column(name, justify="right")
        best = self.best
        for row in self.rows:
            name, cost = named(row["settings"]), row["cost"]
            if cost is None:
                table.add_row(name, f"[dim]{row['refused'].splitlines()[0]}[/]", *["-"] * 6)
                continue
            phases = [cost[phase] for phase in ("offline", "online")]
            sent = sum(max(phase["bytes_sent"], default=0) for phase in phases) / 1e6
            table.add_row(
                f"[bold]{name}[/]" if row["settings"] == best else name,
                row["protects"],
                *[f"{seconds(cost, phase):.3f}" for phase in PHASES],
                str(sum(phase["rounds"] for phase in phases)),
                f"{sent:.2f}",
                f"{max(cost['memory']['parties']) / 1e6:.0f}",
            )
        table.caption = (
            f"{named(best)} is the quickest; take it if what it protects against is enough for "
            "you. The set-up comes once, and its rounds and bytes are not counted; sent and memory "
            "are those of the party that has most"
        )
        return table


def seconds(cost: Mapping[str, Any], phase: str | None = None) -> float:
    """The seconds that a predicted cost expects; the network's where computing is not known.

    Those of one phase, or of both that every batch has.
    """
    phases = (phase,) if phase else ("offline", "online")
    expected = cost.get("expected")
    return sum(expected[name] if expected else cost[name]["seconds"] for name in phases)


def named(settings: Mapping[str, Any]) -> str:
    """Settings in words, such as `falcon, malicious`."""
    own = [str(settings[key]) for key in OPTIONS if settings.get(key) is not None]
    return ", ".join([settings["protocol"], *own])


def of_any(given: Mapping[str, Any]) -> dict[str, Any]:
    """Of settings what is of every protocol or narrows the choice."""
    kept = ("network", "parties", "security")
    return {key: given[key] for key in kept if given.get(key) is not None}


def compare(
    model: Model,
    batch: int = 1,
    *,
    network: str = "local",
    parties: int | None = None,
    security: str | None = None,
    measure: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """What one batch of a model would cost on every protocol.

    Parameters
    ----------
    model
        A model that is compiled for any protocol.
    batch
        Items at a time.
    network
        As :func:`tacit.local` takes it.
    parties
        Protocols of other numbers of parties are refused.
    security
        `malicious` leaves the ways that find a cheater.
    measure
        Whether seconds of computing are told, for which this machine is measured once.
    progress
        Called as `progress(phase, layer, done, total)` while it is measured.
    """
    rows: list[dict[str, Any]] = []
    for settings, protects in WAYS:
        if security and security != settings.get("security", "semi-honest"):
            continue
        asked = settings if parties is None else {**settings, "parties": parties}
        row: dict[str, Any] = {
            "settings": asked,
            "protects": protects,
            "cost": None,
            "refused": None,
        }
        try:
            row["cost"] = model.predict_cost(
                batch, **asked, network=network, measure=measure, progress=progress
            )
        except TacitError as error:
            row["refused"] = str(error)
        rows.append(row)
    return Comparison(rows, batch, network)


def quickest(
    model: Model, batch: int = 1, *, progress: Progress | None = None, **given: Any
) -> dict[str, Any]:
    """The settings of the way that takes the fewest seconds, as :func:`compare` finds them.

    Ways whose messages alone take longer on the network than another takes in all are not measured.

    Parameters
    ----------
    model
        A model that is compiled for any protocol.
    batch
        Items at a time.
    progress
        Called as `progress(phase, layer, done, total)` while this machine is measured.
    **given
        `network`, `parties` and `security` as :func:`compare` takes them.
    """
    network = given.get("network", "local")
    rows = compare(model, batch, measure=False, **given).possible
    best: tuple[float, dict[str, Any]] | None = None
    for row in sorted(rows, key=lambda row: seconds(row["cost"])):
        if best and seconds(row["cost"]) >= best[0]:
            break
        cost = model.predict_cost(
            batch, **row["settings"], network=network, measure=True, progress=progress
        )
        if best is None or seconds(cost) < best[0]:
            best = seconds(cost), row["settings"]
    assert best is not None
    return dict(best[1])


def counted(batch: int) -> str:
    """What a predicted cost is of, in words."""
    return "A batch of 1 item" if batch == 1 else f"A batch of {batch} items"


def memory_words(memory: Mapping[str, Any]) -> str:
    """The most memory of the parties' processes, in words."""
    each = [f"{of / 1e6:.0f}" for of in memory["parties"]]
    same = len(set(each)) == 1
    parties = f"{each[0]} MB each" if same else f"{', '.join(each)} MB (party 0, 1, ...)"
    together = f"{memory['together'] / 1e6:.0f} MB"
    return f"memory at most: {parties}; one process with all parties {together}"


def planned_costs(cost: Mapping[str, Any], title: str) -> Table:
    """The phases of a predicted cost, with the seconds of computing and of the network."""
    table = Table(title=title)
    table.add_column("phase")
    computing = cost.get("computing")
    told = ["computing, s", "network, s", "expected, s"] if computing else ["network, s"]
    for name in (*told, "rounds", "busiest party sent, MB"):
        table.add_column(name, justify="right")
    if "setup" in cost:
        table.caption = "the set-up comes once, the other phases with every batch"
    for name in PHASES:
        if name not in cost:
            continue
        phase, sent = cost[name], cost[name]["bytes_sent"]
        times = [cost[name]["seconds"]]
        if computing:
            times = [computing[name], *times, seconds(cost, name)]
        table.add_row(
            WORDS.get(name, name),
            *[f"{time:.3f}" for time in times],
            str(phase["rounds"]),
            f"{max(sent, default=0) / 1e6:.3f}",
        )
    return table
