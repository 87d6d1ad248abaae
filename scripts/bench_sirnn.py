r"""Measures SiRnn: operations by kind of transfer, recurrent networks and networks of images.

    TACIT_MODELS=... TACIT_DATA=... SCI=... make bench-sirnn

Fills sections of docs/results.md. `sirnn-operations`: seconds and bytes of each instance, beside
the paper's. `sirnn-models`: the networks of spoken digits, on recordings that they were not trained
on. `sirnn-papers`: the paper's networks with random weights. `sirnn-heads`: the functions of its
largest, layer by layer. `sirnn-cnns`: MNIST's networks on test images. Both parties are threads of
one process. A section whose data is missing is skipped.

`sirnn-peers`, where `SCI` is the folder of the authors' programs: theirs and ours in turn on this
machine. They are the tests `sigmoid`, `tanh`, `exp`, `sqrt` (of which it is the inverse) and `relu`
of github.com/mpc-msri/EzPC, folder SCI, built with optimization, say

    g++ -std=c++17 -O3 -pthread -fopenmp -maes -msse4.1 -mavx2 -mrdseed -faligned-new \
        -Isrc -IEIGEN tests/test_ring_sigmoid.cpp src/Math/math-functions.cpp \
        src/LinearOT/linear-ot.cpp src/BuildingBlocks/{aux*,trunc*,value*}.cpp \
        src/GC/{emp-tool,halfgate_gen,halfgate_eva}.cpp -lssl -lcrypto -lgmp -o sigmoid

Their parties are processes of two threads on loopback over plain TCP, ours two threads of one
process. Of both it is the time after the base transfers, and of ours the sum of both phases. Both
have 16-bit numbers of which 12 are fraction (relu: 32).
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

import recurrent_networks
import tacit
from accuracy import MNIST, folder, mnist
from bench_tables import measured
from results import markdown, write_section
from tacit.console import progress_bar
from tacit.measure.sirnn import measure, sirnn

OPERATIONS = ("exp", "sigmoid", "tanh", "relu", "trunc")
TRANSFERS = ("softspoken", "silent")
# Our operations and the authors' programs of the same.
PEERS = {"relu": "relu", "exp": "exp", "sigmoid": "sigmoid", "tanh": "tanh", "rsqrt": "sqrt"}
# They listen on this port, the next, and those by 50 and 100 higher.
PORT = 32000
# Inputs that ranges are estimated from.
SAMPLES = 64
# Inputs predicted together, as many as fit into 4 GB.
TOGETHER = {"industrial-72": 128, "google-30": 8, "deepsecure-b4": 2, "minionn-lstm": 32}
# What the paper says of a network; the estimates are of its functions' traffic alone.
PAPER = {
    "industrial-72": "seconds; of 128, 0.1 s each; estimate 3.8 MB",
    "google-30": "less than a minute; of 128, 1.1 s each; estimate 78 MB",
    "deepsecure-b4": "figures not at hand",
    "minionn-lstm": "figures not at hand",
}
# The layers of Heads: instances, fraction bits of their arguments, and how many there are of
# sigmoids; there are as many of tanhs.
HEADS = ((18_096, 11, 128), (72_384, 13, 8))
HEADS_OPS = ("sigmoid", "tanh")
# The paper's network, 377 MB/s.
LAN = "0.8ms,3016Mbps"
PAPER_HEADS = (
    "all of Heads: less than 7 minutes, about half in functions; derived: 27 GB in functions"
)
COST = [
    "fraction bits", "same answer, %", "largest error", "offline, s each", "online, s each",
    "offline, MB each", "online, MB each", "peak memory, MB",
]  # fmt: skip


def operations(args):
    """Each operation over the 32-bit ring, functions of 16 bits."""

    def line(row):
        seconds = [f"{row[f'{phase}_seconds']:.3f}" for phase in ("offline", "online")]
        sent = [f"{row[name]:.1f}" for name in ("offline", "online", "sum")]
        paper = [f"{row[name]:.0f}" if row[name] else "" for name in ("paper", "formula")]
        return [
            row["op"],
            row["transfers"],
            f"{row['n']:,}",
            *seconds,
            *sent,
            *paper,
            row["rounds"],
        ]

    def show(row):
        print(*line(row), sep=" | ", flush=True)

    rows = sirnn(OPERATIONS, n=args.n, repeat=args.repeat, observe=show)
    headings = [
        "operation", "transfers", "n", "offline, s", "online, s", "bytes each, offline", "online",
        "sum", "paper", "by its formulas", "hops",
    ]  # fmt: skip
    words = f"Medians of {args.repeat}, 32-bit ring; functions of 16 bits, 12 of them fraction."
    return f"{words}\n\n{markdown(headings, map(line, rows))}"


def predict(model, x, ot, batch, labels=None):
    """A prediction's report and its columns of `COST`."""
    # The report has the most memory of this process so far: forget that of earlier runs.
    Path("/proc/self/clear_refs").write_text("5")
    with progress_bar() as progress:
        result = tacit.local("sirnn", ot=ot).predict(
            model, x, labels, check=True, batch=batch, progress=progress
        )
    report, phases = result.report, (result.report.offline, result.report.online)
    return report, [
        report.fraction_bits,
        f"{100 * report.agreement:.2f}",
        f"{report.max_abs_error:.1e}",
        *(f"{phase['seconds'] / len(x):.2f}" for phase in phases),
        *(f"{sum(phase['bytes_sent']) / len(x) / 1e6:.1f}" for phase in phases),
        f"{report.peak_memory_bytes / 1e6:.0f}",
    ]


