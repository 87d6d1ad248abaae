"""Ports that a party listens at."""

from __future__ import annotations

import socket


def listening(address: str, backlog: int | None = None) -> socket.socket:
    """A socket that listens at `host:port`."""
    host, _, port = address.rpartition(":")
    found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    family, *_, where = found[0]
    return socket.create_server(where[:2], family=family, backlog=backlog)
