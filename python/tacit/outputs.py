"""Files that a command writes: checked before it begins, and never lost."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from . import _tacit
from ._tacit import TacitError
from .data import file_of

Named = str | Path | None
"""A file's name, or None where none was asked for."""


def check(outputs: Iterable[Named], inputs: Iterable[Named] = ()) -> None:
    """Refuses what could not be written, and what would destroy an input."""
    given = [file_of(os.fspath(source)) for source in inputs if source]
    _tacit.check_outputs([os.fspath(path) for path in outputs if path], given)


def write(files: Iterable[tuple[Named, str | bytes]]) -> None:
    """Writes all files; of what cannot be written the error says where it is instead."""
    refused = []
    for path, content in files:
        if path:
            whole = content.encode() if isinstance(content, str) else content
            try:
                _tacit.write_output(os.fspath(path), whole)
            except TacitError as error:
                refused.append(str(error))
    if refused:
        raise TacitError("\n".join(refused))


def npy(array: np.ndarray) -> bytes:
    """An array as the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