def table(headings, lines):
    """A table whose lines are shown as they are made."""
    rows = []
    for line in lines:
        print(*line, sep=" | ", flush=True)
        rows.append(line)
    return markdown(headings, rows)


def trained(names, samples, x, labels, args):
    """The table of networks that were trained, on inputs with labels."""

    def line(name, ot):
        path = folder("TACIT_MODELS") / f"{name}.onnx"
        model = tacit.compile(path, samples=samples(name))
        inputs = x.reshape(len(x), *model.input_shape)
        clear = model.accuracy(model.reference(inputs), labels)
        report, cost = predict(model, inputs, ot, args.batch, labels)
        accuracy = [f"{100 * share:.2f}" for share in (clear, report.accuracy)]
        return [name, ot, len(x), report.batch, *accuracy, *cost]

    headings = ["model", "transfers", "inputs", "batch", "float, %", "private, %", *COST]
    return table(headings, (line(name, ot) for name, ot in product(names, args.ot)))


def recordings(args):
    """Recurrent networks on spoken digits."""
    data = np.load(folder("TACIT_DATA") / "fsdd" / "fsdd-logmel.npz")
    chosen = np.linspace(0, len(data["x_test"]) - 1, args.recordings).astype(int)
    x, samples = (
        (part / 127.5 - 1).astype(np.float32)
        for part in (data["x_test"][chosen], data["x_train"][:SAMPLES])
    )
    names = ("gru-fsdd", "fastgrnn-fsdd")
    return trained(names, lambda name: samples, x, data["y_test"][chosen], args)


def cnns(args):
    """MNIST's networks on test images."""
    x, labels = (part[: args.images] for part in mnist(folder("TACIT_DATA")))

    def samples(name):
        return np.load(folder("TACIT_MODELS") / f"{name}.samples.npz")["x"]

    return trained(MNIST, samples, x, labels, args)


def their_run(program, n):
    """Seconds of the authors' program, and the bytes that both of its parties say they sent."""
    command = [program, f"N={n}", "nt=2", f"p={PORT}", *["six=0"] * (program.name == "relu")]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([*command, "r=1"], **options) as server:
        try:
            client = subprocess.run([*command, "r=2"], check=True, timeout=600, **options).stdout
            printed = server.communicate(timeout=60)[0]
        finally:
            # A party whose peer is gone waits for ever.
            server.kill()
    seconds = float(re.search(r"Time\s+([\d.]+) ms", printed)[1]) / 1000
    sent = [int(re.search(r"Bytes Sent\s+(\d+)", text)[1]) for text in (printed, client)]
    return seconds, sum(sent)


def our_run(op, n, ot):
    """Seconds offline, online and together, and bytes."""
    report = measure(op, n, ot, repeat=1)
    phases = (report.offline, report.online)
    seconds = [phase["seconds"] for phase in phases]
    return *seconds, sum(seconds), sum(sum(phase["bytes_sent"]) for phase in phases)


def peers(args):
    """Operations beside the authors' programs."""
    programs = folder("SCI")

    def line(op, name, n):
        theirs, ours = [], {ot: [] for ot in TRANSFERS}
        for _ in range(args.repeat):
            theirs.append(their_run(programs / name, n))
            for ot, runs in ours.items():
                runs.append(our_run(op, n, ot))
        their_seconds, their_bytes = map(statistics.median, zip(*theirs, strict=True))
        for ot, runs in ours.items():
            *seconds, sent = map(statistics.median, zip(*runs, strict=True))
            times = [f"{v:.2f}" for v in (their_seconds, *seconds, seconds[-1] / their_seconds)]
            sizes = [f"{their_bytes / n:.0f}", f"{sent / n:.0f}", f"{sent / their_bytes:.2f}"]
            yield [op, f"{n:,}", ot, *times, *sizes]

    headings = [
        "operation", "n", "our transfers", "theirs, s", "ours offline, s", "online", "sum",
        "ours / theirs", "their bytes each", "ours", "ours / theirs",
    ]  # fmt: skip
    cases = product(PEERS.items(), (10_000, 100_000))
    rows = table(headings, (row for (op, name), n in cases for row in line(op, name, n)))
    return f"Medians of {args.repeat}, in turn.\n\n{rows}"


