"""Data sets of images: MNIST, CIFAR-10, Tiny ImageNet and any IDX files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._tacit import TacitError
from ..data import load_array
from .dataset import Dataset, checked_labels
from .idx import read_idx
from .jpeg import Pack, decode
from .source import Source
from .tiny_imagenet import read_folder

CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
RECORD = 1 + 3 * 32 * 32
"""Bytes of an image in CIFAR-10's binary version: its class, then its channels."""


class Images(NamedTuple):
    """Images as bytes, `(n, channels, height, width)`, and their classes."""

    pixels: np.ndarray
    labels: np.ndarray
    classes: int | None
    names: list[str] | None
    labels_file: Path


def mnist(source: Source, what: str) -> Images:
    """A folder of IDX files with MNIST's names."""
    names = ["train"] if what == "train" else ["t10k", "test8k"]
    found = _idx_in(source.folder(), names, 3)
    return _read_pair(*found, 10, [str(digit) for digit in range(10)], (1, 28, 28))


def idx(source: Source, what: str) -> Images:
    """`idx:IMAGES,LABELS`, which are the same whether to train or to test."""
    images, _, labels = source.path.partition(",")
    if not labels:
        raise TacitError(f"idx:{source.path} names one file: write idx:IMAGES,LABELS")
    pair = source.another(images), source.another(labels)
    return _read_pair(*pair, source.count("classes", 256))


def cifar10(source: Source, what: str) -> Images:
    """A folder of CIFAR-10: the binary version, else the JPEG pack, else IDX files."""
    folder = source.folder()
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] if what == "train" else ["test_batch.bin"]
    files = [folder / name for name in names]
    if any(file.exists() for file in files):
        return _read_records(files)
    pack = folder / "train50k-jpeg.npz"
    if what == "train" and pack.exists():
        return _read_pack(pack, 32, CIFAR10)
    if (folder / names[0].removesuffix(".bin")).exists():
        raise TacitError(
            f"{folder} has CIFAR-10 as pickles, which can run code: fetch the binary version"
        )
    pair = _idx_in(folder, ["train5k"] if what == "train" else ["test9k"], 4, names)
    return _read_pair(*pair, 10, CIFAR10, (3, 32, 32))


def tiny_imagenet(source: Source, what: str) -> Images:
    """The folder of Tiny ImageNet, or of the pack of ten of its classes."""
    folder = source.folder()
    if (folder / "wnids.txt").exists():
        pixels, labels, names = read_folder(folder, what)
        return Images(pixels, labels, len(names), names, folder)
    pack = folder / "train5k-jpeg.npz"
    names = [str(n) for n in load_array(f"{pack}:name", ()).ravel()] if pack.exists() else None
    if what == "train" and pack.exists():
        return _read_pack(pack, 64, names or [])
    pair = _idx_in(folder, ["train5k"] if what == "train" else ["val500"], 4, ["wnids.txt"])
    return _read_pair(*pair, len(names) if names else None, names, (3, 64, 64))


def _idx_in(
    folder: Path, prefixes: list[str], axes: int, others: list[str] | None = None
) -> tuple[Path, Path]:
    """The IDX files of a folder, images and labels; `others` names what would have done too."""
    tried: list[str] = []
    for prefix in prefixes:
        for end in ("", ".gz"):
            images = folder / f"{prefix}-images-idx{axes}-ubyte{end}"
            tried.append(images.name)
            if images.is_file():
                labels = [folder / f"{prefix}-labels-idx1-ubyte{e}" for e in (end, "", ".gz")]
                there = [file for file in labels if file.is_file()]
                if not there:
                    raise TacitError(f"{labels[0]} is missing: {images.name} needs its labels")
                return images, there[0]
    raise TacitError(f"{folder} has none of {', '.join([*(others or []), *tried])}")


def _read_pair(
    images: Path,
    labels: Path,
    classes: int | None,
    names: list[str] | None = None,
    shape: tuple[int, ...] | None = None,
) -> Images:
    """Two IDX files, the images of one `shape` where the kind of data says so."""
    pixels = read_idx(images, (3, 4))
    if pixels.ndim == 3:
        pixels = pixels[:, None]
    if shape and pixels.shape[1:] != shape:
        raise TacitError(
            f"{images} has images of {pixels.shape[1:]} instead of {shape}; "
            "other images can be read with idx:IMAGES,LABELS"
        )
    return Images(pixels, read_idx(labels, (1,)), classes, names, labels)


