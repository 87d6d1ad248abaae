"""How much a client may send, how slowly, and how many may come at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .refusals import Refusal
from .within import within

Receive = Callable[[], Awaitable[Any]]

REST = 256 << 10
"""Bytes of a refused body that are read, so that the client hears why."""
REST_S = 0.5
"""Seconds that this may take."""


class Gone(Exception):  # noqa: N818
    """The client is not there any more."""


@dataclass
class Room:
    """The bytes of all bodies that are held at once, of which no client takes all.

    Attributes
    ----------
    most : int
        What they may be together.
    held : Counter of str
        What they are, by clients.
    """

    most: int
    held: Counter[str] = field(default_factory=Counter[str])

    @property
    def taken(self) -> int:
        """Bytes that all clients hold together."""
        return self.held.total()

    def take(self, client: str, size: int) -> None:
        """Takes room for so many more bytes, or refuses.

        A client has at most three times what is left then: one alone three quarters of all, so
        that whoever comes next finds room.
        """
        left = self.most - self.taken - size
        if self.held[client] + size > 3 * left:
            told = "the bodies of other requests fill the memory kept for them; try again"
            raise Refusal("busy", told)
        self.held[client] += size

    def give(self, client: str, size: int) -> None:
        """Gives back the room of so many bytes of a client."""
        self.held[client] -= size
        if not self.held[client]:
            del self.held[client]


@dataclass(frozen=True)
class Limits:
    """What a service bears.

    Attributes
    ----------
    body : int
        Bytes of a body.
    request_s : float
        Seconds that a request may take.
    head_s : float
        Seconds for the head of a request, from the connection or from its first byte.
    first_s : float
        Seconds that a body may take beside what `rate` allows.
    rate : int
        Bytes a second that a body has at least.
    idle_s : float
        Seconds that a connection may be kept between requests.
    write_s : float
        Seconds in which a client must take what it is sent.
    connections, per_address : int
        Connections at once, and of one address.
    """

    body: int = 64 << 20
    request_s: float = 60.0
    head_s: float = 10.0
    first_s: float = 10.0
    rate: int = 16 << 10
    idle_s: float = 30.0
    write_s: float = 30.0
    connections: int = 1024
    per_address: int = 256
    room: Room = field(default_factory=lambda: Room(512 << 20))

    @classmethod
    def of(cls, service: Mapping[str, Any]) -> Limits:
        """The limits of the table `[service]`."""
        body = int(service["body_mb"] * 1e6)
        return cls(body=body, request_s=float(service["request_s"]), room=Room(8 * body))


class Body:
    """A request's body, read as it comes; within `with` its bytes have room.

    Attributes
    ----------
    client : str
        Whose it is.
    """

    client = ""

    def __init__(self, limits: Limits, receive: Receive, declared: str | None):
        self.limits, self.receive, self.declared = limits, receive, declared
        self.most = limits.body
        self.ended = declared == "0"
        self.got = 0

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *_: object) -> None:
        self.limits.room.give(self.client, self.got)
        self.got = 0

    async def read(self) -> bytes:
        """The whole body; refused if it is too large or too slow, whatever its length was said."""
        most, whole = self.most, bytearray()
        if self.declared is not None and (not self.declared.isdigit() or int(self.declared) > most):
            raise Refusal("too-large", _large(most))
        begun = asyncio.get_running_loop().time()
        while not self.ended:
            whole += await self._chunk(begun, len(whole))
            if len(whole) > most:
                raise Refusal("too-large", _large(most))
        return bytes(whole)

    async def _chunk(self, begun: float, got: int) -> bytes:
        limits = self.limits
        allowed = min(limits.first_s + got / limits.rate, limits.request_s)
        left = begun + allowed - asyncio.get_running_loop().time()
        try:
            message = await within(max(left, 0.001), self.receive())
        except asyncio.TimeoutError:
            told = f"the body comes too slowly; send at least {limits.rate} bytes a second"
            raise Refusal("too-slow", told) from None
        if message["type"] == "http.disconnect":
            raise Gone
        self.ended = not message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        limits.room.take(self.client, len(chunk))
        self.got += len(chunk)
        return chunk

    async def skip(self) -> None:
        """Reads a little of what is left of a refused body, so that its client hears why."""
        with suppress(Exception):
            await within(REST_S, self._skip())

    async def _skip(self) -> None:
        skipped = 0
        while not self.ended and skipped <= REST:
            message = await self.receive()
            self.ended = message["type"] != "http.request" or not message.get("more_body", False)
            skipped += len(message.get("body", b""))


def _large(most: int) -> str:
    return f"the body is larger than {most} bytes; ask for fewer items at a time"
