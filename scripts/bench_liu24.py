"""Runs networks A, B and C between many parties over a prime field, beside the paper's tables.

    TACIT_MODELS=... TACIT_DATA=... make bench-liu24

Fills two sections of docs/results.md: `liu24`, the accuracy on real digits and Tables 2 to 4 of
Liu et al. (USENIX Security 2024) for one image, all parties threads of one process on emulated
networks; and, where `HMMPC` is the folder of the authors' program, built (`make inference.x`) and
with its data, `liu24-peer`: both programs in turn on this machine, every party a process on
loopback, theirs over TCP, ours over TLS. Theirs predicts one image; ours is the mean of several
images one by one, the first and slowest included.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import tacit
from accuracy import folder, mnist
from results import markdown, write_section

PARTIES = (3, 7, 11, 21, 31, 63)
# The paper's tables 2 (LAN), 3 (WAN): seconds online/offline; 4: MB per party online/offline.
PAPER = {
    "network-a": {
        "lan": "0.006/0.006 0.01/0.008 0.011/0.01 0.008/0.017 0.011/0.023 0.024/0.048",
        "wan": "0.37/0.244 0.373/0.213 0.376/0.216 0.386/0.233 0.398/0.268 0.478/0.52",
        "MB": "0.047/0.319 0.061/0.403 0.065/0.425 0.068/0.444 0.069/0.45 0.07/0.457",
    },
    "network-b": {
        "lan": "0.007/0.02 0.01/0.027 0.011/0.038 0.01/0.059 0.013/0.077 0.025/0.149",
        "wan": "0.387/0.392 0.404/0.576 0.41/0.414 0.444/0.57 0.478/0.631 0.68/1.885",
        "MB": "0.2/1.34 0.257/1.69 0.273/1.783 0.286/1.86 0.291/1.887 0.296/1.916",
    },
    "network-c": {
        "lan": "0.02/0.178 0.03/0.254 0.033/0.335 0.035/0.508 0.047/0.632 0.096/1.208",
        "wan": "1.222/2.189 1.327/2.768 1.346/2.777 1.718/4.812 2.027/6.65 4.573/10.69",
        "MB": "1.92/12.806 2.466/16.154 2.615/17.043 2.738/17.776 2.782/18.035 2.829/18.309",
    },
}
THEIR_NAMES = {"network-a": "SecureML", "network-b": "Sarda", "network-c": "MiniONN"}
IMAGES_ONE_BY_ONE = 5


def paper(name, what, place):
    """A cell of the paper's tables."""
    return PAPER[name][what].split()[place].replace("/", ", ")


def compiled(models, name):
    """The network, planned for the field of 2^31 - 1."""
    samples = np.load(models / f"{name}.samples.npz")["x"]
    return tacit.compile(models / f"{name}.onnx", samples=samples, field=31)


def predict(model, x, parties, **where):
    """The report of predicting images one by one."""
    session = tacit.local("shamir", parties=parties, **where)
    return session.predict(model, x, batch=1).report


def accuracy_row(name, model, digits, parties, images):
    """Accuracy and agreement with the clear-text model."""
    x, y = (part[:images] for part in digits)
    x = x.reshape(images, *model.input_shape)
    result = tacit.local("shamir", parties=parties).predict(model, x, y, check=True)
    clear = model.accuracy(model.reference(x), y)
    report = result.report
    return [
        name, parties, images, report.fraction_bits, f"{100 * clear:.2f}",
        f"{100 * report.accuracy:.2f}", f"{100 * (report.accuracy - clear):+.2f}",
        f"{100 * report.agreement:.2f}", f"{report.max_abs_error:.1e}",
        f"{report.peak_memory_bytes / 2**20:.0f}",
    ]  # fmt: skip


def cost_row(name, model, x, parties, place):
    """One image: seconds beside tables 2 and 3, megabytes beside table 4."""
    row = [name, parties]
    for network in ("lan", "wan"):
        tree = predict(model, x, parties, network=network, comparison="tree", opening="king")
        auto = predict(model, x, parties, network=network)
        ours = [f"{r.online['seconds']:.3f}, {r.offline['seconds']:.3f}" for r in (tree, auto)]
        row += [paper(name, network, place), *ours]
    sent = [np.mean(phase["bytes_sent"]) / 1e6 for phase in (tree.online, tree.offline)]
    rounds = f"{tree.online['rounds']}, {auto.online['rounds']}"
    return [*row, paper(name, "MB", place), f"{sent[0]:.3f}, {sent[1]:.3f}", rounds]


