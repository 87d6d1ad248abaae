"""Predictions between many parties."""

import json

import pytest

import tacit
from tacit.cli import main


@pytest.fixture(scope="module")
def model(digits_path):
    return tacit.compile(digits_path)


@pytest.mark.parametrize(
    ("parties", "where"),
    [
        (3, {}),
        (3, {"comparison": "rot", "opening": "direct", "network": "1ms,1000Mbps"}),
        (4, {"comparison": "tree", "opening": "king"}),
        (7, {"threshold": 1}),
        (5, {"processes": True}),
        (63, {}),
    ],
)
def test_any_number_of_parties_gives_the_answers_of_the_clear(model, digits, parties, where):
    x, y = (part[:5] for part in digits)
    result = tacit.local("shamir", parties=parties, **where).predict(model, x, y, check=True)
    report = result.report
    assert report.agreement == 1
    assert report.max_abs_error < 1e-2
    assert report.parties == len(report.online["bytes_sent"]) == parties
    assert report.threshold == where.get("threshold", (parties - 1) // 2)
    assert report.numbers == "61-bit field"
    assert f"of {parties} corrupt" in report.security
    assert report.comparison == where.get("comparison", "auto")
    assert report.opening == where.get("opening", "auto")


@pytest.mark.parametrize("parties", [3, 6, 21])
@pytest.mark.parametrize("network", ["local", "lan", "20ms,1000Mbps"])
def test_what_is_counted_is_what_is_metered(model, digits, parties, network):
    """What is chosen depends on the network, and the count chooses alike."""
    cost = model.predict_cost(2, protocol="shamir", parties=parties, network=network)
    session = tacit.local("shamir", parties=parties, network=network)
    report = session.predict(model, digits[0][:2], batch=2).report
    for phase in ("offline", "online"):
        metered = getattr(report, phase)
        for what in ("rounds", "bytes_sent"):
            assert cost[phase][what] == metered[what], (phase, what)


def test_a_small_field(digits_path, digits):
    x, y = (part[:20] for part in digits)
    model = tacit.compile(digits_path, field=31, samples=digits[0][20:60])
    report = tacit.local("shamir", parties=5).predict(model, x, y, check=True).report
    assert report.numbers == "31-bit field"
    assert report.agreement == 1


def test_the_papers_table(tmp_path, capsys):
    target = tmp_path / "table.json"
    assert main(["tables", "liu24", "--parties", "3", "--json", str(target)]) == 0
    assert "Fixed-Mult" in capsys.readouterr().out
    blocks = {block["name"]: block for block in json.loads(target.read_text())["blocks"]}
    (tree,) = blocks["ReLU, tree"]["metered"]
    assert tree["rounds"] == 8
    # 1 element for the masked value and for the product; over the small field 2 bits for each of
    # 55 products, 4/3 for the sign.
    assert tree["online"] == pytest.approx(2 + (55 * 2 + 4 / 3) / 32)
