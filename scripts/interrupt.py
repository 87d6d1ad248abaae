"""Measures how long commands take to end after Ctrl-C; fills `interrupt` of docs/results.md.

    make interrupt

Every command is interrupted a moment after its log says that it is in the phase of the row, again
and again. Commands of one process and parties apart are measured, waiting and computing; of parties
also how long the others take to end, which nobody has interrupted.
"""

import argparse
import contextlib
import io
import itertools
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import sklearn.datasets
from onnx import helper, numpy_helper

from results import markdown, write_section
from tacit.cli import main

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
LIMIT = 120
"""Seconds after which a command counts as one that does not end."""
MOMENT = 0.3
"""The longest time, in seconds, from the phase's first line to the interrupt."""
CODES = {"interrupted": 130, "other": 2}
WAITS, COMPARES = "waiting for party", "TRACE party . has"
OFFLINE, ONLINE, STEP = (f"(INFO|DEBUG) {phase}" for phase in ("offline", "online", "step"))
ANY = r" \d+ %"
"""What the log says first in a phase."""
SLOW = "200ms,100Mbps"
WIDE = 3000
"""The width of a network whose samples take long."""
LAYERS = (
    "[{type = 'linear', outputs = 2000}, {type = 'relu'}, {type = 'linear', outputs = 2000},"
    " {type = 'relu'}, {type = 'linear', outputs = 3}]"
)


class Watched:
    """A command whose log is read while it runs."""

    def __init__(self, *arguments):
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tacit", *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Keeps the lines of the log as they come."""
        for line in self.process.stderr:
            self.lines.append(line)

    def reaches(self, pattern):
        """Waits until a line of the log fits, or, of a number, so long."""
        until = time.monotonic() + LIMIT
        if isinstance(pattern, float):
            time.sleep(pattern)
            return
        while not any(re.search(pattern, line) for line in list(self.lines)):
            self.runs()
            if time.monotonic() > until:
                raise SystemExit(f"no {pattern} in its log: {''.join(self.lines[-5:])}")
            time.sleep(0.005)

    def runs(self):
        """Gives up if it has ended by itself."""
        if self.process.poll() is not None:
            raise SystemExit(f"it ended before it was interrupted: {''.join(self.lines[-5:])}")

    def ends(self, began, code):
        """The seconds since a moment when it ends, as it should."""
        self.process.wait(LIMIT)
        took = time.monotonic() - began
        self.reader.join()
        if self.process.returncode != code:
            raise SystemExit(f"exit code {self.process.returncode}: {''.join(self.lines[-5:])}")
        return took


def interrupted(first, others, pattern):
    """The seconds from Ctrl-C to the ends of one command and of those that hear it."""
    try:
        first.reaches(pattern)
        time.sleep(random.uniform(0, MOMENT))
        first.runs()
        began = time.monotonic()
        first.process.send_signal(signal.SIGINT)
        own = first.ends(began, CODES["interrupted"])
        return own, [other.ends(began, CODES["other"]) for other in others]
    finally:
        for each in (first, *others):
            each.process.kill()


def local(folder):
    """The commands of one process: name, phase, arguments and when they are in it."""
    run = ["run", DIGITS, "--input", folder / "x.npy", "-vv", "--batch", "1"]
    slow, matmul = [*run, "--network", SLOW], ["bench", "matmul", "--repeat", "1000", "-vv"]
    relu = ["bench", "relu", "--n", "1000", "--network", "3000ms,1Mbps", "-vv"]
    plan = ["plan", folder / "wide.onnx", "--samples", folder / "samples.npy"]
    return [
        ("run", "agreement", slow, COMPARES),
        ("run", "offline", slow, OFFLINE),
        ("run", "online", slow, ONLINE),
        ("run --processes", "connected", [*slow, "--processes"], 3.0),
        ("plan", "planning", plan, 3.0),
        ("bench matmul", "computing", [*matmul, "--n", "1500"], ONLINE),
        ("bench matmul, clear", "computing", [*matmul, "--n", "4000", "--protocol", "clear"], 2.0),
        ("bench relu", "waiting", relu, OFFLINE),
        ("train", "a step", ["train", folder / "train.toml", "-vv"], STEP),
        ("tables falcon", "computing", ["tables", "falcon", "-vv"], ANY),
        ("tables bicoptor2", "computing", ["tables", "bicoptor2", "-vv"], ANY),
        ("tables sirnn", "computing", ["tables", "sirnn", "-vv"], ANY),
    ]


