"""What a training will cost, told before it."""

import json

import pytest
from test_training import LAYERS, config, images

import tacit
from tacit.cli import main


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_what_a_training_will_cost(optimiser):
    trainer = tacit.Trainer(LAYERS, batch=8, stop_after=1, optimiser=optimiser)
    cost = trainer.cost(20, network="0.2ms,80Mbps")
    report = trainer.fit(images(20, 1)).report.data
    for phase in ("offline", "online"):
        step = cost["step"][phase]
        assert step["bytes_sent"] == report[phase]["bytes_sent"]
        assert step["rounds"] == report[phase]["rounds"]
        network = step["rounds"] * 1e-4 + max(step["bytes_sent"]) / 1e7
        assert step["seconds"] == pytest.approx(network)
        whole = (
            tacit.Trainer(LAYERS, batch=8, optimiser=optimiser)
            .fit(images(20, 1))
            .report.data[phase]
        )
        assert cost["epoch"][phase]["bytes_sent"] == whole["bytes_sent"]
    assert cost["batches"] == 3
    assert trainer.cost()["batches"] == 1
    with pytest.raises(tacit.TacitError, match="items"):
        trainer.cost(0)


@pytest.mark.parametrize("where", [{"protocol": "sirnn"}, {"security": "malicious"}], ids=str)
def test_what_a_whole_training_will_cost(where):
    """With evaluations and set-up, of which the last digits of meters alone are not counted."""
    trainer = tacit.Trainer(LAYERS, batch=8, epochs=2, reveal_curve=True, **where)
    cost = trainer.cost(20, [(1, 6), (0, 4)])["whole"]
    x, y = images(10, 2)
    report = trainer.fit(images(20, 1), [(1, x[:6], y[:6]), (0, x[6:], y[6:])]).report.data
    for phase in ("offline", "online"):
        assert cost[phase]["bytes_sent"] == report[phase]["bytes_sent"]
    assert cost["setup"]["rounds"] == report["setup"]["rounds"]
    assert cost["setup"]["bytes_sent"] == pytest.approx(report["setup"]["bytes_sent"], abs=50)
    assert trainer.cost(20)["evaluation"] is None


def test_a_plan_of_a_training_tells_computing(tmp_path, monkeypatch):
    """Every mini-batch computes as long, and the network's seconds stay as declared."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    trainer = tacit.Trainer(LAYERS, batch=8)
    plain, told = trainer.cost(16), trainer.cost(16, measure=True)
    assert "computing" not in plain["step"]
    for phase in ("offline", "online"):
        assert told["step"][phase] == plain["step"][phase]
        for what in ("computing", "expected"):
            step, epoch = told["step"][what][phase], told["epoch"][what][phase]
            assert epoch == pytest.approx(2 * step)
    assert told["step"]["computing"]["online"] > 0
    assert told["whole"]["computing"]["setup"] > 0 and told["whole"]["expected"]["setup"] > 0
    assert min(told["memory"]["parties"]) < told["memory"]["together"]


def test_a_training_can_be_planned(tmp_path, capsys):
    path, target = config(tmp_path / "plan", 2), tmp_path / "cost.json"
    options = ["--plan", "--no-measure", "--network", "wan", "--json", str(target)]
    assert main(["train", str(path), *options]) == 0
    cost = json.loads(target.read_text())
    assert (cost["batch"], cost["batches"]) == (4, 10)
    shown = capsys.readouterr().out
    assert "An epoch of 10 mini-batches" in shown and "memory at most" in shown
    assert not (path.parent / "state").exists()
