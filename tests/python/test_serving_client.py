"""Clients of a service: what they share, what they put together, and what they refuse."""

import asyncio
import dataclasses
import json
import secrets
import socket
import ssl
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

from serving_fakes import WEIGHTS, FakeSharing, World, client_table, keys, parties, wait_for

import tacit
from tacit import ServiceError, TacitError
from tacit.serving import described, remote, wire

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def shares_by_adding(monkeypatch):
    monkeypatch.setattr(described, "make_sharing", FakeSharing)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    clients = [
        [client_table("lab", f"key-{party}"), client_table("poor", f"poor-{party}", queries=1)]
        for party in range(3)
    ]
    with parties(folder, clients, ("digits", "faces")) as (running, worlds):
        yield running, worlds["digits"]


@pytest.fixture
def urls(three):
    return [one.url for one in three[0]]


@pytest.fixture
def service(three, urls):
    with tacit.connect(urls, keys=["key-0", "key-1", "key-2"], timeout=4) as made:
        yield made


def refused(code, act, *, party=None, words=""):
    with pytest.raises(ServiceError) as caught:
        act()
    assert caught.value.code == code, caught.value
    assert words in str(caught.value)
    if party is not None:
        assert caught.value.address == party and party in str(caught.value)
    return caught.value


def test_it_predicts(service, three):
    answer = service.predict("digits", X)
    np.testing.assert_allclose(answer.output, X @ WEIGHTS, rtol=1e-5)
    assert answer.classes().tolist() == [2, 2, 2]
    assert (answer.model, answer.version, answer.protocol) == ("digits", "1", "falcon")
    assert list(answer.served) == service.names and len(answer.requests) == 1
    assert "falcon" in str(answer) and "score" in str(answer) and "<p>" in answer._repr_html_()
    assert three[0][0].audited[-1]["request"] == answer.requests[0]


@pytest.mark.parametrize(
    ("security", "kind", "words"),
    [
        ("semi-honest, 1 of 3 corrupt", "replicated", "a false computation would not"),
        ("semi-honest, up to 2 of 5 corrupt", "shamir", "false shares of the answer would be seen"),
        ("semi-honest, 1 of 3 corrupt", "holders", ": a false answer would not be seen"),
        ("semi-honest, 1 of 2 corrupt", "pair", ": a false answer would not be seen"),
        ("malicious with abort, 1 of 3 corrupt", "replicated", None),
    ],
)
def test_an_answer_says_whom_it_trusts(service, security, kind, words):
    """Proofs there are under malicious security alone; shares that hold each other in two kinds."""
    told = {**World().described(0), "scheme": {"kind": kind, "bits": 64}}
    agreed = described.Agreed(told, (0, 1, 2), FakeSharing(json.dumps(told)), 8, 1)
    answer = service.predict("digits", X)
    answer = dataclasses.replace(answer, security=security, redundant=agreed.is_redundant)
    trusts = "trusts the parties to compute as agreed"
    for shown in (answer.summary(), str(answer), answer._repr_html_()):
        assert (trusts in shown) == (words is not None) and (words or "") in " ".join(shown.split())
    assert (answer.trust is None) == (words is None) and trusts not in repr(answer)


def test_it_takes_what_a_session_takes(service):
    pandas = pytest.importorskip("pandas")
    expected = X @ WEIGHTS
    kinds = [X.tolist(), X.astype(int), {"x": X}, pandas.DataFrame(X), iter([X[:1], X[1:]])]
    for given in kinds:
        np.testing.assert_allclose(service.predict("digits", given).output, expected, rtol=1e-5)
    with pytest.raises(tacit.InputError, match=r"the model takes \(n, 4\)"):
        service.predict("digits", X[:, :3])
    with pytest.raises(tacit.InputError, match="finite"):
        service.predict("digits", np.full((1, 4), np.inf))


def test_many_items_are_several_requests(service):
    x = np.random.default_rng(1).normal(size=(30, 4)).astype("f4")
    answer = service.predict("digits", x, "1")
    np.testing.assert_allclose(answer.output, x @ WEIGHTS, rtol=1e-4, atol=1e-5)
    assert len(set(answer.requests)) == 4


def test_async_and_several_threads(service):
    async def many():
        return await asyncio.gather(*(service.predict_async("digits", X + i) for i in range(5)))

    for i, answer in enumerate(asyncio.run(many())):
        np.testing.assert_allclose(answer.output, (X + i) @ WEIGHTS, rtol=1e-5)


