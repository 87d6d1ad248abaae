"""Few lines in the audit log of requests by which nobody learned anything.

A client with a key could fill the disk by requests that are refused, or by asking again for an
answer that it has. Of each client some have a line each minute; the others are counted, and one
line has how many they were.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .log import now

LINES = 20
"""Lines of a client within a window."""
WINDOW_S = 60.0


@dataclass
class Window:
    """What a client did within a minute.

    Attributes
    ----------
    begun : float
        By the clock.
    since : str
        The date then.
    lines : int
        How many had a line.
    more : Counter
        How many had none, by their outcomes.
    """

    begun: float
    since: str
    lines: int = 0
    more: Counter[str] = field(default_factory=Counter[str])


class Quiet:
    """Decides which requests have a line.

    Parameters
    ----------
    write
        Writes a line: `write(kind, **facts)`.
    clock
        Seconds that only grow.
    """

    def __init__(self, write: Callable[..., Any], clock: Callable[[], float] = time.monotonic):
        self.write, self.clock = write, clock
        self.windows: dict[str, Window] = {}
        self.lock = threading.Lock()

    def has_line(self, client: str, outcome: str) -> bool:
        """Whether a request by which nobody learned anything has a line; else it is counted."""
        with self.lock:
            self._end(self.clock() - WINDOW_S)
            window = self.windows.setdefault(client, Window(self.clock(), now()))
            if window.lines < LINES:
                window.lines += 1
                return True
            window.more[outcome] += 1
            return False

    def flush(self, *, all_windows: bool = False) -> None:
        """Writes what was counted in windows that are over."""
        with self.lock:
            self._end(self.clock() + 1 if all_windows else self.clock() - WINDOW_S)

    def _end(self, before: float) -> None:
        over = [name for name, each in self.windows.items() if each.begun <= before]
        for name in over:
            window = self.windows.pop(name)
            if window.more:
                self.write("counted", client=name, since=window.since, outcomes=dict(window.more))
