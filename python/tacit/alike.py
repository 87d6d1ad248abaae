"""Warnings on screen: those that differ only by layer and numbers are told once."""

import re
from collections.abc import Iterable

MOST = 3
"""Warnings of one kind that are all told."""
NAMED = 5
"""The most layers that are named of many warnings of one kind, beside that told in full."""
NAME = re.compile(r"'[^']*'")
NUMBER = re.compile(r"-?\d[\d.]*(e[+-]?\d+)?|-?inf")


def grouped(warnings: Iterable[str]) -> list[str]:
    """The warnings, in the order of the first of each kind.

    Of many of one kind the first is told in full; of the others their number and the first layers.
    """
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        kinds.setdefault(NUMBER.sub("0", NAME.sub("''", warning)), []).append(warning)
    told: list[str] = []
    for same in kinds.values():
        if len(same) <= MOST:
            told += same
            continue
        others = [name[0] for name in map(NAME.search, same[1:]) if name][:NAMED]
        rest = f"{len(same) - 1} more differ in their numbers alone: {', '.join(others)}"
        told += [same[0], f"{rest} and others, all of them in `warnings` (--json)"]
    return told
