"""What goes over a client's connections: stale ones, silent parties, redirects, proxies."""

import asyncio
import base64
import concurrent.futures
import gc
import gzip
import socket
import threading
import time
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

from serving_fakes import WEIGHTS, FakeSharing, parties, wait_for
from serving_spoken import answer_head, spoken
from test_serving_client import https_certificate

import tacit
from tacit import ServiceError
from tacit.serving import connections, described, remote, wire

X = np.ones((2, 4), np.float32)
NAMES = b'{"models": [{"name": "digits"}]}'
SECRET = base64.b64encode(b"me:h@sh").decode()
ASKED = wire.Asked(bytes(16), 1, "ab", bytes(64))


@pytest.fixture(autouse=True)
def shares_by_adding(monkeypatch):
    monkeypatch.setattr(described, "make_sharing", FakeSharing)


@pytest.fixture
def proxies(monkeypatch):
    """The environment, without a proxy."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def soon(seconds=4):
    return asyncio.get_running_loop().time() + seconds


async def head_of(reader):
    """The head of a request, once its body is here as well."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    told = dict(line.split(": ", 1) for line in head[1:])
    await reader.readexactly(int(told.get("Content-Length", "0")))
    return head[0], {name.lower(): value for name, value in told.items()}


def test_a_connection_is_kept_and_says_no_more_than_it_has_to():
    heads, met = [], []

    async def script(reader, writer):
        met.append(writer)
        while True:
            heads.append(await head_of(reader))
            writer.write(answer_head(200, len(NAMES), "set-cookie: seen=1; path=/") + NAMES)

    async def ask():
        async with spoken(script) as party:
            for _ in range(3):
                assert await party.models(soon()) == ["digits"]
            with suppress(ServiceError):
                await party.infer("digits", "1", ASKED, soon(), 1 << 20)

    asyncio.run(ask())
    assert len(met) == 1 and len(heads) == 4
    own = {"host", "accept-encoding", "user-agent", "authorization"}
    assert heads[2][0] == "GET /v2 HTTP/1.1" and set(heads[2][1]) == own
    assert heads[2][1]["accept-encoding"] == "identity" and heads[2][1]["user-agent"] == "tacit"
    body = {"content-type", "content-length", wire.LENGTH.lower(), "x-request-id"}
    assert heads[3][0] == "POST /v2/models/digits/versions/1/infer HTTP/1.1"
    assert set(heads[3][1]) - {"traceparent"} == own | body
    assert heads[3][1]["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("is_late", [False, True])
def test_a_connection_that_the_party_ended_costs_no_error(is_late):
    """A party restarts, or ends what was idle: before the next request, or while that comes."""
    ids = []

    async def script(reader, writer):
        for _ in range(2):
            _, told = await head_of(reader)
            ids.append(told["x-request-id"])
            if is_late and len(ids) == 2:
                break
            length, body = wire.answer_body(
                wire.Answered(ASKED.id, "digits", "1", "ab", "cd", 0, 0.1, b"share")
            )
            writer.write(answer_head(200, len(body), f"{wire.LENGTH}: {length}") + body)
            if not is_late:
                break
        writer.close()

    async def ask():
        async with spoken(script) as party:
            for _ in range(2):
                answer = await party.infer("digits", "1", ASKED, soon(), 1 << 20)
                assert answer.share == b"share"
                await asyncio.sleep(0.05)

    asyncio.run(ask())
    assert ids == [ASKED.id.hex()] * (3 if is_late else 2)


def test_a_party_that_takes_nothing_of_what_it_is_sent(monkeypatch):
    monkeypatch.setattr(connections, "TAKE_S", 0.2)
    # No second try, which the deadline could end.
    monkeypatch.setattr(remote, "LEAST", 60.0)

    async def script(reader, writer):
        await asyncio.sleep(60)

    async def ask():
        async with spoken(script) as party:
            large = wire.Asked(bytes(16), 1, "ab", bytes(32 << 20))
            with pytest.raises(ServiceError, match="took nothing") as caught:
                await party.infer("digits", "1", large, soon(20), 1 << 20)
            assert caught.value.code == "unreachable"

    begun = time.monotonic()
    asyncio.run(ask())
    assert time.monotonic() - begun < 5


def test_a_large_body_comes_whole():
    share = np.random.default_rng(1).bytes(5 << 20)

    async def script(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.split("Content-Length: ")[1].split("\r\n")[0])
        assert (await reader.readexactly(length)).endswith(share)
        writer.write(answer_head(200, 2) + b"{}")

    async def ask():
        async with spoken(script) as party:
            large = wire.Asked(bytes(16), 1, "ab", share)
            with pytest.raises(ServiceError, match="does not answer as a service"):
                await party.infer("digits", "1", large, soon(), 1 << 20)

    asyncio.run(ask())


def test_answers_are_as_they_are():
    """No redirect is followed, and nothing is unpacked."""
    asked = []

    async def script(reader, writer):
        while True:
            asked.append((await head_of(reader))[0])
            if len(asked) == 1:
                writer.write(answer_head(302, 0, "location: /v2/models/digits"))
            else:
                packed = gzip.compress(NAMES)
                writer.write(answer_head(200, len(packed), "content-encoding: gzip") + packed)

    async def ask():
        async with spoken(script) as party:
            for words in ("status 302", "does not say what it serves"):
                with pytest.raises(ServiceError, match=words):
                    await party.models(soon())

    asyncio.run(ask())
    assert asked == ["GET /v2 HTTP/1.1"] * 2


def test_a_name_that_is_none_is_not_waited_for(monkeypatch, proxies):
    def none(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", none)
    with tacit.connect(["https://a.example:8100"], timeout=20) as service:
        begun = time.monotonic()
        with pytest.raises(ServiceError, match="no such name") as caught:
            service.models()
        assert caught.value.code == "unreachable" and time.monotonic() - begun < 2


@pytest.mark.parametrize("is_told", [False, True])
def test_an_answer_of_too_many_bytes_ends_its_connection(is_told):
    """However its length is told; what comes after the bound is not read."""
    ended = []

    async def script(reader, writer):
        await head_of(reader)
        head = answer_head(200, 1 << 30)
        writer.write(head if is_told else head.replace(b"content-length", b"x-length"))
        with suppress(ConnectionError):
            while True:
                writer.write(bytes(1 << 16))
                await writer.drain()
        ended.append(True)

    async def ask():
        async with spoken(script) as party:
            with pytest.raises(ServiceError, match="more than 1048576 bytes") as caught:
                await party.infer("digits", "1", ASKED, soon(), 1 << 20)
            assert caught.value.code == "malformed"
            while not ended:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(ask(), 10))


def test_a_client_that_nobody_closed_keeps_no_connection(tmp_path):
    with parties(tmp_path) as (running, _):
        service = tacit.connect([one.url for one in running], timeout=4)
        service.predict("digits", X)
        assert all(one.server.server_state.connections for one in running)
        del service
        gc.collect()
        wait_for(lambda: not any(one.server.server_state.connections for one in running))


def test_a_proxy_of_the_environment(proxies):
    assert connections.proxy_of("https://a.example:8100") is None
    proxies.setenv("HTTPS_PROXY", "proxy.example:3128")
    proxies.setenv("NO_PROXY", "inside.example")
    assert connections.proxy_of("https://a.example:8100").url.host == "proxy.example"
    assert connections.proxy_of("https://inside.example:8100") is None
    assert connections.proxy_of("http://127.0.0.1:8100") is None
    for direct in ("a.example", "b.example, a.example:8100", "b.example,*", "https://a.example"):
        proxies.setenv("NO_PROXY", direct)
        assert connections.proxy_of("https://a.example:8100") is None, direct
    proxies.setenv("NO_PROXY", "inside.example")
    for wrong in ("gopher://me:hush@proxy.example", "http://me:hu/hush@proxy.example"):
        proxies.setenv("HTTPS_PROXY", wrong)
        with pytest.raises(ServiceError, match="HTTPS_PROXY") as caught:
            connections.proxy_of("https://a.example:8100")
        assert "hu" not in str(caught.value)
    for wrong in ("socks5://me:hush@proxy.example:1080", "socks5h://proxy.example"):
        proxies.setenv("HTTPS_PROXY", wrong)
        with pytest.raises(ServiceError, match="SOCKS is not spoken; name") as caught:
            tacit.connect(["https://a.example:8100"])
        assert "hush" not in str(caught.value) and "NO_PROXY=a.example" in str(caught.value)


def test_a_proxy_that_asks_for_a_password(tmp_path, proxies):
    """Only the proxy is told it, and no error quotes it."""
    own, key = https_certificate(tmp_path)
    with parties(tmp_path, certificate=str(own), key=str(key)) as (running, _), proxy() as met:
        urls = [f"https://localhost:{one.port}" for one in running]
        proxies.setenv("HTTPS_PROXY", f"http://me:h%40sh@127.0.0.1:{met.port}")
        with tacit.connect(urls, certificates=own, timeout=4) as service:
            answer = service.predict("digits", X)
            np.testing.assert_allclose(answer.output, X @ WEIGHTS, rtol=1e-5)
        assert sorted(set(met.asked)) == sorted(url.removeprefix("https://") for url in urls)
        proxies.setenv("HTTPS_PROXY", f"http://me:wr%40ng@127.0.0.1:{met.port}")
        proxies.setattr(remote, "LEAST", 60.0)
        with tacit.connect(urls, certificates=own, timeout=20) as service:
            with pytest.raises(ServiceError, match="407") as caught:
                service.predict("digits", X)
            assert caught.value.code == "unreachable" and "ng@" not in str(caught.value)


class Proxy(StreamRequestHandler):
    """A proxy that asks for a password, and then leads where a client wants to."""

    def handle(self):
        head = b"".join(iter(self.rfile.readline, b"\r\n")).decode()
        shown = [line.split()[1:] for line in head.splitlines() if "proxy-auth" in line.lower()]
        if shown != [["Basic", SECRET]]:
            self.wfile.write(b"HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n")
            return
        where = head.split()[1]
        self.server.asked.append(where)
        host, port = where.split(":")
        with socket.create_connection((host, int(port))) as party:
            self.wfile.write(b"HTTP/1.1 200 Go\r\n\r\n")
            back = threading.Thread(target=carry, args=(party, self.connection), daemon=True)
            back.start()
            carry(self.connection, party)
            back.join(5)


def carry(given, taken):
    """Carries what comes from one connection to another, until either ends."""
    with suppress(OSError):
        while chunk := given.recv(1 << 16):
            taken.sendall(chunk)
        taken.shutdown(socket.SHUT_WR)


@contextmanager
def proxy():
    """A proxy of this machine; `asked` is where it was asked to lead."""
    with ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        server.daemon_threads, server.asked = True, []
        server.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def test_a_group_of_requests_ends_whole():
    """None is left under way, nor where one of them was cancelled by itself."""
    ended = []

    async def waits():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def leaves():
        raise asyncio.CancelledError

    async def fails():
        await asyncio.sleep(0.01)
        raise ServiceError("no")

    async def gives():
        return 1

    with tacit.connect(["http://127.0.0.1:1"]) as client:
        assert client._wait(client._all([gives(), gives()])) == [1, 1]
        for each in ([fails(), waits()], [leaves(), fails(), waits()]):
            with pytest.raises(
                (ServiceError, asyncio.CancelledError, concurrent.futures.CancelledError)
            ):
                client._wait(client._all(each))
    assert ended == [True, True]
