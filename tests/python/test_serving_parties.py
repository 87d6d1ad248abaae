"""Three parties that serve for real: the core, processes, TLS between them, HTTP to a client."""

import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

import serving_config
from ports import free_ports
from serving_fakes import client_table, wait_for

import tacit
from tacit import ServiceError, _tacit
from tacit.cli import main
from tacit.operating.levels import Levels
from tacit.operating.scrape import scrape
from tacit.serving import described

pytestmark = pytest.mark.skipif(not hasattr(_tacit, "Service"), reason="the core has no Service")

CLIENT = """
[[clients]]
name = "lab"
key_sha256 = "{}"
queries = {}
"""


class Parties:
    """Three processes of `tacit serve`."""

    def __init__(self, folder, model, protocol="bicoptor", security=None, queries=400):
        self.folder = folder
        self.ports = free_ports(6)
        serving_config.write(
            folder,
            model,
            self.ports,
            protocol,
            run=f'security = "{security}"' if security else "",
            service=lambda party: CLIENT.format(
                client_table("lab", f"key-{party}")["key_sha256"], queries
            ),
        )
        self.processes = [self.start(party) for party in range(3)]

    @property
    def urls(self):
        return [f"http://127.0.0.1:{port}" for port in self.ports[:3]]

    def home(self, party):
        return self.folder / f"party{party}"

    def start(self, party):
        return serving_config.start(self.folder, party)

    def stop(self):
        for process in self.processes:
            process.terminate()
        codes = [process.wait(15) for process in self.processes]
        logs = [(self.home(party) / "log").read_text() for party in range(3)]
        assert codes == [0, 0, 0], "\n".join(logs)

    def client(self, timeout=30):
        return tacit.connect(self.urls, keys=["key-0", "key-1", "key-2"], timeout=timeout)


@pytest.fixture(scope="module")
def three(tmp_path_factory, digits_path):
    made = Parties(tmp_path_factory.mktemp("serving"), digits_path)
    yield made
    made.stop()
    for party in range(3):
        log, certificate = made.home(party) / "audit.jsonl", made.home(party) / "cert.pem"
        assert main(["audit", "verify", str(log), "--certificate", str(certificate)]) == 0


@pytest.fixture(scope="module")
def service(three):
    with three.client() as made:
        yield made


def test_it_predicts(service, digits_path, digits):
    x = digits[0][:40]
    model = tacit.compile(digits_path, ring=64)
    answer = service.predict("digits", x)
    np.testing.assert_allclose(answer.output, model.reference(x), atol=1e-3)
    assert (answer.classes() == model.reference(x).argmax(axis=1)).all()
    assert answer.protocol == "bicoptor" and answer.version == "2"
    assert len(answer.requests) == 2
    assert service.described("digits")["inputs"][0]["shape"] == [-1, 1, 8, 8]


def told(three, party):
    """How a party stands, by its metrics."""
    return Levels.of(three.urls[party], scrape(three.urls[party]))


def test_what_passed_between_the_parties_is_in_their_metrics(three, service, digits):
    for _ in range(3):
        service.predict("digits", digits[0][:2])
    # Until each has made the material that these used.
    wait_for(lambda: all(told(three, party).models[0].pool == 16 for party in range(3)), 20)
    each = [told(three, party) for party in range(3)]
    traffic = [{peer.peer: (peer.sent, peer.received) for peer in one.peers} for one in each]
    names = serving_config.NAMES
    for party, name in enumerate(names):
        assert set(traffic[party]) == set(names) - {name}
        for other in traffic[party]:
            sent = traffic[party][other][0]
            received = traffic[names.index(other)][name][1]
            # All but what was said since the last batch.
            assert sent > 100 and abs(sent - received) < 0.2 * sent + 2000, (name, other)
        model = each[party].models[0]
        assert model.state == "ready" and model.offline_seconds > 0 and model.online_seconds > 0


def test_the_time_of_an_answer_has_its_parts_in_the_metrics(three, service, digits):
    service.predict("digits", digits[0][:1])
    for party in range(3):
        one = told(three, party)
        phases = {phase.phase: phase for phase in one.phases}
        assert phases["queue"].requests == phases["batch"].requests == one.models[0].answered
        parts = phases["queue"].mean + phases["batch"].mean
        assert 0 < parts < 1.01 * phases["answer"].mean


