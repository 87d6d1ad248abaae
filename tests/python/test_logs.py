"""What commands say while they work, without a terminal."""

import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from ports import move_ports
from test_training import finished, images, organisations

from tacit.cli import main

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
    """Each party logs its own steps; the process that starts them shows no lines of theirs."""
    np.save(tmp_path / "x.npy", digits[0][:3])
    line = [sys.executable, "-m", "tacit", "run", str(digits_path), "--processes"]
    done = subprocess.run(
        [*line, "--input", str(tmp_path / "x.npy")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr


def numbers(values):
    """How a number may be written: decimal, encoded with 18 fraction bits, as bits; the short ones
    are in any log."""
    for value in np.asarray(values, np.float32).ravel():
        encoded = round(float(value) * 2**18)
        texts = (str(value), repr(float(value)), str(encoded), f"{encoded % 2**64:x}")
        yield from (text for text in (*texts, f"{value.view(np.uint32):x}") if len(text) > 5)


LONG = re.compile(r"\b(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{7,}\b|\d\.\d|\[|e-\d")
"""What shares, seeds, keys and numbers of the data look like."""
TIME = re.compile(r"^\S+Z", re.MULTILINE)
PUBLIC = re.compile(
    r"version \S+|\(data-owner\)|at 127\S+|[\d.]+ s of|has training[.].*|"
    r"party \d has (plan|training|run of the training|session|the network's layers|"
    r"session that it goes on from|inputs' shape) \S+"
)
"""What else does beside times: versions, addresses, options, hashes that the parties compare."""


def check(logs, secrets):
    """Nothing of what is secret, and nothing that looks like it."""
    # Microseconds are six digits, and so is many a secret.
    for log in (TIME.sub("", log) for log in logs):
        assert "TRACE" in log
        for secret in secrets:
            assert secret not in log, secret
        for line in log.splitlines():
            found = LONG.search(PUBLIC.sub("", line))
            assert not found, line


def test_parties_log_no_secret(tmp_path, digits_path, digits):
    """Parties log no secret at the most verbose level, each with a key and sockets of its own."""
    x = digits[0][:3] * np.float32(0.987654) + np.float32(0.0123456)
    np.save(tmp_path / "x.npy", x)
    folder = tmp_path / "parties"
    files = ["--model", str(digits_path), "--input", str(tmp_path / "x.npy")]
    assert main(["init", str(folder), *files]) == 0
    move_ports(folder.glob("*/party.toml"))
    lines = [["party", "--config", folder / f"party{i}" / "party.toml"] for i in range(3)]
    output = folder / "party1" / "output.npy"
    weights = [numpy_helper.to_array(t) for t in onnx.load(digits_path).graph.initializer]
    logs = together(lines)
    keys = [key.read_text().splitlines()[1] for key in folder.glob("*/key.pem")]
    secrets = [*numbers(x), *numbers(np.load(output)), *keys]
    check(logs, secrets + [text for w in weights for text in numbers(w.ravel()[:50])])


def test_trainings_log_no_secret(tmp_path):
    paths = organisations(tmp_path / "apart")
    logs = together([["train", path] for path in paths])
    weights = [
        numpy_helper.to_array(t)
        for t in onnx.load(paths[0].parent / "trained.onnx").graph.initializer
    ]
    secrets = [text for x in (images(40, 1)[0], *weights) for text in numbers(x)]
    check(logs, secrets)


def together(lines):
    """What parties log at the most verbose level."""
    command = [sys.executable, "-m", "tacit"]
    started = [
        subprocess.Popen([*command, *map(str, line), "-vv"], stderr=subprocess.PIPE, text=True)
        for line in lines
    ]
    codes, logs = finished(started)
    assert codes == [0] * len(lines), logs
    return logs
