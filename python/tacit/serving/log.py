"""The log of a service: lines of text or of JSON, never a body, a key or a share."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from datetime import datetime, timezone
from typing import Any, TextIO

LEVELS = ("debug", "info", "warn", "error", "off")
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
        """Something usual."""
        self.say("info", what, **facts)

    def warn(self, what: str, **facts: Any) -> None:
        """Something that a person may want to look at."""
        self.say("warn", what, **facts)

    def error(self, what: str, **facts: Any) -> None:
        """Something that a person must look at."""
        self.say("error", what, **facts)


class Handler(logging.Handler):
    """Takes what libraries log into the same log, from warnings on."""

    def __init__(self, log: Log):
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record of the standard library's kind; of an exception its type alone."""
        kind = record.exc_info[0] if record.exc_info else None
        level = "error" if record.levelno >= logging.ERROR else "warn"
        name = kind.__name__ if kind else None
        self.log.say(level, record.getMessage().strip(), source=record.name, exception=name)


def _word(value: Any) -> str:
    """A value as one word of a line; what is none is quoted."""
    text = f"{value:.6f}" if isinstance(value, float) else str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)
