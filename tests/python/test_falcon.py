"""Falcon's tables beside ours."""

import json

import pytest

from tacit.cli import main
from tacit.measure import falcon as paper
from tacit.measure import tables
from tacit.measure.falcon import CASES, falcon, on_paper

COLUMNS = ("offline_mb", "online_mb", "offline_hops", "online_hops")


@pytest.mark.parametrize(
    ("phase", "security"),
    [("prediction", "semi-honest"), ("prediction", "malicious"), ("training", "semi-honest")],
)
def test_what_is_metered_is_what_is_counted(phase, security, monkeypatch):
    monkeypatch.setattr(paper, "pace", lambda security: 0.0)
    where = {"phases": [phase], "security": [security], "links": ["lan"], "batch": 4}
    measured, counted = (falcon(["network-b"], limit=limit, **where) for limit in (1e6, 0))
    assert len(measured) == len(counted) == 1
    for ours, declared in zip(measured, counted, strict=True):
        assert ours["measured"] and not declared["measured"]
        assert [ours[name] for name in COLUMNS] == [declared[name] for name in COLUMNS]
        for part in ("offline", "online"):
            # A hop takes 0.1 ms, 625 MB take a second.
            network = declared[f"{part}_hops"] * 1e-4 + declared[f"{part}_mb"] / 625
            assert declared[f"{part}_seconds"] == pytest.approx(network)


def test_the_limit_says_what_runs(monkeypatch):
    """What computing takes is added to what the network takes."""
    where = {"networks": ["network-b"], "phases": ["prediction"], "links": ["wan"]}
    (row,) = falcon(**where, security=["semi-honest"], limit=0)
    network = row["offline_seconds"] + row["online_seconds"]
    sent = row["offline_mb"] + row["online_mb"]
    monkeypatch.setattr(paper, "pace", lambda security: 10.0)
    monkeypatch.setattr(paper._Prediction, "run", lambda work, where: work.cost(where))
    for limit, measured in ((0.99, False), (1.01, True)):
        total = (network + 10 * sent) * limit
        (row,) = falcon(**where, security=["semi-honest"], limit=total)
        assert row["measured"] is measured


def test_the_papers_figures():
    """One of each table; those of trainings are for a step."""
    assert on_paper("network-c", "prediction", "malicious", "wan") == (7.8, 3.37)
    assert on_paper("vgg16-tiny", "prediction", "malicious", "lan") == (12.04, 395.7)
    seconds, sent = on_paper("network-a", "training", "semi-honest", "lan")
    assert (seconds, sent) == pytest.approx((0.17 * 3600 / (15 * 469), 16000 / (15 * 469)))
    seconds, sent = on_paper("alexnet-tiny", "training", "malicious", "wan")
    assert seconds == pytest.approx(57100 * 3600 / (90 * 782))
    assert all(len(cells.split()) == len(CASES) for cells in paper.PAPER.values())


def test_the_command_marks_what_it_counts(tmp_path, capsys):
    target = tmp_path / "table.json"
    options = ["--networks", "network-a", "--links", "lan", "--security", "semi-honest"]
    options += ["--limit", "0", "--json", str(target)]
    assert main(["tables", "falcon", *options]) == 0
    rows = json.loads(target.read_text())
    assert [row["phase"] for row in rows] == ["prediction", "training"]
    assert not any(row["measured"] for row in rows)
    assert rows[0]["paper_mb"] == 0.012
    printed = capsys.readouterr().out
    assert "Falcon: training, semi-honest" in printed and "counted" in printed


def test_accuracies_need_networks_and_data(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("TACIT_MODELS", raising=False)
    for networks in (["--networks", "lenet"], []):
        assert main(["tables", "falcon", "--accuracy", "5", *networks]) == 2
        said = capsys.readouterr().err
        assert "cannot be tried: TACIT_MODELS must name a folder" in said
        assert "Set TACIT_MODELS to the folder of NAME.onnx" in " ".join(said.split())
    assert main(["tables", "falcon", "--accuracy", "5", "--networks", "vgg16-cifar"]) == 2
    assert "no accuracy of it, but of network-a" in capsys.readouterr().err
    assert main(["tables", "falcon", "--accuracy", "5", "--links", "lan"]) == 2
    assert "--links has no effect" in capsys.readouterr().err
    monkeypatch.setenv("TACIT_MODELS", str(tmp_path))
    assert "there is no" in paper.missing("lenet")


def test_accuracies(models, real_set, tmp_path, capsys):
    real_set("mnist:mnist", "test")
    target = tmp_path / "table.json"
    options = ["--accuracy", "40", "--networks", "network-a", "--json", str(target)]
    assert main(["tables", "falcon", *options]) == 0
    (row,) = json.loads(target.read_text())
    assert row["images"] == 40 and row["paper"]["private"] == 97.42
    assert row["ours"]["private"] == row["ours"]["float"] > 90
    assert 0 < row["ours"]["error"] < 0.1
    assert "network-a" in capsys.readouterr().out


def test_a_table_of_both_kinds_of_rows():
    row = falcon(["network-a"], ["prediction"], ["malicious"], ["wan"], limit=0)[0]
    table = tables.networks_table([row, {**row, "measured": True}], "prediction")
    assert list(table.columns[-1].cells) == ["counted", ""]
