"""CIFAR-10 and Tiny ImageNet in every version, and what is wrong with wrong ones."""

import gzip
import sys

import numpy as np
import pytest
from sets import LABELS, PIXELS, idx, jpeg, refuses

from tacit.datasets import load

WNIDS = ["n01443537", "n02123394"]


def records(part):
    return b"".join(bytes([LABELS[i]]) + PIXELS[i].tobytes() for i in part)


def test_cifar10_binary(tmp_path):
    for i in range(1, 5):
        (tmp_path / f"data_batch_{i}.bin").write_bytes(records([i]))
    refuses(f"cifar10:{tmp_path}", r"data_batch_5\.bin is missing")
    (tmp_path / "data_batch_5.bin").write_bytes(records([5, 0]))
    (tmp_path / "train50k-jpeg.npz").write_bytes(b"not read: the binary version is there")
    train = load(f"cifar10:{tmp_path}", "train")
    order = [1, 2, 3, 4, 5, 0]
    np.testing.assert_array_equal(train.x, (PIXELS[order] / 255).astype(np.float32))
    np.testing.assert_array_equal(train.y, LABELS[order])
    assert train.names[9] == "truck"
    for wrong in (b"", records([0])[:-1]):
        (tmp_path / "test_batch.bin").write_bytes(wrong)
        refuses(f"cifar10:{tmp_path}", r"test_batch\.bin.*multiple of 3,073.*cut off", "test")
    (tmp_path / "test_batch.bin").write_bytes(b"\x0a" + records([0])[1:])
    refuses(f"cifar10:{tmp_path}", "label 10 of item 0", "test")


def test_cifar10_idx(tmp_path):
    (tmp_path / "test9k-images-idx4-ubyte.gz").write_bytes(gzip.compress(idx(PIXELS)))
    (tmp_path / "test9k-labels-idx1-ubyte").write_bytes(idx(LABELS))
    assert load(f"cifar10:{tmp_path}", "test").x.shape == (6, 3, 32, 32)
    (tmp_path / "test9k-images-idx4-ubyte.gz").write_bytes(idx(PIXELS[..., :28]))
    refuses(f"cifar10:{tmp_path}", r"\(3, 32, 28\) instead of \(3, 32, 32\)", "test")


@pytest.fixture
def pack(tmp_path):
    """Writes a pack of three CIFAR-10 images, some of its arrays replaced."""

    def write(file="train50k-jpeg.npz", size=32, spoil=None, **others):
        colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
        streams = [jpeg(colour, size) for colour in colours]
        if spoil:
            streams[1] = spoil(streams[1])
        arrays = {
            "jpeg": np.frombuffer(b"".join(streams), np.uint8),
            "offset": np.cumsum([0, *map(len, streams)]).astype(np.int32),
            "label": np.array([0, 1, 2], np.uint8),
            **others,
        }
        np.savez(tmp_path / file, **arrays)
        return tmp_path

    return write


def test_jpeg_pack(pack):
    train = load(f"cifar10:{pack()}", "train")
    np.testing.assert_allclose(train.x.mean((2, 3)), np.eye(3), atol=0.02)
    np.testing.assert_array_equal(train.y, [0, 1, 2])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda b: b[: len(b) // 2], r"npz, image 1, cannot be read as a JPEG image"),
        (lambda b: b"\x89PNG" + b[4:], "image 1, cannot be read as a JPEG"),
        (lambda b: jpeg((9, 9, 9), 64), r"image 1, is of \(64, 64\) pixels instead of \(32, 32\)"),
    ],
)
def test_jpegs_that_do_not_decode(spoil, words, pack):
    refuses(f"cifar10:{pack(spoil=spoil)}", words)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"offset": np.array([0, 400, 300, 500])}, "do not go up"),
        ({"offset": np.array([0])}, "do not go up"),
        ({"offset": np.array([0, 1, 2, 1 << 40])}, "image 2 ends at byte 1,099,511,627,776"),
        ({"offset": np.array([0.0, 1.0])}, "offset is float64"),
        ({"jpeg": np.zeros((2, 2), np.uint8)}, "jpeg is uint8 .2, 2., not bytes"),
        ({"label": np.array([0, 1])}, "for 3 items"),
        ({"label": np.array([0, 1, 10])}, "label 10 of item 2"),
        ({"label": np.array([{}], object)}, "not an .npy or .npz file of numbers"),
    ],
)
def test_wrong_jpeg_packs(others, words, pack):
    refuses(f"cifar10:{pack(**others)}", words)


