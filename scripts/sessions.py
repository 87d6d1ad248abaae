"""The first prediction of a session and later ones; fills `sessions` of docs/results.md.

    make sessions

One image of the digits' network at a time within `with tacit.local(...)`: the whole call, the first
with keys, agreement and the sharing of weights, of the later ones the median.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

import tacit
from results import markdown, write_section

DIGITS = Path(__file__).resolve().parents[1] / "examples" / "digits" / "digits.onnx"
LATER = 7
ROWS = {
    "falcon": {"protocol": "falcon"},
    "falcon, malicious": {"protocol": "falcon", "security": "malicious"},
    "bicoptor": {"protocol": "bicoptor"},
    "shamir, 3 parties": {"protocol": "shamir"},
    "sirnn": {"protocol": "sirnn"},
    "falcon, processes": {"protocol": "falcon", "processes": True},
}


def measure(where):
    """Seconds, and bytes of set-up at the busiest party, of the first prediction and of others."""
    images = np.random.default_rng(0).random((1 + LATER, 1, 8, 8), dtype=np.float32)
    model = tacit.compile(DIGITS, samples=images, protocol=where["protocol"])
    seconds, setup = [], []
    with tacit.local(**where) as session:
        for image in images:
            start = time.perf_counter()
            result = session.predict(model, image[None])
            seconds.append(time.perf_counter() - start)
            setup.append(max(result.report.data["setup"]["bytes_sent"]))
    later = statistics.median(seconds[1:])
    return [f"{seconds[0]:.3f} s", f"{later:.4f} s", f"{setup[0]:,} B", f"{setup[-1]:,} B"]


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rows = []
    for name, where in ROWS.items():
        rows.append([name, *measure(where)])
        print(*rows[-1])
    heads = ["", "first", "later", "set-up, first", "later"]
    write_section("sessions", markdown(heads, rows))


if __name__ == "__main__":
    main()
