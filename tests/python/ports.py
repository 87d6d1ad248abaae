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


def move_ports(configs):
    """Moves three parties, whose configs are fresh from `tacit init`, to ports that are free."""
    ports = [str(port) for port in free_ports(3)]
    for config in configs:
        config.write_text(re.sub("710([012])", lambda m: ports[int(m[1])], config.read_text()))
