"""After cheating a party meets nobody, in no model and after no restart, until that is lifted."""

import json
import signal
import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import serving_config
import serving_fakes
from ports import free_blocks, free_ports
from serving_fakes import SHOWN, FakeService, Running, World, parties, table_of, wait_for
from test_serving_http import body, post, refused

import tacit
from tacit import TacitError
from tacit.cli import main
from tacit.operating import doctor, echo
from tacit.operating.members import Member, certificates
from tacit.serving import still
from tacit.serving.quarantine import Quarantine, events, lift, lines_of, quarantine_file

TWO = ("digits", "faces")
WHY = "a check failed \x1b[2J"


@pytest.fixture
def three(tmp_path):
    with parties(tmp_path, models=TWO) as (running, worlds):
        yield running, worlds


def file_of(one):
    return quarantine_file(one.party.audit.path)


def kinds(one):
    return [line["kind"] for line in one.audited]


def metrics(one):
    return httpx.get(f"{one.url}/metrics").text


def cheated(one, model="digits", suspects=(1,)):
    """The core of one model finds cheating, and all has ended."""
    one.services[model].breaks("quarantined", WHY, suspects)
    wait_for(lambda: one.party.quarantine.written and not halting(one), 20)


def halting(one):
    return any(thread.is_alive() for thread in one.party.still.halts)


def fresh(one, models=TWO):
    """The cores that are made when a quarantine was lifted."""
    for name in models:
        one.services[name] = FakeService(World(name), 0)


@contextmanager
def alone(folder, models=TWO):
    """Party 0 alone, as a process that is started anew has it."""
    made = serving_fakes.config(folder, 0, free_ports(1)[0], models)
    running = Running(made, {name: FakeService(World(name), 0) for name in models})
    running.start()
    try:
        yield running
    finally:
        running.stop()
        running.thread.join(10)


def test_no_model_goes_on_after_cheating_in_one(three):
    running, worlds = three
    one, other = running[:2]
    cheated(one)
    faces = one.services["faces"]
    assert faces.state == "drained" and faces.lives == 1
    time.sleep(0.5)
    assert faces.lives == 1 and one.services["digits"].lives == 1
    for model in TWO:
        refused(post(one, *body(worlds[model], bytes(64)), model), 503, "quarantined", "beta")
        refused(httpx.get(f"{one.url}/v2/models/{model}/ready"), 503, "quarantined")
        assert f'tacit_state{{model="{model}",state="quarantined",version="1"}} 1.0' in metrics(one)
    ready = httpx.get(f"{one.url}/v2/health/ready")
    assert ready.status_code == 503 and ready.json()["models"].keys() == set(TWO)
    assert httpx.get(f"{one.url}/v2/health/live").status_code == 200
    assert "tacit_quarantined 1.0" in metrics(one) and "tacit_quarantined 0.0" in metrics(other)
    # Whoever has found nothing goes on.
    assert httpx.get(f"{other.url}/v2/health/ready").status_code == 200


def test_what_happened_is_written_down(three):
    running, _ = three
    one = running[0]
    cheated(one, "faces", [1, 2])
    (told,) = json.loads(file_of(one).read_text())["quarantined"]
    assert (told["model"], told["version"], told["why"]) == ("faces", "1", WHY)
    assert [party["name"] for party in told["parties"]] == ["beta", "gamma"]
    assert told["parties"][0]["certificates"] == [SHOWN["beta"]] and told["date"].endswith("Z")
    assert file_of(one).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file_of(one).parent.glob("*quarantine*")] == [file_of(one).name]


def test_cheating_in_two_models_is_written_down_twice(three):
    one = three[0][0]
    # The second is found before the first has ended everything.
    halt = threading.Event()
    one.services["faces"].leave = halt.set
    one.services["digits"].breaks("quarantined", WHY, [1])
    assert halt.wait(5)
    one.services["faces"].breaks("quarantined", "another check failed", [2])
    wait_for(lambda: len(events(file_of(one)) or ()) == 2)
    wait_for(lambda: not halting(one), 20)
    assert "party 1 (beta)" in one.party.host.reasons()["faces"]
    assert [each["model"] for each in events(file_of(one))] == ["digits", "faces"]


