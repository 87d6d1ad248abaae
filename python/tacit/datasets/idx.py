"""IDX files: `00 00 08`, the number of axes, their lengths, then bytes."""

from __future__ import annotations

import math
from io import BufferedIOBase
from pathlib import Path

import numpy as np

from .._tacit import TacitError
from ..data import room
from .files import is_gzip, open_bytes, reading


def read_idx(file: Path, axes: tuple[int, ...]) -> np.ndarray:
    """The bytes of an IDX file, gzipped or not, whose number of axes is one of `axes`."""
    with reading(file, "an IDX file"), open_bytes(file) as stream:
        shape = _shape(file, stream, axes)
        held = np.empty(math.prod(shape), np.uint8)
        got = _fill(stream, held)
        if got < len(held):
            raise TacitError(
                f"{file} is cut off: its header promises {len(held):,} bytes of data, "
                f"there are {got:,}; fetch it again"
            )
        if stream.read(1):
            raise TacitError(f"{file} goes on after the {len(held):,} bytes its header promises")
    return held.reshape(shape)


def _shape(file: Path, stream: BufferedIOBase, axes: tuple[int, ...]) -> tuple[int, ...]:
    """What the header says, if the file can hold it."""
    magic = stream.read(4)
    if len(magic) < 4 or magic[:3] != b"\0\0\x08":
        raise TacitError(
            f"{file} begins with {magic.hex(' ') or 'nothing'}, an IDX file of bytes with "
            "00 00 08; is it another file, or a page that a server sent instead?"
        )
    if magic[3] not in axes:
        wanted = " or ".join(map(str, axes))
        raise TacitError(
            f"{file} has {magic[3]} axes instead of {wanted}; images have 3 or 4, labels 1: "
            "are the two files the wrong way round?"
        )
    lengths = stream.read(4 * magic[3])
    if len(lengths) < 4 * magic[3]:
        raise TacitError(f"{file} is cut off in its header; fetch it again")
    shape = tuple(np.frombuffer(lengths, ">u4").tolist())
    size = math.prod(shape)
    most = room(file) if is_gzip(file) else file.stat().st_size
    if not 0 < size <= most:
        raise TacitError(
            f"{file} promises {size:,} bytes of data, {shape}, and cannot hold more than {most:,}; "
            "fetch it again"
        )
    return shape


def _fill(stream: BufferedIOBase, held: np.ndarray) -> int:
    """Reads until `held` is full or the file is at its end; how many bytes came."""
    view, got = held.data, 0
    # A few at a time: a gzipped file that ends early then touches no more memory than it fills.
    while got < len(held):
        part = stream.readinto(view[got : got + (1 << 20)])
        if not part:
            break
        got += part
    return got
