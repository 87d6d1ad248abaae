"""Ports of parties on this machine."""

import re
import socket


def free_ports(count):
    """Ports that are free, no two alike."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def free_blocks(count, size):
    """Ports that are free with those behind them, so many each, no two blocks alike."""
    held, found = [], []
    try:
        while len(found) < count:
            block = [socket.create_server(("127.0.0.1", 0))]
            held += block
            first = block[0].getsockname()[1]
            try:
                held += [socket.create_server(("127.0.0.1", first + i)) for i in range(1, size)]
                found.append(first)
            except (OSError, OverflowError):
                continue
    finally:
        for s in held:
            s.close()
    return found


def move_ports(configs):
    """Moves three parties, whose configs are fresh from `tacit init`, to ports that are free."""
    ports = [str(port) for port in free_ports(3)]
    for config in configs:
        config.write_text(re.sub("710([012])", lambda m: ports[int(m[1])], config.read_text()))
