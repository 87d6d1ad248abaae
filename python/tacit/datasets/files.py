"""Reads files that may be gzipped, and never more of them than they may hold."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from .._tacit import TacitError

TEXT = 64 << 20
"""Bytes of the largest list of names."""


@contextmanager
def reading(file: Path | str, kind: str) -> Generator[None]:
    """Turns what goes wrong inside into an error that names the file."""
    try:
        yield
    except TacitError:
        raise
    except Exception as error:  # gzip's, csv's, Pillow's and pyarrow's are of a dozen kinds
        raise TacitError(
            f"{file} cannot be read as {kind} ({error}); check it, or fetch it again"
        ) from None


def is_gzip(file: Path) -> bool:
    """Whether a file begins as gzipped ones do, whatever its name."""
    with file.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_bytes(file: Path) -> BufferedIOBase:
    """Opens a file, unpacked as it is read if it is gzipped."""
    return gzip.open(file) if is_gzip(file) else file.open("rb")


def plain_name(file: Path, name: str) -> str:
    """A name that `file` lists, which must not lead out of its folder."""
    if name in ("", "..") or name != Path(name).name or "\0" in name or len(name) > 200:
        raise TacitError(f"{file} lists {name[:200]!r}, which is not the name of a file or folder")
    return name


def read_lines(file: Path) -> list[str]:
    """The lines of a short text file."""
    if file.stat().st_size > TEXT:
        raise TacitError(f"{file} is no list of names: it has more than {TEXT:,} bytes")
    with reading(file, "text"):
        return file.read_text(encoding="utf-8").splitlines()
