import importlib.util
import json

import numpy as np
import pytest
from onnx import helper

import tacit
from tacit import TacitError
from tacit.cli import main, numbers
from tacit.measure.truncation import check_plot

ORDERS = ("multiply-then-truncate", "truncate-then-multiply")


@pytest.fixture(scope="module")
def analysis(digits_model, digits):
    x, y = digits
    return tacit.analyze_truncation(digits_model, x, y, items=60, fraction_bits=(12, 28, 8))


@pytest.fixture
def files(tmp_path, digits):
    x, y = digits
    np.save(tmp_path / "x.npy", x[:12])
    np.save(tmp_path / "y.npy", y[:12])
    return tmp_path


def arguments(digits_path, files, *more):
    given = ["--input", files / "x.npy", "--labels", files / "y.npy", *more]
    return ["analyze", "truncation", str(digits_path), *map(str, given)]


def row(analysis, bits, order, masks):
    (found,) = (
        r
        for r in analysis.rows
        if (r["fraction_bits"], r["order"], r["masks"]) == (bits, order, masks)
    )
    return found


def test_random_masks_break_what_a_fixed_one_hides(analysis):
    data = analysis.to_dict()
    assert (data["ring"], data["items"], len(data["rows"])) == (64, 60, 3 * 2 * 2)
    good = data["float_accuracy"] - 0.05
    broken = row(analysis, 28, ORDERS[0], "random")
    assert broken["accuracy"] < good
    assert broken["e1_probability"] > 1e-3
    assert broken["e1_per_item"] > 0.3
    assert row(analysis, 28, ORDERS[1], "random")["accuracy"] >= good
    for order in ORDERS:
        hidden = row(analysis, 28, order, "fixed (insecure)")
        assert hidden["accuracy"] >= good
        assert hidden["e1_per_item"] == 0
        assert row(analysis, 12, order, "random")["e1_per_item"] < 0.1
    assert row(analysis, 12, ORDERS[0], "random")["agreement"] > 0.9


def test_the_error_is_predicted(digits_path, digits):
    """A fraction bit more makes a product 4 times as large, and so its error as likely."""
    x, y = digits
    made = tacit.analyze_truncation(digits_path, x[:50], y[:50], fraction_bits=[20, 22])
    few, more = (row(made, f, ORDERS[0], "random") for f in (20, 22))
    assert few["layer"] in [layer["name"] for layer in tacit.compile(digits_path).plan["layers"]]
    for name in ("e1_probability", "e1_per_item_predicted"):
        assert more[name] == pytest.approx(16 * few[name])
    # The float32 model's largest logit, of 2 * 20 fraction bits.
    largest = np.abs(tacit.compile(digits_path).reference(x[:50])).max()
    assert few["e1_probability"] >= largest * 2.0 ** (40 - 64)