def _read_pack(file: Path, size: int, names: list[str]) -> Images:
    pack = Pack(file)
    return Images(decode(pack, len(pack), size), pack.labels, len(names), names, file)


def _read_records(files: list[Path]) -> Images:
    """Reads images of CIFAR-10's binary version."""
    counts = [_records(file) for file in files]
    pixels = np.empty((sum(counts), 3, 32, 32), np.uint8)
    labels = np.empty(sum(counts), np.uint8)
    first = 0
    for file, count in zip(files, counts, strict=True):
        held = np.fromfile(file, np.uint8, count * RECORD).reshape(count, RECORD)
        part = slice(first, first + count)
        labels[part], pixels[part] = held[:, 0], held[:, 1:].reshape(-1, 3, 32, 32)
        first += count
    return Images(pixels, labels, 10, CIFAR10, files[0].parent)


def _records(file: Path) -> int:
    """How many images a file of the binary version holds, by its length."""
    if not file.is_file():
        raise TacitError(f"{file} is missing: the binary version has data_batch_1.bin to _5.bin")
    count, rest = divmod(file.stat().st_size, RECORD)
    if rest or not count:
        raise TacitError(
            f"{file} has {file.stat().st_size:,} bytes, not a multiple of {RECORD:,}: "
            "it is cut off, or not CIFAR-10's binary version; fetch it again"
        )
    return count


def _loader(read: Callable[[Source, str], Images]) -> Callable[[Source, str], Dataset]:
    """The loader of a kind whose files `read` reads."""

    def load(source: Source, what: str) -> Dataset:
        images = read(source, what)
        labels, classes = checked_labels(
            images.labels_file, images.labels, len(images.pixels), images.classes
        )
        statistics = _statistics(source, what, images.pixels, read)
        x = np.divide(images.pixels, np.float32(255), dtype=np.float32)
        if statistics is not None:
            mean, std = statistics.astype(np.float32)[:, None, :, None, None]
            x -= mean
            x /= std
        return Dataset(x, labels, classes, images.names)

    return load


def _statistics(
    source: Source, what: str, pixels: np.ndarray, read: Callable[[Source, str], Images]
) -> np.ndarray | None:
    """Means and deviations of the channels to normalise by, `(2, channels)`."""
    channels = pixels.shape[1]
    given = source.options.get("normalise")
    if given is None:
        return None
    if given == "yes":
        if what == "train":
            return moments(pixels)
        if source.kind == "idx":
            raise TacitError(
                "normalise=yes takes the train set's numbers, which idx:IMAGES,LABELS does not "
                "name: give them, as in normalise=0.1307/0.3081"
            )
        return moments(read(source, "train").pixels)
    numbers = np.zeros((0, 0))
    try:
        numbers = np.array([part.split("+") for part in given.split("/")], np.float64)
        fits = numbers.shape == (2, channels) and np.isfinite(numbers).all() and min(numbers[1]) > 0
    except ValueError:
        fits = False
    if not fits:
        example = "+".join(["0.5"] * channels)
        raise TacitError(
            f"normalise={given}: write yes, or means and deviations of the {channels} "
            f"channels, as in normalise={example}/{example}"
        )
    return numbers


def moments(pixels: np.ndarray) -> np.ndarray:
    """Means and deviations of the channels of images in [0, 1], by counting their bytes."""
    result: list[tuple[float, float]] = []
    for channel in range(pixels.shape[1]):
        counts = np.zeros(256)
        # In parts: bincount widens its operand to eight bytes.
        for first in range(0, len(pixels), 1000):
            counts += np.bincount(pixels[first : first + 1000, channel].ravel(), minlength=256)
        shares, values = counts / counts.sum(), np.arange(256) / 255
        mean = float(shares @ values)
        result.append((mean, float(np.sqrt(shares @ (values - mean) ** 2)) or 1.0))
    return np.array(result).T


KINDS = {
    "mnist": (_loader(mnist), ("normalise",)),
    "idx": (_loader(idx), ("normalise", "classes")),
    "cifar10": (_loader(cifar10), ("normalise",)),
    "tiny-imagenet": (_loader(tiny_imagenet), ("normalise",)),
}
