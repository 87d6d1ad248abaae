"""How a service lives: it meets the others again, but never whoever cheats; it stops gently."""

import io
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from ports import free_ports
from serving_fakes import FakeService, World, keys, parties, wait_for
from test_serving_http import body, post, refused

from tacit import TacitError
from tacit.serving.audit_check import check, public_keys
from tacit.serving.log import Log
from tacit.serving.runner import LEAST, MOST, Runner

HERE = Path(__file__).parent


class Heard(Log):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__()
        self.said = []

    def say(self, level, what, **facts):
        self.said.append((level, what, facts))


@pytest.fixture
def made():
    """A runner of a core, what it logs, and what it tells."""
    core, log, told = FakeService(World(), 0), Heard(), []
    names = ["alpha", "beta", "gamma"]
    runner = Runner(("digits", "1"), core, names, log, lambda _, state, __: told.append(state))
    yield runner, core, log, told
    runner.stop()


def test_it_meets_the_others_again(made):
    runner, core, log, told = made
    core.fails = [("failed", "party 1 was lost", [])] * 3
    begun = time.monotonic()
    runner.start()
    wait_for(lambda: runner.reason() is None)
    # 0.2, 0.4 and 0.8 s, each a quarter more or less.
    assert 0.75 * 7 * LEAST <= time.monotonic() - begun < 1.25 * 7 * LEAST + 1
    waits = [facts["again_in"] for _, _, facts in log.said if "again_in" in facts]
    assert [round(each / LEAST) for each in waits[:1]] == [1] and waits == sorted(waits)
    assert told[:3] == ["failed"] * 3
    core.breaks("failed", "party 2 was lost")
    wait_for(lambda: core.lives == 2)
    waits = [facts["again_in"] for _, _, facts in log.said if "again_in" in facts]
    assert waits[-1] <= 1.25 * LEAST
    assert MOST == 5


def test_it_never_meets_a_cheater_again(made):
    runner, core, log, told = made
    runner.start()
    wait_for(lambda: core.lives == 1)
    core.breaks("quarantined", "a check failed", [1])
    wait_for(runner.is_over)
    time.sleep(0.5)
    assert core.lives == 1 and told[-1] == "quarantined"
    reason = runner.reason()
    assert "party 1 (beta) broke the protocol" in reason and "restart" in reason
    assert log.said[-1][0] == "error" and log.said[-1][2]["why"] == "a check failed"


def test_the_log_names_the_parties_for_programs(made):
    runner, core, log, _ = made
    real, lost = core.run, TacitError("party 1 was lost")
    lost.party = 1

    def run(notice):
        core.run, core.state, core.why = real, "failed", str(lost)
        raise lost

    core.run = run
    runner.start()
    wait_for(lambda: core.lives == 1)
    # Of an error that is about no party it names none.
    core.breaks("failed", "a file is missing")
    wait_for(lambda: core.lives == 2)
    core.breaks("quarantined", "a check failed", [1, 2])
    wait_for(runner.is_over)
    told = [facts["peers"] for _, _, facts in log.said if "peers" in facts]
    assert told == [["beta"], None, ["beta", "gamma"]]
    stream = io.StringIO()
    for form in ("text", "json"):
        Log(form, stream=stream).warn("is not ready", peers=["beta", "gamma d"], other=None)
    text, line = stream.getvalue().splitlines()
    assert text.endswith('is not ready peers=beta,"gamma d"')
    assert json.loads(line)["peers"] == ["beta", "gamma d"]


def test_a_panic_ends_one_life(made):
    runner, core, log, _ = made
    real, lives = core.run, []

    def run(notice):
        lives.append(1)
        if len(lives) == 1:
            core.state = "failed"
            raise SystemExit("as a panic of the core is no Exception")
        real(notice)

    core.run = run
    runner.start()
    wait_for(lambda: core.lives == 1)
    assert any(what == "the core failed" for _, what, _ in log.said)


