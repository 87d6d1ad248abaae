"""ONNX's own tests of its operations: every eligible case is right or refused with a reason.

What becomes of each operation's cases is written down in `docs/operations-suite.md`. No operation
may have fewer right cases than stand there; `TACIT_WRITE=1` writes the page anew, with as many or
more.
"""

import os
import re
import sys
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import suite

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operations-suite.md"

HEAD = """# ONNX's own tests

Every case of ONNX's backend suite for nodes whose operation could be part of a model with one float
input, run under the protocol without cryptography: right where each output is within 0.001 and
0.1 % of its value, or of a bfloat16 a unit in its last place, else refused with the node and the
reason; none is wrong. Inputs beside the first of floats are constants of the file. Expanded twins
are the same operations written out as the functions that the standard defines. `tests/models/`
makes this page (`TACIT_WRITE=1 pytest tests/models`), and holds it: no operation may have fewer
right cases.

"""


@pytest.fixture(scope="module")
def outcomes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        all_cases = suite.cases()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(suite.outcome, all_cases))


def counted(outcomes):
    """How many cases of every operation there are and are right, its own and expanded ones."""
    table = defaultdict(Counter)
    for outcome in outcomes:
        kind = "expanded" if outcome.case.expanded else "cases"
        table[outcome.case.operation][kind] += 1
        table[outcome.case.operation][f"right {kind}"] += outcome.kind == "right"
    return table


def page(table):
    """The page with the table of all operations."""
    columns = ("cases", "right cases", "expanded", "right expanded")
    total = [sum(row[c] for row in table.values()) for c in columns]
    lines = [
        "| operation | cases | right | expanded twins | right |",
        "| --- | --: | --: | --: | --: |",
        "| **all** | " + " | ".join(map(str, total)) + " |",
    ]
    for name, row in sorted(table.items()):
        lines.append(f"| {name} | " + " | ".join(str(row[c]) for c in columns) + " |")
    return HEAD + "\n".join(lines) + "\n"


def recorded():
    """The right cases of every operation that the page has."""
    rows = re.findall(
        r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE
    )
    return {name: (int(own), int(expanded)) for name, _, own, _, expanded in rows}


def test_no_case_is_wrong(outcomes):
    assert not [(o.case.name, o.why) for o in outcomes if o.kind == "wrong"]


def test_refusals_name_what_and_why(outcomes):
    """The node with its operation, or what of the file as a whole cannot be used."""
    file = re.compile(
        r"the input '.+' cannot be used|the tensor '.+' cannot|"
        r"uses operator set|names no operator set|the output '.+' cannot be computed|"
        r"the samples: item .+ must be a finite number|layer '.+'"
    )
    for outcome in outcomes:
        if outcome.kind != "refused":
            continue
        named = any(f"{node.op_type})" in outcome.why for node in suite.nodes(outcome.case.model))
        assert named or file.search(outcome.why), (outcome.case.name, outcome.why)


def test_no_operation_has_fewer_right_cases(outcomes):
    table = counted(outcomes)
    if os.environ.get("TACIT_WRITE") and not fewer(table):
        PAGE.write_text(page(table))
    assert not fewer(table)
    assert PAGE.read_text().startswith(HEAD)


def fewer(table):
    """Operations with fewer right cases than the page says, each with both numbers."""
    if not PAGE.exists():
        return {}
    found = {}
    for name, before in recorded().items():
        now = (table[name]["right cases"], table[name]["right expanded"])
        if any(n < b for n, b in zip(now, before, strict=True)):
            found[name] = (before, now)
    return found


def test_a_collapsed_answer_is_wrong():
    """The check itself: of a right case a changed expectation is wrong."""
    case = next(case for case in suite.cases() if case.name == "test_relu")
    assert suite.outcome(case).kind == "right"
    case.wanted = [case.wanted[0] + np.float32(0.01)]
    assert suite.outcome(case).kind == "wrong"
