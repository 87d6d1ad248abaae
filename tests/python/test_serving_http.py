"""HTTP of a service: whatever a client sends, the party says what is wrong and goes on."""

import json
import secrets
import socket
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving_fakes import SHOWN, WEIGHTS, client_table, parties, wait_for

from tacit.serving import desk, openapi, wire
from tacit.serving.routes import Routes

QUICK = {"head_s": 0.4, "first_s": 0.4, "rate": 1 << 20, "idle_s": 1.0, "per_address": 40}
ORIGIN = "https://page.example"


@contextmanager
def quick_parties(tmp_path_factory):
    """Parties without keys, on loopback, with short times."""
    folder = tmp_path_factory.mktemp("http")
    with parties(folder, quick=QUICK, origins=[ORIGIN]) as (running, worlds):
        yield running, worlds["digits"]


@contextmanager
def first(three):
    """The first party; afterwards it answers a good request still."""
    running, _ = three
    yield running[0]
    assert good(three).tolist() == (np.ones((2, 4)) @ WEIGHTS).tolist()


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with quick_parties(tmp_path_factory) as made:
        yield made


@pytest.fixture
def one(three):
    with first(three) as party:
        yield party


def shares(x):
    parts = [np.random.default_rng().integers(-9, 9, x.shape).astype(float) for _ in range(2)]
    return [part.tobytes() for part in (*parts, x - sum(parts))]


def body(world, share, items=2, number=None, **parameters):
    number = number or secrets.token_bytes(16)
    asked = wire.Asked(number, items, parameters.get("session", world.session), share)
    return wire.request_body(asked)


def post(party, length, text, path="digits", **headers):
    head = {wire.LENGTH: length, **headers}
    url = f"{party.url}/v2/models/{path}/infer"
    return httpx.post(url, content=text, headers=head, timeout=5)


