"""What commands say of what is wrong: in users' words, once, with the place and what to do."""

import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import tacit
from tacit import speeds
from tacit.cli import main

INTERNAL = (
    "Traceback",
    "os error",
    "at line 1 column",
    "usize",
    "u32",
    "f64",
    "untagged",
    "Some(",
    "None",
    "layer '-'",
    "np.float",
    "object of type",
)
"""What no message has."""


def check(error):
    """No words of the program's insides, and none twice."""
    for word in INTERNAL:
        assert word not in error, error
    # A clause that stands twice, as in `truncation: truncation`.
    clauses = [clause.strip() for clause in re.split(r"[:;]", error)]
    assert all(a != b for a, b in pairwise(clauses)), error
    long = [clause for clause in clauses if len(clause) > 20]
    assert len(long) == len(set(long)), error


@pytest.fixture
def files(tmp_path, digits, monkeypatch, digits_path):
    x, y = digits
    arrays = {"x": x[:12], "y": y[:12], "samples": x[:32], "none": x[:0], "flat": x[:2, 0]}
    for name, (place, value) in {
        "nan": ((3, 0, 2, 5), np.nan),
        "inf": ((1, 0, 0, 7), -np.inf),
    }.items():
        arrays[name] = x[:12].copy()
        arrays[name][place] = value
    arrays["labels12"] = np.r_[y[:11], 12]
    arrays["labels-1"] = np.r_[-1, y[:11]]
    arrays["floats"] = y[:12] + 0.5
    arrays["words"] = np.array(["a", "b"])
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "broken.toml").write_text("id = \n")
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "text.npy").write_text("no array")
    monkeypatch.chdir(tmp_path)
    return tmp_path


RUN = "run MODEL --input x.npy"
REFUSED = [
    ("run MODEL --input nan.npy", "item 3, position [0, 2, 5], is nan; the model does not say"),
    ("run MODEL --input inf.npy", "inf.npy: item 1, position [0, 0, 7], is -inf"),
    (f"{RUN} --samples nan.npy", "samples: item 3, position [0, 2, 5], of 'image' is NaN; the"),
    ("analyze truncation MODEL --input nan.npy --labels y.npy", "item 3, position [0, 2, 5],"),
    (
        f"{RUN} --labels labels12.npy",
        "labels: item 11 has the class 12, and the model has 10: 0 to 9",
    ),
    (f"{RUN} --labels labels-1.npy", "labels: item 0 has the class -1, and the model has 10"),
    ("analyze truncation MODEL --input x.npy --labels labels12.npy", "item 11 has the class 12"),
    (f"{RUN} --labels floats.npy", "they must be 12 integers"),
    (f"{RUN} --labels samples.npy", "they must be 12 integers"),
    ("run MODEL --input none.npy", "with n >= 1"),
    ("run MODEL --input flat.npy", "the model takes (n, 1, 8, 8)"),
    ("run MODEL --input words.npy", "give real numbers"),
    ("run MODEL --input text.npy", "write it with numpy.save"),
    ("run MODEL --input absent.npy", "absent.npy: no such file"),
    ("run absent.onnx --input x.npy", "absent.onnx"),
    ("run text.npy --input x.npy", "text.npy: not a usable ONNX model: it does not parse"),
    (
        f"{RUN} --dim seq=3",
        "dimension 'seq': the model's inputs have no free dimension of this name",
    ),
    ("plan MODEL --dim seq=3", "beside the batch it has none"),
    (f"{RUN} --timeout -1", "timeout: -1 is no time limit"),
    (f"{RUN} --timeout nan", "timeout: nan is not a finite number"),
    (f"{RUN} --input-range inf", "input_range: inf is not a finite number"),
    (f"{RUN} --input-range -1", "the input range must be a positive number"),
    (f"{RUN} --fraction-bits 70", "fraction bits must lie in 2..=60"),
    (f"{RUN} --fraction-bits -1", "fraction_bits: invalid value: integer `-1`"),
    (f"{RUN} --network moon", "local, lan, wan"),
    (f"{RUN} --reveal all", "reveal"),
    (f"{RUN} --key-bits 5", "such as 5.2"),
    (f"{RUN} --key-bits auto --protocol bicoptor", "give samples"),
    (f"{RUN} --key-bits-loss 2 --key-bits auto --protocol bicoptor --samples samples.npy", "2"),
    (f"{RUN} --ring 32 --precision 40", "40"),
    ("bench relu --n 3 --fraction-bits 5", "fraction bits: relu truncates nothing"),
    ("bench mult --n 3 --as-printed-insecure --protocol bicoptor", "printed form: it is of drelu"),
    ("bench mult --n 99999999999", "no tensor may be empty or have more"),
    ("bench exp --n 3 --truncation aby3", "choose gap or exact"),
    ("analyze truncation MODEL --input x.npy --labels y.npy --plot p.gif", ".svg or .png"),
    ("party --config absent.toml", "`tacit init` makes config files"),
    ("party --config broken.toml", "broken.toml"),
    ("party --config empty.toml", "missing field `party`"),
    ("train absent.toml", "docs/training.md says what a config has"),
    ("train empty.toml", "missing field `model`"),
    ("train empty.toml --network wan", "--network has no effect without --plan"),
    ("train empty.toml --html page.html --plan", "--html has no effect with --plan"),
    (
        "init new --port 70000",
        "port: invalid value: integer `70000`, expected a whole number below 65536",
    ),
    ("init new --parties 4", "falcon runs between 3 parties, not 4"),
    ("init new --training --model MODEL", "model: a training's config says itself"),
    ("init new --training --input x.npy", "input: a training's config says itself"),
    ("tables falcon --accuracy 3 --limit 3", "--limit has no effect with --accuracy"),
]