def test_many_requests_do_not_wait_for_each_other(urls, three, monkeypatch):
    """None has a place at one party and waits for one at another."""
    # Longer than a slow machine takes to send them all.
    monkeypatch.setattr(three[1], "grace", 30.0)

    async def many():
        with tacit.connect(urls, keys=["key-0", "key-1", "key-2"]) as service:
            asked = (service.predict_async("digits", X[:1] + i) for i in range(100))
            return await asyncio.gather(*asked)

    before = len(three[0][0].audited)
    assert len(asyncio.run(many())) == 100
    outcomes = {line.get("outcome") for line in three[0][0].audited[before:]}
    assert outcomes <= {"answered", None}


def test_a_task_that_is_cancelled_is_withdrawn(service, three):
    core = three[0][0].services["digits"]
    service.predict("digits", X)
    before, taken = len(core.forgotten), core.submitted
    for one in three[0]:
        one.services["digits"].answers.clear()

    async def cancelled():
        task = asyncio.ensure_future(service.predict_async("digits", X))
        await asyncio.to_thread(wait_for, lambda: core.submitted > taken)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    wait_for(lambda: len(core.forgotten) > before)
    for one in three[0]:
        one.services["digits"].answers.set()


def test_what_is_served(service):
    assert service.models() == ["digits", "faces"]
    told = service.described("digits")
    assert told["reveal"] == "logits" and told["inputs"][0]["shape"] == [-1, 4]
    refused("not-found", lambda: service.predict("nothing", X))
    refused("not-found", lambda: service.predict("digits", X, "2"))
    with pytest.raises(ServiceError, match="no name of a model"):
        service.predict("../digits", X)


def test_a_digest_that_is_not_the_one_expected(service, three):
    assert service.predict("digits", X, digest=three[1].digest).digest == three[1].digest
    refused("other-digest", lambda: service.predict("digits", X, digest="ab"))


def test_who_has_no_key(urls):
    with tacit.connect(urls) as stranger:
        refused("unknown-client", lambda: stranger.predict("digits", X))
    with tacit.connect(urls, keys={urls[0]: "key-0", urls[2]: "key-2"}) as partly:
        error = refused("unknown-client", lambda: partly.predict("digits", X), party=urls[1])
        assert "no key" in str(error)


def test_a_budget(urls):
    with tacit.connect(urls, keys=["poor-0", "poor-1", "poor-2"]) as poor:
        assert poor.predict("digits", X[:1]).output.shape == (1, 3)
        begun = time.monotonic()
        refused("budget", lambda: poor.predict("digits", X[:1]))
        assert time.monotonic() - begun < 1


def test_parties_that_differ(three, service, urls, monkeypatch):
    core = three[0][1].services["digits"]
    for key, value in (("digest", "other"), ("reveal", "class"), ("scheme", {"kind": "pair"})):
        told = {**three[1].described(1), key: value}
        monkeypatch.setattr(core, "described", lambda told=told: json.dumps(told).encode())
        service.known.clear()
        error = refused(f"differ-{key}", lambda: service.predict("digits", X), party=urls[1])
        assert urls[0] in str(error)


def test_parties_that_are_not_those_of_the_model(three, urls):
    for wrong in (urls[:2], [urls[0], urls[1], urls[1].replace("127.0.0.1", "localhost")]):
        names = ["key-0", "key-1", "key-1"][: len(wrong)]
        with tacit.connect(wrong, keys=names) as service:
            refused("other-parties", lambda: service.predict("digits", X))


def test_parties_that_describe_nonsense(three, service, monkeypatch):
    good = three[1].described(1)
    for key, value in (
        *(("party", -1), ("party", "1"), ("max_items", 0), ("max_items", None), ("inputs", 3)),
        *(("max_body", None), ("max_body", -1), ("max_body", True)),
        *(("inputs", [{"name": 3, "shape": [4]}]), ("outputs", [{"name": "y", "shape": ["a"]}])),
    ):
        told = json.dumps({**good, key: value}).encode()
        core = three[0][1].services["digits"]
        monkeypatch.setattr(core, "described", lambda told=told: told)
        service.known.clear()
        with pytest.raises(ServiceError):
            service.predict("digits", X)


