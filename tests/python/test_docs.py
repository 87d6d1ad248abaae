"""Runs the Python code of the pages for users as written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300
PAGES = {"data-owner.md": ("numpy",), "model-owner.md": ("sklearn", "skl2onnx", "torch")}
"""Pages whose blocks are whole programs, and what these import beside Tacit."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what the pages read, with the files that the README has made before."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    line = [sys.executable, "examples/digits/data.py", "images.npy", "labels.npy"]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_the_code(page, checkout):
    for name in PAGES[page]:
        pytest.importorskip(name, reason=f"{name} is not installed")
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    whole = [block for block in blocks if "import tacit" in block]
    assert whole
    for block in whole:
        done = subprocess.run(
            [sys.executable, "-c", block],
            cwd=checkout,
            env=os.environ,
            timeout=LIMIT,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
