"""Axes of pictures: round numbers between which values lie, and how these are written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEAST, MOST = 4, 6
"""Ticks of an axis of measured values, in steps of 1, 2 or 5 times a power of ten."""
MOST_WHOLE = 8
"""Ticks of an axis of whole numbers, such as epochs."""


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes
    ----------
    low, high : float
        Its ends.
    ticks : tuple of float
        The numbers that stand beside it, rising.
    step : float
        From a tick to the next; of a logarithmic axis 0.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    step: float

    def share(self, value: float) -> float:
        """Where a number stands: 0 at the low end, 1 at the high one, 1/2 where these are one."""
        if self.step == 0:
            low, high, value = (math.log(each) for each in (self.low, self.high, value))
        else:
            low, high = self.low, self.high
        return (value - low) / (high - low) if high > low else 0.5


def round_scale(low: float, high: float, least: float = -math.inf, most: float = math.inf) -> Scale:
    """An axis around values from `low` to `high`, with 4 to 6 ticks of which two are its ends.

    Where no step gives as many there are 7.
    Around values that are one it goes no further than `least` and `most`, between which all lie.
    """
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(low) / 2 or 1.0
        low, high = max(low - room, least), min(high + room, most)
    found = [_stepped(low, high, step) for step in _steps(high - low)]
    some = (each for most in (MOST, MOST + 1) for each in found if LEAST <= len(each.ticks) <= most)
    return next(some)


def _stepped(low: float, high: float, step: float) -> Scale:
    """An axis with ticks at all multiples of a step."""
    ticks = [at * step for at in range(_down(low, step), _up(high, step) + 1)]
    return Scale(ticks[0], ticks[-1], tuple(ticks), step)


def _steps(span: float) -> Iterator[float]:
    """1, 2 or 5 times powers of ten, rising, from fewer than a sixth of the span on."""
    power = math.floor(math.log10(span / MOST))
    for more in range(4):
        for times in (1, 2, 5):
            step = power + more
            yield times * 10.0**step if step >= 0 else times / 10.0**-step


def _down(value: float, step: float) -> int:
    """The last whole number of steps below a value, which rounding may have moved a little."""
    return math.floor(value / step + 1e-9)


def _up(value: float, step: float) -> int:
    return math.ceil(value / step - 1e-9)


def logarithmic(low: float, high: float) -> Scale:
    """An axis of powers of ten around positive values, with 4 to 6 ticks."""
    first = math.floor(math.log10(low) + 1e-9)
    last = math.ceil(math.log10(high) - 1e-9)
    every = max(1, math.ceil((last - first) / (MOST - 1)))
    last += -(last - first) % every
    parts = (1, 3) if last - first < 3 else (1,)
    ticks = [part * 10.0**at for at in range(first, last + 1, every) for part in parts]
    ticks = [tick for tick in ticks if tick <= 10.0**last]
    return Scale(ticks[0], ticks[-1], tuple(ticks), 0.0)


def within(values: Sequence[float]) -> Scale:
    """An axis from the least to the largest of whole numbers, with ticks at whole numbers only."""
    low, high = min(values), max(values)
    step = next(
        times * 10**power
        for power in range(20)
        for times in (1, 2, 5)
        if _down(high, times * 10**power) - _up(low, times * 10**power) < MOST_WHOLE
    )
    ticks = range(_up(low, step), _down(high, step) + 1)
    return Scale(low, high, tuple(float(at * step) for at in ticks), step)


def number(value: float, scale: Scale) -> str:
    """A tick in words: with as many digits as its neighbours, or with a power of ten."""
    size = max(abs(tick) for tick in scale.ticks)
    if scale.step == 0:
        small, large = scale.ticks[0], scale.ticks[-1]
        return f"{value:,g}" if small >= 1e-3 and large < 1e6 else _power(value)
    if value == 0:
        return "0"
    if size >= 1e6 or scale.step < 1e-4:
        return _power(value)
    digits = max(0, -math.floor(math.log10(scale.step) + 1e-9))
    return f"{value:,.{digits}f}"


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(value: float) -> str:
    """A number as a few digits and a power of ten."""
    digits, power = f"{value:.3e}".split("e")
    digits = digits.rstrip("0").rstrip(".")
    times = "" if digits == "1" else f"{digits}·"
    return f"{times}10{str(int(power)).translate(SUPERSCRIPTS)}"
