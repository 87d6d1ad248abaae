"""What commands say while they work, without a terminal."""

import re
import subprocess
import sys

import numpy as np
import pytest

LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z +(INFO|DEBUG|TRACE) (\w+) ?(.*?) (\d+) %")


@pytest.fixture
def run(tmp_path, digits, digits_path):
    np.save(tmp_path / "x.npy", digits[0][:12])

    def done(*more, model=digits_path):
        line = [
            sys.executable,
            "-m",
            "tacit",
            "run",
            str(model),
            "--input",
            str(tmp_path / "x.npy"),
        ]
        return subprocess.run(
            [*line, "--batch", "3", *more], capture_output=True, text=True, check=False
        )

    return done


def steps(done):
    return [match.groups() for match in map(LINE.fullmatch, done.stderr.splitlines()) if match]


def test_lines_have_time_phase_layer_and_percentage(run):
    done = run()
    assert done.returncode == 0
    told = steps(done)
    assert len(told) == len(done.stderr.splitlines())
    assert {phase for _, phase, _, _ in told} == {"setup", "offline", "online"}
    assert {"conv", "fc1", "fc2"} <= {layer for _, _, layer, _ in told}
    percentages = [int(percentage) for *_, percentage in told]
    assert percentages == sorted(set(percentages)) and percentages[0] == 0
    assert "Online, layer by layer" in done.stdout


def test_more_and_less(run):
    quiet, loud, louder = run("--quiet"), run("-v"), run("-vv")
    assert [done.returncode for done in (quiet, loud, louder)] == [0, 0, 0]
    assert quiet.stderr == "" and "Online, layer by layer" in quiet.stdout
    assert "the parties agree: 12 inputs in batches of 3" in loud.stderr
    assert "DEBUG" in loud.stderr and "TRACE" not in loud.stderr
    assert "TRACE" in louder.stderr and "protocol falcon" in louder.stderr


def test_quiet_says_errors(run):
    done = run("--quiet", model="absent.onnx")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "absent.onnx" in done.stderr
    assert done.stdout == ""


def test_parties_log_too(tmp_path, digits_path, digits):
    """Each its own steps; the process that starts them shows no lines of theirs."""
    np.save(tmp_path / "x.npy", digits[0][:3])
    line = [sys.executable, "-m", "tacit", "run", str(digits_path), "--processes"]
    done = subprocess.run(
        [*line, "--input", str(tmp_path / "x.npy")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr
