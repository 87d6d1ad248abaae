"""What a client with a key cannot do: fill the disk, or the memory, by asking for nothing."""

import json
import secrets

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving_fakes import WEIGHTS, client_table, parties, wait_for
from test_serving_http import ask_all, body, post, refused, shares

from tacit.serving import wire
from tacit.serving.audit_check import check
from tacit.serving.quiet import LINES, WINDOW_S, Quiet

CLIENTS = [client_table("hospital", "key"), client_table("shop", "key-of-shop")]
KEY = {"authorization": "Bearer key"}


@pytest.fixture
def three(tmp_path):
    with parties(tmp_path, (CLIENTS,) * 3) as (running, worlds):
        yield running, worlds["digits"]


def ask(three, number, texts=None):
    running, world = three
    texts = texts or [body(world, part, number=number) for part in shares(np.ones((2, 4)))]
    return ask_all(running, texts, **KEY), texts


def test_refused_requests_have_few_lines(three):
    one, now = three[0][0], [0.0]
    one.party.host.quiet.clock = lambda: now[0]
    for _ in range(3 * LINES):
        refused(post(one, *body(three[1], bytes(5)), **KEY), 400, "malformed")
    lines = [each for each in one.audited if each.get("client") == "hospital"]
    assert len(lines) == LINES
    # Whoever else asks, and who gets an answer, has a line still.
    refused(post(one, *body(three[1], b""), authorization="Bearer key-of-shop"), 400, "malformed")
    assert [a.status_code for a in ask(three, secrets.token_bytes(16))[0]] == [200] * 3
    assert [each["client"] for each in one.audited[-2:]] == ["shop", "hospital"]
    assert one.audited[-1]["outcome"] == "answered"
    now[0] = WINDOW_S
    refused(post(one, *body(three[1], bytes(5)), **KEY), 400, "malformed")
    counted = next(each for each in one.audited if each["kind"] == "counted")
    assert counted["client"] == "hospital"
    assert counted["outcomes"] == {"malformed": 2 * LINES} and counted["since"]
    assert check(one.party.audit.path, {}).lines == len(one.audited)


def test_what_was_counted_is_written_at_the_end(tmp_path):
    with parties(tmp_path, (CLIENTS,) * 3) as (running, worlds):
        for _ in range(LINES + 3):
            post(running[1], *body(worlds["digits"], bytes(5)), **KEY)
    (counted,) = [each for each in running[1].audited if each["kind"] == "counted"]
    assert counted["outcomes"] == {"malformed": 3}
    assert running[1].audited[-2]["kind"] == "stop"


def test_an_answer_again_and_again_has_few_lines(three):
    """An answer is given as often as it is asked for; it costs nothing, and says nothing new."""
    one, number = three[0][0], secrets.token_bytes(16)
    first, texts = ask(three, number)
    for _ in range(LINES + 5):
        again = post(one, *texts[0], **KEY)
        assert again.status_code == 200
        assert share(again) == share(first[0])
    lines = [each for each in one.audited if each.get("id") == number.hex()]
    assert [each["outcome"] for each in lines] == ["answered", *["repeated"] * LINES]


def test_an_answer_given_out_late_has_its_line(three, monkeypatch):
    """The core took the request once; its client hung up before there was an answer."""
    one, number = three[0][0], secrets.token_bytes(16)
    texts = [body(three[1], part, number=number) for part in shares(np.ones((2, 4)))]
    for _ in range(LINES + 1):
        refused(post(one, *body(three[1], bytes(5)), **KEY), 400, "malformed")
    # The other parties' shares come later, and what has begun is not forgotten.
    three[1].grace = 30.0
    monkeypatch.setattr(one.services["digits"], "forget", lambda request: False)
    with pytest.raises(httpx.TimeoutException):
        length, text = texts[0]
        url = f"{one.url}/v2/models/digits/infer"
        httpx.post(url, content=text, headers={wire.LENGTH: length, **KEY}, timeout=0.5)
    desk = one.party.host.models["digits", "1"].desk
    wait_for(lambda: desk.tickets[number].accepted and not desk.tickets[number].watchers)
    answers = ask(three, number, texts)[0]
    assert [a.status_code for a in answers] == [200] * 3, [a.text for a in answers]
    lines = [each for each in one.audited if each.get("id") == number.hex()]
    assert [each["outcome"] for each in lines] == ["answered"]


def share(answer):
    return wire.read_answer(answer.headers[wire.LENGTH], answer.content).share


def test_answers_are_kept_by_the_core_alone(three):
    """The core keeps answers within a limit of bytes; asked again, it is asked again."""
    one, number = three[0][0], secrets.token_bytes(16)
    first, texts = ask(three, number)
    if any(answer.status_code != 200 for answer in first):
        # A machine that stood still did not answer in time: whoever asks again is answered.
        first, _ = ask(three, number, texts)
    desk = one.party.host.models["digits", "1"].desk
    assert desk.tickets[number].waiting is None
    answered = one.services["digits"].answered
    assert share(post(one, *texts[0], **KEY)) == share(first[0])
    assert one.services["digits"].answered == answered + 1
    # Forgotten there, it is not taken for another request, and not charged again.
    gone = {"code": "reused", "message": "this number was used; draw a new one"}
    one.services["digits"].said = gone
    refused(post(one, *texts[0], **KEY), 409, "reused")
    one.services["digits"].said = None
    whole = sum(np.frombuffer(share(answer)) for answer in first)
    assert whole.reshape(2, 3).tolist() == (np.ones((2, 4)) @ WEIGHTS).tolist()


def test_windows():
    written, now = [], [0.0]
    quiet = Quiet(lambda kind, **facts: written.append((kind, facts)), lambda: now[0])
    assert [quiet.has_line("a", "budget") for _ in range(LINES + 2)] == [True] * LINES + [False] * 2
    assert not quiet.has_line("a", "malformed") and quiet.has_line("b", "budget")
    now[0] = WINDOW_S - 0.1
    quiet.flush()
    assert written == []
    now[0] = WINDOW_S
    quiet.flush()
    assert [facts["outcomes"] for _, facts in written] == [{"budget": 2, "malformed": 1}]
    assert quiet.has_line("a", "budget") and json.dumps(written)
    quiet.flush(all_windows=True)
    assert len(written) == 1 and quiet.windows == {}