def apart(folder):
    """The commands of parties: name, phase, arguments, when they are in it, others."""
    run, train = folder / "run", folder / "train"
    return [
        ("party", "connecting, alone", ("party", "--config", run, "party.toml"), WAITS, 0),
        ("party", "connecting, with another", ("party", "--config", run, "party.toml"), WAITS, 1),
        ("party", "agreement", ("party", "--config", run, "party.toml"), COMPARES, 2),
        ("party", "offline", ("party", "--config", run, "party.toml"), OFFLINE, 2),
        ("party", "online", ("party", "--config", run, "party.toml"), ONLINE, 2),
        ("train, a party", "connecting", ("train", train, "train.toml"), WAITS, 1),
        ("train, a party", "agreement", ("train", train, "train.toml"), COMPARES, 2),
        ("train, a party", "a step", ("train", train, "train.toml"), STEP, 2),
    ]


def party(command, number):
    """The command line of one party."""
    *words, folder, file = command
    return (*words, folder / f"party{number}" / file, "-vv")


def prepare(folder):
    """Writes the inputs, models and config files of all commands."""
    x, _ = sklearn.datasets.load_digits(return_X_y=True)
    np.save(folder / "x.npy", (x[:5] / 16).reshape(-1, 1, 8, 8).astype(np.float32))
    np.save(folder / "samples.npy", np.ones((4000, WIDE), np.float32))
    names = ["x", *(f"h{i}" for i in range(1, 12)), "y"]
    nodes = [
        helper.make_node("MatMul", [before, f"w{i}"], [after], f"fc{i}")
        for i, (before, after) in enumerate(itertools.pairwise(names))
    ]
    weights = [
        numpy_helper.from_array(np.full((WIDE, WIDE), 1e-4, np.float32), f"w{i}") for i in range(12)
    ]
    ends = [helper.make_tensor_value_info(name, 1, ["N", WIDE]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "wide", ends[:1], ends[1:], weights)
    version = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=version, ir_version=8), folder / "wide.onnx")
    rows = np.column_stack([x[:500, :20] / 16, np.arange(500) % 3])
    header = ",".join([*(f"x{i}" for i in range(20)), "label"])
    np.savetxt(folder / "rows.csv", rows, delimiter=",", header=header, comments="")
    network = f"[model]\ninput = [20]\nlayers = {LAYERS}\n"
    data = f"[[data]]\nowner = 1\ntrain = 'csv:{folder}/rows.csv:label=label'\n"
    epochs = "[training]\nepochs = 1000\n"
    (folder / "train.toml").write_text(network + data + epochs)

    files = ["--model", str(DIGITS), "--input", str(folder / "x.npy")]
    quietly = contextlib.redirect_stdout(io.StringIO())
    with quietly:
        assert main(["init", str(folder / "run"), *files]) == 0
        assert main(["init", str(folder / "train"), "--training"]) == 0
    for config in (folder / "run").glob("*/party.toml"):
        text = config.read_text().replace('network = "local"', f'network = "{SLOW}"')
        config.write_text(text.replace("# batch = 128", "batch = 1"))
    for config in (folder / "train").glob("*/train.toml"):
        text = config.read_text()
        head, run = text[: text.index("[model]")], text[text.index("[run]") :]
        own = data if config.parent.name == "party1" else ""
        run = run.replace('network = "local"', 'network = "200ms,100Mbps"')
        config.write_text(head + network + own.replace("owner = 1\n", "") + epochs + run)
    for kind in ("run", "train"):
        move(list((folder / kind).glob("*/*.toml")))


def move(configs):
    """Moves parties to ports that are free."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in configs]
    ports = [str(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    for config in configs:
        config.write_text(re.sub("710([012])", lambda m: ports[int(m[1])], config.read_text()))


def seconds(times):
    """The median and the maximum of some seconds, as cells of the table."""
    return [f"{statistics.median(times):.2f}", f"{max(times):.2f}"] if times else ["", ""]


def measured(folder, repeat):
    """The rows of the table."""
    rows = []

    def row(name, phase, ends):
        own, others = [end[0] for end in ends], [took for end in ends for took in end[1]]
        rows.append([name, phase, len(ends), *seconds(own), *seconds(others)])
        print(*rows[-1], flush=True)

    for name, phase, arguments, pattern in local(folder):
        row(name, phase, [interrupted(Watched(*arguments), [], pattern) for _ in range(repeat)])
    for name, phase, command, pattern, others in apart(folder):
        ends = []
        for _ in range(repeat):
            parties = [Watched(*party(command, number)) for number in (1, 0, 2)[: others + 1]]
            ends.append(interrupted(parties[0], parties[1:], pattern))
        row(name, phase, ends)
    return rows


HEADINGS = [
    *("command", "phase", "times", "median, s", "longest, s"),
    *("others: median, s", "others: longest, s"),
]


def run():
    """Measures interrupts, and writes the table into docs/results.md."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=10, help="interrupts of each phase")
    options.add_argument("--print", action="store_true", help="do not write docs/results.md")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        rows = measured(Path(folder), args.repeat)
    if not args.print:
        write_section("interrupt", markdown(HEADINGS, rows))


if __name__ == "__main__":
    run()
