"""How many queries every client has left, kept over restarts."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import FileError

PARTS = 32
"""A period has so many parts; a query counts until the part that it fell into is over for good."""

MOST_SLOT = 1 << 62
"""Parts of periods since 1970 are fewer."""
UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What a file that holds no budgets may raise."""


def own(path: str, flags: int) -> int:
    """Opens a file that only its owner reads; a link that somebody put there is not followed."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


class Spent(Exception):  # noqa: N818
    """A budget that does not suffice.

    Attributes
    ----------
    wait : float or None
        Seconds after which it would; None where it never would.
    """

    def __init__(self, wait: float | None):
        super().__init__("the budget is spent")
        self.wait = wait


class Budgets:
    """Counts queries in a sliding window: never more than allowed within any period.

    The file holds at least what was spent: it is written ahead by a hundredth of a budget at a
    time, so that a party that is killed forgets no query (it may count a hundredth too many).

    Parameters
    ----------
    path
        The file; it is made if it is not there.
    clock
        The time in seconds; a clock that is set back stands still here.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time):
        self.path, self.clock = path, clock
        self.lock = threading.Lock()
        self.latest = 0.0
        self.periods: dict[str, float] = {}
        self.spent: dict[str, dict[int, int]] = {}
        self.written: dict[str, dict[int, int]] = {}
        self._load()

    def charge(self, name: str, items: int, most: int, period: float) -> None:
        """Counts queries of a client, or refuses them all with :class:`Spent`."""
        with self.lock:
            slots, current = self._slots(name, period)
            if sum(slots.values()) + items > most:
                raise Spent(self._wait(slots, current, items, most, period))
            slots[current] = slots.get(current, 0) + items
            if slots[current] > self.written.get(name, {}).get(current, 0):
                try:
                    self._write(ahead={name: max(1, most // 100) - 1})
                except OSError:
                    slots[current] -= items
                    raise

    def refund(self, name: str, items: int, period: float) -> None:
        """Gives back queries that were not answered."""
        with self.lock:
            slots, _ = self._slots(name, period)
            for slot in sorted(slots, reverse=True):
                back = min(items, slots[slot])
                slots[slot] -= back
                items -= back

    def close(self) -> None:
        """Writes exactly what was spent."""
        with self.lock:
            self._write(ahead={})

    def _slots(self, name: str, period: float) -> tuple[dict[int, int], int]:
        """What a client spent, by the parts of its period that count; and the part of now."""
        self.latest = max(self.latest, self.clock())
        width = period / PARTS
        current = math.floor(self.latest / width)
        slots = self.spent.setdefault(name, {})
        if self.periods.setdefault(name, period) != period:
            # Of another period it is not known when: as if all were of now.
            total = sum(slots.values())
            slots.clear()
            slots[current] = total
            self.written.pop(name, None)
            self.periods[name] = period
        for slot in [slot for slot in slots if slot < current - PARTS]:
            del slots[slot]
        return slots, current

    def _wait(
        self, slots: Mapping[int, int], current: int, items: int, most: int, period: float
    ) -> float | None:
        if items > most:
            return None
        left = sum(slots.values()) + items - most
        for slot in sorted(slots):
            left -= slots[slot]
            if left <= 0:
                return (slot + PARTS + 1) * period / PARTS - self.latest
        return period

    def _write(self, ahead: Mapping[str, int]) -> None:
        kept: dict[str, dict[int, int]] = {}
        for name, slots in self.spent.items():
            newest = max(slots, default=0)
            more = ahead.get(name, 0)
            before = self.written.get(name, {}) if ahead else {}
            kept[name] = {
                slot: max(count + more * (slot == newest), before.get(slot, 0))
                for slot, count in slots.items()
                if count or before.get(slot)
            }
        told = {
            name: {"period_s": self.periods[name], "spent": {str(s): n for s, n in slots.items()}}
            for name, slots in kept.items()
        }
        beside = self.path.with_name(self.path.name + ".new")
        with open(beside, "w", encoding="utf-8", opener=own) as file:
            json.dump({"parts": PARTS, "clients": told}, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        sync_folder(self.path.parent)
        self.written = kept

    def _load(self) -> None:
        try:
            read = json.loads(self.path.read_text(encoding="utf-8"))
            if read["parts"] != PARTS:
                raise ValueError
            for name, told in read["clients"].items():
                slots = {int(slot): int(count) for slot, count in told["spent"].items()}
                period = float(told["period_s"])
                _check(slots, period)
                self.periods[name] = period
                self.spent[name] = slots
                self.written[name] = dict(slots)
        except FileNotFoundError:
            return
        except UNREADABLE:
            told = (
                f"{self.path} does not hold the budgets of clients; to give all of them their "
                "whole budget again, move it away"
            )
            raise FileError(told, source=str(self.path)) from None


def _check(slots: Mapping[int, int], period: float) -> None:
    """Refuses what no client can have spent: it would give a budget anew, or none any more."""
    if not 0 < period < math.inf:
        raise ValueError("no period")
    if any(count < 0 or abs(slot) > MOST_SLOT for slot, count in slots.items()):
        raise ValueError("no count of queries")


def sync_folder(folder: Path) -> None:
    """Makes sure that the names in a folder outlive a loss of power."""
    handle = os.open(folder, os.O_RDONLY | cast(int, getattr(os, "O_DIRECTORY", 0)))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def beside(audit: Path) -> Path:
    """The file of the budgets beside an audit log."""
    return audit.with_name(audit.name + ".budgets.json")


def usual(table: Mapping[str, Any]) -> tuple[int, float] | None:
    """The queries and the period of a client's table, if it has a budget."""
    if table.get("queries") is None:
        return None
    period = table.get("period_s")
    return int(table["queries"]), 86400.0 if period is None else float(period)
