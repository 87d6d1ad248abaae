"""Reads arrays from files."""

from __future__ import annotations

import math
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike

from ._tacit import TacitError
from .errors import FileError, InputError

INPUT_NAMES = ("x", "input", "images")
LABEL_NAMES = ("label", "labels", "y")

LIMIT = 4 << 30
"""Bytes that no file may unpack to, unless it is as large itself."""


def room(file: Path) -> int:
    """The bytes that `file` may unpack to: real data shrink to a hundredth at best, bombs more."""
    size = file.stat().st_size
    return max(size, min(LIMIT, (64 << 20) + 100 * size))


def file_of(source: str) -> str:
    """The file of `FILE.npy`, `FILE.npz` or `FILE.npz:NAME`."""
    path, _, name = source.partition(".npz:")
    return f"{path}.npz" if name else source


def check_finite(
    what: str,
    array: np.ndarray,
    *,
    input: str | None = None,
    column: str | None = None,
    missing: np.ndarray | bool = False,
) -> None:
    """Refuses NaN and infinity, with the place of the first.

    NaN is taken where `missing` is true, of all items alike.
    """
    if array.dtype.kind != "f":
        return
    beyond = ~np.isfinite(array) & ~(np.isnan(array) & missing)
    if beyond.any():
        item, *position = (int(i) for i in np.unravel_index(beyond.argmax(), array.shape))
        where = f"item {item}, position {position}," if position else f"item {item}"
        value = array[(item, *position)]
        told = "every value must be a finite number"
        if np.isnan(value) and missing is not False:
            told = "the model does not say what becomes of a number that is missing there"
        raise InputError(
            f"{what}: {where} is {value}; {told}",
            input=input,
            column=column,
            item=item,
            position=tuple(position),
        )


def label_list(labels: ArrayLike, n: int) -> list[int]:
    """The classes of `n` items."""
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iub":
        raise InputError(
            f"the labels are {array.dtype} of shape {array.shape}; "
            f"they must be {n} integers, one for each input",
            input="labels",
        )
    return array.tolist()


def load_inputs(source: str, names: list[str] | None = None) -> np.ndarray | dict[str, np.ndarray]:
    """Numbers for a model whose inputs have these names: an array, or all arrays by name.

    Where the names are not known yet, all arrays of an .npz file that holds no labels.
    """
    file = Path(file_of(source))
    if source != str(file) or file.suffix != ".npz" or not file.is_file():
        return load_numbers(source, INPUT_NAMES)
    if names is None:
        with suppress(Exception), np.load(file, allow_pickle=False) as loaded:
            names = [] if set(loaded.files) & set(LABEL_NAMES) else loaded.files
    if not names or len(names) == 1:
        return load_numbers(source, INPUT_NAMES)
    return {name: load_numbers(f"{source}:{name}", ()) for name in names}


def load_numbers(source: str, names: tuple[str, ...]) -> np.ndarray:
    """The array that :func:`load_array` reads; its numbers must be finite, or NaN if missing."""
    array = load_array(source, names)
    if array.ndim:
        check_finite(source, array, missing=True)
    return array


def load_array(source: str, names: tuple[str, ...]) -> np.ndarray:
    """The array of `FILE.npy`, of `FILE.npz` or of `FILE.npz:NAME`.

    Of an .npz file without NAME, the only array is taken, or the first of `names` that it has.
    Pickled objects are refused: they can run code.
    """
    _, _, name = source.partition(".npz:")
    file = Path(file_of(source))
    if not file.is_file():
        raise FileError(f"{file}: no such file", source=source)
    try:
        with file.open("rb") as stream:
            zipped = stream.read(2) == b"PK"
            stream.seek(0)
            if not zipped:
                _check_size(stream, file.stat().st_size)
                stream.seek(0)
                return np.load(stream, allow_pickle=False)
            with np.load(stream, allow_pickle=False) as loaded:
                chosen = _choose(file, loaded.files, name, names)
                _check_member(file, loaded.zip, chosen)
                return loaded[chosen]
    except TacitError:
        raise
    except Exception as error:  # numpy's and zipfile's are of a dozen kinds
        raise FileError(
            f"{file} is not an .npy or .npz file of numbers ({error}); write it with numpy.save",
            source=source,
        ) from None


def _choose(file: Path, held: list[str], name: str, names: tuple[str, ...]) -> str:
    """The name of the array to take from an .npz file that holds `held`."""
    wanted = [name] if name else [n for n in names if n in held] or (held if len(held) == 1 else [])
    if wanted and wanted[0] in held:
        return wanted[0]
    what = f"no array {name!r}" if name else "several arrays and none of " + ", ".join(names)
    told = f"{file} holds {what}: choose with {file}:NAME out of {', '.join(held)}"
    raise FileError(told, source=str(file))


def _check_member(file: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Refuses an array of an .npz file that would unpack to far more than the file holds."""
    member = name if name in archive.namelist() else f"{name}.npy"
    size = archive.getinfo(member).file_size
    if size > room(file):
        raise ValueError(f"array {name!r} unpacks to {size:,} bytes")
    with archive.open(member) as stream:
        _check_size(stream, size)


def _check_size(stream: IO[bytes], size: int) -> None:
    """Holds an .npy header against the bytes there are, before memory is taken by it."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(stream)
    if version not in readers:
        raise ValueError(f"version {version} of the format is not for plain numbers")
    shape, _, dtype = readers[version](stream)
    promised = stream.tell() + math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and promised != size:
        raise ValueError(f"its header promises {promised:,} bytes, there are {size:,}")
