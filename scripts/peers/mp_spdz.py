"""Measures operations in MP-SPDZ, built in `$TACIT_PEERS/mp-spdz`: three processes, over TLS.

Build it with `make replicated-ring-party.x ps-rep-ring-party.x`. Of its submodules these need
SimplestOT_C alone where `CONFIG.mine` says `AVX_OT = 0` and `USE_KOS = 1`. Certificates are made on
first use. Time and bytes are those between its timers, preprocessing included, over the 64-bit ring
with local splitting; memory is not told.
"""

import re
import subprocess

MACHINES = {"semi-honest": "ring.sh", "malicious": "ps-rep-ring.sh"}
RELU = """
n = {n}
x = sint(regint.inc(n) - n // 2)
start_timer(1)
y = (x > 0).if_else(x, sint(0, size=n))
stop_timer(1)
print_ln('sum %s', sum(y).reveal())
"""
PROGRAMS = {"relu": RELU}


def found(folder):
    """Whether MP-SPDZ is there, built."""
    return folder is not None and (folder / "replicated-ring-party.x").exists()


def measure(folder, op, n, security):
    """Seconds and bytes of the busiest party of one run."""
    name = f"tacit-{op}-{n}"
    source = folder / "Programs" / "Source" / f"{name}.mpc"
    if not (folder / "Player-Data" / "P0.pem").exists():
        run(folder, "Scripts/setup-ssl.sh", "3")
    source.write_text(PROGRAMS[op].format(n=n))
    if not list((folder / "Programs" / "Schedules").glob(f"{name}.sch")):
        run(folder, "./compile.py", "-R", "64", "-Z", "3", name)
    told = run(folder, f"Scripts/{MACHINES[security]}", name)
    timer = re.search(r"Time1 = ([\d.e+-]+) seconds(?: \(([\d.e+-]+) MB)?", told)
    if timer is None:
        raise SystemExit(f"MP-SPDZ's timer is missing:\n{told[-2000:]}")
    return float(timer[1]), float(timer[2] or 0) * 1e6


def run(folder, *command):
    """The output of a command of MP-SPDZ."""
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr
