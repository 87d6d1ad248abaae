"""What the command line shows while it works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .session import Progress as Callback

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def notice(text: str) -> None:
    """Shows what a party waits for."""
    err.print(text, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(*, remaining: bool = False) -> Iterator[Callback | None]:
    """A callback that moves a progress bar; `None` where stderr is not a terminal.

    `remaining` shows the time left beside that which went by.
    """
    if not err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        *[TextColumn("left"), TimeRemainingColumn()] * remaining,
        TextColumn("{task.fields[layer]}"),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("setup", layer="", total=None)

        def show(phase: str, layer: str, done: int, total: int) -> None:
            bar.update(task, description=phase, layer=layer, completed=done, total=total or None)

        yield show
