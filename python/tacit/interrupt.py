"""Ctrl-C ends a command within a second, whatever it is at."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from . import _tacit

GRACE = 0.6
"""Seconds that a command has to end by itself: to tell other parties, to tidy up."""

CODE = 130
"""The exit code of a command that was interrupted."""


@contextmanager
def ends_soon() -> Generator[None]:
    """Lets Ctrl-C end what runs within, also where no Python code runs that could notice it.

    A signal is seen by a thread of its own, which tells the extension module; its waits end, and
    its links tell the other parties. What computes on all the same is ended with the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # Also where the shell that started it lets background jobs ignore it: who sends it means it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    ended = threading.Event()
    watcher = threading.Thread(target=watch, args=(reader, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, handler)
        os.close(writer)
        watcher.join()
        os.close(reader)
        _tacit.interrupt(raised=False)


def watch(reader: int, ended: threading.Event) -> None:
    """Waits for the signal's number, which the interpreter writes whatever it is at."""
    while got := os.read(reader, 1):
        if got[0] != signal.SIGINT:
            continue
        _tacit.interrupt()
        if not ended.wait(GRACE):
            sys.stderr.write("interrupted\n")
            sys.stderr.flush()
            os._exit(CODE)
