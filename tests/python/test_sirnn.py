"""Predictions with SiRnn, between two parties."""

import json

import numpy as np
import onnxruntime
import pytest
from nets import Net

import tacit
from tacit.cli import main


@pytest.fixture(scope="module")
def compiled(digits_path, digits_samples):
    """The model for either ring."""
    return {
        ring: tacit.compile(digits_path, samples=digits_samples, ring=ring) for ring in (32, 64)
    }


def test_recordings_longer_than_a_polynomial_go_encrypted(tmp_path):
    """Rows of samples that no block holds, with taps side by side and taps that are far apart."""
    rng = np.random.default_rng(3)
    net = Net([2, 8600], seed=3)
    weights = [rng.normal(0, 0.4, shape).astype(np.float32) for shape in ((3, 2, 5), (2, 3, 3))]
    near = net("Relu", net("Conv", "x", weights[0], pads=[2, 2]))
    path = str(tmp_path / "recording.onnx")
    net.save(path, net("Conv", near, weights[1], dilations=[4200], pads=[9, 0]))
    x = rng.normal(0, 1, (2, 2, 8600)).astype(np.float32)
    right = onnxruntime.InferenceSession(path).run(None, {"x": x})[0]

    model = tacit.compile(path, samples=x, protocol="sirnn")
    run = tacit.local("sirnn", products="rlwe").predict(model, x, check=True)
    assert np.abs(run.output - right).max() <= 0.01 * right.std()
    # By transfers 41 MB.
    assert max(run.report.online["bytes_sent"]) < 5e6


@pytest.mark.parametrize("ring", [32, 64])
def test_results_are_those_of_clear_text_bit_by_bit(compiled, digits, ring):
    x, y = (part[:12] for part in digits)
    run = tacit.local("sirnn").predict(compiled[ring], x, y, check=True, batch=5)
    clear = tacit.local("clear").predict(compiled[ring], x, y)
    assert np.array_equal(run.output, clear.output)
    assert run.report.agreement == 1
    assert (run.report.protocol, run.report.parties, run.report.ot) == ("sirnn", 2, "softspoken")
    assert run.report.security == "semi-honest, 1 of 2 corrupt"


def test_every_tensor_has_a_width_of_its_own(digits_path, digits_samples, digits):
    """The default of SiRnn, and exactly the program that another protocol computes over a ring."""
    x, y = (part[:12] for part in digits)
    model = tacit.compile(digits_path, samples=digits_samples)
    layers = model.plan_for("sirnn")["layers"]
    asked = {
        bits: tacit.compile(digits_path, samples=digits_samples, precision=bits)
        for bits in (16, 18, 20, 22, 24)
    }
    precision, insisted = next(
        (bits, other) for bits, other in asked.items() if other.plan["layers"] == layers
    )
    run = tacit.local("sirnn").predict(model, x, y, check=True, batch=5)
    clear = tacit.local("clear").predict(insisted, x, y)
    assert np.array_equal(run.output, clear.output)
    assert run.report.agreement == 1
    widths = [(layer["bits"], layer["fraction_bits"]) for layer in layers]
    assert all(8 <= bits <= precision + 1 for bits, _ in widths) and len(set(widths)) > 1
    assert "bits" in str(insisted) and "of its own width" in str(insisted)
    for planned in asked.values():
        cost = planned.predict_cost(5, protocol="sirnn")
        report = tacit.local("sirnn").predict(planned, x[:5], batch=5).report
        for phase in ("offline", "online"):
            metered = getattr(report, phase)
            assert metered["rounds"] == cost[phase]["rounds"]
            assert metered["bytes_sent"] == cost[phase]["bytes_sent"]
    public = tacit.compile(digits_path, samples=digits_samples, public_model=True)
    assert np.array_equal(run.output, tacit.local("sirnn").predict(public, x).output)
    apart = tacit.local("sirnn", processes=True).predict(model, x)
    assert np.array_equal(run.output, apart.output)
    falcon = tacit.local("falcon").predict(insisted, x[:2])
    # Falcon rounds at random.
    assert np.abs(falcon.output - run.output[:2]).max() <= insisted.plan["error"]


