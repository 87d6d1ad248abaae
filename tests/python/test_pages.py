"""Pages to show: whole, alone, with every text escaped, whatever a file is called or says."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from nets import Net
from rich.table import Table

import tacit
from tacit import charts, curves, page, pages
from tacit.cli import main
from tacit.page import Page
from tacit.training_report import TrainingReport

CLEAR = tacit.local(protocol="clear")
HOSTILE = "<img onerror=a>\"'&lt;"
EMPTY = {"meta", "br", "img", "link", "input"}


class Reader(HTMLParser):
    """Holds a page's elements and texts, and refuses what does not close or loads anything."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert tag not in {"script", "img", "link", "iframe", "object", "form", "a"}, tag
        for name, value in attributes:
            assert not name.startswith("on") and name not in {"src", "href", "srcset"}, name
            assert "url(" not in (value or "")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)


def read(text):
    """A page that passed what every page has to."""
    assert text.startswith("<!doctype html>")
    found = Reader(text)
    for words in ("prefers-color-scheme:dark", "@media print", "width=device-width"):
        assert words in text
    assert "default-src &#x27;none&#x27;" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "@import" not in text and "url(" not in text
    return found


@pytest.fixture
def files(tmp_path, digits, monkeypatch):
    x, y = digits
    np.save(tmp_path / "x.npy", x[:60])
    np.save(tmp_path / "y.npy", y[:60])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(line, files):
    assert main([*map(str, line), "--html", "page.html"]) == 0
    return (files / "page.html").read_text()


def cells(text, kind):
    """The rows of the tables of a class."""
    tables = re.findall(rf'<table class="{kind}">(.*?)</table>', text, re.DOTALL)
    rows = [re.findall("<tr>(.*?)</tr>", table, re.DOTALL) for table in tables]
    cell = r"<t[hd][^>]*>(.*?)</t[hd]>"
    return [[re.findall(cell, row, re.DOTALL) for row in table] for table in rows]


def test_a_prediction(digits_path, digits_model, files, digits):
    run = ["run", digits_path, "--input", "x.npy", "--labels", "y.npy", "--check"]
    text = made([*run, "--reveal", "top-3", "--network", "0.1ms,1000Mbps"], files)
    found = read(text)
    for words in ("digits.onnx", "60 inputs", "falcon between 3 parties", "1 of 3 corrupt"):
        assert words in found.text
    for words in ("accuracy", "rounds", "top-3", "party 1", "the model"):
        assert words in found.text
    assert "over an emulated network (0.1ms,1000mbps)" in found.text
    # What was taken for what.
    x, y = digits
    answers = digits_model.reference(x[:60]).argmax(1)
    [matrix] = cells(text, "matrix")
    assert [int(row[0]) for row in matrix[1:]] == list(range(10))
    for true, row in enumerate(matrix[1:]):
        counts = [0 if cell == "·" else int(cell) for cell in row[1:]]
        assert counts == [int(np.sum((y[:60] == true) & (answers == k))) for k in range(10)]
    # Each layer has its bar for time, traffic and rounds.
    bars = cells(text, "bars")
    assert len(bars) == 3
    for table in bars:
        assert {"conv", "fc1", "fc2"} <= {row[0] for row in table}
        widths = [float(re.search(r'rect width="([\d.]+)"', row[1])[1]) for row in table]
        assert max(widths) == 100 and min(widths) >= 0


def test_a_prediction_without_labels_or_privacy(digits_path, files):
    run = ["run", digits_path, "--input", "x.npy", "--protocol", "clear"]
    found = read(made(run, files))
    assert "protects nothing" in found.text and "No party showed" not in found.text
    assert "true class" not in found.text and "Who brought" not in found.text


