"""Files that a command writes: checked before it begins, and never lost."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from . import _tacit
from ._tacit import TacitError
from .data import file_of
from .model import Model

Named = str | Path | None
"""A file's name, or None where none was asked for."""


def check(outputs: Iterable[Named], inputs: Iterable[Named] = ()) -> None:
    """Refuses what could not be written, and what would destroy an input."""
    given = [file_of(os.fspath(source)) for source in inputs if source]
    _tacit.check_outputs([os.fspath(path) for path in outputs if path], given)


Content = str | bytes | Callable[[], str]
"""What a file is to hold; a function is called once the files before are written."""


def write(files: Iterable[tuple[Named, Content]]) -> None:
    """Writes all files; of what cannot be written the error says where it is instead."""
    refused: list[str] = []
    for path, content in files:
        if path:
            held = content() if callable(content) else content
            whole = held.encode() if isinstance(held, str) else held
            try:
                _tacit.write_output(os.fspath(path), whole)
            except TacitError as error:
                refused.append(str(error))
    if refused:
        raise TacitError("\n".join(refused))


def check_holds(path: Named, model: Model) -> None:
    """Refuses a file of one array for a model of several outputs."""
    names = [output["name"] for output in model.plan["outputs"]]
    if path and len(names) > 1 and Path(path).suffix != ".npz":
        raise TacitError(
            f"{path}: the model has the outputs {', '.join(map(repr, names))}, and this file would "
            "hold one array; let its name end in .npz"
        )


def arrays(path: Named, named: dict[str, np.ndarray]) -> bytes:
    """Arrays as the bytes of an .npz file; one alone of an .npy file, unless .npz is asked for."""
    file = io.BytesIO()
    if len(named) == 1 and Path(path or "").suffix != ".npz":
        np.save(file, next(iter(named.values())))
    else:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in named.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.save(member, array, allow_pickle=False)
    return file.getvalue()
