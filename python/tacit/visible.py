"""Words of others, as they are shown."""

from __future__ import annotations


def visible(told: object) -> str:
    """Words of which a terminal, and the eye, takes none as its own.

    Control characters are written out, and so are those that turn the order of letters, break a
    line, or are not seen.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(told))
