"""What `tacit metrics` shows: how a party of a service stands, in the width of a terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..report import duration
from ..visible import visible
from .scrape import Samples

PHASES = ("read", "queue", "batch", "answer", "audit", "all")
"""Phases of a request, in the order in which they are shown."""
MOST_ROWS = 100
MOST_LETTERS = 40
"""Letters of a name that are shown."""
SOON_DAYS = 14
COLOURS = {"ready": "green", "quarantined": "red", "failed": "red"}
COUNTED = (
    *("answered", "refused", "busy", "batches", "items", "lives"),
    *("online_seconds", "offline_seconds"),
)
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Model:
    """One model at this party, counted since its process began.

    Attributes
    ----------
    state : str
        Such as `ready`.
    waiting, running : float
        Requests of now.
    pool : float
        How often material lies ready.
    """

    name: str
    version: str
    state: str
    answered: float
    refused: float
    busy: float
    waiting: float
    running: float
    batches: float
    items: float
    online_seconds: float
    offline_seconds: float
    pool: float
    lives: float


@dataclass(frozen=True)
class Phase:
    """One phase of a model's requests; quantiles by the buckets of its histogram, in seconds.

    Attributes
    ----------
    median, p99 : float or None
        None where there was no request; infinite beyond the largest bucket, which is `most`.
    """

    model: str
    phase: str
    requests: float
    mean: float | None
    median: float | None
    p99: float | None
    most: float


@dataclass(frozen=True)
class Peer:
    """Bytes of a model between this party and another one."""

    model: str
    version: str
    peer: str
    sent: float
    received: float


@dataclass(frozen=True)
class Counted:
    """How often something with a code happened to a model."""

    model: str
    code: str
    count: float


@dataclass(frozen=True)
class Levels:
    """How a party stands.

    Attributes
    ----------
    url : str
        Where it was asked.
    began : float or None
        When its process began, in seconds since 1970.
    certificates : dict
        The days that are left, by names.
    """

    url: str
    began: float | None
    models: list[Model]
    phases: list[Phase]
    peers: list[Peer]
    refusals: list[Counted]
    errors: list[Counted]
    certificates: dict[str, float]

    @classmethod
    def of(cls, url: str, samples: Samples) -> Levels:
        """Puts together what the samples of a party say."""
        began = samples.get("process_start_time_seconds", ())
        refusals = _counted(samples, "tacit_requests_total", "code")
        return cls(
            url=url,
            began=began[0][1] if began and math.isfinite(began[0][1]) else None,
            models=_models(samples),
            phases=_phases(samples),
            peers=_peers(samples),
            refusals=[each for each in refusals if each.code != "answered"],
            errors=_counted(samples, "tacit_errors_total", "kind"),
            certificates={
                labels.get("certificate", ""): days
                for labels, days in samples.get("tacit_certificate_days", ())
            },
        )

    def told(self) -> dict[str, Any]:
        """The levels for programs, as JSON has them: a time beyond the largest bucket is None."""
        found = asdict(self)
        for phase in found["phases"]:
            for name in ("median", "p99"):
                if phase[name] is not None and math.isinf(phase[name]):
                    phase[name] = None
        return found

    def __rich__(self) -> Group:
        several = len({each.name for each in self.models}) < len(self.models)

        def named(name: str, version: str) -> str:
            return f"{_word(name)} {_word(version)}" if several else _word(name)

        tables = (
            (self.models, _requests(self.models, named)),
            (self.models, _work(self.models, named)),
            (self.phases, _times(self.phases)),
            (self.peers, _traffic(self.peers, named)),
        )
        parts: list[RenderableType] = [self._head()]
        for rows, table in tables:
            parts += ["", table] if rows else []
        return Group(*parts, "", self._foot())

    def _head(self) -> Text:
        ready = sum(each.state == "ready" for each in self.models)
        colour = "green" if ready == len(self.models) else "red"
        text = Text(f"{visible(self.url)}: ")
        text.append(f"{ready} of {len(self.models)} models ready", style=colour)
        if self.began is not None:
            text.append(f"; counted for {duration(max(0.0, time.time() - self.began))}")
        return text

    def _foot(self) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_row("not answered", _codes(self.refusals, "yellow"))
        table.add_row("errors", _codes(self.errors, "red"))
        text = Text()
        for place, (name, days) in enumerate([*self.certificates.items()][:MOST_ROWS]):
            text.append(f"{', ' if place else ''}{_word(name)} ")
            text.append(f"{days:.0f}", style="red" if days < SOON_DAYS else "")
        table.add_row("certificates", text.append(" days left") if text else "none")
        return table


def quantile(q: float, buckets: Sequence[tuple[float, float]]) -> float | None:
    """The value below which a part `q` of the observations lies, as Prometheus estimates it.

    `buckets` are upper bounds, the last infinite, with how many observations are at most these.
    Within a bucket observations are taken to lie evenly. None of no observation; infinite beyond
    the last finite bound.
    """
    ordered = sorted(buckets)
    if not ordered or ordered[-1][1] <= 0:
        return None
    rank, below, before = q * ordered[-1][1], 0.0, 0.0
    for bound, count in ordered:
        if count >= rank:
            inside = count - before
            if math.isinf(bound) or inside <= 0:
                return bound
            return below + (bound - below) * (rank - before) / inside
        below, before = bound, count
    return math.inf


def _models(samples: Samples) -> list[Model]:
    counted = {name: _by_model(samples, f"tacit_core_{name}_total") for name in COUNTED}
    counted |= {name: _by_model(samples, f"tacit_core_{name}") for name in ("waiting", "running")}
    counted["pool"] = _by_model(samples, "tacit_core_pool")
    states = {
        _model(labels): labels.get("state", "")
        for labels, value in samples.get("tacit_state", ())
        if value == 1
    }
    return [
        Model(*key, state, **{name: each.get(key, 0.0) for name, each in counted.items()})
        for key, state in states.items()
    ]


def _model(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels.get("model", ""), labels.get("version", "")


def _by_model(samples: Samples, name: str) -> dict[tuple[str, str], float]:
    return {_model(labels): value for labels, value in samples.get(name, ())}


def _phases(samples: Samples) -> list[Phase]:
    buckets: dict[tuple[str, str], list[tuple[float, float]]] = {}
    sums: dict[tuple[str, str], float] = {}
    for labels, value in samples.get("tacit_request_seconds_bucket", ()):
        key = labels.get("model", ""), labels.get("phase", "")
        buckets.setdefault(key, []).append((_bound(labels.get("le", "")), value))
    for labels, value in samples.get("tacit_request_seconds_sum", ()):
        sums[labels.get("model", ""), labels.get("phase", "")] = value
    found: list[Phase] = []
    for key, each in buckets.items():
        requests = max(count for _, count in each)
        most = max((bound for bound, _ in each if math.isfinite(bound)), default=0.0)
        mean = sums[key] / requests if requests and key in sums else None
        found.append(Phase(*key, requests, mean, quantile(0.5, each), quantile(0.99, each), most))
    known = {name: place for place, name in enumerate(PHASES)}
    found.sort(key=lambda each: (each.model, known.get(each.phase, len(known))))
    return found


def _bound(told: str) -> float:
    """The upper bound of a bucket."""
    try:
        bound = float(told)
    except ValueError:
        return math.inf
    return math.inf if math.isnan(bound) else bound


def _peers(samples: Samples) -> list[Peer]:
    found: dict[tuple[str, str, str], list[float]] = {}
    for place, direction in enumerate(("sent", "received")):
        for labels, value in samples.get(f"tacit_core_peer_{direction}_bytes_total", ()):
            key = *_model(labels), labels.get("peer", "")
            found.setdefault(key, [0.0, 0.0])[place] += value
    return [Peer(*key, sent, received) for key, (sent, received) in found.items()]


def _counted(samples: Samples, name: str, label: str) -> list[Counted]:
    """What was counted by a label, without what never happened."""
    told = samples.get(name, ())
    each = [Counted(labels.get("model", ""), labels.get(label, ""), n) for labels, n in told]
    return [one for one in each if one.count]


Named = Callable[[str, str], str]


def _requests(models: Sequence[Model], named: Named) -> Table:
    table = _table("Requests", "model", "state")
    for name in ("answered", "refused", "busy", "waiting", "running"):
        table.add_column(name, justify="right")
    for each in models[:MOST_ROWS]:
        state = Text(_word(each.state), style=COLOURS.get(each.state, "yellow"))
        numbers = (each.answered, each.refused, each.busy, each.waiting, each.running)
        table.add_row(Text(named(each.name, each.version)), state, *map(_count, numbers))
    return _cut(table, models)


def _work(models: Sequence[Model], named: Named) -> Table:
    table = _table("Between the parties", "model")
    for name in ("met", "batches", "items", "a batch online", "material", "pool"):
        table.add_column(name, justify="right")
    for each in models[:MOST_ROWS]:
        mean = duration(each.online_seconds / each.batches) if each.batches > 0 else "-"
        numbers = [*map(_count, (each.lives, each.batches, each.items)), mean]
        made = duration(each.offline_seconds)
        table.add_row(Text(named(each.name, each.version)), *numbers, made, _count(each.pool))
    return _cut(table, models)


def _times(phases: Sequence[Phase]) -> Table:
    table = _table("Times of requests", "model", "phase")
    for name in ("requests", "mean", "median", "99 %"):
        table.add_column(name, justify="right")
    before = None
    for each in phases[:MOST_ROWS]:
        name = "" if each.model == before else _word(each.model)
        before = each.model
        quantiles = [_time(value, each.most) for value in (each.mean, each.median, each.p99)]
        table.add_row(Text(name), Text(_word(each.phase)), _count(each.requests), *quantiles)
    return _cut(table, phases)


def _traffic(peers: Sequence[Peer], named: Named) -> Table:
    table = _table("Traffic", "model", "with")
    for name in ("sent", "received"):
        table.add_column(name, justify="right")
    before = None
    for each in peers[:MOST_ROWS]:
        name = named(each.model, each.version)
        shown = "" if name == before else name
        before = name
        table.add_row(Text(shown), Text(_word(each.peer)), _size(each.sent), _size(each.received))
    return _cut(table, peers)


def _codes(counted: Sequence[Counted], colour: str) -> Text:
    """What was counted by codes, in one line."""
    text = Text("" if counted else "none")
    for place, each in enumerate(counted[:MOST_ROWS]):
        whose = f" ({_word(each.model)})" if each.model not in ("", "-") else ""
        text.append(", " if place else "")
        text.append(f"{_count(each.count)} {_word(each.code)}", style=colour).append(whose)
    return text


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="cyan")
    table.show_edge, table.pad_edge = False, False
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _cut(table: Table, rows: Sequence[Any]) -> Table:
    """The table, which says how many rows it does not show."""
    if len(rows) > MOST_ROWS:
        table.caption = f"and {len(rows) - MOST_ROWS:,} more"
    return table


def _word(told: str) -> str:
    """A name of another program as it is shown."""
    seen = visible(told)
    return seen if len(seen) <= MOST_LETTERS else f"{seen[: MOST_LETTERS - 3]}..."


def _count(value: float) -> str:
    return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"


def _time(seconds: float | None, most: float) -> str:
    """A time with its unit; one beyond the largest bucket is more than that."""
    if seconds is None:
        return "-"
    return f"> {duration(most)}" if math.isinf(seconds) else duration(seconds)


def _size(count: float) -> str:
    for unit, name in UNITS:
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:.0f} B"