def test_large_shares_are_a_threads(three, service, monkeypatch):
    """However few numbers an item has: tokens are shared as one for every token there is."""
    ran, split = [], described.Agreed.split

    def noted(agreed, items):
        ran.append(threading.current_thread() is service.thread)
        return split(agreed, items)

    monkeypatch.setattr(described.Agreed, "split", noted)
    for size, at_once in ((1 << 10, True), (64 << 20, False)):
        monkeypatch.setattr(three[1], "max_body", size)
        service.known.clear()
        service.predict("digits", X)
        assert ran.pop() == at_once


def test_busy_and_not_ready_are_asked_again(three, service):
    service.predict("digits", X)
    core = three[0][2].services["digits"]
    for code in ("busy", "not-ready"):
        core.said = {"code": code, "message": "wait", "retry_after": 0.2}
        threading.Timer(0.3, setattr, (core, "said", None)).start()
        np.testing.assert_allclose(service.predict("digits", X).output, X @ WEIGHTS, rtol=1e-5)


def test_a_party_that_drains_is_asked_anew(three, service):
    """The others forget a request that it did not take, instead of waiting for its share."""
    service.predict("digits", X)
    first, core = (three[0][party].services["digits"] for party in (0, 2))
    before = len(first.forgotten)
    core.said = {"code": "draining", "message": "no more", "retry_after": 0.2}
    threading.Timer(0.3, setattr, (core, "said", None)).start()
    np.testing.assert_allclose(service.predict("digits", X).output, X @ WEIGHTS, rtol=1e-5)
    wait_for(lambda: len(first.forgotten) > before)


def test_busy_for_too_long(three, urls):
    core = three[0][2].services["digits"]
    core.said = {"code": "busy", "message": "wait", "retry_after": 0.2}
    with tacit.connect(urls, keys=["key-0", "key-1", "key-2"], timeout=1.5) as service:
        refused("busy", lambda: service.predict("digits", X), party=urls[2])
    core.said = None


def test_what_does_not_pass_is_not_asked_again(three, service, urls):
    core = three[0][2].services["digits"]
    for code in ("inconsistent", "malformed", "quarantined"):
        core.said = {"code": code, "message": "no", "retry_after": None}
        begun = time.monotonic()
        refused(code, lambda: service.predict("digits", X), party=urls[2])
        assert time.monotonic() - begun < 1
    core.said = None


def test_words_of_a_party_do_nothing_to_a_terminal():
    told = {"code": "odd\x1b[2J", "error": "no\x1b]0;title\x07\n\u202eand \xe9"}
    reply = remote.Reply(403, None, None, json.dumps(told).encode())
    party = remote.Remote("http://127.0.0.1:9", None, ssl.create_default_context())
    error = refused("odd\\x1b[2J", lambda: party._refused(reply))
    assert str(error).endswith("refuses: no\\x1b]0;title\\x07\\n\\u202eand \xe9")


def test_parties_that_met_anew(three, service):
    """A new session: the client describes the model again, and shares anew."""
    service.predict("digits", X)
    three[1].session = secrets.token_hex(16)
    np.testing.assert_allclose(service.predict("digits", X).output, X @ WEIGHTS, rtol=1e-5)


def test_parties_that_met_anew_and_compute_otherwise(three, service, monkeypatch):
    """A client is told the security of the session that answered, not of one before."""
    before = service.predict("digits", X).security
    monkeypatch.setattr(three[1], "security", "malicious with abort, 1 of 3 corrupt")
    three[1].session = secrets.token_hex(16)
    assert service.predict("digits", X).security == three[1].security != before


def test_parties_of_which_one_has_not_met_anew_yet(three, service):
    core = three[0][1].services["digits"]
    told = json.dumps({**three[1].described(1), "session": "ab" * 16}).encode()
    core.described = lambda: told
    threading.Timer(0.3, core.__dict__.pop, ("described",)).start()
    answer = service.predict("digits", X)
    assert answer.output.shape == (3, 3)


@pytest.mark.parametrize(
    "change",
    [("id", bytes(16)), ("session", "ab" * 16), ("digest", "other"), ("party", 0), ("model", "f")],
)
def test_answers_that_are_not_of_this_request(service, urls, monkeypatch, change):
    """A party that mixes up answers, of other requests, sessions, models or parties."""
    real = wire.answer_body

    def mixed(answered):
        if answered.party == 1:
            answered = type(answered)(**{**answered.__dict__, change[0]: change[1]})
        return real(answered)

    monkeypatch.setattr("tacit.serving.routes.answer_body", mixed)
    refused("mixed", lambda: service.predict("digits", X), party=urls[1])


