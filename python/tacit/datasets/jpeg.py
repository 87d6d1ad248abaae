"""Decodes JPEG images, with Pillow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from .._tacit import TacitError
from ..data import LIMIT, load_array
from .files import reading
from .source import extra


class Pack:
    """JPEG streams end to end in an .npz file: `jpeg`, `offset` and `label`."""

    def __init__(self, file: Path):
        self.file = file
        self.jpeg = load_array(f"{file}:jpeg", ())
        self.labels = load_array(f"{file}:label", ())
        offsets = load_array(f"{file}:offset", ())
        for name, array in (("jpeg", self.jpeg), ("label", self.labels), ("offset", offsets)):
            fits = array.dtype == np.uint8 if name == "jpeg" else array.dtype.kind in "iu"
            if array.ndim != 1 or not fits:
                raise TacitError(
                    f"{file} is no pack of JPEG images: {name} is {array.dtype} {array.shape}, "
                    f"not {'bytes' if name == 'jpeg' else 'whole numbers'} with one axis"
                )
        self.offsets = offsets.astype(np.int64)
        self._check_offsets()

    def _check_offsets(self) -> None:
        steps = np.diff(self.offsets)
        if len(steps) == 0 or self.offsets[0] < 0 or steps.min() < 1:
            raise TacitError(f"{self.file}: the offsets of the images do not go up from 0")
        if self.offsets[-1] > len(self.jpeg):
            raise TacitError(
                f"{self.file}: image {len(steps) - 1} ends at byte {self.offsets[-1]:,} of "
                f"{len(self.jpeg):,}; fetch the file again"
            )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[tuple[str, io.BytesIO]]:
        for i in range(len(self)):
            stream = self.jpeg[self.offsets[i] : self.offsets[i + 1]].tobytes()
            yield f"{self.file}, image {i},", io.BytesIO(stream)


def decode(images: Iterable[tuple[str, Path | io.BytesIO]], count: int, size: int) -> np.ndarray:
    """Decodes square images, each with what errors call it, into `(count, 3, size, size)` bytes."""
    image_module = extra("PIL.Image", "reading JPEG images", "images")
    if 3 * size * size * count > LIMIT:
        raise TacitError(f"{count:,} images of {size} x {size} pixels are too many to hold")
    out = np.empty((count, 3, size, size), np.uint8)
    for i, (name, stream) in enumerate(images):
        with (
            reading(name, "a JPEG image"),
            image_module.open(stream, formats=("JPEG",)) as image,
        ):
            # Before anything is decoded: a header may name any size.
            if image.size != (size, size):
                raise TacitError(f"{name} is of {image.size} pixels instead of {(size, size)}")
            out[i] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    return out
