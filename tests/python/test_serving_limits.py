"""What a client may send, how slowly and how much: beyond it, it is told or sent away."""

import io
import json
import logging
import resource
import socket
import ssl
import time

import httpx
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving_fakes import parties, wait_for
from test_serving_client import https_certificate
from test_serving_http import (
    body,
    connected,
    ended,
    first,
    head_of,
    post,
    quick_parties,
    raw,
    refused,
)

from tacit.serving import log, wire
from tacit.serving.door import Door, descriptors
from tacit.serving.limits import Limits, Room
from tacit.serving.log import SAME_S, Handler, Log
from tacit.serving.refusals import Refusal


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with quick_parties(tmp_path_factory) as made:
        yield made


@pytest.fixture
def one(three):
    with first(three) as party:
        yield party


def test_a_body_that_is_too_large(one, three):
    length, text = body(three[1], bytes(200_000))
    refused(post(one, length, text), 413, "too-large")
    # In chunks no length is told.
    chunks = (text[i : i + 9000] for i in range(0, len(text), 9000))
    answer = httpx.post(
        f"{one.url}/v2/models/digits/infer", content=chunks, headers={wire.LENGTH: length}
    )
    refused(answer, 413, "too-large")
    said = raw(one, head_of(one, length, 10**12) + text[:100])
    assert said.startswith(b"HTTP/1.1 413")
    said = raw(one, head_of(one, length, "9" * 5000))
    assert said.startswith(b"HTTP/1.1 4")
    assert one.party.host.limits.room.taken == 0


def test_a_body_is_not_larger_than_those_of_the_model(one, three):
    _, world = three
    usual, world.max_body = world.max_body, 64
    length, text = body(world, bytes(wire.MOST_HEADER + 65))
    refused(post(one, length, text), 413, "too-large")
    world.max_body = usual


def test_bodies_share_one_memory(one, three):
    room = one.party.host.limits.room
    length, text = body(three[1], bytes(64))
    room.held["others"] = room.most - 10
    refused(post(one, length, text), 503, "busy")
    del room.held["others"]


def test_no_client_takes_all_the_memory():
    """However much it sends: whoever comes next has room for a body."""
    room, largest = Room(8 * 100), 100
    with pytest.raises(Refusal):
        while True:
            room.take("hog", 10)
    assert room.held["hog"] == 600
    room.take("lab", largest)
    room.give("lab", largest)
    for client in ("hog", "lab"):
        room.give(client, room.held[client])
    assert room.taken == 0 and not room.held


def test_a_body_that_is_shorter_than_it_says(one, three):
    length, text = body(three[1], bytes(64))
    said = raw(one, head_of(one, length, len(text) + 50) + text)
    assert said.startswith(b"HTTP/1.1 408") and b"too-slow" in said
    assert b"connection: close" in said.lower()


def test_a_head_that_does_not_end(one):
    begun = time.monotonic()
    with connected(one) as wire_:
        wire_.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n")
        for _ in range(8):
            time.sleep(0.1)
            try:
                wire_.sendall(b"X: y\r\n")
            except OSError:
                break
        assert ended(wire_)
    assert time.monotonic() - begun < 2


def test_a_connection_that_says_nothing(one):
    with connected(one) as wire_:
        assert ended(wire_)


def test_a_body_that_drips(one, three):
    length, text = body(three[1], bytes(64))
    with connected(one) as wire_:
        wire_.sendall(head_of(one, length, len(text)))
        for place in range(0, len(text), 20):
            time.sleep(0.05)
            try:
                wire_.sendall(text[place : place + 1])
            except OSError:
                break
        assert wire_.recv(4096).startswith(b"HTTP/1.1 408")


def test_a_body_that_nobody_reads_ends(one):
    with connected(one) as wire_:
        wire_.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n")
        assert wire_.recv(4096).startswith(b"HTTP/1.1 200")
        for _ in range(12):
            time.sleep(0.1)
            try:
                wire_.sendall(b"x")
            except OSError:
                break
        assert ended(wire_)


def test_connections_of_one_address_are_counted(one):
    held = []
    try:
        for _ in range(60):
            held.append(connected(one))
        time.sleep(0.1)
        assert sum(ended(each, 0.01) for each in held) >= 15
    finally:
        for each in held:
            each.close()
    wait_for(lambda: not one.server.server_state.connections)


def test_connections_are_counted_before_they_begin_tls(tmp_path):
    """Whoever begins none takes no more places than others, and gives them back."""
    own, key = https_certificate(tmp_path)
    more = {"certificate": str(own), "key": str(key), "quick": {"per_address": 8}}
    with parties(tmp_path, **more) as (running, _):
        held = [connected(running[0]) for _ in range(12)]
        assert sum(ended(each, 0.5) for each in held) == 4
        for each in held:
            each.close()
        url, trust = f"https://localhost:{running[0].port}", ssl.create_default_context(cafile=own)
        with httpx.Client(transport=httpx.HTTPTransport(verify=trust, retries=5)) as client:
            assert client.get(f"{url}/v2/health/live").status_code == 200


def test_a_place_is_freed_with_its_connection():
    """A place is freed with its connection, even where nobody closes it."""
    limits = Limits(connections=3, per_address=2)
    with Door(socket.create_server(("127.0.0.1", 0)), limits, 9) as door:
        others = [socket.create_connection(door.getsockname()) for _ in range(5)]
        first, second = (door.accept()[0] for _ in range(2))
        with pytest.raises(ConnectionAbortedError):
            door.accept()
        assert others[2].recv(1) == b""
        first.close()
        first.close()
        third = door.accept()[0]
        assert door.addresses == {"127.0.0.1": 2}
        del third
        second.detach()
        del second
        assert not door.addresses
        # So few descriptors are there.
        door.most = 0
        with pytest.raises(ConnectionAbortedError):
            door.accept()
        for each in others:
            each.close()


def test_a_service_lets_itself_have_descriptors():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
        assert descriptors(600) == 600 and descriptors(400) == 600
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (600, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_what_libraries_log_is_one_line_a_minute():
    """A stranger may be the cause of it."""
    written, now = io.StringIO(), [0.0]
    logger = logging.Logger("asyncio")
    logger.addHandler(Handler(Log("json", stream=written), lambda: now[0]))

    def full():
        try:
            raise OSError(24, "a path")
        except OSError:
            logger.exception("out of system resource\nsocket: <socket>")

    for _ in range(3):
        full()
    now[0] = SAME_S
    full()
    logger.warning("another")
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["out of system resource"] * 2 + ["another"]
    assert [line.get("more") for line in lines] == [None, 2, None]
    assert "path" not in written.getvalue() and lines[0]["exception"] == "OSError"


def test_what_libraries_log_of_many_kinds_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(log, "DIFFERENT", 2)
    written = io.StringIO()
    logger = logging.Logger("asyncio")
    logger.addHandler(Handler(Log("json", stream=written), lambda: 0.0))
    for word in ("a", "b", "b", "c", "b", "a"):
        logger.warning(word)
    lines = [json.loads(line)["event"] for line in written.getvalue().splitlines()]
    assert lines == ["a", "b", "c", "a"], "b is not the oldest"


def test_asyncio_logs_into_the_log_of_the_service(one):
    logger = logging.getLogger("asyncio")
    assert any(isinstance(each, Handler) for each in logger.handlers) and not logger.propagate
