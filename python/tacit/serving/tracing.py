"""Traces of requests, by OpenTelemetry: one trace for a request at all parties.

A client sends `traceparent` (W3C). Where it does not, the request's number is the trace's, which is
the same at all parties. Spans are made once a request is over, of those alone who may ask:
strangers could fill whatever keeps them. No client, share or answer is in them.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from .._tacit import TacitError, __version__
from .needs import need

PARENT = re.compile(r"00-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")
NUMBER = re.compile(r"[0-9a-f]{32}")
NONE = ("0" * 32, "0" * 16)
FACTS = (("tacit.model", "model"), ("tacit.code", "code"), ("http.response.status_code", "status"))


def parent_of(number: str) -> str | None:
    """The `traceparent` of a request's number, if it can be that of a trace."""
    if not NUMBER.fullmatch(number) or number == NONE[0]:
        return None
    span = hashlib.sha256(number.encode()).hexdigest()[:16]
    return f"00-{number}-{span}-01"


def sent_parent(number: str) -> str | None:
    """What a client sends: its program's own trace if it has one, else that of the number."""
    found: MutableMapping[str, str] = {}
    if "opentelemetry.propagate" in sys.modules:
        sys.modules["opentelemetry.propagate"].inject(found)
    given = found.get("traceparent", "")
    return given if PARENT.fullmatch(given) else parent_of(number)


class Traces:
    """Makes the spans of one party.

    Parameters
    ----------
    provider
        The tracer provider of OpenTelemetry's SDK.
    party
        This party's name.
    """

    def __init__(self, provider: Any, party: str):
        self.provider, self.party = provider, party
        self.tracer = provider.get_tracer("tacit", __version__)

    def tell(self, given: str | None, state: Mapping[str, Any], begun: int, ended: int) -> None:
        """The spans of a request, from its state; times are in nanoseconds since 1970."""
        from opentelemetry import trace  # noqa: PLC0415

        if "client" not in state:
            return
        facts = {key: state[name] for key, name in FACTS if state.get(name) is not None}
        asked = state.get("asked")
        if asked is not None:
            facts |= {"tacit.id": asked.id.hex(), "tacit.items": asked.items}
        facts |= {"tacit.request": state["number"], "tacit.party": self.party}
        span = self.tracer.start_span(
            "tacit request",
            _context(given, state["number"]),
            kind=trace.SpanKind.SERVER,
            attributes=facts,
            start_time=begun,
        )
        inside = trace.set_span_in_context(span)
        for name, first, last in state.get("phases", ()):
            self.tracer.start_span(f"tacit {name}", inside, start_time=first).end(last)
        if state["code"] != "answered":
            span.set_status(trace.StatusCode.ERROR, state["code"])
        span.end(ended)

    def close(self) -> None:
        """Sends what is left."""
        self.provider.shutdown()


def _context(given: str | None, number: str) -> Any:
    """The context of the span that a request belongs to; an empty one begins a trace."""
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.context import Context  # noqa: PLC0415

    found = PARENT.fullmatch(given or "")
    if found is None or found["trace"] == NONE[0] or found["span"] == NONE[1]:
        found = PARENT.fullmatch(parent_of(number) or "")
    if found is None:
        return Context()
    flags = trace.TraceFlags(int(found["flags"], 16) & trace.TraceFlags.SAMPLED)
    parent = trace.SpanContext(int(found["trace"], 16), int(found["span"], 16), True, flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(parent), Context())


def traces_of(config: Mapping[str, Any]) -> Traces | None:
    """The traces of a config file; None if it names nowhere to send them."""
    from .policy import is_loopback  # noqa: PLC0415

    endpoint: str | None = config["service"].get("traces")
    if not endpoint:
        return None
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        parts = urlsplit("")
    plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or plain):
        told = "give https://host/v1/traces, or http:// of this machine: who asks when is in traces"
        # Of the address nothing is told: a password may stand in it.
        raise TacitError(f"service.traces: {told}")
    need("otel", "service.traces")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    party = config["parties"][config["party"]["id"]]["name"]
    about = {"service.name": "tacit", "service.version": __version__, "service.instance.id": party}
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Traces(provider, party)
