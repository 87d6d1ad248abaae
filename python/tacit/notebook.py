"""A progress bar in notebooks, for calls that are given no callback."""

import html
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[str, str, int, int], None]
"""Called as `progress(phase, layer, done, total)` while a call goes on, by one thread at a time.

Of a prediction `done` moves within its layers and its offline phase, too, by their expected time.
"""

AFTER = 0.5
"""Seconds that a call takes at least before a bar is drawn."""
EVERY = 0.1
"""Seconds between two pictures of a bar at least."""


@contextmanager
def shown(progress: Progress | None) -> Generator[Progress | None]:
    """The callback that is given; without one, in a notebook, that of a bar during the call."""
    shell = None if progress is not None else kernel()
    if shell is None:
        yield progress
        return
    bar = Bar()
    try:
        yield bar.move
    finally:
        bar.close()


def kernel() -> Any:
    """The kernel of a notebook whose cell calls; `None` elsewhere, as in a terminal."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython  # noqa: PLC0415

    return getattr(get_ipython(), "kernel", None)


class Bar:
    """An output of a cell that shows how far a call is, and how long it will take."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.drawn = self.began + AFTER - EVERY
        self.first: tuple[float, float] | None = None
        """When a part was done first, and which."""
        self.output: Any = None

    def move(self, phase: str, layer: str, done: int, total: int) -> None:
        """Draws the bar anew: `done` of `total` are done, and a layer of a phase is computed."""
        now = time.monotonic()
        if total and done and self.first is None:
            self.first = now, done / total
        if now - self.drawn < EVERY:
            return
        self.drawn = now
        part = done / total if total else None
        self.show(drawn(phase, layer, part, now - self.began, self.left(now, part)))

    def left(self, now: float, part: float | None) -> float | None:
        """The seconds that are left, told from those since the first part."""
        if self.first is None or part is None:
            return None
        since, first = self.first
        return (now - since) * (1 - part) / (part - first) if part > first else None

    def show(self, page: str) -> None:
        """Puts a page into the cell's output, in place of the one before."""
        from IPython.core.display import HTML  # noqa: PLC0415
        from IPython.core.display_functions import DisplayHandle  # noqa: PLC0415

        if self.output is None:
            self.output = DisplayHandle()
            self.output.display(HTML(page))
        else:
            self.output.update(HTML(page))

    def close(self) -> None:
        """Empties the output, if there is one."""
        if self.output is not None:
            self.show("")


def drawn(phase: str, layer: str, part: float | None, took: float, left: float | None) -> str:
    """A bar as a page: a phase, its layer, what part is done, seconds that went by and are left."""
    value = "" if part is None else f' value="{part:.3f}"'
    words = [phase, "" if part is None else f"{100 * part:.0f} %", f"{took:.0f} s"]
    words += [] if left is None else [f"about {left:.0f} s left"]
    told = html.escape(" · ".join(word for word in [*words, layer] if word))
    return f'<progress aria-label="{html.escape(phase)}"{value}></progress> <small>{told}</small>'
