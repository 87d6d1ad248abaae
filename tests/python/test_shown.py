"""What results, models and trainings show of themselves: answers first, little, and no bytes."""

import pickle

import numpy as np
import pytest
from nets import Net
from onnx import helper

import tacit
from tacit.answers import Reading, readings
from tacit.cli import main

CLEAR = tacit.local(protocol="clear")
SECRET = "<script>alert('grün')</script>"


@pytest.fixture
def files(tmp_path, digits):
    x, y = digits
    np.save(tmp_path / "x.npy", x[:12])
    np.save(tmp_path / "y.npy", y[:12])
    return tmp_path


def run(digits_path, files, *more):
    return main(["run", str(digits_path), "--input", str(files / "x.npy"), *map(str, more)])


def test_a_command_shows_answers_before_cost(digits_path, files, digits, capsys):
    assert run(digits_path, files, "--labels", files / "y.npy") == 0
    shown = capsys.readouterr().out
    _, answers, cost = shown.partition("Answers")
    assert answers and "rounds" not in shown[: shown.index("Answers")]
    table, _, rest = cost.partition("12 inputs, of which the first 5 are shown; accuracy")
    assert "Phases" in rest and "score" in table
    lines = [line.split() for line in table.splitlines() if line.startswith("│")]
    assert [int(line[3]) for line in lines] == digits[1][:5].tolist()


def test_only_what_is_revealed_is_shown(digits_path, files, capsys):
    assert run(digits_path, files, "--reveal", "class") == 0
    shown = capsys.readouterr().out
    assert "score" not in shown and "12 inputs" in shown and "accuracy" not in shown


def test_every_kind_of_output():
    def output(name, shape, *tail, classes=None):
        steps = [{"function": function} for function in tail]
        return {"name": name, "shape": shape, "batch": 0, "tail": steps, "classes": classes}

    names = {"strings": ["red", "white"]}
    found = readings(
        [
            output("label", [], "ArgMax", classes=names),
            output("probabilities", [2]),
            output("soft", [3], "Softmax"),
            output("scores", [3]),
            output("price", [1]),
            output("picture", [3, 4, 4]),
        ],
        "probabilities",
    )
    kinds = [reading.kind for reading in found.values()]
    assert kinds == ["class", "probability", "probability", "score", "value", "numbers"]
    assert found["probabilities"].cells(np.array([0.25, 0.75])) == ["white", "0.75"]
    assert found["soft"].cells(np.array([0.5, 0.25, 0.25])) == ["0", "0.5"]
    assert readings([output("y", [3])], "top-3")["y"].kind == "classes"
    assert readings([output("y", [])], "class")["y"].kind == "class"
    shown = found["picture"].cells(np.arange(48.0))
    assert shown == ["48 numbers, 0 to 47"]
    # Items along another axis.
    turned = Reading("score", axis=1)
    assert turned.items(np.zeros((3, 5))).shape == (5, 3)


def test_a_result_is_short(digits_model, digits):
    x, y = digits
    result = CLEAR.predict(digits_model, x[:40], y[:40])
    assert len(repr(result)) < 200 and "digit (40, 10)" in repr(result)
    assert len(str(result).splitlines()) < 15 and "40 inputs" in str(result)
    page = result._repr_html_()
    assert page.count("<tr>") == 6 and len(page) < 2000
    np.testing.assert_array_equal(result.classes(), result.output.argmax(1))
    assert len(repr(digits_model)) < 200


def test_classes_of_hostile_names_are_escaped(tmp_path):
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.linear_model import LogisticRegression

    from tacit.sklearn import exported

    x = np.random.default_rng(0).normal(0, 1, (40, 3)).astype(np.float32)
    y = np.array([SECRET, "[/b]", "c" * 500])[x.argmax(1)]
    (tmp_path / "m.onnx").write_bytes(exported(LogisticRegression().fit(x, y)))
    model = tacit.compile(tmp_path / "m.onnx", samples=x)
    result = CLEAR.predict(model, x)
    np.testing.assert_array_equal(result.classes(), result.outputs["label"])
    assert "<script" not in result._repr_html_() and "&lt;script" in result._repr_html_()
    assert "c" * 70 not in str(result)
    assert "[/b]" in str(result)


def test_a_model_in_a_notebook(tmp_path):
    net = Net((4,), 1)
    value = "x"
    for i in range(30):
        value = net("Relu", net.linear(value, 4, 4))
        net.nodes[-1].name = f"{i}{SECRET}"
    net.save(tmp_path / "m.onnx", value)
    page = tacit.compile(tmp_path / "m.onnx")._repr_html_()
    assert "<script" not in page and "&lt;script" in page
    assert page.count("<tr>") == 21 and "more layers" in page


def test_a_training_shows_no_bytes(digits):
    x, y = digits
    layers = [{"type": "linear", "outputs": 10}]
    trainer = tacit.Trainer({"input": [1, 8, 8], "layers": layers}, epochs=2, reveal_curve=True)
    for shown in (repr(trainer), str(trainer), trainer._repr_html_()):
        assert "2 epochs of mini-batches of 128" in shown and len(shown) < 800
    trained = trainer.fit((x[:64], y[:64]), (x[:10], y[:10]))
    assert "650 parameters, 2 epochs" in repr(trained) and len(repr(trained)) < 200
    assert "accuracy" in str(trained) and len(str(trained)) < 1500
    assert "650 parameters" in trained._repr_html_() and "\\x" not in trained._repr_html_()


def test_a_value_by_itself(save_onnx, tmp_path, capsys):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "fc")]
    path = save_onnx(nodes, [2], [1], {"w": np.ones((2, 1), np.float32)})
    np.save(tmp_path / "x.npy", np.array([[0.5, 1.25]], np.float32))
    assert main(["run", str(path), "--input", str(tmp_path / "x.npy"), "--protocol", "clear"]) == 0
    shown = capsys.readouterr().out
    assert "value" in shown and "1.75" in shown and "1 input\n" in shown.replace(" \n", "\n")


def test_a_result_survives_being_sent(digits_model, digits):
    result = CLEAR.predict(digits_model, digits[0][:3])
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.classes(), result.classes())
    assert again.readings == result.readings and str(again) == str(result)
