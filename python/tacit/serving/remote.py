"""One party, as a client reaches it by HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx

from ..errors import ServiceError
from ..visible import visible
from .policy import is_loopback
from .tracing import sent_parent
from .wire import LENGTH, Answered, Asked, WireError, read_answer, request_body

AGAIN = ("busy", "not-ready", "draining", "timeout")
"""Refusals after which the same request may be answered."""
ANEW = ("missing-elsewhere", "failed", "drained", "other-session")
"""Refusals after which a new request may be: with a new id, and shared anew."""
MOST_TOLD = 8 << 20
"""Bytes that a description may have.

Almost all of it is the plan: 3.9 MB of a forest of 300 trees and 569,000 nodes, 200 kB of a GRU of
765 layers. No plan has more than 10,000 layers: 5 MB where each has the longest name there can be.
An input of 65,536 texts of 20 bytes, as many as it may know, takes 3 MB. What is read takes up to
30 times its size.
"""
MOST_NAMED = 1 << 20
"""Bytes of the names of all models of a party."""
MOST_WORDS = 64 << 10
"""Bytes of a refusal."""
LEAST, MOST = 0.1, 3.0
"""Seconds between two tries, where the party names none, and what they double up to."""


TIMES = {"connect": 10.0, "read": None, "write": 60.0, "pool": 10.0}
"""Seconds that a connection may take, and that a party may take nothing of what it is sent."""
TOLD_AFTER = 2.0
"""Seconds without a connection after which a log says what is waited for."""
LOG = logging.getLogger("tacit")


class AnewError(ServiceError):
    """A request that must be made anew."""


@dataclass(frozen=True)
class Reply:
    """What a party sent."""

    status: int
    length: str | None
    retry_after: str | None
    body: bytes


class Remote:
    """One party.

    Parameters
    ----------
    url
        Such as `https://a.example:8100`; plain HTTP of this machine alone.
    key
        The API key that this party knows the client by.
    trust
        Whose certificates are trusted.
    """

    def __init__(self, url: str, key: str | None, trust: ssl.SSLContext):
        self.url: str = checked_url(url)
        self.head: dict[str, str] = {"accept-encoding": "identity", "user-agent": "tacit"}
        if key is not None:
            if not (key.isascii() and key.isprintable()):
                raise ServiceError(f"{self.url}: no API key has such characters", address=self.url)
            self.head["authorization"] = f"Bearer {key}"
        # Below a client of httpx, whose cookies and redirects take as long as all else.
        self.http: httpx.AsyncHTTPTransport = httpx.AsyncHTTPTransport(
            verify=trust,
            proxy=proxy_of(self.url),
            # The client bounds its requests; a bound here would let those of the parties wait for
            # each other.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    async def describe(self, model: str, version: str | None, deadline: float) -> bytes:
        """The party's answer when it is asked for a model; not read here, as it may be large."""
        request = self._request("GET", model_path(model, version))
        return (await self._until(request, deadline, MOST_TOLD)).body

    async def models(self, deadline: float) -> list[str]:
        """The names of the models that it serves to this client."""
        request = self._request("GET", "/v2")
        reply = await self._until(request, deadline, MOST_NAMED)
        try:
            return [str(each["name"]) for each in json.loads(reply.body)["models"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._strange("it does not say what it serves") from None

    async def infer(
        self, model: str, version: str, asked: Asked, deadline: float, most: int
    ) -> Answered:
        """The party's answer to a request, of at most `most` bytes."""
        length, body = request_body(asked)
        headers = {
            "content-type": "application/octet-stream",
            LENGTH: length,
            "x-request-id": asked.id.hex(),
        }
        parent = sent_parent(asked.id.hex())
        if parent is not None:
            headers["traceparent"] = parent
        path = model_path(model, version) + "/infer"
        request = self._request("POST", path, headers, body)
        reply = await self._until(request, deadline, most)
        try:
            return read_answer(reply.length, reply.body)
        except WireError as error:
            raise self._strange(str(error)) from None

    async def close(self) -> None:
        """Ends the connections with the party."""
        await self.http.aclose()

    def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> httpx.Request:
        return httpx.Request(
            method,
            self.url + path,
            headers={**self.head, **(headers or {})},
            content=body,
            extensions={"timeout": TIMES},
        )

    async def _until(self, request: httpx.Request, deadline: float, most: int) -> Reply:
        """Asks until it answers, refuses for good, or the time is over."""
        clock, pause = asyncio.get_running_loop().time, LEAST
        told_at: float | None = clock() + TOLD_AFTER
        while True:
            try:
                left = max(deadline - clock(), 0.001)
                reply = await asyncio.wait_for(self._ask(request, most), left)
                if reply.status == 200:
                    return reply
                why, wait = self._refused(reply)
            except asyncio.TimeoutError:
                raise ServiceError(
                    f"{self.url} did not answer in time", address=self.url, code="timeout"
                ) from None
            except httpx.TransportError as error:
                kind = type(error).__name__
                told = f"{self.url} cannot be reached ({kind}: {error}); is it running?"
                why, wait = ServiceError(told, address=self.url, code="unreachable"), None
                if _is_final(error):
                    raise why from None
                if told_at is not None and clock() > told_at:
                    told_at = None
                    LOG.warning("%s; trying for %.0f s more", told, deadline - clock())
            seconds = max(pause, wait or 0.0) * random.uniform(0.75, 1.25)
            if clock() + seconds > deadline:
                raise why
            await asyncio.sleep(seconds)
            pause = min(2 * pause, MOST)

    async def _ask(self, request: httpx.Request, most: int) -> Reply:
        answer = await self.http.handle_async_request(request)
        most = most if answer.status_code == 200 else MOST_WORDS
        try:
            whole = bytearray()
            async for chunk in cast("httpx.AsyncByteStream", answer.stream):
                whole += chunk
                if len(whole) > most:
                    raise self._strange(f"its answer has more than {most} bytes")
        finally:
            await answer.aclose()
        told = answer.headers
        return Reply(answer.status_code, told.get(LENGTH), told.get("retry-after"), bytes(whole))

    def _refused(self, reply: Reply) -> tuple[ServiceError, float | None]:
        """The error of a refusal that passes, and after how long; what does not pass is raised."""
        try:
            told: Any = json.loads(reply.body)
            code, words = visible(told["code"])[:40], visible(told["error"])[:1000]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._strange(f"it answered with status {reply.status}") from None
        whole = f"{self.url} refuses: {words}"
        if code in ANEW:
            raise AnewError(whole, address=self.url, code=code)
        error = ServiceError(whole, address=self.url, code=code)
        if code not in AGAIN:
            raise error
        return error, _seconds(told.get("retry_after", reply.retry_after))

    def _strange(self, why: str) -> ServiceError:
        told = f"{self.url} does not answer as a service of Tacit does: {why}"
        return ServiceError(told, address=self.url, code="malformed")


def checked_url(url: str) -> str:
    """The address of a party, without a slash at its end."""
    try:
        found = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise ServiceError(f"{url!r} is no address such as https://a.example:8100") from None
    if found.scheme not in ("http", "https") or not found.host:
        raise ServiceError(f"{url!r} is no address such as https://a.example:8100")
    if found.userinfo or found.query or found.fragment or found.path not in ("", "/"):
        raise ServiceError(f"{url!r}: give scheme, host and port alone; keys go into keys=")
    if found.scheme == "http" and not is_loopback(found.host):
        raise ServiceError(f"{url!r}: shares go over https alone, but on this machine itself")
    return str(found).rstrip("/")


def proxy_of(url: str) -> httpx.Proxy | None:
    """The proxy that the environment names for a party; none for this machine itself."""
    found, proxies = httpx.URL(url), urllib.request.getproxies()
    proxy = proxies.get("https") or proxies.get("all")
    if found.scheme == "http" or not proxy or urllib.request.proxy_bypass(found.host):
        return None
    # What the standard library does not read in NO_PROXY, and httpx does.
    direct = {each.strip() for each in proxies.get("no", "").split(",")}
    if direct & {"*", f"{found.host}:{found.port or 443}", f"https://{found.host}"}:
        return None
    try:
        return httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}")
    except (httpx.InvalidURL, ValueError):
        # What is wrong may quote the proxy's password.
        told = f"HTTPS_PROXY or ALL_PROXY names no proxy that {url} can be asked by"
        raise ServiceError(f"{told}; mend it, or set NO_PROXY={found.host}") from None


def model_path(model: str, version: str | None) -> str:
    """The address of a model; its names are as services have them."""
    for name in (model, version or "1"):
        if not name or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
            raise ServiceError(f"{name!r} is no name of a model or version")
    return f"/v2/models/{model}" + (f"/versions/{version}" if version else "")


def _is_final(error: BaseException | None) -> bool:
    """Whether an error of a connection is one that does not pass: another certificate or name."""
    while error is not None:
        if isinstance(error, (ssl.SSLCertVerificationError, socket.gaierror)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _seconds(told: Any) -> float | None:
    """The time that a party asks to wait: of JSON, which is exact, or of HTTP in whole seconds."""
    try:
        found = float(told)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(found, 60.0) if found >= 0 else None
