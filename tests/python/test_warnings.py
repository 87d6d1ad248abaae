"""What the planner warns of is the same in the model, the plan and the report."""

import json

import numpy as np
import pytest
from onnx import helper

import tacit
from tacit.alike import grouped
from tacit.cli import main

SESSIONS = {
    "falcon": {},
    "bicoptor": {},
    "bicoptor-rss": {"sharing": "rss"},
    "shamir": {},
    "sirnn": {},
    "clear": {},
}


@pytest.fixture
def daring(save_onnx):
    """A network whose weights allow far more than its samples show, and its samples."""
    rng = np.random.default_rng(1)
    weights = {
        "w1": rng.standard_normal((8, 32)).astype(np.float32),
        "w2": (3 * rng.standard_normal((32, 32))).astype(np.float32),
        "w3": rng.standard_normal((32, 4)).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"], "relu1"),
        helper.make_node("MatMul", ["b", "w2"], ["c"], "second"),
        helper.make_node("Relu", ["c"], ["d"], "relu2"),
        helper.make_node("MatMul", ["d", "w3"], ["e"], "third"),
        helper.make_node("Softmax", ["e"], ["f"], "soft"),
        helper.make_node("MatMul", ["f", "w4"], ["y"], "last"),
    ]
    weights["w4"] = rng.standard_normal((4, 3)).astype(np.float32)
    path = save_onnx(nodes, [8], [3], weights)
    return path, (0.1 * rng.standard_normal((20, 8))).astype(np.float32)


@pytest.mark.parametrize("ring", [None, "small"])
@pytest.mark.parametrize("name", SESSIONS)
def test_one_list_of_warnings(name, ring, daring, tmp_path, capsys):
    path, samples = daring
    protocol = name.partition("-")[0]
    where = {"protocol": protocol, **SESSIONS[name]}
    numbers = {"field": 31} if protocol == "shamir" else {"ring": 32}
    options = {"samples": samples, "input_range": 2.0, **(numbers if ring else {})}
    try:
        model = tacit.compile(path, protocol=protocol, **options)
    except tacit.TacitError:
        pytest.skip("nothing runs")
    report = tacit.local(**where).predict(model, samples[:3]).report
    assert model.warnings == model.plan["warnings"] == report.warnings
    assert model.plan_for(protocol) == model.plan
    # As one that may run on any protocol, from its run on.
    other = tacit.compile(path, **options) if protocol != "shamir" or not ring else model
    assert tacit.local(**where).predict(other, samples[:3]).report.warnings == other.warnings
    assert other.warnings == model.warnings
    np.save(tmp_path / "s.npy", samples)
    line = [str(path), "--samples", str(tmp_path / "s.npy"), "--protocol", protocol]
    line += ["--input-range", "2", "--json", str(tmp_path / "told.json")]
    line += [word for key, value in numbers.items() if ring for word in (f"--{key}", str(value))]
    line += [word for key, value in SESSIONS[name].items() for word in (f"--{key}", value)]
    for command in (["plan"], ["run", "--input", str(tmp_path / "s.npy")]):
        capsys.readouterr()
        assert main([*command, *line]) == 0
        assert json.loads((tmp_path / "told.json").read_text())["warnings"] == model.warnings
        shown = " ".join(capsys.readouterr().err.split())
        told = grouped(model.warnings)
        assert shown.count("warning: ") == len(told)
        assert all(" ".join(words.split()) in shown for words in told)


def test_many_warnings_of_one_kind_are_told_once():
    def beyond(layer, most):
        return f"layer '{layer}' holds values up to {most}, but inputs could lead to -1.00e9"

    few = [beyond("a", 4.0), "layer 'z': of another kind", beyond("b", 12.5), beyond("c", "2e7")]
    assert grouped(few) == [few[0], few[2], few[3], few[1]]
    many = few + [beyond(f"n{i}", i) for i in range(5)]
    first, rest, other = grouped(many)
    assert (first, other) == (few[0], few[1])
    assert rest.startswith("7 more differ in their numbers alone: 'b', 'c', 'n0', 'n1', 'n2' and")


def test_there_are_warnings_to_compare(daring):
    path, samples = daring
    model = tacit.compile(path, samples=samples, input_range=2.0, protocol="bicoptor", ring=32)
    assert model.warnings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"protocol": "falkon"}, "choose one of falcon"),
        ({"parties": 5}, "falcon runs between 3 parties, not 5"),
        ({"network": "moon"}, "no network has this name"),
        ({"threshold": 1}, "threshold"),
        ({"protocol": "shamir", "parties": 7, "threshold": 4}, "choose 1 to 3"),
    ],
)
def test_what_no_session_could_have_is_refused_at_once(given, words):
    with pytest.raises(tacit.TacitError, match=words):
        tacit.local(**given)


def test_a_model_of_one_protocol_runs_on_no_other(daring):
    path, samples = daring
    model = tacit.compile(path, samples=samples, protocol="sirnn")
    with pytest.raises(tacit.TacitError, match="the model was compiled for sirnn"):
        tacit.local("falcon").predict(model, samples)
    with pytest.raises(tacit.TacitError, match="compiled for sirnn"):
        model.plan_for("clear")
    with pytest.raises(tacit.TacitError, match="choose one of falcon"):
        tacit.compile(path, protocol="falkon")
    with pytest.raises(tacit.TacitError, match="61-bit field: falcon computes"):
        tacit.compile(path, protocol="falcon", field=61)
