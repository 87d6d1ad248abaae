"""Types of the command line's arguments."""

from __future__ import annotations

import argparse
import re


def dimension(text: str) -> tuple[str, int]:
    """Parses `name=value`."""
    name, _, value = text.partition("=")
    if not name or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value, such as seq=48")
    return name, int(value)


def numbers(text: str) -> list[int]:
    """Parses `8,12,16..30` or, in steps, `4..30:2`; both ends of a range belong to it."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,4})(?:\.\.(\d{1,4})(?::(\d{1,4}))?)?", part.strip())
        if not match:
            raise argparse.ArgumentTypeError(
                f"{part!r} is no number or range of numbers; write 13, 4..30, 4..30:2 or 8,13,26"
            )
        low = int(match[1])
        high, step = int(match[2] or low), int(match[3] or 1)
        if high < low or step == 0:
            raise argparse.ArgumentTypeError(f"{part!r} is an empty range; write the smaller first")
        found.extend(range(low, high + 1, step))
    return found


def positive(text: str) -> int:
    """Parses a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
