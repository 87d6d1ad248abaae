"""Data sets from IDX files and arrays, and what is wrong with wrong ones."""

import gzip
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from sets import LABELS, PIXELS, idx, refuses

from tacit import TacitError
from tacit.datasets import KINDS, Dataset, load
from tacit.datasets.images import moments
from tacit.datasets.source import Source

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "data.md"


@pytest.fixture
def mnist(tmp_path):
    """A folder of six digits to train on, gzipped, and four to test."""
    digits = PIXELS[:, 0, :28, :28]
    for name, data in (
        ("train-images-idx3-ubyte.gz", gzip.compress(idx(digits))),
        ("train-labels-idx1-ubyte.gz", gzip.compress(idx(LABELS))),
        ("t10k-images-idx3-ubyte", idx(digits[:4])),
        ("t10k-labels-idx1-ubyte", idx(LABELS[:4])),
    ):
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.fixture
def pair(tmp_path):
    """Two files to be spoilt, and the source that names them."""
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_bytes(idx(PIXELS))
    labels.write_bytes(idx(LABELS))
    return images, labels, f"idx:{images},{labels}"


def test_mnist(mnist):
    train, test = load(f"mnist:{mnist}", "train"), load(f"mnist:{mnist}", "test")
    np.testing.assert_array_equal(train.x, (PIXELS[:, :1, :28, :28] / 255).astype(np.float32))
    np.testing.assert_array_equal(train.y, LABELS)
    assert (train.x.dtype, train.y.dtype, train.classes) == (np.float32, np.int64, 10)
    assert train.names == list("0123456789")
    assert test.x.shape == (4, 1, 28, 28)


def test_relative_paths_lie_in_the_data_folder_too(mnist, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(mnist.parent))
    assert len(load(f"mnist:{mnist.name}", "train")) == 6
    names = (f"{mnist.name}/t10k-{part}-ubyte" for part in ("images-idx3", "labels-idx1"))
    assert len(load("idx:" + ",".join(names), "test")) == 4
    refuses("mnist:nowhere", f"nowhere nor {mnist.parent}/nowhere")


def test_normalising(mnist):
    mean, std = moments(PIXELS[:, :1, :28, :28])[:, 0]
    x = PIXELS[:, 0, :28, :28] / 255
    assert (mean, std) == (pytest.approx(x.mean()), pytest.approx(x.std()))
    train = load(f"mnist:{mnist}:normalise=yes", "train")
    test = load(f"mnist:{mnist}:normalise=yes", "test")
    given = load(f"mnist:{mnist}:normalise={mean}/{std}", "test")
    np.testing.assert_allclose(train.x[:, 0], (x - mean) / std, atol=1e-5)
    np.testing.assert_array_equal(test.x, train.x[:4])
    np.testing.assert_array_equal(given.x, test.x)
    for wrong in ("no", "1", "0.5/0", "nan/1", "0.5+0.5/1+1"):
        refuses(f"mnist:{mnist}:normalise={wrong}", "normalise=0.5/0.5")


def test_normalising_channels_apart(pair):
    x = load(f"{pair[2]}:normalise=yes", "train").x
    np.testing.assert_allclose(x.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(x.std((0, 2, 3)), 1, atol=1e-5)
    refuses(f"{pair[2]}:normalise=yes", "give them", "test")


def test_targets_heads_and_parts(mnist):
    train = load(f"mnist:{mnist}", "train")
    np.testing.assert_array_equal(train.targets(), np.eye(10, dtype=np.float32)[LABELS])
    np.testing.assert_array_equal(train.head(2).y, LABELS[:2])
    first, second = train.split(2)
    np.testing.assert_array_equal(first.y, LABELS[::2])
    np.testing.assert_array_equal(second.x, train.x[1::2])
    assert second.names == train.names
    values = Dataset(np.zeros((2, 1), np.float32), np.array([0.5, 2], np.float32)).targets()
    np.testing.assert_array_equal(values, [[0.5], [2]])
    for wrong in (lambda: train.head(0), lambda: train.split(0), lambda: train.split(7)):
        with pytest.raises(TacitError, match=r"owners|at least 1"):
            wrong()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda b: b"", "begins with nothing"),
        (lambda b: b"<!DOCTYPE html>", "begins with 3c 21 44 4f.*page"),
        (lambda b: b"\0\0\x0d" + b[3:], "begins with 00 00 0d"),
        (lambda b: b[:3] + b"\x02" + b[4:], "has 2 axes instead of 3 or 4"),
        (lambda b: b[:9], "cut off in its header"),
        (lambda b: b[:-1], "promises 18,432 bytes.*there are 18,431; fetch"),
        (lambda b: b + b"\0", "goes on after the 18,432 bytes"),
        (lambda b: b[:4] + bytes(16), "promises 0 bytes"),
        (lambda b: b[:4] + b"\xff" * 16, "cannot hold more than"),
        (lambda b: b[:4] + b"\0\0\0\7" + b[8:], "cut off.*21,504.*18,432|cannot hold"),
    ],
)
def test_wrong_idx_files(spoil, words, pair):
    whole = pair[0].read_bytes()
    for pack in (bytes, gzip.compress):
        pair[0].write_bytes(pack(spoil(whole)))
        message = refuses(pair[2], words)
        assert message.startswith(str(pair[0]))


def test_torn_gzip(pair):
    packed = gzip.compress(pair[0].read_bytes())
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0xFF
    for wrong in (packed[:5], packed[:-9], flipped):
        pair[0].write_bytes(wrong)
        refuses(pair[2], "images (cannot be read as an IDX file|is cut off).*fetch")


