"""Measures Falcon's networks, predictions and training steps, beside the tables of the paper.

    make bench-falcon

Fills the section `falcon-tables` of docs/results.md with what `tacit tables falcon` prints. What
is expected to take more than `--limit` seconds is counted, not run. `TACIT_MODELS` and `TACIT_DATA`
name the folders of trained networks and of MNIST for the table of accuracies, which is left out
without them.
"""

import argparse

from results import markdown, write_section
from tacit.measure.falcon import ACCURACY, CASES, LINKS, PHASES, accuracy, falcon, missing

HEADINGS = [
    "network", "security", "link", "paper, s", "paper, MB", "offline, s", "online, s",
    "offline, MB", "online, MB", "hops offline", "online", "how",
]  # fmt: skip
TRIED = [
    "network", "images", "paper: float, %", "Falcon, %", "relative error, %", "here: float, %",
    "private, %", "relative error, %",
]  # fmt: skip


def line(row):
    """One line of the table."""
    figures = ["paper_seconds", "paper_mb"]
    figures += [f"{phase}_{unit}" for unit in ("seconds", "mb") for phase in ("offline", "online")]
    return [
        *(row[name] for name in ("network", "security", "link")),
        *(f"{row[name]:.3g}" if row[name] < 1000 else f"{row[name]:.0f}" for name in figures),
        row["offline_hops"],
        row["online_hops"],
        "measured" if row["measured"] else "counted",
    ]


def show(row):
    print(*line(row), sep=" | ", flush=True)


def tried(images):
    """The table of accuracies."""
    rows = []
    for name in ACCURACY:
        if why := missing(name):
            print(f"skipped {name}: {why}")
            continue
        row = accuracy(name, images)
        figures = [row[whose].values() for whose in ("paper", "ours")]
        rows.append([name, row["images"], *(f"{v:.3g}" for values in figures for v in values)])
        print(*rows[-1], sep=" | ", flush=True)
    return [markdown(TRIED, rows)] if rows else []


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--networks", nargs="+", choices=CASES, default=[*CASES])
    options.add_argument("--links", nargs="+", choices=LINKS, default=[*LINKS])
    options.add_argument("--limit", type=float, default=300.0, help="seconds of a row that runs")
    options.add_argument("--images", type=int, default=1000, help="of the table of accuracies")
    options.add_argument("--dry", action="store_true", help="print, and leave docs/results.md")
    args = options.parse_args()
    parts = []
    for phase in PHASES:
        rows = falcon(args.networks, [phase], links=args.links, limit=args.limit, observe=show)
        parts += [phase.capitalize() + ":", markdown(HEADINGS, map(line, rows))]
    text = "\n\n".join([*parts, *tried(args.images)])
    if not args.dry:
        write_section("falcon-tables", text)


if __name__ == "__main__":
    main()
