"""Takes requests to one model's core, each once and for one client, and waits for its answers."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .clients import Client
from .limits import Gone
from .policy import Policy
from .refusals import Refusal
from .service import Service
from .wire import Asked

SLICE = 1.0
"""Seconds that a thread waits for an answer before it looks whether anyone still does."""
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
        The hash of its share: the same request again is free, another under its number refused.
    accepted : bool
        Whether the core has ever taken it.
    watchers : int
        Connections that wait for its answer.
    waiting : Future or None
        The answer that a thread waits for, once the core has taken the request.
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


class Desk:
    """One model's requests.

    Parameters
    ----------
    service
        The core.
    policy
        Who may ask how much.
    queue, keep_s
        As in `[service]`.
    """

    def __init__(self, service: Service, policy: Policy, queue: int, keep_s: float):
        self.service, self.policy, self.keep_s = service, policy, keep_s
        self.tickets: OrderedDict[bytes, Ticket] = OrderedDict()
        self.takers = ThreadPoolExecutor(4, "take")
        self.waiters = ThreadPoolExecutor(2 * queue + 64, "wait")

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
            given = (client.name, asked.id, asked.items, asked.share)
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
        """Ends the threads, as soon as each has noticed."""
        self.takers.shutdown(wait=False, cancel_futures=True)
        self.waiters.shutdown(wait=False, cancel_futures=True)

    def _forget(self, request: bytes, ticket: Ticket) -> None:
        """Frees the place of a request that nobody waits for; unless it had begun, it is free.

        Without a thread: the same request, sent again meanwhile, would lose its place as well.
        """
        if self.service.forget(request):
            self._drop(request, ticket)

    def _ticket(self, client: Client, asked: Asked) -> Ticket:
        self._sweep()
        digest = hashlib.sha256(asked.items.to_bytes(8, "little") + asked.share).digest()
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
        while ticket.watchers:
            found = await self._on(self.waiters, self.service.answer, request, SLICE)
            if found is not None:
                return found
        ticket.waiting = None
        return None

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
