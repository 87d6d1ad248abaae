"""Parties that stay up between predictions."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from ports import move_ports

import tacit
from tacit.cli import main


def agrees(result, model, x):
    """Whether the classes are those of float32; the outputs have 4 fraction bits or more."""
    float32 = model.reference(x)
    same = result.output.argmax(1) == float32.argmax(1)
    return same.all() and np.abs(result.output - float32).max() < 0.3


@pytest.mark.parametrize(
    "where",
    [
        {"protocol": "falcon"},
        {"protocol": "falcon", "security": "malicious"},
        {"protocol": "bicoptor"},
        {"protocol": "bicoptor", "sharing": "rss"},
        {"protocol": "shamir", "parties": 5},
        {"protocol": "sirnn"},
    ],
    ids=lambda where: "-".join(map(str, where.values())),
)
def test_the_second_prediction_pays_no_set_up(where, digits_model, digits):
    x, y = digits
    with tacit.local(**where) as parties:
        first = parties.predict(digits_model, x[:3])
        second = parties.predict(digits_model, x[3:8], y[3:8], batch=2)
        third = parties.predict(digits_model, x[:3])
    alone = tacit.local(**where).predict(digits_model, x[:3])
    for result, used in ((first, x[:3]), (second, x[3:8]), (third, x[:3])):
        assert agrees(result, digits_model, used)
    assert second.report.images == 5 and len(second.report.batches) == 3
    assert second.report.accuracy is not None
    # What is left of the set-up: the number of the request and its size are compared.
    assert max(second.report.setup["bytes_sent"]) < 20_000
    assert max(second.report.setup["bytes_sent"]) < max(first.report.setup["bytes_sent"]) / 2
    for result in (first, third):
        assert result.report.online["bytes_sent"] == alone.report.online["bytes_sent"]
        assert result.report.online["rounds"] == alone.report.online["rounds"]
        assert result.report.offline["bytes_sent"] == alone.report.offline["bytes_sent"]


def test_another_model_and_an_error_begin_anew(digits_model, digits_path, digits_samples, digits):
    x, _ = digits
    other = tacit.compile(digits_path, samples=digits_samples, ring=32)

    def cancel(phase, layer, done, total):
        raise KeyError(layer)

    with tacit.local() as parties:
        parties.predict(digits_model, x[:2])
        begun = parties.predict(other, x[:2]).report
        assert max(begun.setup["bytes_sent"]) > 20_000
        with pytest.raises(KeyError):
            parties.predict(other, x[:2], progress=cancel)
        again = parties.predict(other, x[:2])
        assert max(again.report.setup["bytes_sent"]) > 20_000
        assert agrees(again, other, x[:2])
        # What is refused before anything is sent leaves the parties as they are.
        with pytest.raises(tacit.TacitError, match="input"):
            parties.predict(other, np.full((1, 64), np.nan, np.float32))


def test_processes_stay(digits_model, digits):
    x, _ = digits
    with tacit.local(processes=True) as parties:
        first = parties.predict(digits_model, x[:3])
        second = parties.predict(digits_model, x[3:5])
        assert agrees(first, digits_model, x[:3]) and agrees(second, digits_model, x[3:5])
        assert max(second.report.setup["bytes_sent"]) < 20_000
        assert second.report.images == 2


def test_processes_do_not_take_a_file_that_has_changed(tmp_path, digits_path, digits):
    x, _ = digits
    path = tmp_path / "model.onnx"
    path.write_bytes(digits_path.read_bytes())
    model = tacit.compile(path)
    with tacit.local(processes=True) as parties:
        parties.predict(model, x[:2])
        path.write_bytes(path.read_bytes() + b"\0")
        # The parties have the model that was compiled; others would not.
        assert agrees(parties.predict(model, x[:2]), model, x[:2])
        with pytest.raises(tacit.TacitError, match="changed since it was compiled"):
            parties.predict(model, x[:2], batch=1)


def test_what_is_refused_leaves_the_parties(digits_model, digits):
    x, _ = digits
    with tacit.local() as parties:
        parties.predict(digits_model, x[:1])
        for bad in (np.full((1, 1, 8, 8), np.nan), np.full((1, 1, 8, 8), 1e9)):
            with pytest.raises(tacit.TacitError):
                parties.predict(digits_model, bad.astype(np.float32))
        with pytest.raises(tacit.TacitError, match="progress callback"):
            parties.predict(
                digits_model, x[:1], progress=lambda *_: parties.predict(digits_model, x[:1])
            )
        with pytest.raises(tacit.TacitError, match="already"), parties:
            pass


def test_a_file_is_no_compiled_model(digits_path, digits):
    with (
        tacit.local("clear") as session,
        pytest.raises(TypeError, match=r"the model is a \w*Path, .* tacit\.compile"),
    ):
        session.predict(Path(digits_path), digits[0])


def test_processes_that_die_between_predictions_are_named(digits_model, digits):
    x, _ = digits
    with tacit.local(processes=True, timeout=10) as parties:
        parties.predict(digits_model, x[:1])
        found = subprocess.run(
            ["pgrep", "-P", str(os.getpid()), "-f", "tacit party.*1/party.toml"],
            capture_output=True,
            check=False,
            text=True,
        ).stdout.split()
        assert len(found) == 1
        os.kill(int(found[0]), 9)
        with pytest.raises(tacit.TacitError, match=r"party 1 \(signal: 9"):
            parties.predict(digits_model, x[:1])
        assert agrees(parties.predict(digits_model, x[:1]), digits_model, x[:1])


@pytest.fixture
def folder(tmp_path, digits_path, digits):
    """Three parties on free ports; party 1 owns the data."""
    np.save(tmp_path / "x.npy", digits[0][:3])
    np.save(tmp_path / "more.npy", digits[0][3:8])
    made = tmp_path / "parties"
    files = ["--model", str(digits_path), "--input", str(tmp_path / "x.npy")]
    assert main(["init", str(made), "--parties", "3", *files]) == 0
    move_ports(made.glob("*/party.toml"))
    return made


def start(folder, *staying):
    """The parties of a folder, those that stay with standard input."""
    return [
        subprocess.Popen(
            [sys.executable, "-m", "tacit", "party", "--quiet"]
            + (["--stay"] if party in staying else [])
            + ["--config", folder / f"party{party}" / "party.toml"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for party in range(3)
    ]


def finish(started):
    """What each party said and ended with, once there are no more requests."""
    for p in started:
        p.stdin.close()
        p.stdin = None
    try:
        return [(*p.communicate(timeout=60), p.returncode) for p in started]
    finally:
        for p in started:
            p.kill()


def test_parties_stay_for_as_many_files_as_the_owner_names(folder, digits_model, digits):
    x, _ = digits
    bad = folder / "bad.npy"
    np.save(bad, np.full((1, 64), 1e30, np.float32))
    started = start(folder, 0, 1, 2)
    more = folder.parent / "more.npy"
    own = folder / "party1" / "output-3.npy"
    np.save(own, x[:2])
    names = [folder / "none.npy", bad, "", more, own, more]
    started[1].stdin.write("".join(f"{name}\n" for name in names))
    ended = finish(started)
    assert [code for _, _, code in ended] == [0, 0, 0], ended
    for number, used in (("", x[:3]), ("-2", x[3:8]), ("-3", x[3:8])):
        output = np.load(folder / "party1" / f"output{number}.npy")
        np.testing.assert_allclose(output, digits_model.reference(used), atol=1e-2)
    # What the owner could not use it was told, and the others never heard of.
    told = ended[1][1]
    assert "none.npy" in told and "bad.npy" in told and told.count("name another file") == 3
    assert "output-3.npy: it is one of the inputs" in told
    assert "npy" not in ended[0][1] + ended[2][1]
    runs = [(folder / f"party{party}" / "runs.jsonl").read_text() for party in range(3)]
    assert [run.count('"ended":"well"') for run in runs] == [3, 3, 3]


def test_all_parties_stay_or_none(folder):
    ended = finish(start(folder, 1))
    assert all(code for _, _, code in ended), ended
    assert all("predictions" in err and "--stay" in err for _, err, _ in ended), ended


def test_a_party_that_leaves_between_predictions_ends_the_others(folder):
    started = start(folder, 0, 1, 2)
    output = folder / "party1" / "output.npy"
    until = time.monotonic() + 60
    while not (output.exists() and (folder / "party2" / "runs.jsonl").read_text()):
        assert time.monotonic() < until
        time.sleep(0.05)
    started[2].kill()
    started[2].wait()
    started[1].stdin.write(f"{folder.parent / 'more.npy'}\n")
    ended = finish(started)
    assert ended[0][2] and ended[1][2]
    for _, err, _ in ended[:2]:
        assert "party 2 was lost" in err, ended
