"""Measures ReLU and the benchmark networks; fills the section `speed` of docs/results.md.

    make bench

Each figure is the median of five runs. One process, three threads; the networks have random
weights, which cost the same as trained ones.
"""

import argparse
import resource
import statistics
import tempfile

import networks
import tacit
from results import markdown, write_section

RELU_SIZES = (10_000, 100_000, 1_000_000)


def sent(phase, n=1):
    """Bytes sent by the busiest party, for each of `n` items."""
    return max(phase["bytes_sent"]) / n


def relu_rows(repeat):
    """Time and traffic of ReLU for each size and ring."""
    rows = []
    for ring in (32, 64):
        for n in RELU_SIZES:
            r = tacit.bench("relu", n, ring=ring, repeat=repeat)
            rows.append(
                [f"{n:,}", ring, f"{r.online['seconds']:.4f}", f"{r.offline['seconds']:.4f}",
                 r.online["rounds"], f"{sent(r.online, n):.2f}", f"{sent(r.offline, n):.2f}"]
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def network_rows(repeat, batch):
    """Time and traffic of the networks for each ring."""
    rows = []
    x = networks.images(batch)
    for name in networks.NETWORKS:
        for ring in (32, 64):
            with tempfile.TemporaryDirectory() as folder:
                model = tacit.compile(networks.save_onnx(name, folder), samples=x, ring=ring)
            reports = [tacit.local().predict(model, x).report for _ in range(repeat)]
            online, offline = (
                statistics.median(r.data[phase]["seconds"] for r in reports)
                for phase in ("online", "offline")
            )
            one = tacit.local().predict(model, x[:1]).report
            rows.append(
                [name, ring, f"{online:.3f}", f"{offline:.3f}", one.online["rounds"],
                 f"{sent(one.online) / 1e6:.4f}", f"{sent(one.offline) / 1e6:.4f}"]
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--batch", type=int, default=128)
    args = options.parse_args()
    relu = markdown(
        ["ReLUs", "ring", "online, s", "offline, s", "rounds", "online, B/ReLU", "offline, B/ReLU"],
        relu_rows(args.repeat),
    )
    nets = markdown(
        ["network", "ring", f"online, s (batch {args.batch})", f"offline, s (batch {args.batch})",
         "rounds", "online, MB/image", "offline, MB/image"],
        network_rows(args.repeat, args.batch),
    )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    note = (
        "Bytes are those of the busiest party. "
        f"Peak memory of the whole run, all parties together: {peak:.0f} MiB."
    )
    write_section("speed", f"{relu}\n\n{nets}\n\n{note}")


if __name__ == "__main__":
    main()