def test_answers_that_cannot_be_read(three, service, urls, monkeypatch):
    bodies = [("3", b"{}"), ("2", b"{}"), ("9", b"\xff" * 9), ("2", b"[]")]
    for length, text in bodies:
        told = lambda _, length=length, text=text: (length, text)  # noqa: E731
        monkeypatch.setattr("tacit.serving.routes.answer_body", told)
        refused("malformed", lambda: service.predict("digits", X))


def test_an_answer_without_an_end(three, service, monkeypatch):
    monkeypatch.setattr(remote, "MOST_TOLD", 100)
    service.known.clear()
    refused("malformed", lambda: service.predict("digits", X), words="more than 100 bytes")


def test_a_party_that_is_not_there(urls):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    gone = [*urls[:2], f"http://127.0.0.1:{port}"]
    with tacit.connect(gone, keys=["key-0", "key-1", "key-2"], timeout=0.5) as service:
        refused("unreachable", lambda: service.predict("digits", X), party=gone[2])


def test_a_party_that_is_silent(urls):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        quiet = [*urls[:2], f"http://127.0.0.1:{silent.getsockname()[1]}"]
        with tacit.connect(quiet, keys=["key-0", "key-1", "key-2"], timeout=0.5) as service:
            refused("timeout", lambda: service.predict("digits", X), party=quiet[2])


@pytest.mark.parametrize(
    "urls_",
    [
        ["http://a.example:8100"],
        ["ftp://127.0.0.1"],
        ["http://127.0.0.1:8100/v2"],
        ["https://key@a.example"],
        ["a.example:8100"],
        ["http://127.0.0.1.evil.example"],
        ["https://a.example", "https://a.example"],
        "https://a.example",
        [],
    ],
)
def test_addresses_that_are_none(urls_):
    with pytest.raises(ServiceError):
        tacit.connect(urls_)


def test_a_key_that_no_header_can_hold(urls):
    with pytest.raises(ServiceError, match="API key"):
        tacit.connect(urls, key="clé")


def test_keys_that_do_not_fit():
    two = ["https://a.example", "https://b.example"]
    for keys_ in ({"key": "a", "keys": ["a", "b"]}, {"keys": ["a"]}, {"keys": {"x": "y"}}):
        with pytest.raises(ServiceError, match="key"):
            tacit.connect(two, **keys_)


def test_a_client_that_is_closed(urls):
    service = tacit.connect(urls)
    service.close()
    service.close()
    with pytest.raises(ServiceError, match="closed"):
        service.predict("digits", X)


def test_https(tmp_path, monkeypatch):
    """A party's own certificate is trusted where it is given, and nowhere else."""
    certificate, key = https_certificate(tmp_path)
    keys(tmp_path)
    tables = ([client_table("lab", "key")],) * 3
    more = {"certificate": str(certificate), "key": str(key)}
    with parties(tmp_path, tables, **more) as (running, _):
        urls = [f"https://localhost:{one.port}" for one in running]
        with tacit.connect(urls, key="key", certificates=certificate, timeout=5) as service:
            np.testing.assert_allclose(service.predict("digits", X).output, X @ WEIGHTS, rtol=1e-5)
        with tacit.connect(urls, key="key", timeout=5) as service:
            begun = time.monotonic()
            refused("unreachable", lambda: service.predict("digits", X))
            assert time.monotonic() - begun < 2
        with socket.create_connection(("127.0.0.1", running[0].port)) as plain:
            plain.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" not in plain.recv(100)


def https_certificate(folder):
    """A self-signed certificate of localhost."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=9))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .sign(key, hashes.SHA256())
    )
    certificate, path = folder / "https.pem", folder / "https-key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    path.touch(0o600)
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return certificate, path


def test_a_package_that_is_missing(monkeypatch):
    from tacit.serving import needs

    monkeypatch.setitem(needs.PACKAGES, "client", ("not_installed_anywhere",))
    with pytest.raises(tacit.MissingPackageError, match=r"tacit\[client\]") as caught:
        tacit.connect(["http://127.0.0.1:1"])
    assert caught.value.extra == "client" and isinstance(caught.value, TacitError)
