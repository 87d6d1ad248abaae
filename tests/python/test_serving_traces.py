"""One trace for a request at all parties, of those who may ask."""

import json
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving_fakes import FakeSharing, client_table, config, parties, wait_for
from test_serving_http import ask_all, body, shares

import tacit
from tacit import TacitError
from tacit.serving import described, needs
from tacit.serving.tracing import PARENT, Traces, parent_of, sent_parent, traces_of

X = np.arange(8, dtype=np.float32).reshape(2, 4)
CLIENTS = [client_table("hospital-name", "key")]
KEY = {"authorization": "Bearer key"}
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Three parties whose spans are kept in memory."""
    pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    with parties(tmp_path_factory.mktemp("traces"), (CLIENTS,) * 3) as (running, worlds):
        exporters = []
        for one in running:
            provider, exporter = TracerProvider(), InMemorySpanExporter()
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            one.party.host.traces = Traces(provider, one.party.config["parties"][0]["name"])
            exporters.append(exporter)
        yield running, worlds["digits"], exporters


def requests(exporter):
    return [span for span in exporter.get_finished_spans() if span.name == "tacit request"]


@pytest.fixture
def spans(traced):
    """The spans of each party, once there is one of a request."""
    for exporter in traced[2]:
        exporter.clear()

    def found():
        wait_for(lambda: all(requests(exporter) for exporter in traced[2]))
        return [exporter.get_finished_spans() for exporter in traced[2]]

    return found


def ask(traced, **headers):
    running, world, _ = traced
    number = secrets.token_bytes(16)
    texts = [body(world, part, number=number) for part in shares(np.ones((2, 4)))]
    return ask_all(running, texts, **headers), number.hex()


def test_a_client_and_all_parties_have_one_trace(traced, spans):
    urls = [one.url for one in traced[0]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(described, "make_sharing", FakeSharing)
        with tacit.connect(urls, key="key", timeout=5) as service:
            number = service.predict("digits", X).requests[0]
    for each in spans():
        (request,) = [
            span for span in each if span.name == "tacit request" and "tacit.id" in span.attributes
        ]
        assert f"{request.context.trace_id:032x}" == number == request.attributes["tacit.id"]
        inside = [span for span in each if span.parent == request.context]
        phases = ("read", "answer", "queue", "batch", "audit")
        assert {span.name for span in inside} == {f"tacit {phase}" for phase in phases}
        for span in inside:
            assert request.start_time - 2e6 <= span.start_time <= span.end_time
            assert span.end_time <= request.end_time
        assert request.attributes["tacit.code"] == "answered"
        assert request.attributes["tacit.items"] == 2
        # Who asks is in the audit log alone.
        assert "hospital-name" not in str([span.to_json() for span in each])


def test_a_trace_of_the_clients_own(traced, spans):
    answers, _ = ask(traced, traceparent=f"00-{TRACE}-{SPAN}-01", **KEY)
    assert [answer.status_code for answer in answers] == [200] * 3
    for each in spans():
        (request,) = [span for span in each if span.name == "tacit request"]
        assert f"{request.context.trace_id:032x}" == TRACE
        assert f"{request.parent.span_id:016x}" == SPAN


def test_a_program_with_a_trace_sends_it(traced, spans):
    from opentelemetry import propagate, trace
    from opentelemetry.sdk.trace import TracerProvider

    assert propagate
    urls = [one.url for one in traced[0]]
    tracer = TracerProvider().get_tracer("a program")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(described, "make_sharing", FakeSharing)
        with tacit.connect(urls, key="key", timeout=5) as service:
            with tracer.start_as_current_span("its own") as own:
                service.predict("digits", X)
            assert trace.get_current_span() is not own
    for each in spans():
        traces = {span.context.trace_id for span in each if "tacit.id" in span.attributes}
        assert traces == {own.get_span_context().trace_id}


@pytest.mark.parametrize(
    "given",
    [
        "",
        "00",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01" * 100,
    ],
)
def test_a_parent_that_is_none(traced, spans, given):
    """The request's number is the trace's then, where it can be."""
    number = secrets.token_hex(16)
    answers, _ = ask(traced, traceparent=given, **{"x-request-id": number}, **KEY)
    assert [answer.status_code for answer in answers] == [200] * 3
    for each in spans():
        (request,) = [span for span in each if span.name == "tacit request"]
        assert f"{request.context.trace_id:032x}" == number


def test_strangers_leave_no_trace(traced, spans):
    answers, _ = ask(traced, traceparent=f"00-{TRACE}-{SPAN}-01", authorization="Bearer no")
    assert [answer.status_code for answer in answers] == [401] * 3
    ask(traced, **KEY)
    for each in spans():
        assert TRACE not in {f"{span.context.trace_id:032x}" for span in each}


def test_a_refused_request_says_why(traced, spans):
    running, world, _ = traced
    texts = [body(world, bytes(5))] * 3
    ask_all(running, texts, **KEY)
    for each in spans():
        (request,) = [span for span in each if span.name == "tacit request"]
        assert request.attributes["tacit.code"] == "malformed" and not request.status.is_ok


def test_a_service_goes_on_without_its_traces(traced):
    real = traced[0][0].party.host.traces
    broken = type("Broken", (), {"tell": lambda *_: 1 / 0})()
    traced[0][0].party.host.traces = broken
    try:
        answers, _ = ask(traced, **KEY)
        assert [answer.status_code for answer in answers] == [200] * 3
    finally:
        traced[0][0].party.host.traces = real


def test_a_number_is_a_trace_where_it_can_be(monkeypatch):
    assert PARENT.fullmatch(parent_of(TRACE))["trace"] == TRACE
    for number in ("0" * 32, "x", "", TRACE.upper(), TRACE + "0"):
        assert parent_of(number) is None
    found: dict[str, str] = {}
    injects = type("Fake", (), {"inject": staticmethod(lambda into: into.update(found))})
    monkeypatch.setitem(sys.modules, "opentelemetry.propagate", injects)
    for told, expected in (
        ({}, parent_of(TRACE)),
        ({"traceparent": "strange\r\nheader: x"}, parent_of(TRACE)),
        ({"traceparent": f"00-{'ab' * 16}-{SPAN}-00"}, f"00-{'ab' * 16}-{SPAN}-00"),
    ):
        found.clear()
        found.update(told)
        assert sent_parent(TRACE) == expected
    monkeypatch.delitem(sys.modules, "opentelemetry.propagate")
    assert sent_parent(TRACE) == parent_of(TRACE)


def test_where_traces_go(tmp_path, monkeypatch):
    made = config(tmp_path, 0, 8100)
    assert traces_of(made) is None
    for endpoint in ("http://collector.example:4318/v1/traces", "collector:4318", "ftp://a/b"):
        made["service"]["traces"] = endpoint
        with pytest.raises(TacitError, match=r"service\.traces"):
            traces_of(made)
    made["service"]["traces"] = "http://127.0.0.1:4318/v1/traces"
    monkeypatch.setitem(needs.PACKAGES, "otel", ("not_installed_anywhere",))
    with pytest.raises(tacit.MissingPackageError, match=r"tacit\[otel\]"):
        traces_of(made)


def test_traces_reach_a_collector(tmp_path):
    """Traces go by OTLP over HTTP, as the config names it; what is left goes at the end."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="it is not installed")
    taken = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            taken.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}/v1/traces"
    try:
        with parties(tmp_path, (CLIENTS,) * 3, traces=endpoint) as (running, worlds):
            answers, number = ask((running, worlds["digits"], ()), **KEY)
            assert [answer.status_code for answer in answers] == [200] * 3
    finally:
        server.shutdown()
        server.server_close()
    whole = b"".join(taken)
    assert number.encode() in whole and b"tacit answer" in whole
    for name in ("alpha", "beta", "gamma"):
        assert name.encode() in whole
    assert b"hospital-name" not in whole and json.dumps(KEY).encode() not in whole
