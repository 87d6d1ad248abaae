"""When requests are taken, and how much a client may learn."""

import json
import secrets
from datetime import datetime, timezone

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import httpx
from serving_fakes import client_table, config, parties
from test_serving_http import ask_all, body, refused, shares

from tacit import TacitError
from tacit.serving.clients import clients_of, rank
from tacit.serving.hours import Hours

CLIENTS = [
    client_table("always", "key-of-always"),
    client_table("office", "key-of-office", hours="08:00-12:00, 13:00-17:00", days="mon-fri"),
    client_table("little", "key-of-little", reveal="top-3"),
]


def moment(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def hours(hours=None, days=None):
    return Hours.of({"hours": hours, "days": days}, "here")


@pytest.mark.parametrize(
    ("told", "when", "wait"),
    [
        (("08:00-18:00", None), "2026-03-04 08:00", 0),
        (("08:00-18:00", None), "2026-03-04 17:59:59", 0),
        (("08:00-18:00", None), "2026-03-04 18:00", 14 * 3600),
        (("08:00-18:00", None), "2026-03-04 07:59:30", 30),
        (("08:00-18:00", "mon-fri"), "2026-03-06 18:00", (2 * 24 + 14) * 3600),
        (("08:00-18:00", "mon-fri"), "2026-03-07 12:00", (24 + 20) * 3600),
        # Over midnight; it is the day on which it began that counts.
        (("22:00-06:00", None), "2026-03-04 05:59", 0),
        (("22:00-06:00", None), "2026-03-04 06:00", 16 * 3600),
        (("22:00-06:00", "sun"), "2026-03-02 05:00", 0),
        (("22:00-06:00", "sun"), "2026-03-01 05:00", 17 * 3600),
        ((None, "wed"), "2026-03-04 23:59", 0),
        ((None, "wed"), "2026-03-05 00:00", 6 * 24 * 3600),
        (("00:00-24:00", "fri-mon"), "2026-03-04 00:00", 2 * 24 * 3600),
        (("08:00-09:00,10:00-11:00", None), "2026-03-04 09:30", 1800),
    ],
)
def test_hours(told, when, wait):
    assert hours(*told).wait(moment(when)) == wait


@pytest.mark.parametrize(
    "table",
    [
        {"hours": "8-18"},
        {"hours": "08:00-25:00"},
        {"hours": "08:00-24:30"},
        {"hours": "08:00-08:00"},
        {"hours": ""},
        {"days": "weekdays"},
        {"days": "mon-tue-wed"},
        {"days": ""},
    ],
)
def test_hours_that_are_none(tmp_path, table):
    with pytest.raises(TacitError, match=r"no (hours|days)"):
        Hours.of(table, "service")
    made = config(tmp_path, 0, 8100, clients=[client_table("a", "k", **table)])
    with pytest.raises(TacitError, match="'a'"):
        clients_of(made)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hours")
    with parties(folder, (CLIENTS,) * 3, days="mon-sat") as (running, worlds):
        yield running, worlds["digits"]


@pytest.fixture
def clock(three):
    now = [moment("2026-03-04 10:00")]
    for one in three[0]:
        one.party.policy.clock = lambda: now[0]
    return now


def ask(three, name, number=None):
    running, world = three
    number = number or secrets.token_bytes(16)
    texts = [body(world, part, 1, number=number) for part in shares(np.ones((1, 4)))]
    headers = {"authorization": f"Bearer key-of-{name}", "x-request-id": number.hex()}
    return ask_all(running, texts, **headers)


def test_requests_are_refused_out_of_hours(three, clock):
    """The core hears of no request out of hours; the client is told when to come back."""
    cores = [one.services["digits"] for one in three[0]]
    assert [a.status_code for a in ask(three, "office")] == [200] * 3
    submitted = [core.submitted for core in cores]
    clock[0] = moment("2026-03-04 12:30")
    for answer in ask(three, "office"):
        refused(answer, 403, "closed", "this client's hours are mon-fri 08:00-12:00, 13:00-17:00")
        assert answer.headers["retry-after"] == "1800"
    assert [a.status_code for a in ask(three, "always")] == [200] * 3
    clock[0] = moment("2026-03-08 10:00")
    for answer in ask(three, "always"):
        refused(answer, 403, "closed", "this party's hours are mon-sat UTC")
        assert answer.headers["retry-after"] == str(14 * 3600)
    assert [core.submitted for core in cores] == [count + 1 for count in submitted]
    lines = [each for each in three[0][0].audited if each.get("outcome") == "closed"]
    assert {line["client"] for line in lines} == {"office", "always"}


def test_one_party_that_is_closed_is_enough(three, clock):
    """A closed party refuses; the others hold a share of the request and nothing else."""
    three[0][2].party.policy.clock = lambda: moment("2026-03-08 10:00")
    answers = ask(three, "always")
    refused(answers[2], 403, "closed")
    for answer in answers[:2]:
        refused(answer, 403, "declined-elsewhere", "closed")
    clock[0] = moment("2026-03-04 10:00")


def test_how_much_an_answer_tells():
    told = ["class", "top-1", "top-3", "top-12", "probabilities", "logits", "something"]
    assert sorted(told, key=rank) == told
    assert rank("top-0") == rank("something")


def test_a_client_that_may_learn_less(three, clock):
    """Of a model that reveals logits it learns nothing, not even the plan."""
    little = {"authorization": "Bearer key-of-little"}
    for answer in ask(three, "little"):
        refused(answer, 403, "not-allowed", "reveals logits, and this client may learn top-3")
    answer = httpx.get(f"{three[0][0].url}/v2/models/digits", headers=little)
    refused(answer, 403, "not-allowed")
    world = three[1]
    real = world.described
    try:
        for reveal, status in (("top-3", 200), ("class", 200), ("top-4", 403), ("odd", 403)):
            world.described = lambda party, told=reveal: {**real(party), "reveal": told}
            assert [a.status_code for a in ask(three, "little")] == [status] * 3
    finally:
        world.described = real


def test_what_a_client_may_learn_is_checked(tmp_path):
    for reveal in ("everything", "top-", "top-x", ""):
        made = config(tmp_path, 0, 8100, clients=[client_table("a", "k", reveal=reveal)])
        with pytest.raises(TacitError, match="may learn"):
            clients_of(made)


def test_ready_says_no_more_to_strangers(three):
    """Whom a party suspects, and what it serves, is for those who may ask."""
    one = three[0][0]
    runner = one.party.host.models["digits", "1"].runner
    real = runner.reason
    runner.reason = lambda **_: "quarantined: party 1 (beta) broke the protocol"
    try:
        stranger = httpx.get(f"{one.url}/v2/health/ready")
        assert stranger.status_code == 503 and stranger.json() == {"ready": False}
        wrong = httpx.get(f"{one.url}/v2/health/ready", headers={"authorization": "Bearer x"})
        refused(wrong, 401, "unknown-client")
        known = {"authorization": "Bearer key-of-always"}
        told = httpx.get(f"{one.url}/v2/health/ready", headers=known)
        assert told.status_code == 503 and "beta" in json.dumps(told.json()["models"])
    finally:
        runner.reason = real
    assert httpx.get(f"{one.url}/v2/health/ready").json() == {"ready": True}
