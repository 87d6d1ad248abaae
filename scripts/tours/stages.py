"""What the reader of a page has before it: the files that its commands name."""

import gzip
import io
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """\
[model]
input = [1, 8, 8]
layers = [{ type = "linear", outputs = 16 }, { type = "relu" }, { type = "linear", outputs = 10 }]

[[data]]
owner = 1
train = "npz:digits.npz"
test = "npz:digits.npz"

[training]
epochs = 1
batch = 32

[output]
model = "trained.onnx"
"""


def digits(folder):
    """Images and labels, as the README's first command makes them."""
    line = [sys.executable, "examples/digits/data.py", "images.npy", "labels.npy"]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)
    return np.load(folder / "images.npy"), np.load(folder / "labels.npy")


def nothing(folder):
    """An empty directory with the repository's examples."""


def a_model(folder):
    """A model, inputs, labels and typical inputs."""
    x, y = digits(folder)
    (folder / "model.onnx").write_bytes((folder / "examples/digits/digits.onnx").read_bytes())
    # Key bits are found on many samples; those of a shift by a pixel are other images.
    shifted = [np.roll(x[:300], step, axis) for axis in (2, 3) for step in (-1, 1)]
    np.save(folder / "typical.npy", np.concatenate([x[:300], *shifted]))
    np.save(folder / "x.npy", x[300:])
    np.save(folder / "y.npy", y[300:])


def three_parties(folder):
    """The folders of three parties, and files for more predictions."""
    x, _ = digits(folder)
    line = [sys.executable, "-m", "tacit", "init", "parties", "--input", "images.npy"]
    line += ["--model", "examples/digits/digits.onnx"]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)
    day = folder / "parties" / "party1" / "day"
    day.mkdir()
    for number in range(2):
        np.save(day / f"{number}.npy", x[10 * number : 10 * number + 10])


def a_training(folder):
    """Data to train on, and a config of a small network."""
    x, y = digits(folder)
    np.savez(
        folder / "digits.npz", x_train=x[:256], y_train=y[:256], x_test=x[256:], y_test=y[256:]
    )
    (folder / "CONFIG.toml").write_text(CONFIG)


def idx(array):
    """An array of bytes in the format of MNIST."""
    return b"\0\0\x08" + struct.pack(f">B{array.ndim}I", array.ndim, *array.shape) + array.tobytes()


def data_sets(folder):
    """Small files of every format, under the names that the page has."""
    drawn = np.random.default_rng(0)
    for part, count in (("train", 1200), ("t10k", 40)):
        images = drawn.integers(0, 256, (count, 28, 28), np.uint8)
        place = folder / "mnist"
        place.mkdir(exist_ok=True)
        (place / f"{part}-images-idx3-ubyte").write_bytes(idx(images))
        labels = np.arange(count, dtype=np.uint8) % 10
        (place / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    (folder / "set").mkdir()
    images = drawn.integers(0, 256, (20, 16, 16), np.uint8)
    (folder / "set" / "images.gz").write_bytes(gzip.compress(idx(images)))
    (folder / "set" / "labels.gz").write_bytes(gzip.compress(idx(np.arange(20, dtype=np.uint8))))
    cifar = folder / "cifar-10-batches-bin"
    cifar.mkdir()
    for name in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        rows = drawn.integers(0, 256, (10, 3073), np.uint8)
        rows[:, 0] = np.arange(10)
        (cifar / f"{name}.bin").write_bytes(rows.tobytes())
    tiny_imagenet(folder / "tiny-imagenet-200")
    tables(folder)
    x, y = drawn.random((30, 4), np.float32), np.arange(30) % 3
    train = {"x_train": x, "y_train": y, "signals": x, "levels": x[:, 0]}
    np.savez(folder / "set.npz", **train, x_test=x[:9], y_test=y[:9])


def tiny_imagenet(folder):
    """Two classes with one image each, where Pillow is installed."""
    try:
        from PIL import Image
    except ImportError:
        return
    held = io.BytesIO()
    Image.new("RGB", (64, 64), (255, 0, 0)).save(held, "JPEG")
    names = ["n01443537", "n01629819"]
    (folder / "val" / "images").mkdir(parents=True)
    (folder / "wnids.txt").write_text("\n".join(names))
    (folder / "words.txt").write_text("\n".join(f"{name}\tword" for name in names))
    for name in names:
        images = folder / "train" / name / "images"
        images.mkdir(parents=True)
        (images / f"{name}_0.JPEG").write_bytes(held.getvalue())
    (folder / "val" / "images" / "val_0.JPEG").write_bytes(held.getvalue())
    (folder / "val" / "val_annotations.txt").write_text(f"val_0.JPEG\t{names[1]}\t0\t0\t9\t9\n")


def tables(folder):
    """Tables with a column of text and a label at the end."""
    rows = [f"{20 + n},{'abc'[n % 3]},{n % 2}" for n in range(24)]
    text = "\n".join(["age,job,label", *rows]) + "\n"
    (folder / "adult").mkdir()
    (folder / "adult" / "adult-train.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "my-test.csv").write_text(text)
    try:
        from pyarrow import parquet, table
    except ImportError:
        return
    numbers = [float(n) for n in range(24)]
    parquet.write_table(
        table({"id": numbers, "rooms": numbers, "price": numbers}), folder / "houses.parquet"
    )