def test_a_measurement_and_an_analysis_and_a_table(digits_path, files):
    found = read(made(["bench", "relu", "--n", "100", "--repeat", "1"], files))
    assert "Cost of relu" in found.text and "largest error" in found.text
    assert "1 layer, as a table" in found.text
    assert "no network was emulated" in found.text and "an emulated network" not in found.text
    line = ["analyze", "truncation", digits_path, "--input", "x.npy", "--labels", "y.npy"]
    found = read(made([*line, "--fraction-bits", "8,12", "--items", "10"], files))
    assert "mult-then-trc" in found.text and "fraction bits" in found.text
    for words in ("accuracy, %", "float32 model", "truncate-then-multiply, random", "forecast"):
        assert words in found.text
    assert found.tags.count("figure") == 2
    found = read(made(["tables", "liu24", "--parties", "3"], files))
    assert "building block" in found.text


def test_a_training(digits):
    x, y = digits
    layers = [{"type": "linear", "outputs": 10}]
    shape = {"input": [1, 8, 8], "layers": layers}
    trainer = tacit.Trainer(shape, epochs=2, reveal_curve=True)
    own = [(1, x[:40], y[:40]), (2, x[40:64], y[40:64])]
    report = trainer.fit(own, (x[:10], y[:10])).report
    text = report.to_html()
    found = read(text)
    assert "650 parameters, 2 epochs" in found.text and "cross-entropy" in found.text
    assert text.count("<polyline") == 2 and "currentColor" in text
    assert "accuracy on the test data, %" in found.text
    assert found.text.count("no network was emulated") == 1
    scores = "how good it is on the test data (2 times)"
    assert told(text, "learned") == [
        ["party 0", "the network", f"the trained weights; {scores}"],
        ["party 1", "40 training items, 10 test items", scores],
        ["party 2", "24 training items", scores],
    ]
    assert [[row[0] for row in table] for table in cells(text, "bars")] == [
        *[["setup", "offline", "online"]] * 3,
        ["epoch 1", "epoch 2"],
    ]


def told(text, header):
    """The rows below a header of a table."""
    [table] = [each for each in re.findall("<table>.*?</table>", text) if f">{header}<" in each]
    return [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", table)][
        1:
    ]


def test_a_training_of_parties_apart():
    """One party's report says what all learned, and not what each brought."""
    phase = {"seconds": 1.0, "rounds": 3, "bytes_sent": [1, 2, 3]}
    data = {
        "protocol": "falcon",
        "security": "semi-honest, 1 of 3 corrupt",
        "parties": 3,
        "numbers": "64-bit ring",
        "fraction_bits": 20,
        "network": "wan",
        "parameters": 1,
        "batch": 8,
        "batches": 1,
        **dict.fromkeys(("setup", "offline", "online"), phase),
        "epochs": [{"epoch": 1, "seconds": 2.0, "accuracy": None, "loss": None, "error": None}],
        "revealed": [{"what": "weights", "to": [2], "count": 1, "openings": 1, "begun": 0}],
    }
    text = TrainingReport(data).to_html()
    assert "1 parameter, 1 epoch, falcon" in text and "1 parameter in 1 mini-batch" in text
    assert "an emulated network (wan)" in text and "one machine" not in text
    rows = [["party 0", "nothing"], ["party 1", "nothing"], ["party 2", "the trained weights"]]
    assert told(text, "learned") == rows and ">brought<" not in text
    assert "How it became better" not in text and "by epoch" not in text
    text = TrainingReport({**data, "protocol": "clear"}).to_html()
    assert "protects nothing" in text and "Who learned" not in text


def test_of_many_parties_those_alike_are_one_line():
    alike = [[f"party {at}", "no secret: it helps", "no answer"] for at in range(9)]
    assert pages._few(alike)[3:] == [["6 more", "no secret: it helps", "no answer"]]
    alike[8][1] = "5 training items"
    assert pages._few(alike) == alike


