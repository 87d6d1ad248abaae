"""What runs of a model would cost on every protocol, and which to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ._tacit import TacitError
from .protocols import OPTIONS
from .report import count, duration

if TYPE_CHECKING:
    from .model import Model
    from .notebook import Progress

AUTO = "auto"
"""The name of no protocol: the quickest."""

SEMI_HONEST = "semi-honest"
"""The security of settings that name none."""

PHASES = ("setup", "offline", "online")
"""The phases of a predicted cost: the first comes once, the others with every batch."""

WORDS = {"setup": "set-up"}
"""What phases are called where not by their names."""

HEADS = ("parties", "set-up,\ns", "offline,\ns", "online,\ns", "rounds", "sent,\nMB", "memory,\nMB")
"""The numbers of a comparison; their widths and those of the longest names make 80 columns."""

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
        return dict(self.ranked[0]["settings"])

    @property
    def possible(self) -> list[dict[str, Any]]:
        """The rows of ways that can compute it, at least one."""
        found = [row for row in self.rows if row["cost"]]
        if not found:
            why = "; ".join(f"{named(row['settings'])}: {row['refused']}" for row in self.rows)
            raise TacitError(f"no protocol can run this model as asked: {why}")
        return found

    @property
    def ranked(self) -> list[dict[str, Any]]:
        """The rows of ways that can compute it, the quickest first."""
        return sorted(self.possible, key=lambda row: seconds(row["cost"]))

    def __rich__(self) -> Group:
        """The table, whom each way protects against, and which to take."""
        return Group(self.table(), "", self.protections(), "", Text(self.advice()))

    def table(self) -> Table:
        """What each way that can compute it costs, in 80 columns; the quickest is bold."""
        network = "local (none)" if self.network == "local" else self.network
        table = Table(
            title=f"{count(self.batch, 'item')} at a time, network: {network}",
            box=box.SIMPLE_HEAD,
            padding=0,
            pad_edge=False,
            show_edge=False,
            title_justify="left",
            caption_justify="left",
            caption="The set-up comes once; its rounds and bytes are not counted. Sent and memory: "
            "of the party that has most.",
        )
        table.add_column("protocol", no_wrap=True)
        table.add_column("security", no_wrap=True)
        for name in HEADS:
            table.add_column(name, justify="right", no_wrap=True)
        best = self.ranked[0]
        for row in self.possible:
            table.add_row(*_cells(row), style="bold" if row is best else "")
        return table

    def protections(self) -> Table:
        """Whom each way protects against, or why it cannot compute this, a line for each."""
        told = Table.grid(padding=(0, 2))
        told.add_column(no_wrap=True)
        told.add_column()
        for row in self.rows:
            words = f"against {row['protects']}"
            if row["cost"] is None:
                words = f"refused: {row['refused'].splitlines()[0]}"
            told.add_row(named(row["settings"]), Text(words))
        return told

    def advice(self) -> str:
        """Which way is the quickest, which is next, and what security that one gives up."""
        best, *others = self.ranked
        name, took = named(best["settings"]), seconds(best["cost"])
        if took == 0:
            return (
                "No seconds are counted, so that none is the quickest: name a network with "
                "--network, or leave out --no-measure."
            )
        told = [f"{name} is the quickest: {duration(took)} a batch, offline and online together."]
        told.append(_next(best, others[0]) if others else "No other can compute this as asked.")
        told.append(_cheating(best, others))
        return " ".join(told)


def _cells(row: Mapping[str, Any]) -> list[str]:
    """A line of the table of a comparison."""
    settings, cost = row["settings"], row["cost"]
    phases = [cost[phase] for phase in ("offline", "online")]
    sent = sum(max(phase["bytes_sent"], default=0) for phase in phases) / 1e6
    memory = cost["memory"]["parties"]
    return [
        named({**settings, "security": None}),
        str(settings.get("security", SEMI_HONEST)),
        str(len(memory)),
        *[_short(seconds(cost, phase), 3) for phase in PHASES],
        str(sum(phase["rounds"] for phase in phases)),
        _short(sent, 2),
        f"{max(memory) / 1e6:.0f}",
    ]


def _short(value: float, digits: int) -> str:
    """A number with so many digits after the point, or fewer where it has over 6 characters."""
    words = [f"{value:.{kept}f}" for kept in range(digits, -1, -1)]
    return next((each for each in words if len(each) <= 6), words[-1])


def _next(best: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The runner-up, its time, and whether it protects against somebody else."""
    took, longer = seconds(best["cost"]), seconds(other["cost"])
    share = longer / took
    more = f"{100 * (share - 1):.0f} % more" if share < 2 else f"{share:.1f} times as long"
    more = "about as long" if share < 1.01 else more
    told = f"Next is {named(other['settings'])} with {duration(longer)}, {more}."
    own, others = (row["protects"].partition(";")[0] for row in (best, other))
    if own == others:
        return f"{told} Both protect against {own}."
    return f"{told} It protects against {others}; the quickest against {own}."


def _cheating(best: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """What a choice gives up or gains against parties that cheat."""
    if "security" in best["settings"]:
        return "It notices a party that cheats" + (", which no other does." if others else ".")
    strict = next((row for row in others if "security" in row["settings"]), None)
    if strict is None:
        return "No way that can compute this notices a party that cheats."
    took = duration(seconds(strict["cost"]))
    return (
        f"Against parties that cheat it gives no protection; {named(strict['settings'])} does, "
        f"with {took}."
    )


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
    """The settings that every protocol has or that narrow the choice."""
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
        if security and security != settings.get("security", SEMI_HONEST):
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
    return f"A batch of {count(batch, 'item')}"


def memory_words(memory: Mapping[str, Any]) -> str:
    """The most memory of the parties' processes, in words."""
    each = [f"{of / 1e6:.0f}" for of in memory["parties"]]
    same = len(set(each)) == 1
    parties = f"{each[0]} MB each" if same else f"{', '.join(each)} MB (party 0, 1, ...)"
    together = f"{memory['together'] / 1e6:.0f} MB"
    return f"memory at most: {parties}; one process with all parties {together}"


def planned_costs(cost: Mapping[str, Any], title: str, *, whole: bool = False) -> Table:
    """The phases of a predicted cost, with the seconds of computing and of the network.

    Of a batch, before which there was a set-up, or of a `whole` run.
    """
    table = Table(title=title)
    table.add_column("phase")
    computing = cost.get("computing")
    told = ["computing, s", "network, s", "expected, s"] if computing else ["network, s"]
    for name in (*told, "rounds", "busiest party sent, MB"):
        table.add_column(name, justify="right")
    if "setup" in cost and not whole:
        words = "the set-up comes once, the other phases with every batch"
        if computing:
            words += "; expected: the latency, and the longer of computing and sending"
        table.caption = words
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
