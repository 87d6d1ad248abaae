"""Ports of parties on this machine."""

import random
import re
import socket

CHOICE = range(10240, 32768)
"""Ports to choose from: below those that a system gives to outgoing connections, one of which could
take a port between its choice and its use.
"""


def free_ports(count):
    """Ports that are free, no two alike."""
    return free_blocks(count, 1)


def free_blocks(count, size):
    """Ports that are free with those behind them, so many each, no two blocks alike."""
    held, found, chance = [], [], random.SystemRandom()
    try:
        while len(found) < count:
            first = chance.randrange(CHOICE.start, CHOICE.stop - size)
            try:
                held += [socket.create_server(("127.0.0.1", first + i)) for i in range(size)]
                found.append(first)
            except OSError:
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
