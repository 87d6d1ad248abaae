"""The log of a service: lines of text or of JSON, never a body, a key or a share."""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, TextIO, cast

LEVELS = ("debug", "info", "warn", "error", "off")
SAME_S = 60.0
"""Seconds in which a library's words have one line."""
DIFFERENT = 256
"""Words of libraries that are remembered."""
PLAIN = re.compile(r"[\w.:/@+-]+", re.ASCII)


def now() -> str:
    """The time in UTC as all logs have it."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Log:
    """Writes what happens to stderr, one line each.

    Parameters
    ----------
    form
        `text` or `json`.
    level
        The least that is written: one of :data:`LEVELS`.
    """

    def __init__(self, form: str = "text", level: str = "info", stream: TextIO | None = None):
        self.form, self.level, self.stream = form, LEVELS.index(level), stream
        self.lock = threading.Lock()

    def say(self, level: str, what: str, **facts: Any) -> None:
        """Writes a line; facts that are None are left out."""
        if LEVELS.index(level) < self.level:
            return
        known = {key: value for key, value in facts.items() if value is not None}
        if self.form == "json":
            line = json.dumps({"time": now(), "level": level, "event": what, **known}, default=str)
        else:
            told = "".join(f" {key}={_word(value)}" for key, value in known.items())
            line = f"{now()} {level.upper():>5} {what}{told}"
        with self.lock:
            # At once: another writer's line must not come between it and its end.
            stream = self.stream or sys.stderr
            stream.write(f"{line}\n")
            stream.flush()

    def info(self, what: str, **facts: Any) -> None:
        """Logs something usual, with its facts."""
        self.say("info", what, **facts)

    def warn(self, what: str, **facts: Any) -> None:
        """Logs something that a person may want to look at, with its facts."""
        self.say("warn", what, **facts)

    def error(self, what: str, **facts: Any) -> None:
        """Logs something that a person must look at, with its facts."""
        self.say("error", what, **facts)


class Handler(logging.Handler):
    """Takes what libraries log into the same log, from warnings on.

    The same has one line a minute, whatever a stranger does to cause it; `more` says how often it
    was left out before. Of more than `DIFFERENT` words the oldest are forgotten.
    """

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic):
        super().__init__(logging.WARNING)
        self.log, self.clock = log, clock
        self.said: dict[tuple[str, str | None], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Writes the first line of a record; of an exception its type alone."""
        words = record.getMessage().strip().partition("\n")[0]
        kind = record.exc_info[0] if record.exc_info else None
        name = kind.__name__ if kind else None
        more = self._more((words, name))
        if more is not None:
            level = "error" if record.levelno >= logging.ERROR else "warn"
            self.log.say(level, words, source=record.name, exception=name, more=more or None)

    def _more(self, what: tuple[str, str | None]) -> int | None:
        """How often this was left out before it has its line; None: it has none, and is counted."""
        moment, (since, more) = self.clock(), self.said.get(what, (-math.inf, 0))
        if moment < since + SAME_S:
            self.said[what] = since, more + 1
            return None
        self.said.pop(what, None)
        if len(self.said) >= DIFFERENT:
            del self.said[next(iter(self.said))]
        self.said[what] = moment, 0
        return more


def _word(value: Any) -> str:
    """A value as one word of a line; what is none is quoted."""
    if isinstance(value, list):
        return ",".join(map(_word, cast("list[Any]", value)))
    text = f"{value:.6f}" if isinstance(value, float) else str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)
