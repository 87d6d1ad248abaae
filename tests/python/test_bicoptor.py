"""Predictions with Bicoptor 2.0, in both settings."""

import json

import numpy as np
import pytest

import tacit
from tacit.cli import main


@pytest.fixture(scope="module")
def compiled(digits_path, digits_samples):
    """The model for either ring."""
    return {
        ring: tacit.compile(digits_path, samples=digits_samples, ring=ring) for ring in (32, 64)
    }


@pytest.mark.parametrize("sharing", ["ubl", "rss"])
@pytest.mark.parametrize("ring", [32, 64])
def test_same_answers_as_in_clear_text(compiled, digits, sharing, ring):
    x, y = (part[:60] for part in digits)
    session = tacit.local("bicoptor", sharing=sharing)
    report = session.predict(compiled[ring], x, y, check=True, batch=25).report
    assert report.agreement == 1
    assert report.max_abs_error < (0.1 if ring == 32 else 1e-2)
    assert (report.protocol, report.sharing) == ("bicoptor", sharing)


@pytest.mark.parametrize("sharing", ["ubl", "rss"])
@pytest.mark.parametrize("truncation", ["aby3", "secureml"])
def test_truncations_with_large_errors(digits_path, digits_samples, digits, sharing, truncation):
    # With so few fraction bits a large error is rarer than one run in a million.
    model = tacit.compile(digits_path, samples=digits_samples, fraction_bits=10)
    session = tacit.local("bicoptor", sharing=sharing, truncation=truncation)
    report = session.predict(model, digits[0][:60], check=True, batch=25).report
    assert report.max_abs_error < 0.1


@pytest.mark.parametrize("sharing", ["ubl", "rss"])
@pytest.mark.parametrize("batches", [1, 2])
def test_what_is_counted_is_what_is_metered(compiled, digits, sharing, batches):
    """The weights are opened under their masks once, not with every batch."""
    model, where = compiled[64], {"protocol": "bicoptor", "sharing": sharing}
    cost = model.predict_cost(3, **where)
    report = tacit.local(**where).predict(model, digits[0][: 3 * batches], batch=3).report
    for phase in ("offline", "online"):
        metered = getattr(report, phase)
        assert metered["rounds"] == batches * cost[phase]["rounds"]
        assert metered["bytes_sent"] == [batches * sent for sent in cost[phase]["bytes_sent"]]
    assert cost["online"]["rounds"] < model.predict_cost(3)["online"]["rounds"]


@pytest.mark.parametrize("sharing", ["ubl", "rss"])
def test_processes_give_the_same(compiled, digits, sharing):
    here, there = (
        tacit.local("bicoptor", sharing=sharing, processes=processes)
        .predict(compiled[64], digits[0][:9])
        .output
        for processes in (False, True)
    )
    assert np.abs(here - there).max() < 1e-2


def test_what_bicoptor_does_not_have_is_refused(compiled, digits):
    for where, why in [
        ({"protocol": "bicoptor", "truncation": "exact"}, "gap, aby3, secureml"),
        ({"protocol": "falcon", "sharing": "rss"}, "sharing"),
        ({"protocol": "bicoptor", "sharing": "none"}, "ubl, rss"),
        ({"protocol": "bicoptor", "parties": 4}, "3 parties, not 4"),
    ]:
        with pytest.raises(tacit.TacitError, match=why):
            tacit.local(**where).predict(compiled[64], digits[0][:1])


def test_tables(tmp_path, capsys):
    target = tmp_path / "table.json"
    options = ["--networks", "lan1", "--sizes", "1000", "--repeat", "1", "--json", str(target)]
    assert main(["tables", "bicoptor2", *options]) == 0
    rows = json.loads(target.read_text())
    assert [row["op"] for row in rows] == ["drelu", "relu"]
    assert rows[0]["paper_falcon"] == pytest.approx(6586.94e-6)
    assert all(row["bicoptor_sum"] > row["bicoptor_online"] > 0 for row in rows)
    assert "lan1" in capsys.readouterr().out


@pytest.mark.parametrize("sharing", ["ubl", "rss"])
def test_the_printed_form_is_measured_under_its_name_only(sharing):
    where = {"protocol": "bicoptor", "sharing": sharing, "key_bits": "5.2", "repeat": 1}
    corrected = tacit.bench("drelu", 4096, **where)
    printed = tacit.bench("drelu", 4096, as_printed_insecure=True, **where)
    # 9 entries of 10 bits, 8 of 8.
    sent = [report.online["bytes_sent"][0] for report in (corrected, printed)]
    assert sent == [4096 * 90 // 8, 4096 * 64 // 8]
    assert corrected.data["warnings"] == []
    assert any("leaks" in warning for warning in printed.data["warnings"])
    with pytest.raises(tacit.TacitError, match="printed form"):
        tacit.bench("drelu", 8, as_printed_insecure=True)
