"""Models that public packages hold as ONNX files."""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from . import inputs
from .entry import Entry

OLD, NEW = "rapidocr-onnxruntime==1.4.4", "rapidocr==3.10.0"
MAGIKA, SILERO = "magika==1.0.3", "silero-vad==6.2.3"
EEG = "brainmaze-eeg-models==0.1.0"


def member(package, name):
    """Writes a file of a package, which pip downloads, to a path."""

    def build(path):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*pip, folder, package], check=True)
            [file] = Path(folder).iterdir()
            if file.suffix == ".whl":
                with zipfile.ZipFile(file) as archive:
                    path.write_bytes(archive.read(name))
            else:
                with tarfile.open(file) as archive:
                    path.write_bytes(archive.extractfile(name).read())

    return build


def _spindles(rng, n):
    raw = inputs.signals(rng, n, 7500)
    return {"raw_signal": raw[:, None], "spectrogram": inputs.spectra(raw, 15)}


def _seizures(rng, n):
    return inputs.spectra(inputs.signals(rng, n, 96), 100)


def _speech(whole, rng, n):
    """Pieces of speech, and a state as one before them may have left it."""
    voices = inputs.voices(rng, n, 576)
    state = rng.uniform(-0.5, 0.5, (n, 2, 1, 128)).astype("f4")
    if whole:
        return {"input": voices[:, None], "state": state}
    return {"input": voices, "state": np.moveaxis(state[:, :, 0], 0, 1)}


def packaged():
    """The models of packages that read lines of text, pages, EEG, files and speech."""
    line = partial(inputs.lines, height=48, width=192)
    page = partial(inputs.pages, height=64, width=96)
    free = {"dims": {"x.2": 48, "x.3": 192}}
    v4, v6 = "p2o.DynamicDimension", "DynamicDimension"
    old, new = (partial(_ocr, at) for at in ((OLD, "rapidocr_onnxruntime"), (NEW, "rapidocr")))

    def at(axis):
        return {f"{axis}.1": 64, f"{axis}.2": 96}

    wide, time = {"x.2": 48, f"{v4}.1": 192}, {"dims": {"time": 96}}
    return [
        old("PP-OCR cls", "ch_ppocr_mobile_v2.0_cls_infer", line, free),
        old("PP-OCRv4 rec", "ch_PP-OCRv4_rec_infer", line, {"dims": wide}),
        old("PP-OCRv4 det", "ch_PP-OCRv4_det_infer", page, {"dims": at(v4)}),
        new("PP-OCR cls, new", "ch_ppocr_mobile_v2.0_cls_mobile", line, free),
        new("PP-OCRv6 rec", "PP-OCRv6_rec_small", line, {"dims": {f"{v6}.1": 192}}),
        new("PP-OCRv6 det", "PP-OCRv6_det_small", page, {"dims": at(v6)}),
        _eeg("spindles, EEG", "spindles/_models/spindle-detector-eeg", _spindles, {}),
        _eeg("spindles, iEEG", "spindles/_models/spindle-detector-ieeg", _spindles, {}),
        _eeg("seizures A", "seizure/_models/modelA_paper", _seizures, time),
        _eeg("seizures B", "seizure/_models/modelB_full", _seizures, time),
        Entry(
            "magika", member(MAGIKA, "magika/models/standard_v3_3/model.onnx"),
            partial(inputs.files, length=2048, padding=256),
        ),
        Entry(
            "silero", member(SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx"),
            partial(_speech, True), whole=True,
        ),
        Entry(
            "silero, opset 18", member(SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx"),
            partial(_speech, False), {"fix": {"sr": 16000}, "dims": {"sequence": 576}},
            axes={"state": 1},
        ),
    ]  # fmt: skip


def _ocr(source, name, file, make, options):
    """A reader of a package, whose models lie in a folder of it."""
    package, folder = source
    return Entry(name, member(package, f"{folder}/models/{file}.onnx"), make, options)


def _eeg(name, file, make, options):
    return Entry(name, member(EEG, f"brainmaze_eeg_models/{file}.onnx"), make, options)
