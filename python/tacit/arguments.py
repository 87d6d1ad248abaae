"""Types of the command line's arguments."""

from __future__ import annotations

import argparse


def dimension(text: str) -> tuple[str, int]:
    """Parses `name=value`."""
    name, _, value = text.partition("=")
    if not name or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value, such as seq=48")
    return name, int(value)


def positive(text: str) -> int:
    """Parses a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
