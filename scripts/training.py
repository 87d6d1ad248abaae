r"""Trains networks privately on real images, beside the same training in float32.

    TACIT_DATA=... make training

Fills sections of docs/results.md. `training-mnist`: whole epochs of MNIST's 60,000 images, from
the same start in the same order. `training-steps`: a mini-batch of every network. All parties are
threads of one process. Trainings keep checkpoints in `.bench/`, so one that was stopped goes on.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import tacit
from accuracy import folder, read_pair
from results import markdown, write_section
from tacit.console import progress_bar

STATE = Path(".bench/training")
OPTIONS = {
    "batch": 128,
    "learning_rate": 0.05,
    "momentum": 0.9,
    "sign_bits": 32,
    "timeout": 1200,
}
IMAGES = {"mnist": [1, 28, 28], "cifar": [3, 32, 32], "tiny": [3, 64, 64]}
STEPS = (
    *(("network-a", "mnist", 10), ("network-b", "mnist", 10), ("network-c", "mnist", 10)),
    *(("lenet", "mnist", 10), ("alexnet", "cifar", 10), ("alexnet-bn", "cifar", 10)),
    *(("vgg16", "cifar", 10), ("alexnet", "tiny", 200), ("vgg16", "tiny", 200)),
)


def digits(name):
    return read_pair(folder("TACIT_DATA") / "mnist" / name, 3)


def whole(args):
    """Whole epochs of MNIST."""
    train, test = digits("train"), digits("test8k")
    rows = []
    for name in args.networks:
        state = STATE / name
        model = {"input": IMAGES["mnist"], "network": name, "outputs": 10}
        checkpoint = {"folder": state, "keys": state / "keys", "every": 20}
        options = {**OPTIONS, "epochs": args.epochs, "reveal_curve": True}
        trainer = tacit.Trainer(model, checkpoint=checkpoint, stop_after=args.stop_after, **options)
        with progress_bar(remaining=True) as progress:
            report = trainer.fit(train, test, progress=progress).report.data
        seconds(state, report)
        done = json.loads((state / "seconds.json").read_text())
        if not report["epochs"]:
            print(f"{name}: {done['batches']} mini-batches are done; go on later")
            continue
        _, curve = tacit.Trainer(model, **options).reference(train, test)
        share = [f"{100 * epoch['accuracy']:.2f}" for epoch in report["epochs"]]
        clear = [f"{100 * value:.2f}" for value in curve]
        each = [done[phase] / done["batches"] for phase in ("offline", "online")]
        sent = [done[f"{phase}_bytes"] / done["batches"] / 1e6 for phase in ("offline", "online")]
        row = [name, args.epochs, done["batches"], ", ".join(clear), ", ".join(share)]
        rows.append([*row, *(f"{s:.2f}" for s in each), *(f"{s:.1f}" for s in sent)])
        print(*rows[-1], sep=" | ", flush=True)
    headings = [
        "network", "epochs", "mini-batches", "float32, % after each epoch", "private, %",
        "offline, s each", "online, s each", "offline, MB each and party", "online, MB",
    ]  # fmt: skip
    return markdown(headings, rows)


def seconds(state, report):
    """Adds what this run took to that of earlier ones."""
    path = state / "seconds.json"
    names = ["batches", "offline", "online", "offline_bytes", "online_bytes"]
    done = json.loads(path.read_text()) if path.exists() else dict.fromkeys(names, 0)
    done["batches"] += report["batches"]
    for phase in ("offline", "online"):
        done[phase] += report[phase]["seconds"]
        done[f"{phase}_bytes"] += max(report[phase]["bytes_sent"])
    path.write_text(json.dumps(done))


def steps(args):
    """One mini-batch of every network, on random images."""
    rng = np.random.default_rng(1)
    rows = []
    for name, data, classes in STEPS:
        if args.networks and name not in args.networks:
            continue
        model = {"input": IMAGES[data], "network": name, "outputs": classes}
        x = rng.random((args.batch, *IMAGES[data]), np.float32)
        y = rng.integers(0, classes, args.batch)
        options = {**OPTIONS, "batch": args.batch, "stop_after": args.repeat, "epochs": args.repeat}
        begun = time.time()
        report = tacit.Trainer(model, **options).fit((x, y)).report.data
        phases = [report[phase] for phase in ("offline", "online")]
        row = [name, data, args.batch, f"{report['parameters']:,}"]
        row += [f"{phase['seconds'] / args.repeat:.2f}" for phase in phases]
        row += [f"{max(phase['bytes_sent']) / args.repeat / 1e6:.1f}" for phase in phases]
        rows.append([*row, f"{report['peak_memory_bytes'] / 1e9:.1f}"])
        print(*rows[-1], f"{time.time() - begun:.0f} s", sep=" | ", flush=True)
    headings = [
        "network", "images", "batch", "parameters", "offline, s", "online, s",
        "offline, MB per party", "online, MB", "peak memory of the process, GB",
    ]  # fmt: skip
    return markdown(headings, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("whole", "steps"))
    parser.add_argument("--networks", nargs="*", default=["network-a", "lenet"])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--stop-after", type=int, help="mini-batches, to go on later")
    args = parser.parse_args()
    if args.only != "steps":
        write_section("training-mnist", whole(args))
    if args.only != "whole":
        write_section("training-steps", steps(args))


if __name__ == "__main__":
    main()
