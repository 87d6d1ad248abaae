"""The folder of Tiny ImageNet: `wnids.txt`, `train/WNID/images/`, `val/`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._tacit import TacitError
from .dataset import MOST_CLASSES
from .files import plain_name, read_lines
from .jpeg import decode

SIZE = 64


def read_folder(folder: Path, what: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Images as bytes, classes, and names of the classes; `val` is the test set."""
    wnids = _wnids(folder / "wnids.txt")
    found = _train(folder, wnids) if what == "train" else _val(folder, wnids)
    pixels = decode(((str(file), file) for file, _ in found), len(found), SIZE)
    return pixels, np.array([label for _, label in found]), _names(folder, wnids)


def _wnids(file: Path) -> list[str]:
    wnids = [plain_name(file, line.strip()) for line in read_lines(file) if line.strip()]
    if not 0 < len(set(wnids)) == len(wnids) <= MOST_CLASSES:
        raise TacitError(f"{file} must list 1 to {MOST_CLASSES} classes, each once")
    return wnids


def _train(folder: Path, wnids: list[str]) -> list[tuple[Path, int]]:
    """The images to train on, mixed in a fixed order: any part of them has all classes."""
    found: list[tuple[Path, int]] = []
    for label, wnid in enumerate(wnids):
        images = folder / "train" / wnid / "images"
        files = sorted(images.glob("*.JPEG"))
        if not files:
            raise TacitError(f"{images} has no .JPEG files: {folder / 'wnids.txt'} lists {wnid}")
        found += [(file, label) for file in files]
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def _val(folder: Path, wnids: list[str]) -> list[tuple[Path, int]]:
    listing = folder / "val" / "val_annotations.txt"
    if not listing.is_file():
        raise TacitError(f"{listing} is missing: it has the classes of val/images")
    labels = {wnid: label for label, wnid in enumerate(wnids)}
    found: list[tuple[Path, int]] = []
    for number, line in enumerate(read_lines(listing), 1):
        name, _, rest = line.partition("\t")
        wnid = rest.partition("\t")[0].strip()
        if wnid not in labels:
            raise TacitError(f"{listing}, line {number}: {wnid!r} is no class of wnids.txt")
        file = folder / "val" / "images" / plain_name(listing, name)
        if not file.is_file():
            raise TacitError(f"{file} is missing: {listing} lists it")
        found.append((file, labels[wnid]))
    if not found:
        raise TacitError(f"{listing} lists no images")
    return found


def _names(folder: Path, wnids: list[str]) -> list[str]:
    """What `words.txt` calls the classes; a class that it does not have keeps its number."""
    words = folder / "words.txt"
    lines = read_lines(words) if words.is_file() else []
    known = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return [known.get(wnid, wnid).strip() for wnid in wnids]
