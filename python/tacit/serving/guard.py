"""Connections that say nothing, or too slowly."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits


def guarded(limits: Limits) -> type[H11Protocol]:
    """A protocol of uvicorn's, under these limits.

    uvicorn itself lets a client take as long as it likes for the head of a request, for the rest
    of a body that nobody reads any more, and to take its answer.
    """

    class Guarded(H11Protocol):
        """A connection whose client has limited times to send a head and to take its answer."""

        head: asyncio.TimerHandle | None = None
        taking: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Begins the time that the client has for the head of its first request."""
            super().connection_made(transport)
            shown, ends = certificate(transport)
            self.app_state = {**self.app_state, "certificate": shown, "ends": ends}
            # asyncio does so only for sockets that name their protocol; else answers wait 40 ms.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.head = self.loop.call_later(limits.head_s, self.end)

        def connection_lost(self, exc: Exception | None) -> None:
            """Stops the clocks of a connection that is gone."""
            self.still()
            if self.taking is not None:
                self.taking.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Gives the head of a request its time; its body has the application's."""
            super().data_received(data)
            if self.is_busy():
                self.still()
            elif self.head is None and not self.transport.is_closing():
                self.head = self.loop.call_later(limits.head_s, self.end)

        def pause_writing(self) -> None:
            """Gives the client its time to take what it is sent."""
            super().pause_writing()
            if self.taking is None:
                self.taking = self.loop.call_later(limits.write_s, self.transport.abort)

        def resume_writing(self) -> None:
            """Stops the clock of an answer, which the client has taken."""
            if self.taking is not None:
                self.taking.cancel()
                self.taking = None
            super().resume_writing()

        def still(self) -> None:
            """Stops the clock of a head."""
            if self.head is not None:
                self.head.cancel()
                self.head = None

        def end(self) -> None:
            """Ends a connection whose head did not come in time."""
            self.head = None
            if not self.is_busy():
                self.transport.abort()

        def is_busy(self) -> bool:
            """Whether a request is being answered."""
            cycle: Any = self.cycle
            return cycle is not None and not cycle.response_complete

    return Guarded


def certificate(transport: Any) -> tuple[str | None, float | None]:
    """The fingerprint of the certificate that a client showed, and when it ends.

    TLS has checked that the client has its key, and that it holds by now.
    """
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    shown = tls.getpeercert(binary_form=True) if tls is not None else None
    if tls is None or not shown:
        return None, None
    ends = (tls.getpeercert() or {}).get("notAfter")
    moment = ssl.cert_time_to_seconds(ends) if isinstance(ends, str) else None
    return hashlib.sha256(shown).hexdigest(), moment