def test_jpegs_need_pillow(pack, monkeypatch):
    folder = pack()
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    refuses(f"cifar10:{folder}", r"pip install tacit\[images\]")


def test_tiny_imagenet_pack(pack, tmp_path):
    pack("train5k-jpeg.npz", 64, name=np.array(["goldfish", "cat", "dog"]))
    (tmp_path / "val500-images-idx4-ubyte.gz").write_bytes(idx(np.zeros((2, 3, 64, 64), np.uint8)))
    (tmp_path / "val500-labels-idx1-ubyte.gz").write_bytes(idx(LABELS[4:]))
    train = load(f"tiny-imagenet:{tmp_path}", "train")
    assert (train.x.shape, train.names[0]) == ((3, 3, 64, 64), "goldfish")
    refuses(f"tiny-imagenet:{tmp_path}", "label 3 of item 0 is not in 0 to 2", "test")


@pytest.fixture
def tiny(tmp_path):
    """The folder of two classes, three images each to train on and one to test."""
    (tmp_path / "wnids.txt").write_text("\n".join(WNIDS))
    (tmp_path / "words.txt").write_text(f"{WNIDS[0]}\tgoldfish\nn9\tother")
    for label, wnid in enumerate(WNIDS):
        folder = tmp_path / "train" / wnid / "images"
        folder.mkdir(parents=True)
        for i in range(3):
            (folder / f"{wnid}_{i}.JPEG").write_bytes(jpeg(100 * label, 64, "L"))
    (tmp_path / "val" / "images").mkdir(parents=True)
    (tmp_path / "val" / "images" / "val_0.JPEG").write_bytes(jpeg((255, 0, 0), 64))
    (tmp_path / "val" / "val_annotations.txt").write_text(f"val_0.JPEG\t{WNIDS[1]}\t0\t0\t9\t9\n")
    return tmp_path


def test_tiny_imagenet_folder(tiny):
    train, test = load(f"tiny-imagenet:{tiny}", "train"), load(f"tiny-imagenet:{tiny}", "test")
    assert (train.x.shape, train.classes) == ((6, 3, 64, 64), 2)
    assert train.names == ["goldfish", WNIDS[1]]
    assert sorted(train.y) == [0, 0, 0, 1, 1, 1] != train.y.tolist()
    np.testing.assert_allclose(train.x.mean((1, 2, 3)), train.y * 100 / 255, atol=0.01)
    assert test.y.tolist() == [1]
    np.testing.assert_allclose(test.x[0].mean((1, 2)), [1, 0, 0], atol=0.02)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("wnids.txt", "../../etc", r"wnids.txt lists '../../etc', which is not the name"),
        ("wnids.txt", "..", "is not the name"),
        ("wnids.txt", "n1\nn1", "each once"),
        ("wnids.txt", "n1", r"n1/images has no \.JPEG files"),
        ("wnids.txt", b"\xff\xfe\xff", "cannot be read as text"),
        ("val/val_annotations.txt", f"../../x.JPEG\t{WNIDS[0]}\n", "is not the name of a file"),
        ("val/val_annotations.txt", f"{'v' * 5000}\t{WNIDS[0]}\n", "is not the name of a file"),
        ("val/val_annotations.txt", f"val_1.JPEG\t{WNIDS[0]}\n", r"val_1\.JPEG is missing"),
        ("val/val_annotations.txt", "val_0.JPEG\tn5\n", "line 1: 'n5' is no class"),
        ("val/val_annotations.txt", "", "lists no images"),
        ("val/images/val_0.JPEG", "torn", r"val_0\.JPEG cannot be read as a JPEG"),
    ],
)
def test_wrong_tiny_imagenet_folders(file, text, words, tiny):
    (tiny / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    refuses(f"tiny-imagenet:{tiny}", words, "test" if file.startswith("val") else "train")


def test_real_cifar10(real_set):
    test = real_set("cifar10:cifar10", "test")
    assert test.x.shape[1:] == (3, 32, 32)
    assert np.bincount(test.y).min() > len(test) / 11


def test_real_tiny_imagenet(real_set):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    train, test = (real_set("tiny-imagenet:tiny-imagenet-10", what) for what in ("train", "test"))
    assert (train.x.shape, test.x.shape) == ((5000, 3, 64, 64), (500, 3, 64, 64))
    assert train.names[6] == "banana"
    np.testing.assert_allclose(train.x.mean((0, 2, 3)), test.x.mean((0, 2, 3)), atol=0.03)
