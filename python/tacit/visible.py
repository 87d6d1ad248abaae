"""Words of others, as they are shown."""

from __future__ import annotations

import re

UNSEEN = re.compile(
    "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0"
    "\\U000e0100-\\U000e01ef]"
)
"""Letters and marks that Python calls printable, and that nothing shows."""


def visible(told: object) -> str:
    """Words of which a terminal, and the eye, takes none as its own.

    Control characters are written out, and so are those that turn the order of letters, break a
    line, or are not seen; a backslash is doubled, so that nobody writes what looks like these.
    """
    return "".join(c if _is_seen(c) else _written(c) for c in str(told))


def _is_seen(c: str) -> bool:
    return c.isprintable() and c != "\\" and not UNSEEN.match(c)


def _written(c: str) -> str:
    return c.encode("unicode_escape").decode()
