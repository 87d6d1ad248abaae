"""Small files of data sets, and what loading wrong ones must end in."""

import io
import struct

import numpy as np
import pytest

from tacit import TacitError
from tacit.datasets import load

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32), np.uint8)
LABELS = np.array([3, 0, 9, 1, 3, 2], np.uint8)


def idx(array):
    return b"\0\0\x08" + struct.pack(f">B{array.ndim}I", array.ndim, *array.shape) + array.tobytes()


def refuses(source, words, what="train"):
    with pytest.raises(TacitError, match=words) as caught:
        load(str(source), what)
    return str(caught.value)


def jpeg(colour, size, mode="RGB"):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    held = io.BytesIO()
    image.new(mode, (size, size), colour).save(held, "JPEG", quality=95)
    return held.getvalue()
