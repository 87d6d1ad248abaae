"""Measures this project beside its peers, in turn on the same machine, and writes tables of ratios.

    make bench-peers
    python scripts/bench_peers.py --only bert-tiny bert-base-layer --write

SecretFlow SPU (ABY3 and, beside two parties, Cheetah; FM64, FM32 beside rings of 32 bits; default
fraction bits) is installed into `.bench/spu-venv`; it needs
Python 3.10 or 3.11. MP-SPDZ is measured where `$TACIT_PEERS/mp-spdz` has it built (see
`peers/mp_spdz.py`). Every program is run by each in turn, so that a change of the machine's load
meets all, and medians count. Ours is online plus offline, all parties in one process; a row of
networks with each party a process of its own follows. SPU's time is that of evaluating shares, over
plain TCP, without sharing and opening; ours of networks shares the inputs and opens the result,
over TLS where parties are processes. Sharing the weights and keys, once per run, are counted for
neither.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

import encoders
import networks
import tacit
from peers import mp_spdz
from results import markdown, write_section

ROOT = Path(__file__).resolve().parents[1]
SPU_VENV = ROOT / ".bench" / "spu-venv"
SPU_PACKAGES = ["spu==0.9.5", "jax<=0.4.34", "numpy<2"]
PEERS = os.environ.get("TACIT_PEERS")
MALICIOUS = {"protocol": "falcon", "security": "malicious"}
FALCON, BICOPTOR = {"protocol": "falcon"}, {"protocol": "bicoptor"}
FAST = {**FALCON, "functions": "fast"}
SIRNN = [{"protocol": "sirnn", "ot": ot} for ot in ("softspoken", "silent")]
TWO = [("network-a", 16), ("lenet", 8)]
ROWS = [
    *(("relu", 10**6, where) for where in (FALCON, BICOPTOR)),
    ("relu", 10**5, MALICIOUS),
    *(("mult", 10**6, where) for where in (FALCON, BICOPTOR)),
    ("matmul", 512, FALCON),
    *((op, 10**5, where) for where in (FALCON, FAST) for op in ("exp", "sigmoid", "tanh", "rsqrt")),
    *((name, 128, where) for name in networks.NETWORKS for where in (FALCON, BICOPTOR)),
    *((name, 1, where) for name in encoders.ENCODERS for where in (FALCON, BICOPTOR)),
    ("network-b", 128, MALICIOUS),
    ("lenet", 16, MALICIOUS),
    *((name, 128, {**FALCON, "processes": True}) for name in ("network-b", "lenet")),
    *((name, n, where) for name, n in TWO for where in SIRNN),
    *((name, 1, SIRNN[0]) for name in encoders.ENCODERS),
    *(("relu", 10**5, {**where, "ring": 32}) for where in SIRNN),
]
"""A program, its size or batch, and what ours runs on."""


MODELS = {
    **dict.fromkeys(networks.NETWORKS, (networks.save_onnx, lambda _, n: networks.images(n))),
    **dict.fromkeys(encoders.ENCODERS, (encoders.save_onnx, encoders.texts)),
}
"""How each model is written as a file, and what it is given."""


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


def spu(name, size, where, runs):
    """SPU's seconds (the median of `runs` in one set of processes), bytes and memory."""
    protocol = "aby3"
    if where["protocol"] == "sirnn":
        protocol = "cheetah-32" if where.get("ring") == 32 else "cheetah"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "result.json"
        script = Path(__file__).with_name("peers") / "spu_programs.py"
        program = f"{name}:{size}"
        command = [spu_python(), script, target, protocol, str(runs), program]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"SPU failed on {name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        result = json.loads(target.read_text())[program]
    return statistics.median(result["seconds"]), result["bytes"], result["memory"]


def spdz(name, size, runs, security):
    """MP-SPDZ's seconds and bytes; `None` where it is not there or has no such program."""
    folder = PEERS and Path(PEERS) / "mp-spdz"
    if name not in mp_spdz.PROGRAMS or not mp_spdz.found(folder):
        return None
    measured = [mp_spdz.measure(folder, name, size, security) for _ in range(runs)]
    return statistics.median(seconds for seconds, _ in measured), measured[0][1]


