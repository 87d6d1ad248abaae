"""The scripts that write docs/results.md import what there is."""

import importlib
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_imports(script):
    if "import torch" in script.read_text():
        pytest.importorskip("torch")
    importlib.import_module(script.stem)