def test_a_quarantine_is_told(tmp_path):
    with parties(tmp_path) as (running, worlds):
        one, two = running[:2]
        one.services["digits"].breaks("quarantined", "a check failed /secret/path", [1])
        wait_for(one.party.host.reasons)
        answer = httpx.get(f"{one.url}/v2/health/ready")
        assert answer.status_code == 503 and answer.json()["ready"] is False
        assert "party 1 (beta) broke the protocol" in answer.json()["models"]["digits"]
        assert "secret" not in answer.text
        refused(post(one, *body(worlds["digits"], bytes(64))), 503, "quarantined", "beta")
        refused(httpx.get(f"{one.url}/v2/models/digits/ready"), 503, "quarantined")
        assert httpx.get(f"{one.url}/v2/health/live").status_code == 200
        assert httpx.get(f"{two.url}/v2/health/ready").status_code == 200
        wait_for(lambda: one.audited[-1]["kind"] == "quarantined" or len(one.audited) > 2)
        line = next(each for each in one.audited if each["kind"] == "quarantined")
        assert line["suspects"] == [1] and "secret" in line["why"]
        assert 'tacit_errors_total{kind="cheating",model="digits"} 1.0' in metrics(one)


def test_what_ended_the_session_before_is_told_on_this_machine(tmp_path):
    """One that stands still and accuses nobody is waited for: this party's health says why."""
    with parties(tmp_path) as (running, _):
        one = running[0]
        core = one.services["digits"]
        core.before = "party 2 left: it suspects a party"
        core.fails = [("connecting", "not there", [])] * 99
        core.breaks("failed", "party 2 left")
        wait_for(one.party.host.reasons)
        told = httpx.get(f"{one.url}/v2/health/ready").json()["models"]["digits"]
        assert "the session before ended: party 2 left" in told
        answer = httpx.get(f"{one.url}/v2/models/digits/ready")
        refused(answer, 503, "not-ready")
        assert "suspects" not in answer.text


def metrics(one):
    return httpx.get(f"{one.url}/metrics").text


def test_one_model_fails_alone(tmp_path):
    with parties(tmp_path, models=("digits", "faces")) as (running, _):
        one = running[0]
        one.services["faces"].fails = [("failed", "its digest is not approved", [])] * 99
        one.services["faces"].breaks("failed", "its digest is not approved")
        wait_for(lambda: list(one.party.host.reasons()) == ["faces"])
        assert httpx.get(f"{one.url}/v2/models/digits/ready").status_code == 200
        refused(httpx.get(f"{one.url}/v2/models/faces/ready"), 503, "not-ready")
        refused(httpx.get(f"{one.url}/v2/models/faces"), 503, "not-ready")
        assert httpx.get(f"{one.url}/v2/health/ready").json()["models"].keys() == {"faces"}


def started(folder, delay):
    """A process that serves, and its address."""
    keys(folder)
    port = free_ports(1)[0]
    line = [sys.executable, str(HERE / "serving_process.py"), str(folder), str(port), str(delay)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path])}
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + 15
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"{url}/v2/health/ready").status_code == 200:
                return process, url
        except httpx.TransportError:
            time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate()[1])


class At:
    """The address of a request's client."""

    def __init__(self, url):
        self.url = url


def asked(url):
    """A request that is under way, on a thread; its answer comes into the list."""
    world, found = World(), []
    world.session = "ab"
    text = body(world, bytes(64), number=secrets.token_bytes(16))

    def ask():
        with suppress(httpx.TransportError):
            found.append(post(At(url), *text))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, found


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_answer_what_it_took(tmp_path, sent):
    process, url = started(tmp_path, 1.0)
    thread, found = asked(url)
    time.sleep(0.4)
    process.send_signal(sent)
    time.sleep(0.2)
    answer = httpx.get(f"{url}/v2/health/ready")
    assert answer.status_code == 503 and answer.json()["models"] == {"digits": "draining"}
    _, late = asked(url)
    wait_for(lambda: late)
    refused(late[0], 503, "draining")
    thread.join()
    assert found[0].status_code == 200
    said = process.communicate(timeout=10)[1]
    assert process.returncode == 0, said
    assert "drains" in said and "has stopped" in said
    log = tmp_path / "party0" / "audit.jsonl"
    held = check(log, public_keys([tmp_path / "party0" / "cert.pem"]))
    assert held.signed == held.lines
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds[:2] == ["start", "ready"] and kinds[-2:] == ["stop", "signature"]


def test_a_second_signal_ends_it_now(tmp_path):
    process, url = started(tmp_path, 9.0)
    thread, found = asked(url)
    time.sleep(0.3)
    process.terminate()
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    assert process.wait(2) == 130
    process.stderr.close()
    thread.join()
    assert found == []