def ours(row, runs):
    """Our seconds, bytes of the busiest party, memory: of a process of its own."""
    command = [sys.executable, __file__, "--row", str(ROWS.index(row)), "--runs", str(runs)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(told.splitlines()[-1])


def measure(name, size, where, runs):
    """Our seconds, bytes of the busiest party and memory, measured in this process."""
    if name in MODELS:
        save, inputs = MODELS[name]
        x = inputs(name, size)
        with tempfile.TemporaryDirectory() as folder:
            path = save(name, folder)
            model = tacit.compile(path, samples=x, protocol=where["protocol"])
            many = np.concatenate([x] * runs)
            # Processes read the file again.
            report = tacit.local(**where).predict(model, many, batch=size).report
        seconds = [b["offline_seconds"] + b["online_seconds"] for b in report.batches]
        share = runs
    else:
        report = tacit.bench(name, size, repeat=runs, **where)
        seconds, share = [report.offline["seconds"] + report.online["seconds"]], 1
    phases = [np.array(phase["bytes_sent"]) for phase in (report.offline, report.online)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return statistics.median(seconds), int(sum(phases).max()) // share, memory


def clear(name, batch):
    """Seconds of a network in onnxruntime, in the clear."""
    save, inputs = MODELS[name]
    with tempfile.TemporaryDirectory() as folder:
        session = onnxruntime.InferenceSession(save(name, folder))
    x = {session.get_inputs()[0].name: inputs(name, batch)}
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        session.run(None, x)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def compare(row, runs, repeat):
    """A row of the table; all take turns."""
    name, size, where = row
    security = where.get("security", "semi-honest")
    found = {"ours": [], "spu": [], "spdz": []}
    for _ in range(repeat):
        found["ours"].append(ours(row, runs))
        if security == "semi-honest":
            found["spu"].append(spu(name, size, where, runs))
        if where["protocol"] == "sirnn":
            continue
        if (peer := spdz(name, size, runs, security)) is not None:
            found["spdz"].append(peer)
    middle = {who: [statistics.median(column) for column in zip(*rows, strict=True)]
              for who, rows in found.items() if rows}  # fmt: skip
    seconds, sent, memory = middle["ours"]
    plain = f"{seconds / clear(name, size):.0f}" if name in MODELS else ""
    on = ", ".join(key if value is True else str(value) for key, value in where.items())
    # Of parties in processes of their own only that of the one that starts them is seen.
    held = "" if where.get("processes") else f"{memory / 1e6:.0f}"
    cells = [name, size, on, f"{seconds:.4f}", f"{sent / 1e6:.2f}", held]
    for who in ("spu", "spdz"):
        if who in middle:
            theirs, bytes_sent = middle[who][:2]
            cells += [f"{theirs:.3f}", f"{seconds / theirs:.3f}", f"{sent / bytes_sent:.2f}"]
        else:
            cells += ["", "", ""]
    return [*cells, plain]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=5, help="turns, of which the median counts")
    options.add_argument("--runs", type=int, default=3, help="in one process, each turn")
    options.add_argument("--row", type=int, help="measure ours of this one, in this process")
    options.add_argument("--write", action="store_true", help="fill docs/results.md")
    options.add_argument("--only", nargs="*", help="rows of these programs")
    options.add_argument("--protocol", nargs="*", help="rows of these protocols")
    args = options.parse_args()
    if args.row is not None:
        print(json.dumps(measure(*ROWS[args.row], args.runs)))
        return
    rows, failed = [], []
    for row in ROWS:
        of_these = not args.protocol or row[2]["protocol"] in args.protocol
        if of_these and (not args.only or row[0] in args.only):
            try:
                rows.append(compare(row, args.runs, args.repeat))
            except (SystemExit, subprocess.CalledProcessError) as error:
                # Hours of other rows are not lost by one.
                failed.append(f"{row[0]}, {row[2]}: {error}")
                continue
            print(" | ".join(map(str, rows[-1])), flush=True)
    headings = [
        "program", "size", "ours", "s", "MB", "memory, MB", "SPU, s", "time / SPU", "bytes / SPU",
        "MP-SPDZ, s", "time / MP-SPDZ", "bytes / MP-SPDZ", "times clear text",
    ]  # fmt: skip
    if args.write:
        words = (
            f"Medians of {args.repeat} turns of {args.runs} runs, the first, cold one included; "
            "offline counted; MB of the busiest party; memory of all parties together."
        )
        sections = {}
        for row in rows:
            encoded = "-encoders" * (row[0] in encoders.ENCODERS)
            two = "-two" * row[2].startswith("sirnn")
            sections.setdefault(f"peers{encoded}{two}", []).append(row)
        for section, some in sections.items():
            write_section(section, f"{words}\n\n{markdown(headings, some)}")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
