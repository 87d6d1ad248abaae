"""Measures ReLU and the benchmark networks; fills the section `speed` of docs/results.md.

    make bench

Times are medians. All parties are threads of one process, a fresh one for each line, so that its
peak memory is that of the line. The networks have random weights, which cost the same as trained
ones.
"""

import argparse
import multiprocessing
import resource
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor

import networks
import tacit
from results import markdown, write_section

RELU_SIZES = (10_000, 100_000, 1_000_000)
RELU_HEADINGS = [
    "ReLUs", "ring", "online, s", "offline, s", "rounds", "online, B/ReLU", "offline, B/ReLU",
    "memory, B/ReLU",
]  # fmt: skip
NETWORK_HEADINGS = [
    "network", "ring", "online, s", "offline, s", "rounds", "online, MB/image",
    "offline, MB/image", "memory, MiB",
]  # fmt: skip
NOTE = """\
Online and offline bytes are those sent by the busiest party. Memory is the growth of the process
that holds all three parties, at its peak. Traffic per image is that of a batch of one."""


def peak():
    """The most bytes of memory that this process ever had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def sent(phase):
    """Bytes sent by the busiest party."""
    return max(phase["bytes_sent"])


def relu(n, ring, repeat):
    """One line of the table of ReLUs."""
    before = peak()
    r = tacit.bench("relu", n, chunk=n, ring=ring, repeat=repeat)
    return [
        f"{n:,}", ring, f"{r.online['seconds']:.4f}", f"{r.offline['seconds']:.4f}",
        r.online["rounds"], f"{sent(r.online) / n:.2f}", f"{sent(r.offline) / n:.2f}",
        f"{(peak() - before) / n:.0f}",
    ]  # fmt: skip


def network(name, ring, batch, repeat):
    """One line of the table of networks."""
    x = networks.images(batch)
    with tempfile.TemporaryDirectory() as folder:
        model = tacit.compile(networks.save_onnx(name, folder), samples=x, ring=ring)
    one = tacit.local().predict(model, x[:1]).report
    before = peak()
    reports = [tacit.local().predict(model, x, batch=batch).report for _ in range(repeat)]
    online, offline = (
        statistics.median(r.data[phase]["seconds"] for r in reports)
        for phase in ("online", "offline")
    )
    return [
        name, ring, f"{online:.3f}", f"{offline:.3f}", one.online["rounds"],
        f"{sent(one.online) / 1e6:.4f}", f"{sent(one.offline) / 1e6:.4f}",
        f"{(peak() - before) / 2**20:.0f}",
    ]  # fmt: skip


def measured(lines):
    """The results of (function, *arguments), each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    rows = []
    for function, *arguments in lines:
        with ProcessPoolExecutor(1, mp_context=context) as process:
            rows.append(process.submit(function, *arguments).result())
        print(" | ".join(map(str, rows[-1])), flush=True)
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--batch", type=int, default=128)
    args = options.parse_args()
    sizes = [(relu, n, ring, args.repeat) for ring in (32, 64) for n in RELU_SIZES]
    nets = [
        (network, name, ring, args.batch, args.repeat)
        for name in networks.NETWORKS
        for ring in (32, 64)
    ]
    relus = markdown(RELU_HEADINGS, measured(sizes))
    table = markdown(NETWORK_HEADINGS, measured(nets))
    medians = f"Medians of {args.repeat}; networks in batches of {args.batch}."
    write_section("speed", f"{medians} {NOTE}\n\n{relus}\n\n{table}")


if __name__ == "__main__":
    main()
