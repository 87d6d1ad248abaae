"""The most memory of a process with all parties of a prediction; fills `memory` of docs/results.md.

    make memory

Every row is a process of its own: planning a model, all parties, and their material in portions.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

import tacit
from results import markdown, write_section

MODELS = Path(os.environ.get("TACIT_MODELS", "../shared/models"))
DIGITS = Path(__file__).resolve().parents[1] / "examples" / "digits" / "digits.onnx"
ROWS = [
    ("lenet", 128, {"protocol": "falcon"}),
    ("lenet", 128, {"protocol": "bicoptor"}),
    ("lenet", 128, {"protocol": "shamir"}),
    ("network-b", 128, {"protocol": "falcon", "security": "malicious"}),
    ("lenet", 8, {"protocol": "sirnn"}),
    ("digits", 360, {"protocol": "shamir", "parties": 7}),
]
"""A model, how many inputs, all in one batch but of the digits, and what it runs on."""


def items(name, n):
    """The model's file, and inputs of it."""
    if name == "digits":
        return DIGITS, np.random.default_rng(0).random((n, 1, 8, 8), dtype=np.float32)
    with np.load(MODELS / f"{name}.samples.npz") as samples:
        some = samples[samples.files[0]].astype(np.float32)
    return MODELS / f"{name}.onnx", np.resize(some, (n, *some.shape[1:]))


def peak():
    """The most memory of this process until now, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measure(name, n, where):
    """A prediction in this process: MB before and at most, seconds and rounds of both phases."""
    path, x = items(name, n)
    model = tacit.compile(path, samples=x[:10], protocol=where["protocol"])
    before = peak()
    batch = None if name == "digits" else n
    report = tacit.local(**where).predict(model, x, batch=batch).report.data
    phases = [report[phase] for phase in ("offline", "online")]
    seconds = [f"{phase['seconds']:.2f}" for phase in phases]
    rounds = [phase["rounds"] for phase in phases]
    return [name, n, report["batch"], ", ".join(map(str, where.values())), f"{before:.0f}",
            f"{peak():.0f}", *seconds, *rounds]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--row", type=int, help="measure this one, in this process")
    given = parser.parse_args()
    if given.row is not None:
        print(json.dumps(measure(*ROWS[given.row])))
        return
    rows = []
    for i in range(len(ROWS)):
        command = [sys.executable, __file__, "--row", str(i)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append(json.loads(told))
        print(*rows[-1])
    heads = ["model", "inputs", "batch", "run", "MB before", "at most", "offline, s", "online, s",
             "offline, rounds", "online, rounds"]  # fmt: skip
    write_section("memory", markdown(heads, rows))


if __name__ == "__main__":
    main()