def test_nobody_is_met_before_it_is_written(three, monkeypatch):
    """Where the disk is full, memory holds it, the log says so, and it is tried again."""
    one = three[0][0]
    real, tries = Quarantine.write, []

    def write(quarantine):
        tries.append(one.services["faces"].state)
        if len(tries) < 3:
            raise OSError(28, "No space left on device")
        real(quarantine)

    monkeypatch.setattr(Quarantine, "write", write)
    monkeypatch.setattr(still, "AGAIN_S", 0.2)
    one.services["digits"].breaks("quarantined", WHY, [1])
    wait_for(lambda: len(tries) == 2)
    # What is not written down cannot have been lifted.
    one.party.reload()
    assert one.party.quarantine.words and one.services["faces"].lives == 1
    wait_for(lambda: file_of(one).exists())
    assert 'tacit_errors_total{kind="quarantine",model="-"} 2.0' in metrics(one)
    assert tries[0] != "ready"


def test_a_restart_meets_nobody(three, tmp_path):
    one = three[0][0]
    cheated(one)
    one.stop()
    one.thread.join(10)
    with alone(tmp_path) as again:
        time.sleep(0.3)
        assert [core.lives for core in again.services.values()] == [0, 0]
        assert httpx.get(f"{again.url}/v2/health/live").status_code == 200
        ready = httpx.get(f"{again.url}/v2/health/ready")
        assert ready.status_code == 503 and "party 1 (beta)" in ready.json()["models"]["faces"]
        assert WHY not in ready.text and "tacit_quarantined 1.0" in metrics(again)
        refused(httpx.get(f"{again.url}/v2/models/digits/ready"), 503, "quarantined")
        # A model that comes meets nobody either.
        again.services["more"] = FakeService(World("more"), 0)
        again.config["models"] = [*again.config["models"], table_of("more", 2)]
        again.party.reload()
        time.sleep(0.3)
        assert again.services["more"].lives == 0
        assert "more" in httpx.get(f"{again.url}/v2/health/ready").json()["models"]
        wait_for(lambda: "models" in kinds(again))
        whole = kinds(again)
        last = len(whole) - whole[::-1].index("start")
        assert whole[last] == "quarantined" and "ready" not in whole[last:]


def test_a_damaged_file_is_a_quarantine(tmp_path):
    serving_fakes.keys(tmp_path)
    path = quarantine_file(tmp_path / "party0" / "audit.jsonl")
    for text in (
        "",
        "[]",
        '{"quarantined": [1]}',
        '{"quarantined": [{"parties": 1}]}',
        "[" * 99999,
    ):
        path.write_text(text)
        assert events(path) == []
        assert "damaged" in "".join(lines_of(path, []))
    path.unlink()
    path.symlink_to(tmp_path / "not-there")
    with alone(tmp_path) as one:
        time.sleep(0.2)
        assert [core.lives for core in one.services.values()] == [0, 0]
        assert "a party broke the protocol" in one.party.host.reasons()["digits"]


def test_it_is_lifted_while_the_service_runs(three):
    one = three[0][0]
    cheated(one)
    one.party.reload()
    assert one.party.host.reasons().keys() == set(TWO)
    lift(one.party.audit.path, "beta's disk was at fault")
    fresh(one)
    one.party.reload()
    wait_for(lambda: not one.party.host.reasons(), 20)
    assert [one.services[model].lives for model in TWO] == [1, 1]
    assert httpx.get(f"{one.url}/v2/models/digits/ready").status_code == 200
    assert "tacit_quarantined 0.0" in metrics(one)
    line = next(each for each in one.audited if each["kind"] == "lifted")
    assert line["reason"] == "beta's disk was at fault"
    assert line["quarantined"][0]["parties"][0]["name"] == "beta"
    assert not list(file_of(one).parent.glob("*quarantine*"))
    # Once more is found as the first time.
    cheated(one, "faces", [2])
    assert "party 2 (gamma)" in one.party.host.reasons()["digits"]


