"""Measures SecretFlow SPU and this project side by side, each party a process on loopback.

    make bench-peers

SPU (ABY3, FM64, default fraction bits) is installed into `.bench/spu-venv`; it needs Python
3.10 or 3.11. For each network the two take turns, so that a change of the machine's load meets
both. Each evaluates several batches in one set of processes, and of both the median batch counts,
the first and slowest being one of them. SPU's time is that of evaluating shares, without an
offline phase, over plain TCP. Ours is online plus offline over TLS, with sharing the inputs and
opening the result; our mean over all batches stands beside it, because the first makes it larger.
Sharing the weights, once per run, is counted for neither.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import networks
import tacit
from results import markdown, write_section

ROOT = Path(__file__).resolve().parents[1]
SPU_VENV = ROOT / ".bench" / "spu-venv"
BATCHES = 5
SHORT = ("network-a", "network-b")
SPU_PACKAGES = ["spu==0.9.5", "jax<=0.4.34", "numpy<2"]


def spu_python():
    """The Python of SPU's environment, made on first use."""
    python = SPU_VENV / "bin" / "python"
    made = SPU_VENV / ".made"
    if not made.exists():
        base = spu_base_python()
        print(f"installing {', '.join(SPU_PACKAGES)} into {SPU_VENV} (about 1 GB)", flush=True)
        subprocess.run([base, "-m", "venv", "--clear", SPU_VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *SPU_PACKAGES], check=True)
        made.touch()
    return python


def spu_base_python():
    """A Python 3.10 or 3.11, which SPU's wheels need."""
    if sys.version_info[:2] in ((3, 10), (3, 11)):
        return sys.executable
    for name in ("python3.11", "python3.10"):
        if found := shutil.which(name):
            return found
    raise SystemExit(
        "SPU needs Python 3.10 or 3.11: install one of them as python3.11 or python3.10"
    )


def spu_seconds(name, batch, repeat):
    """SPU's times of one network, and its outputs."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "result.json"
        script = Path(__file__).with_name("peers") / "spu_networks.py"
        command = [spu_python(), script, target, str(batch), str(repeat), name]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"SPU failed on {name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        result = json.loads(target.read_text())[name]
    return result["seconds"], np.array(result["output"])


def our_seconds(model, x):
    """Our (offline, online, sum) of every batch of one network, and its outputs."""
    many = np.concatenate([x] * BATCHES)
    result = tacit.local(processes=True).predict(model, many, batch=len(x))
    phases = [(b["offline_seconds"], b["online_seconds"]) for b in result.report.batches]
    return [(*phase, sum(phase)) for phase in phases], result.output[: len(x)]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--repeat", type=int, default=5, help="of the short networks; else 1")
    options.add_argument("--write", action="store_true", help="fill docs/results.md")
    options.add_argument("networks", nargs="*", default=list(networks.NETWORKS))
    args = options.parse_args()
    x = networks.images(args.batch)
    spu_python()
    rows = []
    for name in args.networks:
        with tempfile.TemporaryDirectory() as folder:
            model = tacit.compile(networks.save_onnx(name, folder), samples=x)
            repeat = args.repeat if name in SHORT else 1
            rows.append(compare(name, model, x, repeat))
        print(" | ".join(rows[-1]), flush=True)
    table = markdown(
        [
            "network",
            "SPU, s",
            "offline, s",
            "online, s",
            "sum, s",
            "sum / SPU",
            "mean sum, s",
            "largest error: SPU, ours",
        ],
        rows,
    )
    print(table)
    if args.write:
        runs = f"median of {args.repeat} runs of {', '.join(SHORT)}, one of the others"
        words = (
            f"Batches of {args.batch}, {BATCHES} in a run; 64-bit. Seconds are those of a run's "
            f"median batch, the first, cold one included in the {BATCHES}; *mean sum* is ours "
            f"averaged over all {BATCHES}. Of both: {runs}."
        )
        write_section("peers", f"{words}\n\n{table}")


def compare(name, model, x, repeat):
    """One row of the table; the two take turns."""
    expected = model.reference(x)
    spu, ours, errors = [], [], {}
    for _ in range(repeat):
        seconds, output = spu_seconds(name, len(x), BATCHES)
        spu.append(statistics.median(seconds))
        errors["spu"] = np.abs(output - expected).max()
        batches, output = our_seconds(model, x)
        phases = list(zip(*batches, strict=True))
        ours.append([*map(statistics.median, phases), statistics.mean(phases[-1])])
        errors["ours"] = np.abs(output - expected).max()
    peer = statistics.median(spu)
    offline, online, both, mean = map(statistics.median, zip(*ours, strict=True))
    return [
        name,
        *(f"{v:.3f}" for v in (peer, offline, online, both)),
        f"{both / peer:.2f}",
        f"{mean:.3f}",
        f"{errors['spu']:.1e}, {errors['ours']:.1e}",
    ]


if __name__ == "__main__":
    main()
