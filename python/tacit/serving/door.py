"""Lets connections of clients in, as many as there is room for, from before they begin TLS."""

from __future__ import annotations

import resource
import socket
import weakref
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .._tacit import TacitError
from ..operating.ports import listening
from .limits import Limits
from .log import Log

BESIDE = 256
"""Descriptors for all but clients: other parties, logs, files."""


class Door(socket.socket):
    """A listening socket that ends connections beyond the limits as it accepts them.

    asyncio tells a server of a connection when its handshake is over; whoever begins none would
    be counted by nobody.
    """

    def __init__(self, listener: socket.socket, limits: Limits, most: int):
        super().__init__(listener.family, listener.type, listener.proto, listener.detach())
        self.limits, self.most = limits, most
        self.addresses: Counter[str] = Counter()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; beyond the limits it is ended, as if its client had done so."""
        found, where = super().accept()
        address, limits = str(where[0]), self.limits
        most = min(limits.connections, self.most)
        if self.addresses.total() >= most or self.addresses[address] >= limits.per_address:
            found.close()
            raise ConnectionAbortedError(f"{address} has too many connections, or all have")
        self.addresses[address] += 1
        return Counted(found, self, address), where

    def leave(self, address: str) -> None:
        """Frees the place of a connection."""
        self.addresses[address] -= 1
        if not self.addresses[address]:
            del self.addresses[address]


class Counted(socket.socket):
    """A connection that frees its place as its descriptor is freed, however it ends."""

    def __init__(self, found: socket.socket, door: Door, address: str):
        super().__init__(found.family, found.type, found.proto, found.detach())
        self.left = weakref.finalize(self, door.leave, address)
        self.left.atexit = False

    def close(self) -> None:
        """Closes the connection, which frees its place."""
        super().close()
        self.left()


def descriptors(wanted: int) -> int:
    """Lets this process have so many descriptors, or as many as it may; how many it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def door_of(service: Mapping[str, Any], limits: Limits, log: Log, backlog: int) -> Door:
    """A socket that listens to clients, and lets in as many as there are descriptors for."""
    address = service["listen"]
    try:
        listener = listening(address, backlog)
    except OSError as error:
        raise TacitError(f"service.listen: {address}: {error.strerror or error}") from None
    wanted = limits.connections + BESIDE
    had = descriptors(wanted)
    if had < wanted:
        told = f"fewer files may be open than the {wanted} that this service wants (ulimit -n)"
        log.warn(told, files=had)
    return Door(listener, limits, max(had - BESIDE, 1))
