"""The connections of a client with one party, direct or by a proxy."""

from __future__ import annotations

import asyncio
import base64
import ssl
import sys
import urllib.request
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from ..errors import ServiceError
from .within import within

CONNECT_S = 10.0
"""Seconds that a connection may take, with its names, its proxy and its handshake."""
TAKE_S = 60.0
"""Seconds that a party may take nothing of what it is sent."""
KEPT_S = 15.0
"""Seconds that a connection is kept between requests: fewer than a service keeps it."""
PIECE = 256 << 10
"""Bytes of a body that are sent at once."""
FEW = 32 << 10
"""Bytes of a body that the buffer of a connection takes whole."""


@dataclass(frozen=True)
class Proxy:
    """A proxy, by its address without a name and password, which its headers have."""

    url: URL
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Connections:
    """The connections with one party, made as they are needed within a running loop.

    Parameters
    ----------
    url
        The party's address.
    trust
        Whose certificates are trusted, and what the client shows.
    """

    def __init__(self, url: str, trust: ssl.SSLContext):
        self.url, self.trust, self.proxy = url, trust, proxy_of(url)
        self.session: aiohttp.ClientSession | None = None

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        """The answer to a request, as soon as its head is there; `async with` it ends."""
        if self.session is None:
            self.session = self._open()
        proxy = self.proxy
        return await self.session.request(
            method,
            self.url + path,
            headers=headers,
            data=None if body is None else Upload(body),
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers=proxy.headers if proxy else None,
        )

    async def close(self) -> None:
        """Ends all connections."""
        if self.session is not None:
            await self.session.close()

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self.trust,
            # The client bounds its requests, and so the connections that are kept; a bound here
            # would let those of the parties wait for each other.
            limit=0,
            keepalive_timeout=KEPT_S,
            # Another resolver's errors are not the system's, by which names that are none are told.
            resolver=aiohttp.ThreadedResolver(),
            use_dns_cache=False,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("accept",),
            # Answers have the client's own time.
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_S),
        )
        # A client that nobody closes: what is left of it belongs to the loop's thread alone.
        weakref.finalize(self, _end, session, asyncio.get_running_loop())
        return session


class Upload(aiohttp.Payload):
    """The body of a request, sent in pieces that a party takes in time."""

    def __init__(self, body: bytes):
        super().__init__(body, content_type="application/octet-stream")
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as text, as aiohttp may show it."""
        return bytes(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Sends the body; an error if the party takes nothing of it for too long."""
        whole = memoryview(self._value)
        if len(whole) <= FEW:
            await writer.write(whole)
            return
        for begin in range(0, len(whole), PIECE):
            try:
                await within(TAKE_S, writer.write(whole[begin : begin + PIECE]))
            except asyncio.TimeoutError:
                told = f"it took nothing of what it was sent for {TAKE_S:g} s"
                raise aiohttp.ServerTimeoutError(told) from None


def proxy_of(url: str) -> Proxy | None:
    """The proxy that the environment names for a party; none for this machine itself."""
    found, proxies = URL(url), urllib.request.getproxies()
    host, named = found.host or "", proxies.get("https") or proxies.get("all")
    if found.scheme == "http" or not named or urllib.request.proxy_bypass(host):
        return None
    # What the standard library does not read in NO_PROXY, and many programs do.
    direct = {each.strip() for each in proxies.get("no", "").split(",")}
    if direct & {"*", f"{host}:{found.port}", f"https://{host}"}:
        return None
    # Before Python 3.11, asyncio begins no TLS within TLS.
    schemes = ("http", "https") if sys.version_info >= (3, 11) else ("http",)
    told = f"HTTPS_PROXY or ALL_PROXY names no proxy that {url} can be asked by"
    mend = f"name one of {' or '.join(f'{each}://' for each in schemes)}, or set NO_PROXY={host}"
    try:
        proxy = URL(named if "://" in named else f"http://{named}")
    except ValueError:
        # What is wrong may quote the proxy's password.
        raise ServiceError(f"{told}; {mend}") from None
    if proxy.scheme.startswith("socks"):
        raise ServiceError(f"{told}: SOCKS is not spoken; {mend}")
    if proxy.scheme not in schemes or not proxy.host:
        raise ServiceError(f"{told}; {mend}")
    headers: dict[str, str] = {}
    if proxy.user is not None:
        pair = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode())
        headers["proxy-authorization"] = f"Basic {pair.decode()}"
    return Proxy(proxy.origin(), headers)


def _end(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Ends the connections of a session, from any thread."""
    if not session.closed and not loop.is_closed():
        asyncio.run_coroutine_threadsafe(session.close(), loop)
