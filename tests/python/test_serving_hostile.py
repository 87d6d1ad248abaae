"""HTTP that no client of Tacit's sends: each is told so, and nobody else misses an answer."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from test_serving_http import body, connected, first, head_of, quick_parties, raw

from tacit.serving import wire

GET = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with quick_parties(tmp_path_factory) as made:
        yield made


@pytest.fixture
def one(three):
    with first(three) as party:
        yield party


def until_closed(party, sent):
    """What a party answers to requests, after the last of which it ends the connection."""
    found = b""
    with connected(party) as wire_:
        wire_.settimeout(10)
        wire_.sendall(sent + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        while part := wire_.recv(4096):
            found += part
    return found


def statuses(told):
    return [int(each[:3]) for each in told.split(b"HTTP/1.1 ")[1:]]


def test_two_lengths_of_a_body(one, three):
    """A proxy before this party may go by the other, and take the rest for another's request."""
    length, text = body(three[1], bytes(64))
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text)
    for head in (
        head_of(one, length, 4),
        GET.replace(b"\r\n\r\n", b"\r\nContent-Length: 4\r\n\r\n"),
    ):
        both = head.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        told = raw(one, both + chunked + GET)
        assert statuses(told) == [400], told
        assert b"malformed" in told and b"Transfer-Encoding" in told


def test_requests_that_do_not_wait_for_answers(one, three):
    """Each request has its answer, in their order."""
    assert statuses(until_closed(one, GET * 20)) == [200] * 21
    length, text = body(three[1], bytes(64))
    asked = head_of(one, length, len(text)) + text
    assert statuses(until_closed(one, GET + asked)) == [200, 502, 200]


def test_a_body_in_chunks_with_headers_behind_it(one, three):
    """What stands behind a body is nobody's key, and no length."""
    length, text = body(three[1], bytes(64))
    head = head_of(one, length, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    behind = f"0\r\n{wire.LENGTH}: 5\r\nAuthorization: Bearer k\r\n\r\n".encode()
    chunked = b"".join(b"1\r\n%c\r\n" % each for each in text)
    assert statuses(raw(one, head + chunked + behind)) == [502]
    for wrong in (b"-1\r\nx\r\n", b"f" * 30 + b"\r\n", b"5;" + b"a" * 40_000):
        assert statuses(raw(one, head + wrong + b"\r\nhello\r\n0\r\n\r\n")) == [400]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "TRACE", "CONNECT", "get", "FOO"])
def test_other_methods(one, method):
    for path in ("/v2", "/metrics", "/v2/models/digits/infer"):
        told = raw(one, f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        there = method == "HEAD" and not path.endswith("infer")
        assert statuses(told) == [200 if there else 405]
        assert method != "HEAD" or told.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "target",
    ["http://evil.example/v2", "*", "//v2", "/%00", "/v2/models/%ff", "/v2/models/%F0%9F%98%80"],
)
def test_other_targets(one, target):
    told = raw(one, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert statuses(told) == [404] and b"not-found" in told


@pytest.mark.parametrize(
    "host", ["", ":", "[", "]:1", "a:b:1", "localhost,evil", "127.1", "localhost@evil", "\xff"]
)
def test_other_hosts(one, host):
    told = raw(one, f"GET /v2 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1"))
    assert statuses(told) == [421] and b"wrong-host" in told


@pytest.mark.parametrize(
    "length", ["+5", "-5", "0x5", "5,6", "1_0", "9" * 5000, "5\r\nContent-Length: 6"]
)
def test_lengths_of_http_that_are_none(one, three, length):
    head = head_of(one, "5", 0).replace(b"Content-Length: 0", f"Content-Length: {length}".encode())
    assert statuses(raw(one, head + b"hello" + GET)) == [400]


def test_numbers_of_json_that_are_none_here(one, three):
    length, text = body(three[1], bytes(64))
    head, share = text[: int(length)], text[int(length) :]
    for number in (b"1e400", b"-1e400", b"2e0", b"-0", b"Infinity", b"1" * 5000):
        wrong = head.replace(b'"items":2', b'"items":' + number)
        assert wrong != head
        told = raw(one, head_of(one, str(len(wrong)), len(wrong + share)) + wrong + share)
        assert statuses(told) == [400] and b"malformed" in told
