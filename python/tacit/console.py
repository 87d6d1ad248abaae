"""What the command line shows while it works."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from . import _tacit
from .notebook import Progress as Callback

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

TELL_S = 0.1
"""Seconds between what a command tells in a file of how far it is."""


class Voice:
    """How much is said on stderr beside errors.

    Attributes
    ----------
    quiet : bool
        Nothing is.
    lines : bool
        Lines of the log, with the time, instead of a bar.
    """

    quiet = False
    lines = False


def speak(args: argparse.Namespace) -> None:
    """Sets how much is said, as the arguments ask for."""
    Voice.quiet, Voice.lines = args.quiet, args.verbose > 0 or not err.is_terminal
    levels = ("info" if Voice.lines else "warn", "debug", "trace")
    level = levels[min(int(args.verbose), 2)]
    _tacit.log("off" if args.quiet else level)


def add_voice(command: argparse.ArgumentParser) -> None:
    """The options of how much is said."""
    voice = command.add_mutually_exclusive_group()
    voice.add_argument("--quiet", action="store_true", help="only results and errors")
    voice.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="log every layer of every batch; -vv: and what the parties agree on",
    )


def notice(text: str) -> None:
    """Shows what a party waits for."""
    if not Voice.quiet:
        err.print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Shows a warning."""
    if not Voice.quiet:
        err.print(f"[yellow]warning:[/] {escape(text)}", soft_wrap=True)


def _telling(path: Path) -> Callback:
    """A callback that keeps how far a command is in a file, as `["online", "conv", 310, 1000]`."""
    part, told = path.with_name(path.name + ".new"), -math.inf

    def tell(phase: str, layer: str, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() < told + TELL_S and done < total:
            return
        told = time.monotonic()
        # A file that cannot be written ends no prediction.
        with suppress(OSError):
            part.write_text(json.dumps([phase, layer, done, total]), encoding="utf-8")
            part.replace(path)

    return tell


@contextmanager
def progress_bar() -> Generator[Callback | None]:
    """A callback that moves a progress bar; `None` where nobody would see it.

    Where the environment names a file by `TACIT_PROGRESS`, the callback writes into it instead.
    """
    if os.environ.get("TACIT_PROGRESS"):
        yield _telling(Path(os.environ["TACIT_PROGRESS"]))
        return
    if Voice.quiet or Voice.lines or not err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[layer]}", markup=False),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("setup", layer="", total=None)

        def show(phase: str, layer: str, done: int, total: int) -> None:
            bar.update(task, description=phase, layer=layer, completed=done, total=total or None)

        yield show