def papers(args):
    """The paper's networks, of one input and of several together."""

    def lines(name, temporary):
        path, x = recurrent_networks.save_onnx(name, temporary, SAMPLES + TOGETHER[name])
        model = tacit.compile(path, samples=x[:SAMPLES])
        x = x[SAMPLES:]
        largest = np.abs(model.reference(x)).max()
        for ot, n in product(args.ot, (1, len(x))):
            report, cost = predict(model, x[:n], ot, batch=n)
            functions = [
                sum(np.prod(layer["shape"]) for layer in report.layers if layer["op"] == op)
                for op in ("Sigmoid", "Tanh")
            ]
            yield [name, ot, n, *functions, f"{largest:.2f}", *cost, PAPER[name]]

    headings = ["model", "transfers", "inputs", "sigmoids", "tanhs", "largest output", *COST]
    with tempfile.TemporaryDirectory() as temporary:
        every = (line for name in args.networks for line in lines(name, temporary))
        return table([*headings, "paper"], every)


def heads_layer(op, n, fraction_bits, repeat, where):
    """One layer of functions, in a process of its own."""
    numbers = {"precision": 16, "fraction_bits": fraction_bits, "protocol": "sirnn"}
    report = tacit.bench(op, n, repeat=repeat, **numbers, **where)
    phases = (report.offline, report.online)
    return [
        op, n, report.batch,
        *(round(phase["seconds"], 3) for phase in phases),
        *(round(sum(phase["bytes_sent"]) / 1e6, 1) for phase in phases),
        sum(phase["rounds"] for phase in phases),
        round(report.peak_memory_bytes / 1e6),
    ]  # fmt: skip


def heads(args):
    """The functions of the paper's largest network, in chunks."""
    layers, rows = list(product(HEADS, HEADS_OPS)), []
    for network, ot in product(("local", LAN), args.ot):
        where = {"network": network, "ot": ot}
        run = measured((heads_layer, op, *layer[:2], args.repeat, where) for layer, op in layers)
        counted = [(count, row) for ((*_, count), _), row in zip(layers, run, strict=True)]
        rows += [[network, ot, count, *row, ""] for count, row in counted]
        # Seconds and MB, in columns 3 to 6, of layers one after the other.
        sums = [f"{sum(count * row[i] for count, row in counted):.0f}" for i in range(3, 7)]
        label = [network, ot, sum(count for count, _ in counted), "**extrapolated**", "", ""]
        rows.append([*label, *sums, "", max(row[-1] for row in run), PAPER_HEADS])
    n, fraction_bits, _ = HEADS[-1]
    for ot in args.ot:
        where = {"network": "local", "ot": ot, "chunk": n}
        (row,) = measured([(heads_layer, "sigmoid", n, fraction_bits, args.repeat, where)])
        rows.append(["local", ot, "", *row, "not cut"])
    headings = [
        "network", "transfers", "layers", "operation", "n", "chunk", "offline, s", "online, s",
        "offline, MB", "online, MB", "hops", "peak memory, MB", "paper",
    ]  # fmt: skip
    return f"Medians of {args.repeat}.\n\n{markdown(headings, rows)}"


SECTIONS = {
    "operations": operations,
    "peers": peers,
    "models": recordings,
    "papers": papers,
    "heads": heads,
    "cnns": cnns,
}
NEEDED = {
    "peers": ("SCI",),
    "models": ("TACIT_MODELS", "TACIT_DATA"),
    "cnns": ("TACIT_MODELS", "TACIT_DATA"),
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--n", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--recordings", type=int, default=300)
    options.add_argument("--images", type=int, default=100)
    options.add_argument("--batch", type=int, default=25, help="of trained networks")
    options.add_argument("--ot", nargs="+", default=TRANSFERS, help="of networks")
    options.add_argument("--networks", nargs="+", choices=TOGETHER, default=[*TOGETHER])
    options.add_argument("--only", choices=SECTIONS)
    args = options.parse_args()
    for name in [args.only] if args.only else SECTIONS:
        missing = [variable for variable in NEEDED.get(name, ()) if not os.environ.get(variable)]
        if missing:
            print(f"skipped '{name}': {' and '.join(missing)} must name folders, see above")
        else:
            write_section(f"sirnn-{name}", SECTIONS[name](args))


if __name__ == "__main__":
    main()
