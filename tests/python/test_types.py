"""The package has the types that it says: pyright finds nothing, as pyproject.toml asks it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("matplotlib", "onnx", "pandas", "pyright", "skl2onnx", "sklearn", "torch")
LIMIT = 300


def test_pyright_finds_nothing():
    for name in NEEDED:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    line = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(
        line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT
    )
    if done.returncode not in {0, 1}:
        pytest.skip(f"pyright does not run here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stdout
    assert "0 errors" in done.stdout
