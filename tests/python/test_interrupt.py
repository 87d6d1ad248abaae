"""Ctrl-C ends a command at once in every phase, and the other parties hear it."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from onnx import helper
from ports import move_ports

from tacit.cli import main

LIMIT = 120
ENDS = 5
"""Seconds that a command may take to end. It takes one; a busy machine takes longer."""


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "tacit", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt(process):
    """Sends Ctrl-C, and checks that the process ends as one that was interrupted."""
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    try:
        _, error = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    took = time.monotonic() - began
    assert process.returncode == 130, error
    assert "interrupted" in error
    assert "Traceback" not in error
    assert took < ENDS


def cpu(process):
    """The seconds that a process has computed so far."""
    with open(f"/proc/{process.pid}/stat") as file:  # noqa: PTH123
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def works(process, seconds):
    """Waits until a process has computed for so long, which is beyond its start."""
    until = time.monotonic() + LIMIT
    while cpu(process) < seconds and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()


@pytest.fixture
def parties(tmp_path, digits_path, digits):
    """Three ready parties whose run takes long: every message has to go far."""
    np.save(tmp_path / "x.npy", digits[0][:6])
    folder = tmp_path / "parties"
    files = ["--model", str(digits_path), "--input", str(tmp_path / "x.npy")]
    assert main(["init", str(folder), *files]) == 0
    move_ports(folder.glob("*/party.toml"))
    return folder


def slow(parties, network):
    for config in parties.glob("*/party.toml"):
        text = config.read_text()
        text = text.replace('network = "local"', f'network = "{network},1000Mbps"')
        config.write_text(text.replace("# batch = 128", "batch = 1"))


def heard(process, party):
    """Checks that a party ends because another was interrupted."""
    began = time.monotonic()
    try:
        _, error = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 2, error
    assert f"error: party {party} was interrupted" in error
    assert time.monotonic() - began < 2 * ENDS


def party(parties, number):
    return start("party", "--config", parties / f"party{number}" / "party.toml", "-vv")


def ended(parties, number):
    """How the runs in a party's record ended."""
    lines = (parties / f"party{number}" / "runs.jsonl").read_text().splitlines()
    return [json.loads(line)["ended"] for line in lines]


def says(process, words):
    """Waits until a process says so."""
    line = process.stderr.readline()
    while words not in line:
        assert line, "it ended"
        line = process.stderr.readline()
    return line


def test_while_others_are_waited_for(parties):
    alone = party(parties, 0)
    says(alone, "waiting for party 1")
    interrupt(alone)
    assert ended(parties, 0) == ["while connecting: this party was interrupted"]


def test_while_a_third_party_is_waited_for(parties):
    zero, one = party(parties, 0), party(parties, 1)
    for each in (zero, one):
        says(each, "waiting for party 2")
    # Both now wait for party 2 alone.
    time.sleep(1)
    interrupt(one)
    heard(zero, 1)
    assert ended(parties, 1) == ["while connecting: this party was interrupted"]
    assert ended(parties, 0)[0].startswith("while connecting: party 1 was interrupted")


def test_a_party_that_is_killed_while_others_are_waited_for(parties):
    """A party killed without a word is named at once, and met again once it is started again."""
    zero, one = party(parties, 0), party(parties, 1)
    for each in (zero, one):
        says(each, "waiting for party 2")
    time.sleep(1)
    one.kill()
    one.communicate()
    began = time.monotonic()
    line = says(zero, "came and left again")
    assert line.startswith("party 1 (data-owner) came and left again: the connection ended"), line
    assert time.monotonic() - began < ENDS
    assert ended(parties, 1) == []
    again = [party(parties, number) for number in (1, 2)]
    for each in (zero, *again):
        _, error = each.communicate(timeout=LIMIT)
        assert each.returncode == 0, error
    assert [ended(parties, number) for number in range(3)] == [["well"]] * 3


@pytest.mark.parametrize("phase", ["party 1 has protocol", "offline", "online"])
def test_while_a_run_goes_on(parties, phase):
    slow(parties, "200ms")
    all_three = [party(parties, number) for number in range(3)]
    says(all_three[1], phase)
    interrupt(all_three[1])
    for other in (0, 2):
        heard(all_three[other], 1)
    assert re.search("party was interrupted|run was cancelled", ended(parties, 1)[0])
    for other in (0, 2):
        assert "party 1 was interrupted" in ended(parties, other)[0]


def test_a_run_on_this_machine(tmp_path, digits_path, digits):
    np.save(tmp_path / "x.npy", digits[0][:50])
    for more in ([], ["--processes"]):
        line = ["run", digits_path, "--input", tmp_path / "x.npy", "--network", "2000ms,10Mbps"]
        process = start(*line, *more)
        # Of parties that are processes nothing is logged here.
        time.sleep(3)
        interrupt(process)


@pytest.mark.parametrize(
    "line",
    [
        ["matmul", "--n", "1500", "--repeat", "1000"],
        ["matmul", "--n", "3000", "--protocol", "clear", "--repeat", "1000"],
        ["relu", "--n", "1000", "--network", "3000ms,1000Mbps"],
    ],
)
def test_a_bench(line):
    process = start("bench", *line)
    says(process, "offline")
    time.sleep(1)
    interrupt(process)


def test_a_training(tmp_path):
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.random((500, 20)), rng.integers(0, 3, 500)])
    names = [*(f"x{i}" for i in range(20)), "label"]
    header = ",".join(names)
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header=header, comments="")
    (tmp_path / "train.toml").write_text(
        "[model]\ninput = [20]\nlayers = [{type = 'linear', outputs = 2000}, {type = 'relu'},"
        " {type = 'linear', outputs = 3}]\n"
        f"[[data]]\nowner = 1\ntrain = 'csv:{tmp_path}/a.csv:label=label'\n"
        "[training]\nepochs = 1000\n"
    )
    process = start("train", tmp_path / "train.toml")
    says(process, "setup")
    time.sleep(1)
    interrupt(process)


def test_a_plan_that_computes_its_samples(tmp_path, save_onnx):
    """No Python code runs meanwhile, and nothing waits for anything."""
    weights = {f"w{i}": np.full((3000, 3000), 1e-4, np.float32) for i in range(12)}
    nodes = [
        helper.make_node("MatMul", ["x" if i == 0 else f"h{i}", f"w{i}"], [f"h{i + 1}"], f"fc{i}")
        for i in range(11)
    ]
    nodes.append(helper.make_node("MatMul", ["h11", "w11"], ["y"], "last"))
    path = save_onnx(nodes, [3000], [3000], weights)
    np.save(tmp_path / "samples.npy", np.ones((4000, 3000), np.float32))
    process = start("plan", path, "--samples", tmp_path / "samples.npy")
    works(process, 3)
    interrupt(process)
