"""Reads arrays from files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ._tacit import TacitError

INPUT_NAMES = ("x", "input", "images")
LABEL_NAMES = ("label", "labels", "y")


def load_array(source: str, names: tuple[str, ...]) -> np.ndarray:
    """The array of `FILE.npy`, of `FILE.npz` or of `FILE.npz:NAME`.

    Of an .npz file without NAME, the only array is taken, or the first of `names` that it has.
    Pickled objects are refused: they can run code.
    """
    path, _, name = source.partition(".npz:")
    file = Path(f"{path}.npz" if name else source)
    if not file.is_file():
        raise TacitError(f"{file}: no such file")
    try:
        loaded = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise TacitError(
            f"{file} is not an .npy or .npz file of numbers ({error}); write it with numpy.save"
        ) from None
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        return loaded[_choose(file, loaded.files, name, names)]


def _choose(file: Path, held: list[str], name: str, names: tuple[str, ...]) -> str:
    """The name of the array to take from an .npz file that holds `held`."""
    wanted = [name] if name else [n for n in names if n in held] or (held if len(held) == 1 else [])
    if wanted and wanted[0] in held:
        return wanted[0]
    what = f"no array {name!r}" if name else "several arrays and none of " + ", ".join(names)
    raise TacitError(f"{file} holds {what}: choose with {file}:NAME out of {', '.join(held)}")
