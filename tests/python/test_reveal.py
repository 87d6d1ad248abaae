"""What the data owner learns of the outputs: by commands, the API, files and reports."""

import json
import re

import numpy as np
import pytest
from onnx import helper
from test_party import alone, edit, finish, make, start  # noqa: F401

import tacit
from tacit import TacitError
from tacit.cli import main

RUNS = [
    {"protocol": "falcon"},
    {"protocol": "falcon", "security": "malicious"},
    {"protocol": "bicoptor"},
    {"protocol": "shamir"},
    {"protocol": "clear"},
]


def best(logits, k):
    """The `k` best classes, of equal logits the first."""
    return np.argsort(-logits, axis=1, kind="stable")[:, :k]


@pytest.fixture(scope="session")
def logits(digits_model, digits):
    return digits_model.reference(digits[0][:20])


@pytest.fixture(scope="session")
def data(digits, logits):
    """Images, their labels and logits."""
    return digits[0][:20], digits[1][:20], logits


@pytest.fixture
def compiled(digits_path, digits_samples):
    """The digits' model that reveals so much."""
    return lambda reveal: tacit.compile(digits_path, samples=digits_samples, reveal=reveal)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: "-".join(run.values()))
@pytest.mark.parametrize(("reveal", "k"), [("class", 1), ("top-1", 1), ("top-3", 3)])
def test_only_classes_come_out(run, reveal, k, compiled, data):
    x, y, logits = data
    model = compiled(reveal)
    with tacit.local(**run) as session:
        result = session.predict(model, x, y, check=True)
    assert result.output.shape == ((20,) if k == 1 else (20, k))
    np.testing.assert_array_equal(result.output.reshape(20, k), best(logits, k))
    report = result.report
    assert (report.agreement, report.max_abs_error) == (1, None)
    assert report.accuracy == np.mean(best(logits, 1)[:, 0] == y)
    assert report.reveal == ("class" if k == 1 else reveal)
    assert f"revealed to the data owner {report.reveal}" in " ".join(str(report).split())
    assert vars(result).keys() == {"outputs", "report"}
    # But for times, no number is left that begins like a logit.
    left = re.sub(r'"\w*seconds": [^,}]*', "", json.dumps(report.to_dict())) + repr(result.output)
    assert not any(f"{abs(v):.3f}" in left for v in logits.ravel())


def test_between_two_parties(digits_path, digits_samples, digits, logits):
    model = tacit.compile(digits_path, samples=digits_samples, reveal="top-3")
    output = tacit.local("sirnn").predict(model, digits[0][:5]).output
    np.testing.assert_array_equal(output, best(logits[:5], 3))


def test_as_processes(digits_path, digits_samples, digits, logits):
    model = tacit.compile(digits_path, samples=digits_samples, reveal="class")
    result = tacit.local(processes=True).predict(model, digits[0][:5])
    np.testing.assert_array_equal(result.output, best(logits[:5], 1)[:, 0])


def test_plan_says_what_is_opened(digits_path, digits_model, capsys):
    for reveal, words in [
        (None, "logits: all outputs"),
        ("class", "class: the class of the largest output"),
        ("top-4", "top-4: the classes of the 4 largest"),
    ]:
        line = ["plan", str(digits_path)] + (["--reveal", reveal] if reveal else [])
        assert main(line) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert digits_model.plan["reveal"] == "logits"
    cost = {
        reveal: tacit.compile(digits_path, reveal=reveal).predict_cost(10)["online"]
        for reveal in ("logits", "class", "top-3")
    }
    rounds = [cost["logits"]["rounds"], cost["class"]["rounds"], cost["top-3"]["rounds"]]
    assert rounds[0] < rounds[1] and rounds[0] < rounds[2], "the search is counted"


def test_probabilities_say_what_they_tell(save_onnx):
    path = save_onnx([helper.make_node("Softmax", ["x"], ["y"], "soft", axis=1)], [5], [5])
    model = tacit.compile(path)
    assert model.plan["reveal"] == "probabilities"
    assert "up to a constant" in " ".join(str(model).split())
    x = np.array([[1, 2, 3, 4, 5], [0, 0, 7, 7, 1]], np.float32)
    output = tacit.local().predict(model, x).output
    np.testing.assert_allclose(output, model.reference(x), atol=1e-4)
    assert tacit.compile(path, reveal="class").reference(x).tolist() == [4, 2]
    logits = tacit.compile(path, reveal="logits")
    np.testing.assert_allclose(tacit.local().predict(logits, x).output, x, atol=1e-4)


@pytest.mark.parametrize(
    ("reveal", "words"),
    [
        ("probabilities", "no Softmax, LogSoftmax or Sigmoid follows it"),
        ("top-11", "ask for top-10 at most"),
        ("top-0", "such as top-3"),
        ("labels", "choose one of logits, probabilities, top-K"),
    ],
)
def test_what_does_not_fit_is_refused(reveal, words, digits_path, capsys):
    with pytest.raises(TacitError, match=words):
        tacit.compile(digits_path, reveal=reveal)
    assert main(["plan", str(digits_path), "--reveal", reveal]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_run_and_its_files(digits_path, digits, tmp_path, logits, capsys):
    np.save(tmp_path / "x.npy", digits[0][:20])
    files = ["--output", str(tmp_path / "out.npy"), "--json", str(tmp_path / "r.json")]
    line = ["run", str(digits_path), "--input", str(tmp_path / "x.npy"), "--check"]
    assert main([*line, *files, "--reveal", "class"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), best(logits, 1)[:, 0])
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["reveal"], report["max_abs_error"]) == ("class", None)
    shown = capsys.readouterr().out
    assert "largest difference" not in shown
    assert "ranking" in shown


def test_parties_apart(make, digits, logits):  # noqa: F811
    parties = make("--reveal", "class")
    ends = finish(start(parties))
    assert [code for _, _, code in ends] == [0, 0, 0], ends
    written = np.load(parties / "party1" / "output.npy")
    np.testing.assert_array_equal(written, best(logits[:6], 1)[:, 0])
    # The data owner wants more than the plan gives: all end, with both values.
    edit(parties, 1, r'^reveal = "class"$', 'reveal = "logits"')
    ends = finish(start(parties))
    for party, (_, err, code) in enumerate(ends):
        words = " ".join(err.split())
        assert code == 2, ends
        assert "class" in words and "logits" in words, party
    assert "set the same reveal in [plan]" in " ".join(ends[1][1].split())


def test_a_party_may_insist_on_the_command_line(make, capsys):  # noqa: F811
    parties = make()
    alone(parties, 1)
    config = str(parties / "party1" / "party.toml")
    assert main(["party", "--config", config, "--reveal", "everything"]) == 2
    assert "choose one of logits" in " ".join(capsys.readouterr().err.split())
