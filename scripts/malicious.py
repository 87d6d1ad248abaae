"""What malicious security costs beside semi-honest: processor time of all parties under Falcon.

    make malicious
    python scripts/malicious.py --runs 11

All parties are threads of this process, in one session for each security, whose predictions are run
in turn after some that are left out. Counted is the process's user and system time, offline phase
and proofs included, so that other work on the machine weighs little; the medians count. Fills the
section `malicious` of docs/results.md.
"""

import argparse
import os
import resource
import statistics
import tempfile
from contextlib import ExitStack

import networks
import tacit
from results import markdown, write_section

MODELS = {"network A": ("network-a", 1), "network B": ("network-b", 128), "LeNet": ("lenet", 16)}
"""Models of `scripts/networks.py`, and items at a time."""
SECURITIES = ("malicious", "semi-honest")
RUNS = 7
WARM = 2
"""Predictions before those that count: pages of memory are fresh in the first."""


def used():
    """The processor time of this process, in seconds."""
    told = resource.getrusage(resource.RUSAGE_SELF)
    return told.ru_utime + told.ru_stime


def measured(model, x, runs):
    """The medians of the processor time of a prediction, for each security."""
    times = {security: [] for security in SECURITIES}
    with ExitStack() as stack:
        sessions = [tacit.local("falcon", security=each) for each in SECURITIES]
        opened = [stack.enter_context(session) for session in sessions]
        for run in range(WARM + runs):
            for security, session in zip(SECURITIES, opened, strict=True):
                before = used()
                session.predict(model, x)
                if run >= WARM:
                    times[security].append(used() - before)
    return {security: statistics.median(each) for security, each in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="predictions that count")
    runs = parser.parse_args().runs
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, items) in MODELS.items():
            path = networks.save_onnx(file, folder)
            x = networks.images(items)
            model = tacit.compile(path, samples=x, protocol="falcon")
            found = measured(model, x, runs)
            ratio = found["malicious"] / found["semi-honest"]
            rows.append(
                [name, str(items), *(f"{found[s]:.3f} s" for s in SECURITIES), f"{ratio:.1f}"]
            )
            print(*rows[-1], flush=True)
    cores = len(os.sched_getaffinity(0))
    told = f"Medians of {runs} on {cores} cores.\n\n"
    header = ["network", "images", *SECURITIES, "times"]
    write_section("malicious", told + markdown(header, rows))


if __name__ == "__main__":
    main()
