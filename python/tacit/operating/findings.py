"""What `tacit doctor` finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["ok", "warning", "error"]
COLOURS: dict[Level, str] = {"ok": "green", "warning": "yellow", "error": "red"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    check : str
        What was looked at, such as `key`, `certificate`, `port`, `peer`, `memory`.
    level : str
        `ok`, `warning` or `error`.
    words : str
        What was found.
    do : str or None
        What to do about it.
    facts : dict
        Numbers and names for programs.
    """

    check: str
    level: Level
    words: str
    do: str | None = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def told(self) -> dict[str, Any]:
        """The finding as JSON has it."""
        plain = {"check": self.check, "level": self.level, "words": self.words, "do": self.do}
        return {**plain, **self.facts}


def ok(check: str, words: str, **facts: Any) -> Finding:
    """Nothing to be done."""
    return Finding(check, "ok", words, None, facts)


def warning(check: str, words: str, do: str, **facts: Any) -> Finding:
    """Something to look at."""
    return Finding(check, "warning", words, do, facts)


def error(check: str, words: str, do: str, **facts: Any) -> Finding:
    """Something that keeps the parties from running."""
    return Finding(check, "error", words, do, facts)


def worst(findings: Sequence[Finding]) -> Level:
    """The worst level of all."""
    levels = [each.level for each in findings]
    return "error" if "error" in levels else "warning" if "warning" in levels else "ok"