def good(three, number=None):
    """Two items, predicted by all parties."""
    running, world = three
    number = number or secrets.token_bytes(16)
    found = []

    def ask(party, share):
        answer = post(party, *body(world, share, number=number))
        assert answer.status_code == 200, answer.text
        told = wire.read_answer(answer.headers[wire.LENGTH], answer.content)
        assert (told.id, told.session, told.party) == (
            number,
            world.session,
            running.index(party),
        )
        found.append(np.frombuffer(told.share))

    threads = [
        threading.Thread(target=ask, args=each)
        for each in zip(running, shares(np.ones((2, 4))), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    return sum(found).reshape(2, 3)


def refused(answer, status, code, words=""):
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert told["code"] == code and words in told["error"], told
    assert told["request"] == answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"


def test_the_routes_are_those_of_the_description(one):
    told = httpx.get(f"{one.url}/openapi.json").json()
    assert told == json.loads(json.dumps(openapi.document()))
    described = {(path, method.upper()) for path, each in told["paths"].items() for method in each}
    there = {
        (route.path, method)
        for route in Routes(one.party.host).all()
        for method in route.methods - {"HEAD"}
    }
    assert described == there
    names = set(told["components"]["schemas"])
    assert all(ref in names for ref in references(told))


def references(tree):
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "$ref":
                yield value.rsplit("/", 1)[1]
            yield from references(value)
    elif isinstance(tree, list):
        for each in tree:
            yield from references(each)


def test_what_is_there(one):
    assert httpx.get(f"{one.url}/v2").json()["models"] == [{"name": "digits", "version": "1"}]
    for path in ("health/live", "health/ready", "models/digits/ready"):
        assert httpx.get(f"{one.url}/v2/{path}").status_code == 200
    for path in ("digits", "digits/versions/1"):
        told = httpx.get(f"{one.url}/v2/models/{path}").json()
        assert told["platform"] == "tacit" and told["versions"] == ["1"]
        assert told["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
        assert told["parameters"]["max_items"] == 8
    refused(httpx.get(f"{one.url}/v2/models/digits/versions/2"), 404, "not-found")
    refused(httpx.get(f"{one.url}/v2/models/faces"), 404, "not-found")
    refused(httpx.get(f"{one.url}/v3/../etc/passwd"), 404, "not-found")
    refused(httpx.delete(f"{one.url}/v2/models/digits"), 405, "no-such-method")


def test_answers_have_safe_headers_and_a_number(one):
    answer = httpx.get(f"{one.url}/v2", headers={"x-request-id": "run-7"})
    assert answer.headers["x-request-id"] == "run-7"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers
    answer = httpx.get(f"{one.url}/v2", headers={"x-request-id": "a b\u007f" * 40})
    assert len(answer.headers["x-request-id"]) == 32


BAD_HEADERS = {
    "no JSON": (b"{]", "not JSON"),
    "no UTF-8": (b'{"id": "\xff"}', "not UTF-8 at byte"),
    "no object": (b"[1,2]", "not an object"),
    "deep": (b"[" * 50_000, "nested too deep"),
    "a long number": (b'{"id": ' + b"9" * 9000 + b"}", "too long"),
    "NaN": (b'{"id": NaN}', "not finite"),
    "twice": (b'{"id": 1, "id": 2}', "twice"),
    "nothing": (b"{}", "has no 'id'"),
}
BAD_FIELDS = {
    "id": ([1, None, "00", "0" * 31 + "G", "A" * 32, "\ud800" * 32], "id is not"),
    "inputs": ([None, {}, [], [{}, {}], [3]], "inputs"),
    "inputs.0.name": ([1, "x"], "inputs[0].name"),
    "inputs.0.datatype": (["FP32", None], "inputs[0].datatype"),
    "inputs.0.shape": ([[], [1], [64.0], [64, 1], "64", [True]], "inputs[0].shape"),
    "inputs.0.parameters": ([None, {}], "inputs[0].parameters"),
    "inputs.0.parameters.binary_data_size": ([63, -1, 64.0, "64", 1 << 70], "binary_data_size"),
    "parameters": ([None, {}, {"items": 2}], "parameters"),
    "parameters.items": ([0, -1, True, 2.0, "2", 1 << 40], "parameters.items"),
    "parameters.session": ([None, "", "zz", "a" * 400], "parameters.session"),
    "more": ([1], "a key that is unknown"),
    "outputs": (["y", [{"name": "y"}]], "outputs"),
}


@pytest.mark.parametrize("what", BAD_HEADERS)
def test_a_header_that_cannot_be_read(one, what):
    head, words = BAD_HEADERS[what]
    refused(post(one, str(len(head)), head + b"x" * 64), 400, "malformed", words)


@pytest.mark.parametrize("where", BAD_FIELDS)
def test_a_field_that_is_wrong(one, three, where):
    values, words = BAD_FIELDS[where]
    length, text = body(three[1], bytes(64))
    for value in values:
        told = json.loads(text[: int(length)])
        *path, last = where.split(".")
        inner = told
        for key in path:
            inner = inner[int(key) if key.isdigit() else key]
        inner[last] = value
        head = json.dumps(told).encode()
        refused(post(one, str(len(head)), head + bytes(64)), 400, "malformed", words)


@pytest.mark.parametrize("length", ["", "-1", "1e3", "0", "1", "99999999999", "2147", "\u00b2"])
def test_a_length_that_is_wrong(one, three, length):
    _, text = body(three[1], bytes(64))
    answer = post(one, length.encode("utf-8"), text)
    refused(answer, 400, "malformed", "Inference-Header-Content-Length")


def test_random_bytes(one, three):
    length, text = body(three[1], bytes(64))
    random = np.random.default_rng(5)
    with httpx.Client(timeout=5) as http:
        for _ in range(150):
            spoilt = bytearray(text)
            for place in random.integers(0, int(length), 3):
                spoilt[place] = random.integers(256)
            url = f"{one.url}/v2/models/digits/infer"
            head = {wire.LENGTH: length, "x-request-id": "spoilt"}
            answer = http.post(url, content=bytes(spoilt), headers=head)
            assert answer.status_code in (400, 409), answer.text


def test_headers_of_http_that_are_wrong(one, three):
    length, text = body(three[1], bytes(64))
    refused(post(one, length, text, **{"content-encoding": "gzip"}), 400, "malformed")
    refused(post(one, length, text, **{"content-type": "application/json"}), 400, "malformed")
    for name, value in (
        ("content-encoding", "identity"),
        ("content-type", "application/octet-stream"),
    ):
        told = [(wire.LENGTH, length), (name, value), (name, "gzip")]
        answer = httpx.post(f"{one.url}/v2/models/digits/infer", content=text, headers=told)
        refused(answer, 400, "malformed", "Content-")
    twice = [(wire.LENGTH, length), (wire.LENGTH, "9")]
    answer = httpx.post(f"{one.url}/v2/models/digits/infer", content=text, headers=twice)
    refused(answer, 400, "malformed", "twice")


def test_no_http(one):
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(99)
    assert raw(one, hello)[:12] in (b"HTTP/1.1 400", b"")
    assert raw(one, b"GET / HTTP/9.9\r\n\r\n").startswith(b"HTTP/1.1 4")
    smuggled = (
        b"POST /v2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v2 HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    assert raw(one, smuggled).count(b"HTTP/1.1 200") == 0
    huge = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 2_000_000 + b"\r\n\r\n"
    assert raw(one, huge)[:12] in (b"HTTP/1.1 400", b"")


def test_other_pages_and_other_names(one):
    answer = httpx.get(f"{one.url}/v2", headers={"origin": "https://evil.example"})
    refused(answer, 403, "not-allowed")
    assert "access-control-allow-origin" not in answer.headers
    for origin in ("null", "https://page.example.evil", "http://page.example"):
        assert httpx.get(f"{one.url}/v2", headers={"origin": origin}).status_code == 403
    answer = httpx.get(f"{one.url}/v2", headers={"origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    asked = {"origin": ORIGIN, "access-control-request-method": "POST"}
    asked["access-control-request-headers"] = f"authorization,{wire.LENGTH}"
    answer = httpx.options(f"{one.url}/v2/models/digits/infer", headers=asked)
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-credentials" not in answer.headers
    answer = httpx.get(f"{one.url}/v2", headers={"host": "evil.example"})
    refused(answer, 421, "wrong-host")
    assert httpx.get(f"{one.url}/v2", headers={"host": "localhost"}).status_code == 200


def test_a_request_is_answered_again_and_computed_once(one, three):
    running, _ = three
    before = running[0].services["digits"].submitted
    parts, number = shares(np.ones((2, 4))), secrets.token_bytes(16)
    texts = [body(three[1], part, number=number) for part in parts]
    found = ask_all(running, texts)
    again = ask_all(running, texts)
    assert [a.status_code for a in (*found, *again)] == [200] * 6
    for first, second in zip(found, again, strict=True):
        read = [wire.read_answer(a.headers[wire.LENGTH], a.content) for a in (first, second)]
        assert read[0].share == read[1].share
    assert running[0].services["digits"].submitted == before + 1


def test_few_numbers_wait_for_no_thread(one, three, monkeypatch):
    core, threads = one.services["digits"], []
    submit = core.submit

    def noted(*given):
        threads.append(threading.current_thread())
        return submit(*given)

    monkeypatch.setattr(core, "submit", noted)
    good(three)
    post(one, *body(three[1], bytes(80_000)))
    monkeypatch.setattr(desk, "FEW", 70_000)
    post(one, *body(three[1], bytes(80_000)))
    assert [thread is one.thread for thread in threads] == [True, True, False]


def test_an_id_is_of_one_request(one, three):
    running, world = three
    number = secrets.token_bytes(16)
    texts = [body(world, part, number=number) for part in shares(np.ones((2, 4)))]
    ask_all(running, texts)
    refused(post(one, *body(world, bytes(64), number=number)), 409, "reused")


def test_shares_of_another_session(one, three):
    refused(post(one, *body(three[1], bytes(64), session="ab" * 16)), 409, "other-session")


def test_a_share_that_only_one_party_has(one, three):
    refused(post(one, *body(three[1], bytes(64))), 502, "missing-elsewhere", "beta")


def test_what_the_core_refuses(one, three):
    core = one.services["digits"]
    refused(post(one, *body(three[1], bytes(60))), 400, "malformed")
    refused(post(one, *body(three[1], bytes(9 * 32), items=9)), 413, "too-many-items")
    for code, status in (("busy", 503), ("quarantined", 503), ("draining", 503), ("odd", 502)):
        core.said = {"code": code, "message": "so it is", "retry_after": 1.5}
        answer = post(one, *body(three[1], bytes(64)))
        assert answer.status_code == status and answer.headers["retry-after"] == "2"
    core.said = None


def test_a_client_that_goes_is_forgotten(one, three):
    core = one.services["digits"]
    # All are one client here, which was refused often.
    one.party.host.quiet.windows.clear()
    number = secrets.token_bytes(16)
    length, text = body(three[1], bytes(64), number=number)
    with connected(one) as wire_:
        wire_.sendall(head_of(one, length, len(text)) + text)
        wait_for(lambda: number in three[1].held[0])
    wait_for(lambda: number in core.forgotten)
    wait_for(lambda: one.audited[-1].get("outcome") == "gone")
    # It had not begun, so the same may come again: it is taken, and lacks the others' shares.
    again = post(one, length, text)
    refused(again, 502, "missing-elsewhere")


def test_an_error_of_the_program_is_told_as_that_alone(one, three, monkeypatch):
    def fails(*_):
        raise RuntimeError("a secret")

    monkeypatch.setattr(one.services["digits"], "submit", fails)
    answer = post(one, *body(three[1], bytes(64)))
    refused(answer, 500, "internal")
    assert "secret" not in answer.text
    monkeypatch.undo()


def test_metrics(one, three):
    good(three)
    refused(post(one, "2", b"{}", path="nothing-like-it"), 404, "not-found")
    text = httpx.get(f"{one.url}/metrics").text
    assert 'tacit_requests_total{code="answered",model="digits"}' in text
    assert 'tacit_core_rounds_total{model="digits",version="1"} 9.0' in text
    assert 'tacit_state{model="digits",state="ready",version="1"} 1.0' in text
    assert 'tacit_certificate_days{certificate="alpha"} 36' in text
    assert 'phase="answer"' in text and 'phase="audit"' in text
    route = "/v2/models/{model}/infer"
    assert f'tacit_http_total{{route="{route}",status="200"}}' in text
    assert "nothing-like-it" not in text


def test_the_audit_log_has_every_request(one, three):
    number = secrets.token_bytes(16)
    good(three, number)
    line = next(each for each in reversed(one.audited) if each.get("id") == number.hex())
    assert line["outcome"] == "answered" and line["items"] == 2 and line["client"] == "anyone"
    assert line["digest"] == three[1].digest and line["session"] == three[1].session
    ready = next(each for each in one.audited if each["kind"] == "ready")
    assert ready["certificates"] == SHOWN


def ask_all(running, texts, **headers):
    found = [None] * 3

    def ask(place):
        found[place] = post(running[place], *texts[place], **headers)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def connected(party):
    return socket.create_connection(("127.0.0.1", party.port), timeout=3)


def head_of(party, length, size):
    lines = (
        "POST /v2/models/digits/infer HTTP/1.1",
        f"Host: {party.address}",
        f"{wire.LENGTH}: {length}",
        f"Content-Length: {size}",
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def raw(party, sent):
    """What a party answers to bytes, until it ends."""
    found = b""
    with connected(party) as wire_:
        try:
            wire_.sendall(sent)
            while part := wire_.recv(4096):
                found += part
                if b"\r\n\r\n" in found:
                    wire_.settimeout(0.3)
        except OSError:
            pass
    return found


def ended(wire_, seconds=3):
    """Whether the other end has ended a connection."""
    wire_.settimeout(seconds)
    try:
        while wire_.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def test_the_audit_log_cannot_be_written(tmp_path):
    """Nothing is answered that is not written down."""
    with parties(tmp_path, clients=([client_table("a", "k")],) * 3) as (running, worlds):
        party = running[0]
        party.party.audit.file.close()
        length, text = body(worlds["digits"], bytes(60))
        answer = post(party, length, text, authorization="Bearer k")
        refused(answer, 503, "audit")
        assert httpx.get(f"{party.url}/v2/health/live").status_code == 200
