"""When requests are taken: hours of the day and days of the week, in UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .._tacit import TacitError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)")


@dataclass(frozen=True)
class Hours:
    """Windows of minutes since midnight that begin on some days of the week.

    Attributes
    ----------
    windows : tuple of (int, int)
        First minute, and the minute after the last; more than a day's where it ends on the next.
    days : frozenset of int
        On which they begin; Monday is 0.
    told : str
        As the config has it.
    """

    windows: tuple[tuple[int, int], ...]
    days: frozenset[int]
    told: str

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str) -> Hours | None:
        """The hours of a table; None if it has none. `where` is what errors call the table."""
        hours, days = table.get("hours"), table.get("days")
        if hours is None and days is None:
            return None
        each_window = ("00:00-24:00" if hours is None else hours).split(",")
        windows = tuple(_window(each.strip(), where) for each in each_window)
        told = " ".join(each for each in (days, hours) if each)
        return cls(windows, _days("mon-sun" if days is None else days, where), f"{told} UTC")

    def wait(self, moment: float) -> float:
        """Seconds until requests are taken; 0 if they are. `moment` is in seconds since 1970."""
        now = datetime.fromtimestamp(moment, timezone.utc)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        waits: list[float] = []
        # A window may have begun yesterday; the next may be in a week.
        for offset in range(-1, 8):
            day = midnight + timedelta(days=offset)
            if day.weekday() not in self.days:
                continue
            for first, end in self.windows:
                begins, ends = (day + timedelta(minutes=each) for each in (first, end))
                if begins <= now < ends:
                    return 0.0
                if begins > now:
                    waits.append((begins - now).total_seconds())
        return min(waits)


def _window(text: str, where: str) -> tuple[int, int]:
    found = WINDOW.fullmatch(text)
    if found is None:
        raise TacitError(f'{where}: {text!r} are no hours; give UTC such as "08:00-18:00"')
    first, end = (60 * int(found[i]) + int(found[i + 1]) for i in (1, 3))
    if end > 24 * 60 or first == end:
        raise TacitError(f'{where}: {text!r} are no hours; all day is "00:00-24:00"')
    return (first, end) if first < end else (first, end + 24 * 60)


def _days(text: str, where: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.lower().split(","):
        names = [each.strip() for each in part.split("-")]
        if len(names) > 2 or any(name not in DAYS for name in names):
            raise TacitError(f'{where}: {text!r} are no days; give "mon-fri" or "mon, wed"')
        first, last = DAYS.index(names[0]), DAYS.index(names[-1])
        found |= {day % 7 for day in range(first, last + 1 if first <= last else last + 8)}
    return frozenset(found)
