"""The wheel that `make wheel` builds, in an environment with nothing else."""

import platform
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[2]
MOST_BYTES = 7_500_000
PREDICT = """
import numpy, pathlib, tacit
assert pathlib.Path("env").resolve() in pathlib.Path(tacit.__file__).parents, tacit.__file__
x = numpy.load("x.npy")
result = tacit.local().predict(tacit.compile("model.onnx", samples=x), x)
numpy.save("y.npy", result.output)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent))
    if maturin is None:
        pytest.skip("maturin is not in this environment: make test installs it")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        ["make", "--no-print-directory", "wheel", f"WHEELS={folder}"], cwd=PROJECT, check=True
    )
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_is_small_and_for_many_machines(wheel):
    """The wheel is for every Python from 3.10 on, and this machine's glibc or an older one."""
    found = re.search(r"-cp310-abi3-manylinux_2_(\d+)_", wheel.name)
    assert found, wheel.name
    assert int(found[1]) <= int(platform.libc_ver()[1].split(".")[1])
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert "tacit/py.typed" in names
    assert sum(name.endswith(".so") for name in names) == 1
    unwanted = ("__pycache__", "tests", "typings")
    assert not [name for name in names if any(each in name for each in unwanted)]


def test_the_wheel_predicts_in_an_empty_environment(
    wheel, digits_path, digits_model, digits, tmp_path
):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    x = digits[0][:8]
    np.save(tmp_path / "x.npy", x)
    shutil.copy(digits_path, tmp_path / "model.onnx")
    subprocess.run([python, "-I", "-c", PREDICT], cwd=tmp_path, check=True)
    expected = digits_model.reference(x)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, atol=1e-2)
    command = [tmp_path / "env" / "bin" / "tacit", "--version"]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout.startswith("tacit ")