def test_gzip_bombs(pair):
    """A file that unpacks to more than its header says is not unpacked; nor is a header that does
    not fit the file believed."""
    bomb = gzip.compress(idx(PIXELS) + bytes(10 << 20))
    pair[0].write_bytes(bomb)
    refuses(pair[2], "goes on after")
    shape = struct.pack(">4I", 1 << 20, 3, 32, 32)
    pair[0].write_bytes(gzip.compress(b"\0\0\x08\x04" + shape + bytes(1000)))
    refuses(pair[2], "promises 3,221,225,472 bytes.*cannot hold more than 67,")


def test_labels_that_do_not_fit(pair, mnist):
    images, labels, source = pair
    labels.write_bytes(idx(LABELS[:5]))
    refuses(source, r"labels holds labels of shape \(5,\) for 6 items")
    labels.write_bytes(idx(LABELS))
    refuses(f"{source}:classes=9", "label 9 of item 2 is not in 0 to 8")
    refuses(f"idx:{labels},{images}", "the wrong way round")
    refuses(f"idx:{images}", "write idx:IMAGES,LABELS")
    assert load(source, "train").classes == 10
    assert load(f"{source}:classes=12", "train").classes == 12
    (mnist / "t10k-labels-idx1-ubyte").write_bytes(idx(LABELS[:4] + 9))
    refuses(f"mnist:{mnist}", "label 12 of item 0 is not in 0 to 9", "test")
    (mnist / "t10k-labels-idx1-ubyte").unlink()
    refuses(f"mnist:{mnist}", "t10k-labels-idx1-ubyte is missing", "test")


def test_folders_without_the_files(tmp_path, mnist):
    refuses(f"mnist:{tmp_path / 'nowhere'}", "no such file or folder.*nowhere")
    refuses(f"mnist:{mnist / 'train-images-idx3-ubyte.gz'}", "is no folder")
    refuses(f"npz:{tmp_path}", "is no file")
    refuses(f"mnist:{'a' * 5000}", "a: ")
    refuses(f"cifar10:{tmp_path}", r"none of data_batch_1.bin.*train5k-images-idx4-ubyte\.gz")
    refuses(f"tiny-imagenet:{tmp_path}", r"none of wnids.txt.*val500", "test")
    (tmp_path / "data_batch_1").write_bytes(b"\x80\x02}")
    refuses(f"cifar10:{tmp_path}", "pickles, which can run code")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("minst:x", "'minst' is no kind of data: mnist, idx"),
        ("mnist", "names no file or folder"),
        ("mnist:", "names no file or folder"),
        ("mnist:x:scale=2", "'scale' is no option of mnist: normalise"),
        ("mnist:x:normalise=", "'normalise' has no value"),
        ("csv:x:label=a,header", "'header' has no value"),
    ],
)
def test_sources_that_cannot_be_read(source, words):
    refuses(source, words)


def test_parts_and_schemas_that_do_not_exist(mnist):
    refuses(f"mnist:{mnist}", "train or test", "val")
    with pytest.raises(TacitError, match="a schema is for tables"):
        load(f"mnist:{mnist}", "test", schema=object())


def test_npz(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, x=np.eye(3), y=[[2.0], [0], [1]], other=[1], x_test=PIXELS, y_test=LABELS)
    train, test = load(f"npz:{file}", "train"), load(f"npz:{file}", "test")
    assert (train.x.dtype, train.y.tolist(), train.classes) == (np.float32, [2, 0, 1], 3)
    np.testing.assert_array_equal(test.x, (PIXELS / 255).astype(np.float32))
    values = load(f"npz:{file}:task=regression,y=y", "train")
    assert (values.y.dtype, values.classes, values.targets().shape) == (np.float32, None, (3, 1))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y": np.array([0, 1])}, r"shape \(2,\) for 3 items"),
        ({"y": np.array([0.5, 1, 2])}, "task=regression"),
        ({"y": np.array([0, -1, 2])}, "label -1 of item 1"),
        ({"y": np.array([0, 1, 1 << 50])}, "is not in 0 to 999"),
        ({"y": np.eye(3)}, r"shape \(3, 3\)"),
        ({"y": np.array(["a", "b", "c"])}, "real numbers"),
        ({"y": np.array([0, {}, 1], object)}, "not an .npy or .npz file of numbers"),
        ({"x": np.array([[1], [np.nan], [1]])}, r"\[1, 0\] is nan"),
        ({"x": np.full((3, 1), 1e300)}, r"\[0, 0\] is 1e\+300, which float32"),
        ({"x": np.zeros((0, 3))}, "real numbers"),
    ],
)
def test_wrong_npz_files(arrays, words, tmp_path):
    np.savez(tmp_path / "set.npz", **{"x": np.eye(3), "y": np.arange(3), **arrays})
    refuses(f"npz:{tmp_path / 'set.npz'}", words)


def test_the_documented_sources_can_be_read():
    kinds = {kind: options for kind, (_, options) in KINDS.items()}
    sources = re.findall(r'load\(\s*"([^"]+)"', DOCUMENT.read_text())
    assert {Source.parse(source, kinds).kind for source in sources} == set(KINDS)


def test_real_mnist(real_set):
    train = real_set("mnist:mnist", "train")
    assert train.x.shape == (60000, 1, 28, 28)
    assert train.x.mean() == pytest.approx(0.1307, abs=1e-4)
    assert train.x.std() == pytest.approx(0.3081, abs=1e-4)
    assert np.bincount(train.y).tolist()[:3] == [5923, 6742, 5958]