@pytest.mark.parametrize(("line", "words"), REFUSED)
def test_what_is_refused(line, words, files, digits_path, capsys):
    assert main([str(digits_path) if word == "MODEL" else word for word in line.split()]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert error.startswith("error: ")
    assert words in error
    check(error)


OPTIONS = {
    "threshold": "1",
    "comparison": "rot",
    "opening": "king",
    "sharing": "rss",
    "ot": "iknp",
    "security": "malicious",
    "truncation": "gap",
}
HAVE = {
    "falcon": {"security", "truncation", "comparison"},
    "bicoptor": {"sharing", "truncation", "comparison"},
    "shamir": {"threshold", "comparison", "opening"},
    "sirnn": {"ot"},
    "clear": set(),
}


@pytest.mark.parametrize("protocol", HAVE)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_without_effect_is_refused(option, protocol, digits_path, capsys, monkeypatch):
    """Options of protocols are refused where they do nothing; `gap` is what some have by default.

    How fast this machine is does not matter here, and is not measured for each of them.
    """
    of_clear = speeds.known({"protocol": "clear"}, None)
    monkeypatch.setattr(speeds, "known", lambda *_: of_clear)
    for command in (["plan", str(digits_path)], ["bench", "mult", "--n", "4", "--repeat", "1"]):
        adds = option == "comparison" and protocol in ("falcon", "bicoptor")
        value = "adder" if adds else OPTIONS[option]
        line = [*command, "--protocol", protocol, f"--{option}", value]
        code = main(line)
        error = " ".join(capsys.readouterr().err.split())
        if option in HAVE[protocol]:
            assert (code, error) == (0, ""), error
        else:
            assert code == 2 and error.startswith(f"error: {option}"), error
            assert "leave it out" in error or "choose falcon" in error
            check(error)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "run m.onnx --input x.npy --batch 0",
            "--batch: '0' is not a whole number of at least 1",
        ),
        (
            "run m.onnx --input x.npy --fraction-bits x",
            "--fraction-bits: 'x' is not a whole number",
        ),
        ("run m.onnx --input x.npy --timeout x", "--timeout: 'x' is not a number"),
        ("run m.onnx --input x.npy --quiet -v", "not allowed with"),
        ("run m.onnx", "--input is missing"),
        ("", "COMMAND (run, plan, bench, analyze, train, tables, party, serve, predict"),
        ("tables", "PAPER (bicoptor2, falcon, liu24, sirnn) is missing"),
        ("bench sine --n 3", "invalid choice: 'sine'"),
        ("walk", "invalid choice: 'walk'"),
    ],
)
def test_wrong_usage_says_the_reason_first(line, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ") and words in first
    assert len(rest) == 1 and rest[0].startswith("usage: tacit") and "--help" in rest[0]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"parties": "three"}, 'parties: invalid type: string "three", expected a whole number'),
        ({"timeout": float("nan")}, "timeout: nan is not a finite number"),
        ({"timeout": None}, "timeout"),
        ({"truncation": "round"}, "truncation 'round'"),
        ({"protocol": 5}, "protocol"),
        ({"network": 5}, "network"),
        (
            {"protocol": "shamir", "truncation": "aby3"},
            "truncation 'aby3': shamir has one of its own",
        ),
    ],
)
def test_settings_are_refused_by_name(where, words, digits_model, digits):
    with pytest.raises(tacit.TacitError) as caught:
        tacit.local(**where).predict(digits_model, digits[0][:2])
    assert words in str(caught.value)
    check(str(caught.value))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epochs": 0}, "epochs: it must be at least 1"),
        ({"epochs": "many"}, 'epochs: invalid type: string "many", expected a whole number'),
        ({"learning_rate": float("inf")}, "sgd.learning_rate: inf is not a finite number"),
        ({"schedule": {"type": "square"}}, "unknown variant `square`"),
        ({"batch": 3.5}, "batch: invalid type: floating point `3.5`"),
        ({"sign_bits": 32, "protocol": "bicoptor"}, "sign_bits: bicoptor has none to choose"),
        ({"loss": "hinge"}, "unknown variant `hinge`"),
    ],
)
def test_trainings_are_refused_by_name(options, words):
    layers = {"input": [4], "layers": [{"type": "linear", "outputs": 2}]}
    with pytest.raises(tacit.TacitError) as caught:
        tacit.Trainer(layers, **options).fit((np.zeros((4, 4)), np.zeros(4, int)))
    assert words in str(caught.value)
    check(str(caught.value))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"input": [4], "layers": [{"type": "line"}]}, "model: unknown variant `line`"),
        ({"input": "four"}, "model: invalid type"),
        ({"layers": []}, "model: give an ONNX file, or an input shape"),
        ({"file": "absent.onnx"}, "absent.onnx"),
        ({"file": "absent.onnx", "input": [4]}, "nothing but 'file'"),
    ],
)
def test_networks_are_refused_by_name(model, words):
    with pytest.raises(tacit.TacitError) as caught:
        tacit.Trainer(model).fit((np.zeros((4, 4)), np.zeros(4, int)))
    assert words in str(caught.value)
    check(str(caught.value))


def test_a_failed_process_is_named_once(digits_path, files):
    """The reason of the party that failed, not those of the others that lost it."""
    line = [sys.executable, "-m", "tacit", "run", str(digits_path), "--processes"]
    line += ["--input", "x.npy", "--input-range", "0.01"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    check(" ".join(done.stderr.split("error: ")[-1].split()))
