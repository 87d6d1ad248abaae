"""What `/metrics` tells: where the time of requests went, bytes of each peer, codes of errors."""

import re

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from prometheus_client.parser import text_string_to_metric_families
from serving_fakes import TIMES, parties, wait_for
from test_serving_http import ask_all, body, good, shares

from tacit.serving.metrics import COUNTERS, GAUGES, Metrics

DIGITS = {"model": "digits", "version": "1"}


@pytest.fixture
def three(tmp_path):
    with parties(tmp_path) as (running, worlds):
        yield running, worlds["digits"]


def families(one):
    text = httpx.get(f"{one.url}/metrics").text
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(one, name, **labels):
    """The value of a sample; None if there is none."""
    for family in families(one).values():
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    return None


def test_every_family_says_what_it_is(three):
    running, _ = three
    good((running, *three[1:]))
    found = families(running[0])
    for name, family in found.items():
        assert re.fullmatch(r"(tacit|process)(_[a-z]+)+", name), name
        assert family.type in ("counter", "gauge", "histogram"), name
        assert family.documentation.endswith(".") or not name.startswith("tacit"), name
        if family.type == "counter":
            counted = {sample.name for sample in family.samples}
            assert counted <= {f"{name}_total"}, name
    assert {f"tacit_core_{name}" for name in (*GAUGES, *COUNTERS)} <= set(found)


def test_each_peer_has_its_bytes(three):
    one = three[0][0]
    for direction, total, by_peer in (
        ("sent", 7, {"beta": 3, "gamma": 4}),
        ("received", 8, {"beta": 6, "gamma": 2}),
    ):
        assert value(one, f"tacit_core_{direction}_total", **DIGITS) == total
        name = f"tacit_core_peer_{direction}_bytes_total"
        assert {peer: value(one, name, **DIGITS, peer=peer) for peer in by_peer} == by_peer
        assert value(one, name, **DIGITS, peer="alpha") is None


def test_material_that_lies_ready_and_its_time(three):
    one = three[0][0]
    assert value(one, "tacit_core_pool", **DIGITS) == 16
    assert value(one, "tacit_core_offline_seconds_total", **DIGITS) == 1.5
    assert value(one, "tacit_core_online_seconds_total", **DIGITS) == 0.5


def test_a_core_without_traffic_yet_has_no_peers(three, monkeypatch):
    one = three[0][0]
    core = one.services["digits"]
    told = core.standing().replace('"sent_to": {"beta": 3, "gamma": 4}', '"sent_to": {}')
    monkeypatch.setattr(core, "standing", lambda: told)
    assert value(one, "tacit_core_peer_sent_bytes_total", **DIGITS, peer="beta") is None
    assert value(one, "tacit_core_peer_received_bytes_total", **DIGITS, peer="beta") == 6


def test_queue_and_batch_are_told_apart(three):
    running, world = three
    one, number = running[0], bytes(16)
    texts = [body(world, part, number=number) for part in shares(np.ones((2, 4)))]
    for _ in range(2):
        assert [answer.status_code for answer in ask_all(running, texts)] == [200] * 3
    for phase, seconds in zip(("queue", "batch"), TIMES, strict=True):
        named = {"model": "digits", "phase": phase}
        # A request that is sent again takes no time of a batch.
        assert value(one, "tacit_request_seconds_count", **named) == 1
        assert value(one, "tacit_request_seconds_sum", **named) == pytest.approx(seconds)
    assert value(one, "tacit_request_seconds_count", model="digits", phase="answer") == 2


def test_a_request_whose_times_are_forgotten_is_answered(three, monkeypatch):
    running, world = three
    monkeypatch.setattr(running[0].services["digits"], "times", lambda _: None)
    good((running, world))
    named = {"model": "digits", "phase": "queue"}
    assert value(running[0], "tacit_request_seconds_count", **named) is None
    assert value(running[1], "tacit_request_seconds_count", **named) == 1


def test_errors_have_their_codes_and_a_restart_of_another_party_is_none(three):
    one = three[0][0]
    core = one.services["digits"]
    core.ends.set()
    wait_for(lambda: core.lives == 2)
    wait_for(lambda: [line["kind"] for line in one.audited].count("drained") == 1)
    assert "tacit_errors" not in families(one) or not families(one)["tacit_errors"].samples
    core.breaks("failed", "party 1 was lost")
    wait_for(lambda: core.lives == 3)
    assert value(one, "tacit_errors_total", model="digits", kind="peer-lost") == 1
    core.breaks("quarantined", "a check failed", [1])
    wait_for(lambda: value(one, "tacit_errors_total", model="digits", kind="cheating") == 1)
    kinds = {sample.labels["kind"] for sample in families(one)["tacit_errors"].samples}
    assert kinds == {"peer-lost", "cheating"}


def test_an_error_without_a_code_has_the_state(three, monkeypatch):
    """As after a panic of the core."""
    one = three[0][0]
    one.party.changed(("digits", "1"), "failed", {"why": None, "suspects": []})
    assert value(one, "tacit_errors_total", model="digits", kind="failed") == 1


def test_the_process_tells_its_memory_and_its_beginning():
    text = Metrics().text().decode()
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"process_resident_memory_bytes", "process_start_time_seconds"} <= names