@pytest.fixture(scope="module", params=[("bicoptor", None), ("falcon", "malicious")])
def steady(request, tmp_path_factory, digits_path):
    """Parties that clients ask as much as they like, under one protocol and then another."""
    made = Parties(tmp_path_factory.mktemp("steady"), digits_path, *request.param, queries=10**6)
    yield made
    made.stop()


@pytest.mark.parametrize("party", range(3))
def test_a_party_that_is_killed_comes_again(steady, digits_path, digits, party):
    """Each request ends in the right answer or a clear error, and right ones come again soon."""
    x = digits[0][:4]
    expected = tacit.compile(digits_path, ring=64).reference(x)
    found, over = [], threading.Event()

    def ask(service, place):
        while not over.is_set():
            begun = time.monotonic()
            try:
                answer = service.predict("digits", x[place : place + 1])
                right = np.allclose(answer.output, expected[place], atol=1e-3)
                found.append((begun, "right" if right else "wrong"))
            except BaseException as error:
                found.append((begun, error))

    def right(since):
        return sum(what == "right" for begun, what in found if begun > since)

    with steady.client() as service, steady.client(timeout=0.5) as hasty:
        askers = [(service, 0), (service, 1), (service, 2), (hasty, 3)]
        threads = [threading.Thread(target=ask, args=asker) for asker in askers]
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: right(0) >= 8, 40)
            steady.processes[party].send_signal(signal.SIGKILL)
            steady.processes[party].wait()
            steady.processes[party] = steady.start(party)
            back = time.monotonic()
            wait_for(lambda: right(back) >= 20, 15)
        finally:
            over.set()
            for thread in threads:
                # A request has 30 s, whatever happens to it.
                thread.join(40)
    assert not any(thread.is_alive() for thread in threads)
    ended = [what for _, what in found if what != "right"]
    assert [what for what in ended if not isinstance(what, ServiceError)] == []
    assert {error.code for error in ended} <= CLEAR, ended
    assert all(process.poll() is None for process in steady.processes)
    for other in {0, 1, 2} - {party}:
        assert "peer-lost" in {error.code for error in told(steady, other).errors}


CLEAR = {"failed", "missing-elsewhere", "not-ready", "unreachable", "other-session", "timeout"}
"""Codes of errors that say to whoever asks that the parties have lost each other."""


def test_a_party_that_is_restarted_is_met_again(three, service, digits):
    """Told to stop, it ends gently; the others stay up and meet it when it is back: no error."""
    before = service.predict("digits", digits[0][:1])
    errors = [told(three, party).errors for party in range(2)]
    three.processes[2].terminate()
    assert three.processes[2].wait(15) == 0
    three.processes[2] = three.start(2)
    begun = time.monotonic()
    after = service.predict("digits", digits[0][:1])
    assert time.monotonic() - begun < 10
    np.testing.assert_allclose(after.output, before.output, atol=1e-3)
    assert all(process.poll() is None for process in three.processes)
    assert [told(three, party).errors for party in range(2)] == errors


def test_a_budget_is_spent_for_good(three, digits):
    with three.client() as service:
        try:
            for _ in range(20):
                service.predict("digits", digits[0][:32])
        except ServiceError as error:
            assert error.code == "budget"
        else:
            raise AssertionError("the budget has no end")


def test_shares_that_do_not_fit_together(tmp_path, digits_path, digits):
    """Under malicious security the holders of each component compare; one request alone ends."""
    made = Parties(tmp_path, digits_path, "falcon", "malicious")
    try:
        with made.client() as service:
            good = service.predict("digits", digits[0][:1])
            real = described.Agreed.split

            def spoilt(agreed, items):
                shares = [bytearray(share) for share in real(agreed, items)]
                shares[1][-1] ^= 1
                return [bytes(share) for share in shares]

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(described.Agreed, "split", spoilt)
                with pytest.raises(ServiceError) as caught:
                    service.predict("digits", digits[0][:1])
                assert caught.value.code == "inconsistent"
            joins = described.Agreed.join

            def changed(agreed, items, shares):
                first = bytearray(shares[0])
                first[0] ^= 1
                return joins(agreed, items, [bytes(first), *shares[1:]])

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(described.Agreed, "join", changed)
                with pytest.raises(ServiceError, match="contradict each other") as caught:
                    service.predict("digits", digits[0][:1])
                assert caught.value.code == "contradictory-answers"
            again = service.predict("digits", digits[0][:1])
            np.testing.assert_allclose(again.output, good.output, atol=1e-3)
    finally:
        made.stop()
