"""Files that commands write: refused before anything is computed, never lost."""

import re
import stat
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import _tacit
from tacit.cli import main

MANY = "100000000"
"""Elements of an operation that would not end within a test."""
COMMANDS = {
    "run": ["run", "MODEL", "--input", "x.npy", "--output", "OUT"],
    "run's report": ["run", "MODEL", "--input", "x.npy", "--json", "OUT"],
    "run's page": ["run", "MODEL", "--input", "x.npy", "--html", "OUT"],
    "bench's page": ["bench", "conv", "--n", "9999", "--html", "OUT"],
    "sirnn's page": ["tables", "sirnn", "--html", "OUT"],
    "plan": ["plan", "MODEL", "--json", "OUT"],
    "bench": ["bench", "conv", "--n", "9999", "--json", "OUT"],
    "analyze": [
        "analyze",
        "truncation",
        "MODEL",
        *["--input", "x.npy", "--labels", "y.npy", "--json", "OUT"],
    ],
    "plot": [
        "analyze",
        "truncation",
        "MODEL",
        *["--input", "x.npy", "--labels", "y.npy", "--plot", "OUT.svg"],
    ],
    "liu24": ["tables", "liu24", "--json", "OUT"],
    "falcon": ["tables", "falcon", "--json", "OUT"],
    "bicoptor2": ["tables", "bicoptor2", "--json", "OUT"],
    "sirnn": ["tables", "sirnn", "--json", "OUT"],
}


@pytest.fixture
def files(tmp_path, digits, monkeypatch):
    x, y = digits
    for name, array in {"x": x[:4], "y": y[:4]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(line, capsys):
    """The error of a command that is refused."""
    assert main(list(map(str, line))) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "Traceback" not in error and "os error" not in error
    return error


@pytest.mark.parametrize("command", COMMANDS)
def test_outputs_are_checked_first(command, digits_path, files, capsys, monkeypatch):
    """Nothing is computed: whatever would be is an error."""
    for name in ("compile", "bench", "analyze_truncation"):
        monkeypatch.setattr(f"tacit.cli.{name}", lambda *_, **__: pytest.fail("it computes"))
    for name in ("bicoptor2", "falcon", "sirnn"):
        monkeypatch.setattr(
            f"tacit.measure.tables.{name}", lambda *_, **__: pytest.fail("it computes")
        )
    Path("folder.svg").mkdir()
    for out, why in (("no/such", "its folder no is not there"), ("folder", "it is a folder")):
        Path("folder").mkdir(exist_ok=True)
        line = [
            {"MODEL": digits_path}.get(word, word.replace("OUT", out)) for word in COMMANDS[command]
        ]
        assert why in said(line, capsys)
    assert not Path("no").exists()


def test_an_output_is_no_input(digits_path, files, capsys):
    before = Path("x.npy").read_bytes()
    run = ["run", digits_path, "--input", "x.npy"]
    assert "one of the inputs" in said([*run, "--output", "./x.npy"], capsys)
    assert "two outputs" in said([*run, "--output", "a", "--json", "./a"], capsys)
    Path("link.npy").symlink_to("x.npy")
    assert "one of the inputs" in said([*run, "--output", "link.npy"], capsys)
    assert Path("x.npy").read_bytes() == before and not Path("a").exists()


def test_answers_that_cannot_be_written_are_kept(digits_path, files, digits_model, capsys):
    """A disk that is full: the device opens and takes nothing."""
    run = ["run", digits_path, "--input", "x.npy", "--output", "/dev/full", "--json", "report.json"]
    error = said(run, capsys)
    kept = Path(re.search(r"its content is in (\S+),", error)[1])
    expected = digits_model.reference(np.load("x.npy"))
    np.testing.assert_allclose(np.load(kept), expected, atol=1e-2)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.unlink()
    assert Path("report.json").exists()


def test_a_report_that_cannot_be_written_is_kept(capsys):
    error = said(["bench", "relu", "--n", "10", "--repeat", "1", "--json", "/dev/full"], capsys)
    kept = Path(re.search(r"its content is in (\S+),", error)[1])
    assert '"relu"' in kept.read_text()
    kept.unlink()


def test_what_is_there_is_left_as_it_was(tmp_path):
    old = tmp_path / "old"
    old.write_text("old")
    _tacit.check_outputs([str(old), str(tmp_path / "new")], [])
    assert old.read_text() == "old" and not (tmp_path / "new").exists()
    with pytest.raises(tacit.TacitError, match="it cannot be written"):
        _tacit.check_outputs(["/proc/new"], [])
