import io
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from tacit import TacitError
from tacit.data import load_array

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(load_array(str(tmp_path / "x.npy"), ("x",)), X)


def test_npz_with_one_array(tmp_path):
    np.savez(tmp_path / "x.npz", whatever=X)
    np.testing.assert_array_equal(load_array(str(tmp_path / "x.npz"), ("x",)), X)


def test_npz_with_several(tmp_path):
    np.savez(tmp_path / "x.npz", a=X, b=X + 1)
    with pytest.raises(TacitError, match=r"a, b"):
        load_array(str(tmp_path / "x.npz"), ("x",))
    np.testing.assert_array_equal(load_array(str(tmp_path / "x.npz:b"), ("x",)), X + 1)


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(TacitError, match="numbers"):
        load_array(str(tmp_path / "x.npy"), ("x",))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04 torn", b"text"])
def test_torn_files_are_refused(content, tmp_path):
    for name in ("x.npy", "x.npz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TacitError, match=r"x\.np"):
            load_array(str(tmp_path / name), ("x",))


def test_headers_that_promise_more_than_there_is(tmp_path):
    held = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
    npy.write_array_header_1_0(held, header)
    (tmp_path / "x.npy").write_bytes(held.getvalue() + bytes(100))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", held.getvalue() + bytes(100))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(TacitError, match=r"header promises 4,398,046"):
            load_array(str(tmp_path / name), ("x",))


def test_zip_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.data.LIMIT", 1 << 20)
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(1 << 20))
    with pytest.raises(TacitError, match=r"unpacks to 8,388,736 bytes"):
        load_array(str(tmp_path / "x.npz"), ("x",))
    np.savez(tmp_path / "x.npz", x=np.zeros(1 << 20))
    assert load_array(str(tmp_path / "x.npz"), ("x",)).shape == (1 << 20,)
