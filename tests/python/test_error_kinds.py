"""Errors have kinds and fields, and no value of anybody's data in them."""

import importlib
import pickle
import sys

import numpy as np
import pytest

import tacit
from tacit import datasets
from tacit.cli import main

CLEAR = tacit.local(protocol="clear")


def raised(kind, act):
    with pytest.raises(kind) as caught:
        act()
    assert isinstance(caught.value, tacit.TacitError)
    assert type(caught.value) is kind
    return caught.value


def test_an_input_has_its_place(digits_model, digits):
    x = digits[0][:5].astype(np.float64)
    x[3, 0, 2, 5] = np.nan
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, x))
    assert (error.item, error.position, error.column) == (3, (0, 2, 5), None)
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, {"image": x}))
    assert (error.input, error.item) == ("image", 3)
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, {"picture": x}))
    assert error.input == "picture"
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, x[:2], [0.5, 1]))
    assert error.input == "labels"
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, iter([x[:1], (1, 2, 3)])))
    assert error.item == 1
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is tacit.InputError and again.item == 1 and str(again) == str(error)


def test_what_the_core_refuses_of_an_input_has_its_place_and_code(digits_model, digits):
    x, y = digits[0][:4].copy(), [0, 1, 99, 3]
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, x, y))
    assert (error.code, error.input, error.item) == ("labels", "labels", 2)
    x[2, 0, 1, 5] = 1e9
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, x))
    assert (error.code, error.item, error.position) == ("input-value", 2, (0, 1, 5))
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.position) == (error.code, error.position)


def test_errors_have_the_code_of_what_is_wrong(digits_model, tmp_path, capsys):
    """The core's where it refuses a model, and that of their class where there is none."""
    path = tmp_path / "m.onnx"
    for words, code in ((None, "model-unreadable"), (b"no model", "not-onnx")):
        if words:
            path.write_bytes(words)
        assert raised(tacit.CompileError, lambda: tacit.compile(path)).code == code
        assert main(["plan", str(path)]) == 2
        assert capsys.readouterr().err.endswith(f" [{code}]\n")
    assert raised(tacit.CompileError, lambda: tacit.compile(3)).code == "compile-error"
    nan = np.full((1, 8, 8), np.nan, np.float32)
    error = raised(tacit.InputError, lambda: CLEAR.predict(digits_model, nan))
    assert error.code == "input-error"


def test_a_column_has_its_name(save_onnx):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from onnx import helper

    path = save_onnx([helper.make_node("Relu", ["x"], ["y"], "relu")], [2], [2])
    model = tacit.compile(path)
    for bad, item in ((["p", "q"], None), ([1.0, np.inf], 1)):
        frame = pandas.DataFrame({"a": [1, 2], "b": bad})
        error = raised(tacit.InputError, lambda frame=frame: model.reference(frame))
        assert (error.column, error.item) == ("b", item)


def test_a_model_has_its_path(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"no model")
    error = raised(tacit.CompileError, lambda: tacit.compile(path))
    assert error.model == str(path)
    assert raised(tacit.CompileError, lambda: tacit.compile(3)).model is None


def test_a_file_has_its_source(tmp_path):
    source = f"csv:{tmp_path}/none.csv:label=a"
    error = raised(tacit.FileError, lambda: datasets.load(source, "train"))
    assert error.source == source
    from tacit.data import load_numbers

    error = raised(tacit.FileError, lambda: load_numbers(str(tmp_path / "none.npy"), ()))
    assert error.source == str(tmp_path / "none.npy")


def test_a_package_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    load = f"parquet:{tmp_path}/t.parquet:label=a"
    error = raised(tacit.MissingPackageError, lambda: datasets.load(load, "train"))
    assert error.extra == "parquet" and isinstance(error, ImportError)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tacit.torch", raising=False)
    with pytest.raises(ImportError) as missing:
        importlib.import_module("tacit.torch")
    assert missing.value.extra == "torch"


def test_the_command_shows_their_words_alone(tmp_path, capsys):
    assert main(["run", str(tmp_path / "no.onnx"), "--input", str(tmp_path / "no.npy")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and "Error" not in said