def tables(models, digits, images):
    """The tables of the section `liu24` of docs/results.md."""
    right, cost = [], []
    for name in PAPER:
        model = compiled(models, name)
        one = digits[0][:1].reshape(1, *model.input_shape)
        for place, parties in enumerate(PARTIES):
            count = images[name] if parties == PARTIES[0] else images[name] // 20
            right.append(accuracy_row(name, model, digits, parties, count))
            print(" | ".join(map(str, right[-1])), flush=True)
            cost.append(cost_row(name, model, one, parties, place))
            print(" | ".join(map(str, cost[-1])), flush=True)
    accuracy_table = markdown(
        [
            "network", "parties", "images", "fraction bits", "float, %", "private, %",
            "difference, points", "same answer, %", "largest error", "memory, MiB",
        ],
        right,
    )  # fmt: skip
    cost_table = markdown(
        [
            "network", "parties", "LAN: paper", "tree, kings", "auto", "WAN: paper",
            "tree, kings", "auto", "MB per party: paper", "tree, kings", "hops: tree, auto",
        ],
        cost,
    )  # fmt: skip
    return (
        "Batches as the library chooses; memory is the most that the process had until then.\n\n"
        f"{accuracy_table}\n\nOne image; every cell is online, offline. Seconds with all "
        "parties on this machine, megabytes (10^6 bytes) the parties' average, hops online.\n\n"
        f"{cost_table}"
    )


def their_run(program, name, parties):
    """Seconds online and offline of the authors' program."""
    with tempfile.TemporaryDirectory() as temporary:
        hosts = Path(temporary) / "hosts"
        hosts.write_text("127.0.0.1\n" * parties)
        network = THEIR_NAMES[name]
        counts = f"Inference/{network}/offline/PR31_offline_b1.txt"
        rest = [hosts, str((parties - 1) // 2), network, "MNIST", "1", "1", counts, "1"]
        command = [[program / "inference.x", str(i), *rest] for i in range(parties)]
        options = {"cwd": program, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        others = [subprocess.Popen(c, **options) for c in reversed(command[1:])]
        first = subprocess.run(command[0], check=True, timeout=300, **options)
        for other in others:
            other.wait(60)
    figures = first.stdout.decode().split()[-5:]
    return float(figures[0]), float(figures[2])


def peer(models, digits, program, repeat, most):
    """The table of the section `liu24-peer` of docs/results.md."""
    rows = []
    for name in PAPER:
        model = compiled(models, name)
        x = digits[0][:IMAGES_ONE_BY_ONE].reshape(IMAGES_ONE_BY_ONE, *model.input_shape)
        for parties in (n for n in PARTIES if n <= most):
            theirs, ours = [], []
            for _ in range(repeat):
                theirs.append(their_run(program, name, parties))
                report = predict(model, x, parties, processes=True)
                phases = (report.online, report.offline)
                ours.append([phase["seconds"] / IMAGES_ONE_BY_ONE for phase in phases])
            (t_on, t_off), (o_on, o_off) = (
                [statistics.median(phase) for phase in zip(*runs, strict=True)]
                for runs in (theirs, ours)
            )
            figures = [f"{v:.4f}" for v in (t_on, t_off, o_on, o_off)]
            both = (o_on + o_off) / (t_on + t_off)
            rows.append([name, parties, *figures, f"{o_on / t_on:.2f}", f"{both:.2f}"])
            print(" | ".join(map(str, rows[-1])), flush=True)
    headings = [
        "network", "parties", "theirs online, s", "offline, s", "ours online, s", "offline, s",
        "online, ours / theirs", "sum, ours / theirs",
    ]  # fmt: skip
    return f"Medians of {repeat}, 2^31 - 1, one image at a time.\n\n{markdown(headings, rows)}"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--most", type=int, default=21, help="parties that are processes")
    options.add_argument("--images", type=int, nargs=3, default=(8000, 8000, 1000), help="A, B, C")
    options.add_argument("--only", choices=("tables", "peer"))
    args = options.parse_args()
    models, digits = folder("TACIT_MODELS"), mnist(folder("TACIT_DATA"))
    if args.only != "tables" and (program := os.environ.get("HMMPC")):
        write_section("liu24-peer", peer(models, digits, Path(program), args.repeat, args.most))
    if args.only != "peer":
        images = dict(zip(PAPER, args.images, strict=True))
        write_section("liu24", tables(models, digits, images))


if __name__ == "__main__":
    main()