@pytest.mark.parametrize("op", ["exp", "sigmoid", "tanh", "rsqrt", "reciprocal"])
def test_functions_of_sixteen_bits(op):
    where = {"protocol": "sirnn", "fraction_bits": 12}
    narrow, wide = (
        sum(tacit.bench(op, 200, precision=bits, **where).online["bytes_sent"]) for bits in (16, 24)
    )
    assert narrow < wide
    with pytest.raises(tacit.TacitError, match="at most 32"):
        tacit.bench(op, 10, precision=40, **where)


@pytest.mark.parametrize("ot", ["softspoken", "softspoken2", "softspoken8", "iknp", "silent"])
def test_what_is_counted_is_what_is_metered(compiled, digits, ot):
    model, where = compiled[32], {"protocol": "sirnn", "ot": ot}
    cost = model.predict_cost(2, **where)
    report = tacit.local(**where).predict(model, digits[0][:4], batch=2).report
    for phase in ("offline", "online"):
        metered = getattr(report, phase)
        assert metered["rounds"] == 2 * cost[phase]["rounds"]
        assert metered["bytes_sent"] == [2 * sent for sent in cost[phase]["bytes_sent"]]


def test_processes_and_public_models_give_the_same(compiled, digits, digits_path, digits_samples):
    here, there = (
        tacit.local("sirnn", processes=processes).predict(compiled[32], digits[0][:3]).output
        for processes in (False, True)
    )
    assert np.array_equal(here, there)
    public = tacit.compile(digits_path, samples=digits_samples, ring=32, public_model=True)
    assert np.array_equal(here, tacit.local("sirnn").predict(public, digits[0][:3]).output)


def test_what_sirnn_does_not_have_is_refused(compiled, digits):
    for where, why in [
        ({"protocol": "sirnn", "parties": 3}, "2 parties, not 3"),
        ({"protocol": "sirnn", "sharing": "rss"}, "sharing"),
        ({"protocol": "sirnn", "ot": "dealer"}, "softspoken, softspoken2, softspoken8, iknp"),
        ({"protocol": "falcon", "ot": "silent"}, "ot: falcon has none"),
    ]:
        with pytest.raises(tacit.TacitError, match=why):
            tacit.local(**where).predict(compiled[32], digits[0][:1])


@pytest.mark.parametrize("op", ["relu", "mult", "trunc", "maxpool", "matmul"])
def test_operations_are_exact(op):
    """A wrong result, if only by a unit in the last place, is an error."""
    report = tacit.bench(op, 100, protocol="sirnn", ring=32)
    assert (report.protocol, report.truncation) == ("sirnn", "floor")


def test_the_papers_table(tmp_path, capsys):
    target = tmp_path / "table.json"
    options = ["--ops", "trunc", "exp", "--n", "12000", "--json", str(target)]
    assert main(["tables", "sirnn", *options]) == 0
    assert "softspoken" in capsys.readouterr().out
    rows = {(row["op"], row["transfers"]): row for row in json.loads(target.read_text())}
    exact = {key: (row["paper"], row["formula"]) for key, row in rows.items()}
    # Millionaires' of 12 bits 143, wrap and equality of 20 bits 319, an AND 18.5, conversions 37.5.
    assert exact["trunc", "iknp"] == (None, 518)
    assert exact["exp", "silent"] == (2120, 1945)
    # A transfer of SoftSpoken with k = 4 takes a quarter of IKNP's, a silent one nearly nothing; of
    # few, as trunc needs, silent ones are SoftSpoken's correlated ones, several for one of many.
    assert rows["exp", "softspoken"]["offline"] < 0.26 * rows["exp", "iknp"]["offline"]
    assert rows["exp", "silent"]["offline"] < 0.52 * rows["exp", "softspoken"]["offline"]
    assert 1 < rows["trunc", "silent"]["offline"] / rows["trunc", "softspoken"]["offline"] < 2
    for op in ("trunc", "exp"):
        assert len({rows[op, ot]["online"] for ot in ("iknp", "softspoken", "silent")}) == 1
    assert rows["trunc", "iknp"]["sum"] < 0.65 * 518