def test_a_lift_waits_for_all_to_have_ended(three):
    one = three[0][0]
    real = one.services["faces"].leave
    one.services["faces"].leave = lambda: None
    one.services["digits"].breaks("quarantined", WHY, [1])
    wait_for(lambda: one.party.quarantine.written)
    lift(one.party.audit.path, "seen")
    one.party.reload()
    assert "quarantined" in one.party.host.reasons()["faces"]
    real()
    wait_for(lambda: not halting(one), 20)
    fresh(one)
    one.party.reload()
    wait_for(lambda: not one.party.host.reasons(), 20)


def test_it_is_lifted_before_a_start(three, tmp_path):
    one = three[0][0]
    cheated(one)
    one.stop()
    one.thread.join(10)
    lift(one.party.audit.path, "seen")
    with alone(tmp_path) as again:
        wait_for(lambda: not again.party.host.reasons(), 20)
        line = next(each for each in again.audited if each["kind"] == "lifted")
        assert line["reason"] == "seen"
    with alone(tmp_path) as again:
        wait_for(lambda: not again.party.host.reasons(), 20)
        assert kinds(again).count("lifted") == 1


def test_a_file_that_somebody_puts_there_ends_everything(three):
    one = three[0][0]
    file_of(one).write_text("")
    one.party.reload()
    wait_for(lambda: one.services["faces"].state == "drained" and not halting(one), 20)
    assert one.party.host.reasons().keys() == set(TWO)
    # What somebody wrote there is theirs.
    assert file_of(one).read_text() == ""


def test_the_command(three, monkeypatch, capsys):
    one, line = three[0][0], ["quarantine", "show", "--config", "serve.toml"]
    told = {"service": {"audit": str(one.party.audit.path)}}
    monkeypatch.setattr("tacit.operating.commands.read_config", lambda _: told)
    assert main(line) == 0
    assert "this party is not quarantined" in capsys.readouterr().out
    cheated(one, "faces", [2])
    assert main(line) == 0
    said = capsys.readouterr().out
    shown = SHOWN["gamma"]
    for words in ("party 2 (gamma)", "faces version 1", shown, "a check failed \\x1b[2J", " lift "):
        assert words in said
    assert "\x1b" not in said
    for reason in ([], ["--reason", " "]):
        assert main(["quarantine", "lift", "--config", "serve.toml", *reason]) == 2
        assert "--reason" in capsys.readouterr().err
    assert file_of(one).exists()
    (found,) = doctor._still(told)
    assert found.level == "error" and "tacit quarantine show" in found.do
    assert main(["quarantine", "lift", "--config", "serve.toml", "--reason", "seen"]) == 0
    assert "SIGHUP" in capsys.readouterr().out and not file_of(one).exists()
    assert list(doctor._still(told)) == []
    with pytest.raises(TacitError, match="not quarantined"):
        lift(one.party.audit.path, "seen")


# With processes, and a cheater who has a party's key.


def cheat(config, stack):
    """Comes to both others as the last party of a model, and sends what is no frame."""
    member = Member.read(str(config))
    key, links = echo.key_of(member), []
    for peer in member.others:
        host, _, port = peer.address.rpartition(":")
        plain = stack.enter_context(socket.create_connection((host, int(port)), 5))
        plain.sendall(echo.KNOCK.pack(echo.MAGIC, member.id, peer.number))
        context = echo._context(ssl.PROTOCOL_TLS_CLIENT, member, peer, key)
        context.set_alpn_protocols([echo.PARTY])
        tls = stack.enter_context(echo._shaken(context, plain, peer, server=False))
        _, version, _, count, _ = echo.HELLO.unpack(echo._exactly(tls, echo.HELLO.size))
        tls.sendall(echo.HELLO.pack(echo.HELLO_MAGIC, version, member.id, count, bytes(32)))
        links.append(tls)
    # Who has met all says so, in a frame.
    for tls in links:
        tls.settimeout(20)
        echo._exactly(tls, 1)
    for tls in links:
        with suppress(OSError):
            tls.sendall(bytes(1000))


MORE = """
[[models]]
name = "more"
version = "1"
{more}
plan = {{ ring = 64, reveal = "logits" }}
"""


