"""Measures SiRnn: operations and functions by kind of transfer, and recurrent networks.

    TACIT_MODELS=... TACIT_DATA=... make bench-sirnn

Fills two sections of docs/results.md. `sirnn-operations`: seconds and bytes of each instance,
beside those that the paper states or its formulas give. `sirnn-models`: the networks of spoken
digits, on recordings that they were not trained on. Both parties are threads of one process.
"""

import argparse
import time

import numpy as np

import tacit
from accuracy import folder
from results import markdown, write_section

# Bytes of an instance in the paper, at 16 bits and 12 fraction bits; of the others by its formulas.
PAPER = {"exp": "2120", "sigmoid": "< 5000", "tanh": "", "relu": "519", "trunc": "518"}
TRANSFERS = ("softspoken", "iknp", "silent")


def operations(n, repeat):
    """Each operation over the 32-bit ring, functions with 12 fraction bits."""
    rows = []
    for op, paper in PAPER.items():
        for ot in TRANSFERS:
            bits = {} if op == "relu" else {"fraction_bits": 12}
            report = tacit.bench(op, n, protocol="sirnn", ring=32, ot=ot, repeat=repeat, **bits)
            offline, online = report.offline, report.online
            sent = [sum(phase["bytes_sent"]) / n for phase in (offline, online)]
            rows.append(
                [op, ot, f"{n:,}"]
                + [f"{phase['seconds']:.3f}" for phase in (offline, online)]
                + [f"{sent[0]:.1f}", f"{sent[1]:.1f}", f"{sum(sent):.0f}", paper]
                + [offline["rounds"] + online["rounds"]]
            )
            print(*rows[-1], sep=" | ", flush=True)
    headings = [
        "operation", "transfers", "n", "offline, s", "online, s", "bytes each, offline", "online",
        "sum", "paper", "hops",
    ]  # fmt: skip
    words = f"Medians of {repeat}, 32-bit ring; functions of 20 bits, 12 of them fraction."
    return f"{words}\n\n{markdown(headings, rows)}"


def networks(count, batch):
    """Recurrent networks on spoken digits."""
    data = np.load(folder("TACIT_DATA") / "fsdd" / "fsdd-logmel.npz")
    chosen = np.linspace(0, len(data["x_test"]) - 1, count).astype(int)
    x = (data["x_test"][chosen] / 127.5 - 1).astype(np.float32)
    labels = data["y_test"][chosen]
    samples = (data["x_train"][:64] / 127.5 - 1).astype(np.float32)
    rows = []
    for name in ("gru-fsdd", "fastgrnn-fsdd"):
        path = folder("TACIT_MODELS") / f"{name}.onnx"
        model = tacit.compile(path, samples=samples, ring=32)
        reference = model.reference(x).argmax(1)
        for ot in ("softspoken", "silent"):
            start = time.perf_counter()
            session = tacit.local("sirnn", ot=ot)
            report = session.predict(model, x, labels=labels, check=True, batch=batch).report
            offline, online = report.offline, report.online
            sent = [sum(phase["bytes_sent"]) / count / 1e6 for phase in (offline, online)]
            rows.append(
                [name, ot, count, batch, report.fraction_bits]
                + [f"{100 * np.mean(reference == labels):.2f}", f"{100 * report.accuracy:.2f}"]
                + [f"{100 * report.agreement:.2f}", f"{report.max_abs_error:.3f}"]
                + [f"{phase['seconds'] / count:.2f}" for phase in (offline, online)]
                + [f"{sent[0]:.1f}", f"{sent[1]:.1f}", f"{time.perf_counter() - start:.0f}"]
            )
            print(*rows[-1], sep=" | ", flush=True)
    headings = [
        "model", "transfers", "recordings", "batch", "fraction bits", "float, %", "private, %",
        "same answer, %", "largest error", "offline, s each", "online, s each", "offline, MB each",
        "online, MB each", "in all, s",
    ]  # fmt: skip
    return markdown(headings, rows)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--n", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--recordings", type=int, default=300)
    options.add_argument("--batch", type=int, default=10)
    options.add_argument("--only", choices=("operations", "models"))
    args = options.parse_args()
    if args.only != "models":
        write_section("sirnn-operations", operations(args.n, args.repeat))
    if args.only != "operations":
        write_section("sirnn-models", networks(args.recordings, args.batch))


if __name__ == "__main__":
    main()