def test_the_error_comes_as_often_as_predicted(save_onnx):
    """One product, so that no wrong value is truncated again."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
    path = save_onnx(nodes, [4], [4], {"w": np.eye(4, dtype=np.float32)})
    x = np.random.default_rng(1).uniform(-60, 60, (20_000, 4)).astype(np.float32)
    made = tacit.analyze_truncation(path, x, x.argmax(1), ring=32, fraction_bits=[11])
    found = row(made, 11, ORDERS[0], "random")
    assert found["layer"] == "product"
    # 2^-(32 - lx - 1) for 60 at 22 fraction bits, which has 28 bits.
    assert found["e1_probability"] == 1 / 8
    expected = float(np.abs(x).sum(1).mean()) * 2.0 ** (22 - 32)
    assert found["e1_per_item_predicted"] == pytest.approx(expected, rel=1e-4)
    assert found["e1_per_item"] == pytest.approx(expected, abs=6 * (expected / len(x)) ** 0.5)
    assert row(made, 11, ORDERS[0], "fixed (insecure)")["e1_per_item"] == 0


def test_it_is_a_table(analysis):
    shown = str(analysis)
    assert "mult-then-trc (f)" in shown
    assert "trc-then-mult (r)" in shown
    assert "insecure" in shown
    assert f"{100 * analysis.data['float_accuracy']:.2f}" in shown
    assert max(map(len, shown.splitlines()[:-1])) <= 100
    frame = analysis.to_dataframe()
    assert list(frame["fraction_bits"]) == [8] * 4 + [12] * 4 + [28] * 4
    assert "12 rows" in repr(analysis)


def test_what_leaves_the_ring_is_refused_by_name(digits_model, digits):
    x, y = digits
    made = tacit.analyze_truncation(digits_model, x[:10], y[:10], ring=32, fraction_bits=[8, 16])
    refused = row(made, 16, ORDERS[0], "random")
    assert refused["accuracy"] is None
    assert "layer '" in refused["refused"]
    assert row(made, 16, ORDERS[1], "random")["refused"] is None
    assert "refused from f = 16 on, multiply-then-truncate: layer '" in str(made)


def test_the_command(digits_path, files, capsys):
    saved = ["--json", files / "a.json", "--plot", files / "a.svg"]
    assert main(arguments(digits_path, files, "--fraction-bits", "10..14:2", *saved)) == 0
    shown = capsys.readouterr()
    assert "trc-then-mult" in shown.out
    assert shown.err == ""
    rows = json.loads((files / "a.json").read_text())["rows"]
    assert [r["fraction_bits"] for r in rows] == [10] * 4 + [12] * 4 + [14] * 4
    picture = (files / "a.svg").read_text()
    assert picture.startswith("<?xml")
    for ring in (32, 64):
        few = ["--items", 2, "--ring", ring]
        assert main(arguments(digits_path, files, *few)) == 0


def test_plots(analysis, tmp_path, monkeypatch):
    analysis.save_plot(tmp_path / "a.png", "digits")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    for name in ("a.svg", "b.svg"):
        analysis.save_plot(tmp_path / name)
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(TacitError, match=r"\.svg or \.png"):
        check_plot("plot.pdf")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TacitError, match=r"pip install 'tacit\[plot\]'"):
        analysis.save_plot(tmp_path / "b.svg")


def test_numbers():
    assert numbers("4..8:2,13") == [4, 6, 8, 13]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (["--fraction-bits", "30..4"], "empty range"),
        (["--fraction-bits", "x..y"], "4..30"),
        (["--fraction-bits", ""], "4..30"),
        (["--fraction-bits", "4..8:0"], "empty range"),
        (["--fraction-bits", "99999"], "4..30"),
        (["--items", "0"], "at least 1"),
        (["--ring", "31"], "invalid choice"),
    ],
)
def test_arguments_that_make_no_sense(wrong, why, digits_path, files, capsys):
    with pytest.raises(SystemExit):
        main(arguments(digits_path, files, *wrong))
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (["--fraction-bits", "61"], "2..=60"),
        (["--ring", "32", "--fraction-bits", "4..29"], "2..=28"),
        (["--plot", "picture.jpg"], ".svg or .png"),
        (["--input", "missing.npy"], "no such file"),
    ],
)
def test_options_that_do_not_fit(wrong, why, digits_path, files, capsys):
    assert main(arguments(digits_path, files, *wrong)) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (np.zeros((2, 3)), np.zeros(2, int), "the model takes"),
        (np.float32(1), np.zeros(1, int), "the model takes"),
        (np.full((2, 1, 8, 8), np.nan), np.zeros(2, int), "item 0, position .0, 0, 0., is nan"),
        (np.zeros((2, 1, 8, 8)), np.zeros(3, int), "2 integers"),
        (np.zeros((2, 1, 8, 8)), np.zeros(2), "2 integers"),
        (np.zeros((0, 1, 8, 8)), np.zeros(0, int), "n >= 1"),
    ],
)
def test_hostile_arrays(x, y, why, digits_model):
    with pytest.raises(TacitError, match=why):
        tacit.analyze_truncation(digits_model, x, y, fraction_bits=[8])


def test_hostile_files(digits_path, files, capsys):
    (files / "x.npy").write_bytes(b"\x93NUMPY rubbish")
    assert main(arguments(digits_path, files)) == 2
    assert "numpy.save" in capsys.readouterr().err


def test_no_bits_and_negative_ones(digits_model, digits):
    x, y = digits
    for bits, why in (([], "none are given"), ([-1], "negative"), ([1], "2..=60")):
        with pytest.raises(TacitError, match=why):
            tacit.analyze_truncation(digits_model, x[:2], y[:2], fraction_bits=bits)
    with pytest.raises(TacitError, match="rings have 32 or 64"):
        tacit.analyze_truncation(digits_model, x[:2], y[:2], ring=61)


def test_a_model_without_truncation(save_onnx):
    path = save_onnx([helper.make_node("Relu", ["x"], ["y"], "relu")], [3], [3])
    x = np.eye(3, dtype=np.float32)
    made = tacit.analyze_truncation(path, x, np.arange(3), fraction_bits=[4])
    assert {r["accuracy"] for r in made.rows} == {1.0}
    assert {r["layer"] for r in made.rows} == {None}
    assert "none" in str(made)


def test_progress_is_told_and_cancels(digits_model, digits):
    x, y = digits
    seen = []

    def progress(phase, layer, done, total):
        seen.append((phase, layer, done / total))

    tacit.analyze_truncation(digits_model, x[:3], y[:3], fraction_bits=[8, 9], progress=progress)
    shares = [share for _, _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9
    assert any("f = 9, truncate-then-multiply, random" in layer for _, layer, _ in seen)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tacit.analyze_truncation(digits_model, x[:3], y[:3], fraction_bits=[8], progress=stop)
