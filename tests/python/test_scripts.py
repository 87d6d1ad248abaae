"""The scripts that write docs/results.md import what there is."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_imports(script):
    for name in ("torch", "griffe"):
        if f"import {name}" in script.read_text():
            pytest.importorskip(name, reason=f"{name} is not installed")
    importlib.import_module(script.stem)


def test_learning_parity_with_noise_takes_what_the_threat_model_says():
    script = ROOT / "scripts" / "lpn_estimate.py"
    out = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    ).stdout
    model = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    assert out.strip() in model
    # The sets of the code, which the script reads: all of them, and each at 128 bits or more.
    rows = out.strip().splitlines()[2:]
    source = (ROOT / "crates/tacit-sirnn/src/ot/silent.rs").read_text(encoding="utf-8")
    assert f"const SETS: [Set; {len(rows)}]" in source
    for row in rows:
        costs = [int(cell) for cell in row.split("|")[4:-1]]
        assert len(costs) == 6
        # They are rounded.
        assert min(costs) > 128
    # The secrets that the sets had before.
    estimates = importlib.import_module("lpn_estimate")
    assert estimates.sparse(850 << 10, 1 << 16, 850) < 91


def test_the_zoo_judges_what_onnxruntime_keeps():
    """Two of three inputs are off: beside the first are other answers, not beside the second."""
    judge = importlib.import_module("zoo.judge")
    plans = [{"name": "y", "batch": 0, "classes": None}]
    expected = {"y": np.array([1.0, 2.0, 3.0], np.float32)}
    other = np.array([1.5, 1.5, 3.0], np.float32)

    def nudges(at):
        return {"y": np.array([[1.0, 1.5], [2.0, 2.0]][at] * 8, np.float32)}

    found, ties = judge.judged({"y": expected["y"]}, expected, plans, nudges)
    assert (found["error"], ties) == (0.0, 0)
    found, ties = judge.judged({"y": other}, expected, plans, nudges)
    assert ties == 1
    assert found["error"] == pytest.approx(0.5 / expected["y"].std())
    # An answer that lies beside none of onnxruntime's is no tie.
    wrong = np.array([1000.0, 2.0, 3.0], np.float32)
    found, ties = judge.judged({"y": wrong}, expected, plans, nudges)
    assert ties == 0
    assert found["error"] > 1


@pytest.mark.parametrize(
    ("n", "k", "t", "figures"),
    [(1 << 10, 652, 57, (111, 97, 101)), (1 << 12, 1589, 172, (155, 138, 135))],
)
def test_estimates_are_the_published_ones(n, k, t, figures):
    """Gauss and ISD of exact noise, the algebraic attack on regular noise, of papers' sets."""
    estimates = importlib.import_module("lpn_estimate")
    attacks = [estimates.gauss, estimates.isd, estimates.algebraic]
    assert tuple(round(attack(n, k, t)) for attack in attacks) == figures
