"""How far a call is: within an offline phase and long layers, and as a bar in notebooks."""

import itertools
import threading

import numpy as np
import pytest
from nets import Net

import tacit
from tacit import notebook

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A network whose predictions between parties far apart take seconds."""
    path = tmp_path_factory.mktemp("wide") / "m.onnx"
    net = Net([16])
    x = "x"
    for _ in range(4):
        x = net("Relu", net.linear(x, 16, 16))
    net.save(path, x)
    return path


@pytest.mark.parametrize("protocol", ["shamir", "falcon", "sirnn"])
def test_a_prediction_moves_within_its_parts(wide, protocol):
    """By what it sends, and never back."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 16)).astype(np.float32)
    model, told = tacit.compile(wide, protocol=protocol, samples=x), []

    def listen(phase, layer, done, total):
        told.append((phase, layer, done / max(total, 1)))

    session = tacit.local(protocol=protocol, network="wan")
    session.predict(model, x, progress=listen)
    parts = [done for *_, done in told]
    assert parts == sorted(parts) and parts[-1] <= 1
    steps = itertools.groupby(told, key=lambda event: event[:2])
    assert any(len({done for *_, done in events}) > 2 for _, events in steps)


def test_a_prediction_of_processes_moves_within_its_parts(wide):
    """The process of the data's owner tells how far it is, also of the second prediction."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 16)).astype(np.float32)
    model = tacit.compile(wide, samples=x)
    with tacit.local(network="wan", processes=True) as session:
        for _ in range(2):
            told = []
            session.predict(model, x, progress=lambda *event, told=told: told.append(event))
            parts = [done / total for phase, _, done, total in told if phase == "online"]
            assert len(set(parts)) > 5 and max(parts) <= 1


def test_what_a_callback_raises_within_a_part_ends_the_run(wide):
    """On the thread that called, while another waits for the network."""
    x = np.ones((4, 16), np.float32)
    model, before = tacit.compile(wide, protocol="shamir", samples=x), []

    def stop(*event):
        if event[:2] in before and threading.current_thread() is threading.main_thread():
            raise LookupError(event[1])
        before.append(event[:2])

    with pytest.raises(LookupError):
        tacit.local(protocol="shamir", network="wan").predict(model, x, progress=stop)
    result = tacit.local(protocol="shamir").predict(model, x)
    assert result.report.images == 4


def test_what_is_predicted_again_begins_anew(wide):
    x = np.zeros((2, 16), np.float32)
    model, told = tacit.compile(wide, samples=x + 1), []
    with tacit.local() as session:
        for _ in range(2):
            session.predict(model, x, batch=1, progress=lambda *event: told.append(event))
    first = [i for i, (phase, *_) in enumerate(told) if phase in {"setup", "offline"}]
    again = told[first[-1] :]
    assert again[0][2] == 500 and again[-1][2] > 900
    assert max(done for _, _, done, _ in told[: first[-2]]) > 900


CELLS = (
    """
import numpy as np, tacit
model = tacit.compile({path!r}, samples=np.ones((2, 16), np.float32))
session = tacit.local(network="wan")
""",
    "session.predict(model, np.zeros((2, 16), np.float32)); None",
)


def test_a_notebook_draws_a_bar_that_goes(wide):
    """Every picture of it is heard; the last is empty."""
    heard = []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] in ("display_data", "update_display_data"):
                heard.append(msg["content"]["data"]["text/html"])
            return super().process_message(msg, cell, cell_index)

    cells = [nbformat.v4.new_code_cell(text.format(path=str(wide))) for text in CELLS]
    Client(nbformat.v4.new_notebook(cells=cells), timeout=60).execute()
    assert len(heard) > 3 and not heard[-1]
    assert all("<progress" in page for page in heard[:-1])
    assert "relu" in heard[-2] and "s left" in heard[-2]


def test_a_bar_tells_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(notebook.time, "monotonic", lambda: now[0])
    bar, pages = notebook.Bar(), []
    monkeypatch.setattr(bar, "show", pages.append)
    for seconds, done in ((0.1, 0), (1, 100), (2, 300), (3, 500)):
        now[0] = 100 + seconds
        bar.move("online", "a<b", done, 1000)
    assert len(pages) == 3
    assert 'value="0.500"' in pages[2] and "about 2 s left · a&lt;b" in pages[2]
    assert notebook.drawn("setup", "", None, 1, None).startswith('<progress aria-label="setup">')


def test_elsewhere_there_is_no_bar():
    with notebook.shown(None) as progress:
        assert progress is None
    with notebook.shown(print) as progress:
        assert progress is print
