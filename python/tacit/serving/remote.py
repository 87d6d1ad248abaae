"""One party, as a client reaches it by HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from ..errors import ServiceError
from ..visible import visible
from .connections import Connections
from .policy import is_loopback
from .tracing import sent_parent
from .wire import LENGTH, Answered, Asked, WireError, read_answer, request_body
from .within import within

AGAIN = ("busy", "not-ready", "timeout")
"""Refusals after which the same request may be answered."""
ANEW = ("missing-elsewhere", "failed", "draining", "drained", "other-session")
"""Refusals after which a new request may be: with a new id, and shared anew.

A party that drains waits until the others have answered what they took. Of a request that it did
not take itself, they lack its share: to ask it for the same again would hold all of them up.
"""
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
A_TRY = 0.25
"""Seconds that there must be for asking once more."""
TOLD_AFTER = 2.0
"""Seconds without a connection after which a log says what is waited for."""
LOG = logging.getLogger("tacit")


class AnewError(ServiceError):
    """A request that must be made anew."""


@dataclass(frozen=True)
class Request:
    """What a party is asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


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
        self.http: Connections = Connections(self.url, trust)

    async def describe(self, model: str, version: str | None, deadline: float) -> bytes:
        """The party's answer when it is asked for a model; not read here, as it may be large."""
        request = Request("GET", model_path(model, version), self.head)
        return (await self._until(request, deadline, MOST_TOLD)).body

    async def models(self, deadline: float) -> list[str]:
        """The names of the models that it serves to this client."""
        request = Request("GET", "/v2", self.head)
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
            **self.head,
            "content-type": "application/octet-stream",
            LENGTH: length,
            "x-request-id": asked.id.hex(),
        }
        parent = sent_parent(asked.id.hex())
        if parent is not None:
            headers["traceparent"] = parent
        path = model_path(model, version) + "/infer"
        request = Request("POST", path, headers, body)
        reply = await self._until(request, deadline, most)
        try:
            return read_answer(reply.length, reply.body)
        except WireError as error:
            raise self._strange(str(error)) from None

    async def close(self) -> None:
        """Ends the connections with the party."""
        await self.http.close()

    async def _until(self, request: Request, deadline: float, most: int) -> Reply:
        """Asks until it answers, refuses for good, or the time is over."""
        clock, pause = asyncio.get_running_loop().time, LEAST
        told_at: float | None = clock() + TOLD_AFTER
        while True:
            try:
                left = max(deadline - clock(), 0.001)
                reply = await within(left, self._ask(request, most))
                if reply.status == 200:
                    return reply
                why, wait = self._refused(reply)
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                why, wait = self._lost(error), None
                if told_at is not None and clock() > told_at:
                    told_at = None
                    LOG.warning("%s; trying for %.0f s more", why, deadline - clock())
            seconds = max(pause, wait or 0.0) * random.uniform(0.75, 1.25)
            # With less time the others, who wait for this party, would be said not to answer.
            if clock() + seconds + A_TRY > deadline:
                raise why
            await asyncio.sleep(seconds)
            pause = min(2 * pause, MOST)

    async def _ask(self, request: Request, most: int) -> Reply:
        asked = (request.method, request.path, request.headers, request.body)
        async with await self.http.ask(*asked) as answer:
            most = most if answer.status == 200 else MOST_WORDS
            whole = bytearray()
            async for chunk in answer.content.iter_any():
                whole += chunk
                if len(whole) > most:
                    raise self._strange(f"its answer has more than {most} bytes")
        told = answer.headers
        return Reply(answer.status, told.get(LENGTH), told.get("retry-after"), bytes(whole))

    def _lost(self, error: Exception) -> ServiceError:
        """The error of a connection that passes; what does not pass is raised."""
        if isinstance(error, asyncio.TimeoutError) and not isinstance(error, aiohttp.ClientError):
            told, code = f"{self.url} did not answer in time", "timeout"
            raise ServiceError(told, address=self.url, code=code) from None
        told = f"{self.url} cannot be reached ({type(error).__name__}: {error}); is it running?"
        lost = ServiceError(told, address=self.url, code="unreachable")
        if _is_final(error):
            raise lost from None
        return lost

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
        found = URL(url)
    except (ValueError, TypeError):
        raise ServiceError(f"{url!r} is no address such as https://a.example:8100") from None
    if found.scheme not in ("http", "https") or not found.host or not url.isprintable():
        raise ServiceError(f"{url!r} is no address such as https://a.example:8100")
    if found.user or found.password or found.query or found.fragment or found.path not in ("", "/"):
        raise ServiceError(f"{url!r}: give scheme, host and port alone; keys go into keys=")
    if found.scheme == "http" and not is_loopback(found.host):
        raise ServiceError(f"{url!r}: shares go over https alone, but on this machine itself")
    return str(found).rstrip("/")


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