def test_hostile_names_stay_text(tmp_path, files):
    net = Net((4,), 1)
    value = net.linear("x", 4, 3)
    for node in net.nodes:
        node.name = HOSTILE
    net.nodes[-1].output[0] = HOSTILE
    net.save(tmp_path / "m.onnx", HOSTILE)
    assert value
    model = tacit.compile(tmp_path / "m.onnx")
    result = CLEAR.predict(model, np.ones((2, 4)), [0, 1])
    found = read(result.to_html(model=HOSTILE, labels=[0, 1]))
    assert found.text.count(HOSTILE) >= 4
    result.report.data["warnings"] = [HOSTILE]
    found = read(result.report.to_html())
    assert "Warnings" in found.text and HOSTILE in found.text
    hostile = Page(HOSTILE, [HOSTILE], [(HOSTILE, HOSTILE)], [HOSTILE])
    hostile.add(HOSTILE, page.table([HOSTILE], [[HOSTILE]], HOSTILE), page.facts([(HOSTILE,) * 2]))
    hostile.add(
        "more", charts.bars(HOSTILE, [(HOSTILE, 1.0, HOSTILE)], "layers"), page.folded(HOSTILE, "")
    )
    lines = [curves.Line(HOSTILE, [(1, 0.5), (2, 0.7)])] * 2
    axes = curves.Axis(HOSTILE), curves.Axis(HOSTILE)
    hostile.add("curve", curves.curve(lines, *axes, (HOSTILE, 0.6)))
    names = np.array([HOSTILE, "b"])
    hostile.add("matrix", charts.matrix(names, names[::-1]))
    assert read(hostile.render()).text.count(HOSTILE) >= 30


def test_numbers_of_a_table_stand_below_each_other():
    """On a phone numbers and names stay whole: the screen breaks none."""
    made = Table(title="costs")
    made.add_column("layer", no_wrap=True)
    made.add_column("what")
    made.add_column("seconds", justify="right")
    made.add_row("conv 1", "a product", "1.50")
    text = page.rich_table(made)
    row = '<td class="whole">conv 1</td><td>a product</td><td class="number">1.50</td>'
    assert row in text and '<table aria-label="costs">' in text
    assert page.pair() == "" and page.pair("a", "b").count("<div>") == 2


def test_many_layers_and_many_classes():
    rows = [(f"layer {i}", float(i), str(i)) for i in range(100)]
    text = charts.bars("Time", rows, "layers")
    assert "layer 99" in text and "layer 50" not in text and "84 other layers" in text
    # The order is that of the model.
    assert text.index("layer 90") < text.index("layer 95")
    name = "encoder/layer.12/attention/output/dense/a_long_name/Relu"
    text = charts.bars("Time", [(name, 1.0, "")], "layers")
    assert ">encoder/layer.12/at…nse/a_long_name/Relu<" in text and f'title="{name}"' in text
    labels = np.arange(40)
    answers = np.where(labels < 3, 39, labels)
    text = charts.matrix(labels, answers)
    assert "of 3 confusions" in text and 'class="matrix"' not in text
    assert "no confusion" in charts.matrix(labels, labels)


def test_names_of_classes_in_a_matrix(tmp_path):
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.linear_model import LogisticRegression

    from tacit.sklearn import exported

    x = np.random.default_rng(0).normal(0, 1, (40, 3)).astype(np.float32)
    y = np.array(["red", "white", "rosé"])[x.argmax(1)]
    (tmp_path / "m.onnx").write_bytes(exported(LogisticRegression().fit(x, y)))
    model = tacit.compile(tmp_path / "m.onnx", samples=x)
    text = CLEAR.predict(model, x, y).to_html(labels=y)
    [matrix] = cells(text, "matrix")
    assert [row[0] for row in matrix[1:]] == ["red", "rosé", "white"]


def test_answers_are_written_whatever_becomes_of_the_page(digits_path, files, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("tacit.pages.of_result", fails)
    line = ["run", str(digits_path), "--input", "x.npy", "--protocol", "clear", "--output", "o.npy"]
    with pytest.raises(RuntimeError):
        main([*line, "--json", "r.json", "--html", "page.html"])
    assert len(np.load("o.npy")) == 60 and (files / "r.json").exists()


def test_a_page_is_checked_before_anything_runs(digits_path, files, capsys):
    line = ["run", str(digits_path), "--input", "x.npy", "--html", "no/such.html"]
    assert main(line) == 2
    assert "its folder no is not there" in capsys.readouterr().err
    line = ["run", str(digits_path), "--input", "x.npy", "--html", "x.npy"]
    assert main(line) == 2
    assert "one of the inputs" in capsys.readouterr().err
