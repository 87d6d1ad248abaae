"""Files that are written whole or not at all, and such as are in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def replace(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Writes a new file beside its place and renames it: whoever reads finds the old or the new.

    The new file has a name that nobody can know before, and is not one that was there.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def in_memory(content: bytes) -> Generator[str, None, None]:
    """The name of a file with this content, for a library that reads files alone.

    It is in memory; where the system has no such files, it is one that its owner alone reads, for
    that moment.
    """
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("content"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