class Live:
    """Processes of two models, of which the last party serves the second alone."""

    def __init__(self, folder, model):
        self.folder, self.ports = folder, free_blocks(6, 2)
        serving_config.write(folder, model, self.ports, "bicoptor")
        for party in range(3):
            path = folder / f"party{party}" / "serve.toml"
            file = f'file = "{model}"' if party == 0 else ""
            text = path.read_text()
            path.write_text(text.replace("\n[service]", MORE.format(more=file) + "\n[service]"))
        kept = folder / "party2" / "serve.toml"
        self.whole = folder / "party2" / "whole.toml"
        self.whole.write_text(kept.read_text())
        text = kept.read_text()
        first, second = text.index("[[models]]"), text.rindex("[[models]]")
        kept.write_text(text[:first] + text[second:].replace("[[models]]", "[[models]]\nplace = 1"))
        self.processes = [serving_config.start(folder, party) for party in range(3)]

    @property
    def urls(self):
        return [f"http://127.0.0.1:{port}" for port in self.ports[:3]]

    def home(self, party):
        return self.folder / f"party{party}"

    def config(self, party):
        return str(self.home(party) / "serve.toml")

    def status(self, party, path="models/more/ready"):
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.urls[party]}/v2/{path}").status_code
        return 0

    def stop(self):
        for process in self.processes:
            process.terminate()
        return [process.wait(15) for process in self.processes]

    def logs(self):
        return "\n".join((self.home(party) / "log").read_text() for party in range(3))


@pytest.fixture
def live(tmp_path, digits_path):
    made = Live(tmp_path, digits_path)
    yield made
    assert made.stop() == [0, 0, 0], made.logs()


def test_a_cheater_in_one_model_is_met_in_none(live, digits):
    """A restart and SIGHUP change nothing; after lifting the parties meet and answer."""
    x = digits[0][:2]
    with tacit.connect(live.urls, timeout=30) as client:
        right = client.predict("more", x).output
    with ExitStack() as stack:
        cheat(live.whole, stack)
        paths = [quarantine_file(live.home(party) / "audit.jsonl") for party in range(2)]
        wait_for(lambda: all(path.exists() for path in paths), 20)
    for party, path in enumerate(paths):
        wait_for(lambda party=party: live.status(party) == 503)
        answer = httpx.get(f"{live.urls[party]}/v2/models/more/ready")
        refused(answer, 503, "quarantined", "party 2 (gamma)")
        assert live.status(party, "health/live") == 200
        assert live.status(party, "health/ready") == 503
        told = events(path)[0]
        assert told["model"] == "digits" and {each["name"] for each in told["parties"]} >= {"gamma"}
        shown = certificates(live.home(2) / "cert.pem")[0].fingerprint
        assert any(shown in each["certificates"] for each in told["parties"])

    # The other model ended at once, without the cheater's help: that tries to meet the others.
    log = live.home(2) / "log"
    wait_for(lambda: log.read_text().count("connects model=more") > 1, 20)

    live.processes[0].kill()
    live.processes[0].wait()
    live.processes[0] = serving_config.start(live.folder, 0)
    live.processes[1].send_signal(signal.SIGHUP)
    wait_for(lambda: live.status(0, "health/live") == 200, 20)
    time.sleep(2)
    assert [live.status(party) for party in range(3)] == [503] * 3
    assert live.status(0, "health/ready") == live.status(1, "health/ready") == 503

    for party in range(2):
        line = ["quarantine", "lift", "--config", live.config(party), "--reason", "a test"]
        assert main(line) == 0
    live.processes[0].terminate()
    assert live.processes[0].wait(15) == 0
    live.processes[0] = serving_config.start(live.folder, 0)
    live.processes[1].send_signal(signal.SIGHUP)
    with tacit.connect(live.urls, timeout=40) as client:
        np.testing.assert_allclose(client.predict("more", x).output, right, atol=1e-3)
    for party in range(2):
        log = live.home(party) / "audit.jsonl"
        kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
        assert "lifted" in kinds and kinds.index("quarantined") < kinds.index("lifted")
    assert live.stop() == [0, 0, 0]
    for party in range(2):
        log, certificate = live.home(party) / "audit.jsonl", live.home(party) / "cert.pem"
        assert main(["audit", "verify", str(log), "--certificate", str(certificate)]) == 0
