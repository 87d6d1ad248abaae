"""What Prometheus is told. No label is ever a text that a client chose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from .runner import Key
from .service import Stands, standing

SECONDS = (0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
STATES = ("new", "connecting", "ready", "draining", "drained", "failed", "quarantined")
GAUGES = {
    "waiting": "Requests that wait.",
    "waiting_items": "Items of the requests that wait.",
    "running": "Requests that are computed.",
    "pool": "How often material for pool_items items lies ready, in all sessions together.",
}
COUNTERS = {
    "answered": "Requests that the core answered.",
    "refused": "Requests that the parties refused.",
    "busy": "Requests that found the queue full.",
    "batches": "Batches that were computed.",
    "items": "Items that were computed.",
    "online_seconds": "Seconds of the online phase.",
    "offline_seconds": "Seconds in which material was made.",
    "sent": "Bytes sent to the other parties, also to agree on batches and to make material.",
    "received": "Bytes received from the other parties, counted as those sent.",
    "rounds": "Rounds between the parties.",
    "lives": "How often the parties came together.",
}
PEERS = {
    "sent": ("sent_to", "Bytes sent to another party."),
    "received": ("received_from", "Bytes received from another party."),
}
"""What is counted of each other party, by the core's name for it."""


class Metrics:
    """The counters of a party.

    Attributes
    ----------
    registry : CollectorRegistry
        Where they are; one for each party, not the process's.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # Memory, descriptors, time of the processor, and when the process began.
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "tacit_requests",
            "Requests for a prediction, by how they ended.",
            ["model", "code"],
            registry=self.registry,
        )
        self.http = Counter(
            "tacit_http", "All requests.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "tacit_request_seconds",
            "Seconds of a request: read (its body), answer (queue: until its batch begins, and "
            "batch: until that is computed), audit, all.",
            ["model", "phase"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.bytes = Counter(
            "tacit_client_bytes",
            "Bytes of bodies from and to clients.",
            ["model", "direction"],
            registry=self.registry,
        )
        self.errors = Counter(
            "tacit_errors",
            "Errors that ended a model's life, by their codes; of the audit log, of the program.",
            ["model", "kind"],
            registry=self.registry,
        )
        self.days = Gauge(
            "tacit_certificate_days",
            "Days that a certificate is valid still.",
            ["certificate"],
            registry=self.registry,
        )

    def stands_still(self, why: Callable[[], str | None]) -> None:
        """Tells whether the party is quarantined whenever it is asked; `why` says it of then."""
        family = Gauge(
            "tacit_quarantined",
            "1 while this party meets nobody, since one broke the protocol.",
            registry=self.registry,
        )
        family.set_function(lambda: float(why() is not None))

    def watch(self, cores: Callable[[], Mapping[Key, Stands]]) -> None:
        """Tells how the models stand whenever it is asked; `cores` are those of then."""
        self.registry.register(Standing(cores))

    def expire(self, certificates: Iterable[tuple[str, float]]) -> None:
        """Tells when certificates end, in seconds since 1970."""
        for name, until in certificates:
            left = self.days.labels(name)
            left.set_function(lambda until=until: (until - time.time()) / 86400)

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        return generate_latest(self.registry)


class Standing(Collector):
    """The levels and counters that the core keeps."""

    def __init__(self, cores: Callable[[], Mapping[Key, Stands]]):
        self.cores = cores

    def collect(self) -> Iterator[Any]:
        """Asks every model how it stands, and yields its levels and counters."""
        told = {key: standing(core) for key, core in self.cores().items()}
        labels = ["model", "version"]
        state = GaugeMetricFamily("tacit_state", "1 of the state.", labels=[*labels, "state"])
        for key, each in told.items():
            for known in STATES:
                state.add_metric([*key, known], float(each["state"] == known))
        yield state
        for kind, family, words in (
            *(("gauge", key, text) for key, text in GAUGES.items()),
            *(("counter", key, text) for key, text in COUNTERS.items()),
        ):
            make = GaugeMetricFamily if kind == "gauge" else CounterMetricFamily
            found = make(f"tacit_core_{family}", words, labels=labels)
            for key, each in told.items():
                found.add_metric(list(key), float(each.get(family) or 0))
            yield found
        for direction, (field, words) in PEERS.items():
            name = f"tacit_core_peer_{direction}_bytes"
            found = CounterMetricFamily(name, words, labels=[*labels, "peer"])
            for key, each in told.items():
                peers: Mapping[str, int] = each.get(field) or {}
                for peer, count in peers.items():
                    found.add_metric([*key, peer], float(count))
            yield found
