"""Runs the commands and the Python code of README.md as written."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
LIMIT = 300


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what the commands read, so that what they write disturbs nothing."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def run(command, folder):
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    return subprocess.Popen(
        ["sh", "-eu", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process):
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, output
    return output


def move_ports(folder):
    """Gives the parties ports that are free on this machine."""
    moved = dict(zip(("7100", "7101", "7102"), map(str, free_ports(3)), strict=True))
    for config in folder.glob("parties/*/party.toml"):
        config.write_text(re.sub("710[012]", lambda m: moved[m[0]], config.read_text()))


def test_the_commands(checkout):
    for block in blocks("sh"):
        if "tacit party" in block:
            move_ports(checkout)
            parties = [run(line, checkout) for line in block.splitlines()]
            outputs = [finish(party) for party in parties]
            assert "online" in outputs[1]
        else:
            output = finish(run(block, checkout))
            if "--check" in block:
                assert "accuracy" in output


def test_the_python_code(checkout):
    for code in blocks("python"):
        assert "falcon" in finish(run(f"{sys.executable} - <<'EOF'\n{code}\nEOF", checkout))


def test_the_set_up_commands_exist():
    (block,) = blocks("console")
    for line in block.splitlines():
        target = line.split()[1]
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)
