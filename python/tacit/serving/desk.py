"""Takes requests to one model's core, each once and for one client, and waits for its answers."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .clients import Client
from .limits import Gone
from .policy import Policy
from .refusals import Refusal
from .service import Service
from .wire import Asked

SLICE = 1.0
"""Seconds until the core is asked for an answer again, also if it has not said that it is there."""
FEW = 1 << 18
"""Bytes of a share that the core takes at once, since handing them to a thread takes longer."""
REFUNDED = ("missing-elsewhere", "declined-elsewhere", "drained", "busy")
"""Refusals before anything was computed."""

T = TypeVar("T")
Answer = tuple[str, bytes]


@dataclass
class Ticket:
    """A request that was charged.

    Attributes
    ----------
    client : Client
        Whose it is: nobody else is given its answer.
    items : int
        What it was charged.
    digest : bytes
        The hash of its session and share: the same again is free, another under its number refused.
    accepted : bool
        Whether the core has ever taken it.
    watchers : int
        Connections that wait for its answer.
    waiting : Future or None
        The answer that is waited for, once the core has taken the request.
    until : float
        When it is forgotten, once nobody waits.
    given : bool
        Whether a line of the audit log says that its answer was given out.
    """

    client: Client
    items: int
    digest: bytes
    accepted: bool = False
    given: bool = False
    watchers: int = 0
    waiting: asyncio.Future[Answer | None] | None = None
    until: float = 0.0

    @property
    def is_answered(self) -> bool:
        """Whether the answer of the request is here."""
        return self.waiting is not None and self.waiting.done()


class Bell:
    """Hears from a core which requests have ended, on the loop that runs as this is made."""

    def __init__(self, service: Service):
        self.service, self.loop = service, asyncio.get_running_loop()
        self.waits: dict[bytes, asyncio.Future[None]] = {}
        self.socket = socket.socket(fileno=service.bell())
        self.loop.add_reader(self.socket, self._rung)

    def close(self) -> None:
        """Hears no more; from any thread."""
        try:
            self.loop.call_soon_threadsafe(self._end)
        except RuntimeError:
            # The loop is over.
            self.socket.close()

    def wake(self, request: bytes) -> None:
        """Has who waits for a request look at it."""
        waits = self.waits.pop(request, None)
        if waits is not None and not waits.done():
            waits.set_result(None)

    def _rung(self) -> None:
        with suppress(BlockingIOError):
            if not self.socket.recv(64):
                self.loop.remove_reader(self.socket)
        for request in self.service.ended():
            self.wake(request)

    def _end(self) -> None:
        self.loop.remove_reader(self.socket)
        self.socket.close()
        for request in list(self.waits):
            self.wake(request)


class Desk:
    """One model's requests.

    Parameters
    ----------
    service
        The core.
    policy
        Who may ask how much.
    keep_s
        As in `[service]`.
    """

    def __init__(self, service: Service, policy: Policy, keep_s: float):
        self.service, self.policy, self.keep_s = service, policy, keep_s
        self.tickets: OrderedDict[bytes, Ticket] = OrderedDict()
        self.takers = ThreadPoolExecutor(4, "take")
        self.bell: Bell | None = None
        self.closed = False
        self.closing = threading.Lock()

    @property
    def watched(self) -> int:
        """Connections that wait for an answer."""
        return sum(ticket.watchers for ticket in self.tickets.values())

    async def take(self, client: Client, asked: Asked) -> Ticket:
        """Has the core take a request; charged once, however often it comes."""
        ticket = self._ticket(client, asked)
        ticket.watchers += 1
        if ticket.is_answered:
            return ticket
        taken = False
        try:
            given = (client.name, asked.session, asked.id, asked.items, asked.share)
            if len(asked.share) <= FEW:
                said = self.service.submit(*given)
            else:
                said = await self._on(self.takers, self.service.submit, *given)
            if said is not None:
                raise Refusal.of(said)
            taken = ticket.accepted = True
        finally:
            if not taken:
                self._leave(asked.id, ticket)
                if not ticket.accepted and not ticket.watchers:
                    self._drop(asked.id, ticket)
        if ticket.waiting is None:
            ticket.waiting = asyncio.ensure_future(self._wait(asked.id, ticket))
        return ticket

    async def answer(
        self, asked: Asked, ticket: Ticket, seconds: float, gone: Callable[[], Awaitable[None]]
    ) -> bytes:
        """Waits for the answer of a request that was taken.

        `gone` returns when its client is there no more; then :class:`Gone`.
        """
        waiting = cast("asyncio.Future[Answer | None]", ticket.waiting)
        left = asyncio.ensure_future(gone())
        try:
            both = {cast("asyncio.Future[Any]", waiting), cast("asyncio.Future[Any]", left)}
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done() and waiting.result() is not None:
                return self._judged(asked.id, ticket, cast(Answer, waiting.result()))
            if left.done():
                raise Gone
            raise Refusal("timeout", "there is no answer in time; ask again with the same id")
        finally:
            left.cancel()
            self._leave(asked.id, ticket)
            if not ticket.watchers and not waiting.done():
                self._forget(asked.id, ticket)
            elif not ticket.watchers:
                # The core keeps it, within a limit of bytes, for who asks again.
                ticket.waiting = None

    def close(self) -> None:
        """Listens to the core no more, and ends the threads as soon as each has noticed."""
        with self.closing:
            self.closed, bell, self.bell = True, self.bell, None
        self.takers.shutdown(wait=False, cancel_futures=True)
        if bell is not None:
            bell.close()

    def _forget(self, request: bytes, ticket: Ticket) -> None:
        """Frees the place of a request that nobody waits for; unless it had begun, it is free.

        Without a thread: the same request, sent again meanwhile, would lose its place as well.
        """
        if self.service.forget(request):
            self._drop(request, ticket)
        bell = self.bell
        if bell is not None:
            bell.wake(request)

    def _ticket(self, client: Client, asked: Asked) -> Ticket:
        self._sweep()
        named = asked.session.encode() + asked.items.to_bytes(8, "little")
        digest = hashlib.sha256(named + asked.share).digest()
        ticket = self.tickets.get(asked.id)
        if ticket is None:
            try:
                self.policy.charge(client, asked.items)
            except Refusal as refusal:
                self.service.decline(asked.id, refusal.code)
                raise
            ticket = self.tickets[asked.id] = Ticket(client, asked.items, digest)
        elif ticket.client.name != client.name or ticket.digest != digest:
            told = "another request has this id; draw a new one of 16 random bytes"
            raise Refusal("reused", told)
        return ticket

    async def _wait(self, request: bytes, ticket: Ticket) -> Answer | None:
        """The answer, or None once nobody waits for it any more."""
        bell = self._heard()
        while ticket.watchers:
            rung = asyncio.get_running_loop().create_future()
            if bell is not None:
                bell.waits[request] = rung
            # Asked after that: what ends from here on rings.
            found = self.service.answer(request, 0.0)
            if found is None:
                await asyncio.wait({rung}, timeout=SLICE)
            if bell is not None and bell.waits.get(request) is rung:
                del bell.waits[request]
            if found is not None:
                return found
        ticket.waiting = None
        return None

    def _heard(self) -> Bell | None:
        """By what the core is heard; None once this is closed."""
        with self.closing:
            if self.bell is None and not self.closed:
                self.bell = Bell(self.service)
            return None if self.closed else self.bell

    def _judged(self, request: bytes, ticket: Ticket, found: Answer) -> bytes:
        kind, told = found
        if kind == "answered":
            return told
        refusal = Refusal.of(told)
        if refusal.code in REFUNDED:
            self._drop(request, ticket)
        raise refusal

    def _drop(self, request: bytes, ticket: Ticket) -> None:
        """Forgets a request of which nothing was computed, and gives back what it was charged."""
        if self.tickets.get(request) is ticket:
            del self.tickets[request]
            self.policy.refund(ticket.client, ticket.items)

    def _leave(self, request: bytes, ticket: Ticket) -> None:
        ticket.watchers -= 1
        ticket.until = asyncio.get_running_loop().time() + self.keep_s + 5
        if request in self.tickets:
            self.tickets.move_to_end(request)

    def _sweep(self) -> None:
        """Forgets what the core has forgotten before."""
        moment = asyncio.get_running_loop().time()
        while self.tickets:
            request, ticket = next(iter(self.tickets.items()))
            if ticket.watchers or ticket.until > moment:
                return
            del self.tickets[request]

    async def _on(self, threads: ThreadPoolExecutor, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, function, *args)
