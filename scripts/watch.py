"""Watches our own figures: times as ratios to a fixed kernel, AES-128-CTR of 1 GiB by OpenSSL.

    make watch              compare with docs/figures.json; an error where a row is 10 % slower
    make watch WRITE=1      measure anew and write the file

The kernel is measured before and after every run, so that a machine that is slower by itself slows
both. A row that seems slower is measured again, and its least ratio counts.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

from bench_peers import BICOPTOR, FALCON, MALICIOUS, measure
from results import conditions

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures.json"
SLOWER = 1.10
SHAMIR, SIRNN = {"protocol": "shamir"}, {"protocol": "sirnn"}
ROWS = {
    "ReLU of 10^6, falcon": ("relu", 10**6, FALCON),
    "ReLU of 10^6, bicoptor": ("relu", 10**6, BICOPTOR),
    "ReLU of 10^5, falcon, malicious": ("relu", 10**5, MALICIOUS),
    "ReLU of 10^4, shamir": ("relu", 10**4, SHAMIR),
    "ReLU of 10^5, sirnn": ("relu", 10**5, SIRNN),
    "product of 10^6, falcon": ("mult", 10**6, FALCON),
    "matrix product of 512, falcon": ("matmul", 512, FALCON),
    "exp of 10^5, falcon": ("exp", 10**5, FALCON),
    "sigmoid of 10^5, falcon": ("sigmoid", 10**5, FALCON),
    "inverse root of 10^5, falcon": ("rsqrt", 10**5, FALCON),
    "LeNet of 128, falcon": ("lenet", 128, FALCON),
    "LeNet of 128, bicoptor": ("lenet", 128, BICOPTOR),
    "network B of 128, falcon, malicious": ("network-b", 128, MALICIOUS),
}


def kernel():
    """Seconds of AES-128-CTR of 1 GiB."""
    command = ["openssl", "speed", "-evp", "aes-128-ctr", "-bytes", "1048576", "-seconds", "1"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = re.findall(r"([\d.]+)k\s*$", told)
    if not rate:
        raise SystemExit(f"openssl speed told no rate:\n{told}")
    return 2**30 / (float(rate[-1]) * 1000)


def ratio(name, runs):
    """Our seconds over the kernel's: a process of its own, between two runs of the kernel."""
    before = kernel()
    command = [sys.executable, __file__, "--row", name, "--runs", str(runs)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(told.splitlines()[-1]) / statistics.mean((before, kernel()))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--row", help="measure this one, in this process")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--turns", type=int, default=3, help="the least ratio of so many counts")
    options.add_argument("--write", action="store_true", help=f"fill {FIGURES.name}")
    args = options.parse_args()
    if args.row is not None:
        print(measure(*ROWS[args.row], args.runs)[0])
        return
    known = json.loads(FIGURES.read_text()).get("ratios", {}) if FIGURES.exists() else {}
    found, slower = {}, []
    for name in ROWS:
        found[name] = min(ratio(name, args.runs) for _ in range(args.turns))
        change = found[name] / known.get(name, found[name])
        if change > SLOWER and not args.write:
            found[name] = min(found[name], *(ratio(name, args.runs) for _ in range(args.turns)))
            change = found[name] / known[name]
        print(f"{name}: {found[name]:.3f} times the kernel, {change:.2f} of before", flush=True)
        if change > SLOWER:
            slower.append(name)
    if args.write:
        ratios = {name: round(value, 4) for name, value in found.items()}
        FIGURES.write_text(
            json.dumps({"measured": conditions(), "ratios": ratios}, indent=2) + "\n"
        )
    elif slower:
        raise SystemExit(f"slower by more than 10 %: {', '.join(slower)}")


if __name__ == "__main__":
    main()
