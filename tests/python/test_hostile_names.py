"""Names of layers and outputs come from files of strangers: they are shown as they are."""

import numpy as np
import pytest
from nets import Net
from rich.console import Console

import tacit
from tacit import console
from tacit.cli import main

NAMES = ["[/nope]", "[bold]b[/bold]", "<script>alert(1)</script>", "<b/onmouseover='x'>&amp;"]
"""What a terminal or a page would take for its own."""


@pytest.fixture(params=NAMES)
def hostile(request, tmp_path):
    """A name, and the path of a model whose layer and output have it."""
    path = str(tmp_path / "m.onnx")
    net = Net((4,), 1)
    net.linear("x", 4, 3)
    net.nodes[-1].output[0] = request.param
    for node in net.nodes:
        node.name = request.param
    net.save(path, request.param)
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    return request.param, path


def test_on_screen(hostile, tmp_path, capsys, monkeypatch):
    name, path = hostile
    monkeypatch.setattr(console, "err", Console(stderr=True, force_terminal=True, width=100))
    assert main(["run", path, "--input", str(tmp_path / "x.npy"), "--protocol", "clear"]) == 0
    assert name[:6] in capsys.readouterr().out
    assert main(["plan", path]) == 0
    assert name[:6] in capsys.readouterr().out


def test_in_texts_and_pages(hostile):
    name, path = hostile
    model = tacit.compile(path)
    result = tacit.local(protocol="clear").predict(model, np.ones((2, 4)))
    for item in (model, result.report):
        assert name[:6] in str(item)
    assert "<script" not in result.report._repr_html_()
    assert "<b/" not in result.report._repr_html_()
