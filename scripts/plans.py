"""What `tacit plan` says beside what runs take: bytes, rounds and seconds.

    make plans

The machine is measured in the same run. Of every cell five predictions are run within one session
after one that is left out; the median counts. Fills the section `plans` of docs/results.md.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import numpy as np

import tacit
from results import markdown, write_section
from tacit import planning

NETWORKS = ("local", "lan", "wan")
RUNS = 5
CELLS = (
    ("network-a", 1, 128),
    ("lenet", 1, 16),
)
"""Models, and numbers of items at a time."""
WITHIN = 0.25
WAYS = [settings for settings, _ in planning.WAYS]
LONG = 60.0
"""Cells that a plan says take longer are left out, and counted."""


def cell(model, batch, settings, network):
    """A row: what was planned and what five runs took."""
    where = {**settings, "network": network}
    cost = model.predict_cost(batch, **where, measure=True)
    planned = [planning.seconds(cost, phase) for phase in ("offline", "online")]
    if RUNS * sum(planned) > LONG * RUNS / 5:
        return None
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (batch, *model.input_shape)).astype("f4")
    with tacit.local(**where, timeout=600.0) as session:
        runs = [session.predict(model, x, batch=batch).report.data for _ in range(RUNS + 1)][1:]
    took = [statistics.median(run[p]["seconds"] for run in runs) for p in ("offline", "online")]
    same = all(
        run[phase][what] == cost[phase][what]
        for run in runs
        for phase in ("offline", "online")
        for what in ("bytes_sent", "rounds")
    )
    return planned, took, same


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--no-tables", action="store_true", help="leave docs/results.md alone")
    options.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    given = options.parse_args()
    folder = Path(os.environ["TACIT_MODELS"])
    # Measured in this run, and for it alone.
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    rows, near, exact, left_out = [], [], [], 0
    for name, *batches in CELLS:
        model = tacit.compile(folder / f"{name}.onnx")
        for batch in batches:
            for settings in WAYS:
                for network in given.networks:
                    found = cell(model, batch, settings, network)
                    if found is None:
                        left_out += 1
                        continue
                    planned, took, same = found
                    ratio = sum(planned) / sum(took)
                    near.append(abs(ratio - 1) <= WITHIN)
                    exact.append(same)
                    figures = [f"{s:.4f}" for pair in zip(planned, took, strict=True) for s in pair]
                    row = [name, batch, planning.named(settings), network, *figures,
                           f"{ratio:.2f}", "yes" if same else "NO"]  # fmt: skip
                    rows.append(row)
                    print(*row, flush=True)
    head = (
        f"{sum(near)} of {len(near)} cells are within {WITHIN:.0%} of the plan in time, "
        f"{sum(exact)} have its bytes and rounds to the last; {left_out} that would take longer "
        f"than {LONG:.0f} s were left out."
    )
    print(head)
    heads = ["model", "items", "protocol", "network", "offline planned, s", "took",
             "online planned, s", "took", "planned / took", "bytes and rounds exact"]  # fmt: skip
    if not given.no_tables:
        write_section("plans", f"{head}\n\n{markdown(heads, rows)}")


if __name__ == "__main__":
    main()
