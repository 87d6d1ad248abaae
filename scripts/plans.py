"""What `tacit plan` says beside what runs take: bytes, rounds, seconds and memory.

    make plans
    python scripts/plans.py --models network-a --networks local --most 10   # some, and no long ones

Every cell is planned in a process of its own and run in another, with all parties, so that its
memory is its own; the machine is measured in the same run. Within one session so many predictions
are run after one that is left out; the median counts. Fills the section `plans` of docs/results.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tacit
from results import markdown, write_section
from tacit import planning

NETWORKS = ("local", "lan", "wan")
RUNS = 5
MODELS = {"network-a": (1, 128), "lenet": (1, 16), "resnet18": (1, 4)}
"""Models, and numbers of items at a time."""
SHAPES = {"network-a": (1, 28, 28), "lenet": (1, 28, 28), "resnet18": (3, 32, 32)}
"""Shapes of an input, by the models' names."""
SAMPLES = 10
"""Inputs that ranges are estimated from."""
WITHIN = 0.25
WAYS = {planning.named(settings): settings for settings, _ in planning.WAYS}
PHASES = ("offline", "online")
MOST = 60.0
"""Seconds of a prediction beyond which a cell is not run."""


def write_resnet(path):
    """Writes ResNet-18; the packages that it takes are in no process that is measured."""
    import resnet

    resnet.write(path)


def compiled(name, way, folder):
    """The model, planned for its protocol, and inputs of it."""
    own = Path(folder) / f"{name}.onnx"
    path = own if own.exists() else Path(os.environ["TACIT_MODELS"]) / own.name
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (SAMPLES, *SHAPES[name])).astype("f4")
    return tacit.compile(path, protocol=WAYS[way]["protocol"], samples=x), x


def plan(name, batch, way, network, folder):
    """What is planned, in this process."""
    model, _ = compiled(name, way, folder)
    return model.predict_cost(batch, **WAYS[way], network=network, measure=True)


def run(name, batch, way, network, folder):
    """The reports of predictions after each other in this process, and its memory."""
    model, some = compiled(name, way, folder)
    x = np.resize(some, (batch, *some.shape[1:]))
    with tacit.local(**WAYS[way], network=network, timeout=600.0) as session:
        runs = [session.predict(model, x, batch=batch).report.data for _ in range(RUNS + 1)]
    kept = ("setup", *PHASES, "peak_memory_bytes")
    return [{name: run[name] for name in kept} for run in runs]


def apart(what, cell):
    """Plans or runs a cell in a process of its own."""
    command = [sys.executable, __file__, "--cell", what, *map(str, cell)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


class Row:
    """A cell: what was planned, and what its runs took."""

    def __init__(self, planned, took):
        first, *runs = took
        median = {
            phase: statistics.median(run[phase]["seconds"] for run in runs) for phase in PHASES
        }
        self.seconds = [(planned["expected"][phase], median[phase]) for phase in PHASES]
        self.setup = (planned["expected"]["setup"], first["setup"]["seconds"])
        most = runs[-1]["peak_memory_bytes"]
        self.memory = (planned["memory"]["together"] / 1e6, most / 1e6)
        self.same = all(
            run[phase][what] == planned[phase][what]
            for run in runs
            for phase in PHASES
            for what in ("bytes_sent", "rounds")
        )
        totals = [sum(each) for each in zip(*self.seconds, strict=True)]
        self.time_ratio = totals[0] / totals[1]
        self.memory_ratio = self.memory[0] / self.memory[1]

    def figures(self):
        """The columns of the table."""
        pairs = [f"{s:.4f}" for pair in (*self.seconds, self.setup) for s in pair]
        memory = [f"{mb:.0f}" for mb in self.memory]
        return [*pairs[:4], f"{self.time_ratio:.2f}", *memory, f"{self.memory_ratio:.2f}",
                *pairs[4:], "yes" if self.same else "NO"]  # fmt: skip


HEADS = ["model", "items", "protocol", "network", "offline planned, s", "took",
         "online planned, s", "took", "planned / took", "memory planned, MB", "took",
         "planned / took", "set-up planned, s", "took", "bytes and rounds exact"]  # fmt: skip


def measure(given, folder):
    """The lines of the table, and the rows of the cells that were run."""
    lines, rows = [], []
    for name in given.models:
        for batch in MODELS[name]:
            for way in given.ways:
                for network in given.networks:
                    cell = (name, batch, way, network)
                    planned = apart("plan", (*cell, folder))
                    took = planning.seconds(planned)
                    if took > given.most:
                        why = f"not run: a prediction would take {took:.0f} s"
                        line = [*cell, why, *["-"] * (len(HEADS) - 5)]
                    else:
                        row = Row(planned, apart("run", (*cell, folder)))
                        rows.append(row)
                        line = [*cell, *row.figures()]
                    lines.append(line)
                    print(*line, flush=True)
    return lines, rows


def headline(rows, lines, most):
    """How many cells are as planned, in words."""
    near = [
        sum(abs(ratio - 1) <= WITHIN for ratio in ratios)
        for ratios in ([row.time_ratio for row in rows], [row.memory_ratio for row in rows])
    ]
    left_out = len(lines) - len(rows)
    return (
        f"Of {len(rows)} cells {near[0]} are within {WITHIN:.0%} of the plan in time, {near[1]} in "
        f"memory, and {sum(row.same for row in rows)} have its bytes and rounds to the last; "
        f"{left_out} whose predictions would take longer than {most:.0f} s each were planned alone."
    )


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--no-tables", action="store_true", help="leave docs/results.md alone")
    options.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    options.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    options.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    options.add_argument("--most", type=float, default=MOST, metavar="SECONDS",
                         help="run no cell whose predictions take longer by the plan")  # fmt: skip
    options.add_argument("--cell", nargs=6, metavar="WHAT", help="one, in this process")
    given = options.parse_args()
    if given.cell:
        what, name, batch, *where = given.cell
        found = {"plan": plan, "run": run}[what](name, int(batch), *where)
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as folder:
        # Measured in this run, and for it alone.
        os.environ["XDG_CACHE_HOME"] = folder
        write_resnet(Path(folder) / "resnet18.onnx")
        lines, rows = measure(given, folder)
    words = headline(rows, lines, given.most)
    print(words)
    if not given.no_tables:
        write_section("plans", f"{words}\n\n{markdown(HEADS, lines)}")


if __name__ == "__main__":
    main()
