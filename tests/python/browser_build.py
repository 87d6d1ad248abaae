"""The client for browsers, built where it can be.

Where `TACIT_BROWSER` is set, a tool that is missing is a failure: tests skip nothing for it.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tacit import _tacit

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "browser"


def missing():
    """Why the client cannot be built here; None if it can."""
    if not hasattr(_tacit, "Service"):
        return "the core has no Service"
    if not shutil.which("node") or not shutil.which("cargo"):
        return "node or cargo is not installed"
    if not (CLIENT / "node_modules" / "playwright-core").is_dir():
        return "`npm ci` was not run in clients/browser"
    line = ["rustc", "--print", "target-libdir", "--target", "wasm32-unknown-unknown"]
    found = subprocess.run(line, check=False, capture_output=True, text=True, cwd=ROOT)
    if found.returncode or not Path(found.stdout.strip()).is_dir():
        return "the target wasm32-unknown-unknown is not installed"
    return None


def browser():
    """The path of Chromium or Chrome on this machine; None where neither is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def skipped(why):
    """The mark of tests that need what is missing, by `why`, if anything is."""
    must = bool(os.environ.get("TACIT_BROWSER"))
    return pytest.mark.skipif(why is not None and not must, reason=f"{why}; see make browser-tools")


@functools.cache
def build():
    """Builds the client, once for all tests."""
    why = missing()
    assert why is None, why
    line = ["node", str(CLIENT / "build.mjs")]
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, cwd=CLIENT, timeout=600
    )
    assert done.returncode == 0, done.stderr
