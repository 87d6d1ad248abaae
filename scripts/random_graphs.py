"""Random small models under every protocol, held against onnxruntime.

    make random-graphs
    python scripts/random_graphs.py --clear 10000 --others 500
    python scripts/random_graphs.py --setting "falcon, 32 bits" --seed 17 --show

Each number makes one model of the supported operations and one batch of inputs inside the declared
range, among them zeros, both ends of the range, and inputs unlike the samples (`graphs/models.py`).
What is right, and what else there is, says `graphs/judge.py`. Every run that is not right is logged
with its number, from which it can be made again. Fills the section `random-graphs` of
docs/results.md.
"""

import argparse
import collections
import json
import multiprocessing
import re
import time
from pathlib import Path

from graphs.judge import SETTINGS, VERDICTS, judge
from graphs.models import trial
from graphs.shrink import describe, shrink
from results import markdown, write_section


def run(task):
    """The verdict on one model, by its number and the setting."""
    seed, setting = task
    return seed, setting, judge(trial(seed, setting))


def reason(why):
    """What a refusal is about, without names and numbers."""
    lines = why.splitlines()
    # Of several nodes that are listed the first.
    line = lines[1] if lines[0].endswith(":") else lines[0]
    return re.sub(r"'[^']*'|-?\d[\d.e+-]*", "_", line.strip())[:140]


def table(counts):
    """A row for every setting."""
    rows = []
    for setting, verdicts in counts.items():
        total = sum(verdicts.values())
        shares = [f"{100 * verdicts[v] / total:.2f} % ({verdicts[v]})" for v in VERDICTS]
        rows.append([setting, total, *shares])
    return markdown(["setting", "runs", *VERDICTS], rows)


def measure(tasks, jobs, log):
    """The verdicts of each setting; every one that is not right is printed and logged."""
    counts = collections.defaultdict(collections.Counter)
    refusals = collections.Counter()
    with multiprocessing.Pool(jobs, maxtasksperchild=500) as pool:
        for seed, setting, verdict in pool.imap_unordered(run, tasks, chunksize=8):
            counts[setting][verdict.kind] += 1
            if verdict.kind == "refused":
                refusals[setting, reason(verdict.why)] += 1
            if verdict.kind not in ("right", "right, warned"):
                line = {"seed": seed, "setting": setting, **vars(verdict)}
                log.write(json.dumps(line) + "\n")
                log.flush()
    return counts, refusals


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--clear", type=int, default=100_000, help="models under each clear ring")
    options.add_argument(
        "--others", type=int, default=5_000, help="models under each other setting"
    )
    options.add_argument("--setting", nargs="+", choices=SETTINGS, default=[*SETTINGS])
    options.add_argument("--first", type=int, default=0, help="the first number")
    options.add_argument("--seed", type=int, help="show this model under the settings")
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options.add_argument("--log", type=Path, default=Path("random-graphs.jsonl"))
    options.add_argument("--no-table", action="store_true", help="leave docs/results.md alone")
    given = options.parse_args()
    if given.seed is not None:
        for setting in given.setting:
            show(given.seed, setting)
        return
    tasks = [
        (given.first + i, setting)
        for setting in given.setting
        for i in range(given.clear if setting.startswith("clear") else given.others)
    ]
    start = time.monotonic()
    with given.log.open("w") as log:
        counts, refusals = measure(tasks, given.jobs, log)
    print(table(counts))
    for (setting, why), count in refusals.most_common(40):
        print(f"{count:6} {setting}: {why}")
    print(f"{len(tasks)} runs in {time.monotonic() - start:.0f} s; those not right: {given.log}")
    if not given.no_table:
        write_section("random-graphs", table(counts))


def show(seed, setting):
    """Prints the verdict on a model and the smallest part of it with the same one."""
    one = trial(seed, setting)
    verdict = judge(one)
    print(f"{seed}, {setting}: {verdict}")
    small = one.graph if verdict.kind.startswith("right") else shrink(one, verdict)
    print(describe(small, one.limit))


if __name__ == "__main__":
    main()
