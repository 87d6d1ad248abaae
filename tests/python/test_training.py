"""Training between parties, from Python and from the command line."""

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
import pytest
from ports import move_ports

import tacit
from tacit.cli import main

CONFIG = """
[model]
input = [1, 4, 4]
layers = [
    {{ type = "conv", filters = 2, kernel = 3 }},
    {{ type = "relu" }},
    {{ type = "linear", outputs = 3 }},
]

[[data]]
owner = 0
train = "npz:{folder}/train.npz"
items = 20

[[data]]
owner = 2
train = "npz:{folder}/train.npz"
test = "npz:{folder}/test.npz"
first = 20

[training]
epochs = {epochs}
batch = 4
reveal_curve = true
sgd = {{ learning_rate = 0.2, momentum = 0.5 }}
checkpoint = {{ folder = "state", keys = "keys", every = 1 }}

[run]
truncation = "exact"

[output]
model = "trained.onnx"
report = "report.json"
page = "report.html"
"""


def images(n, seed):
    """Images with a bright row, and which."""
    rng = np.random.default_rng(seed)
    x, y = 0.3 * rng.random((n, 1, 4, 4), np.float32), np.arange(n) % 3
    x[np.arange(n), 0, y] += 1
    return x, y


LAYERS = {
    "input": [1, 4, 4],
    "layers": [
        {"type": "conv", "filters": 2, "kernel": 3},
        {"type": "relu"},
        {"type": "linear", "outputs": 3},
    ],
}


def test_a_network_learns_and_its_file_predicts(tmp_path):
    trainer = tacit.Trainer(
        LAYERS, epochs=4, batch=8, learning_rate=0.3, momentum=0.9, reveal_curve=True
    )
    test = images(30, 2)
    steps = []
    trained = trainer.fit(images(40, 1), test, progress=lambda *step: steps.append(step))
    curve = [epoch["accuracy"] for epoch in trained.report.epochs]
    assert len(curve) == 4 and curve[-1] > 0.9
    assert steps[-1][1].startswith("epoch 4 of 4, batch 5 of 5") and steps[-1][3] > 0
    path = tmp_path / "trained.onnx"
    trained.save(path)
    session = onnxruntime.InferenceSession(path)
    z = session.run(None, {session.get_inputs()[0].name: test[0]})[0]
    assert (z.argmax(1) == test[1]).mean() == curve[-1]
    z -= z.max(axis=1, keepdims=True)
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(30), test[1]]
    assert trained.report.epochs[-1]["loss"] == pytest.approx(losses.mean(), abs=1e-3)
    private = tacit.local().predict(tacit.compile(path, samples=test[0]), test[0], test[1])
    assert private.report.accuracy == curve[-1]


@pytest.mark.parametrize("stop_after", [None, 5])
def test_private_training_is_that_in_float(stop_after):
    options = {"epochs": 2, "batch": 10, "learning_rate": 0.2, "reveal_curve": True}
    trainer = tacit.Trainer(LAYERS, **options, stop_after=stop_after)
    train, test = images(40, 1), images(30, 2)
    trained = trainer.fit([(0, train[0][:15], train[1][:15]), (1, train[0][15:], train[1][15:])])
    file, _ = trainer.reference(train, test)

    def outputs(file):
        session = onnxruntime.InferenceSession(file)
        return session.run(None, {session.get_inputs()[0].name: test[0]})[0]

    np.testing.assert_allclose(outputs(trained.onnx), outputs(file), atol=2e-3)
    moments = trainer.reference(train, test)[1]
    assert [epoch["accuracy"] for epoch in trained.report.epochs] == [None] * len(moments)
    often = trainer.reference(train, test, every=2)[1]
    assert [moment["batches"] for moment in often] == list(range(2, (stop_after or 8) + 1, 2))
    shared = [moment for moment in often if moment in moments]
    assert [moment["batches"] for moment in shared] == [4, 8][: len(moments)]
    assert often[0]["loss"] != often[-1]["loss"] and often[0]["error"] is None
    assert "not revealed" in str(trained.report)


PLACED = {
    "input": [1, 4, 4],
    "layers": [
        {"type": "conv", "filters": 2, "kernel": 3},
        {"type": "leaky-relu", "name": "short"},
        {"type": "gelu"},
        {"type": "add", "from": ["short"]},
        {"type": "batch-norm"},
        {"type": "sigmoid"},
        {"type": "linear", "outputs": 3},
    ],
}


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_every_protocol_trains_as_in_float(protocol, optimiser):
    trainer = tacit.Trainer(PLACED, batch=12, epochs=2, optimiser=optimiser, protocol=protocol)
    data = [(0, *images(12, 1))]
    expected = onnx.load_from_string(trainer.reference(data)[0]).graph.initializer
    arrays = [onnx.numpy_helper.to_array(tensor) for tensor in expected]
    # Those of GELU's factors are no weights.
    expected = np.concatenate([array.ravel() for array in arrays if array.ndim])
    np.testing.assert_allclose(trainer.fit(data).weights, expected, atol=2e-4)


def test_values_are_learnt_too():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    y = x @ np.array([[0.5], [-1], [0.25]], np.float32) + 0.1
    trainer = tacit.Trainer(
        {"input": [3], "layers": [{"type": "linear", "outputs": 1}]},
        loss="mean-squared-error",
        epochs=4,
        batch=16,
        learning_rate=0.3,
        reveal_curve=True,
    )
    trained = trainer.fit((x, y), (x, y))
    errors = [epoch["error"] for epoch in trained.report.epochs]
    assert errors[0] > errors[-1] and errors[-1] < 1e-2
    assert "<svg" in trained.report._repr_html_()


def test_a_training_starts_from_a_file(tmp_path):
    first = tacit.Trainer(LAYERS, stop_after=1, batch=8).fit(images(16, 1))
    path = tmp_path / "first.onnx"
    first.save(path)
    again = tacit.Trainer(path, batch=8, learning_rate=1e-6, stop_after=1).fit(images(16, 1))
    models = [tacit.compile(path), None]
    second = tmp_path / "second.onnx"
    again.save(second)
    models[1] = tacit.compile(second)
    x = images(5, 4)[0]
    np.testing.assert_allclose(*(model.reference(x) for model in models), atol=1e-3)


def test_a_torch_module_trains_as_torch_does():
    """Whole batches, so that the order of the items is none."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten()]
    module = torch.nn.Sequential(*layers, torch.nn.Linear(8, 3))
    x, y = images(20, 1)
    sgd = {"momentum": 0.9, "weight_decay": 0.01}
    trainer = tacit.Trainer(module, samples=x, epochs=4, batch=20, learning_rate=0.25, **sgd)
    private = trainer.fit((x, y)).onnx
    optimiser = torch.optim.SGD(module.train().parameters(), lr=0.25, **sgd)
    items, classes = torch.from_numpy(x), torch.from_numpy(y)
    for _ in range(4):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(items), classes).backward()
        optimiser.step()
    session = onnxruntime.InferenceSession(private)
    outputs = session.run(None, {session.get_inputs()[0].name: x})[0]
    np.testing.assert_allclose(outputs, module(items).detach(), atol=2e-3)


@pytest.mark.parametrize(("op", "why"), [("Softmax", "ends in Softmax"), ("Dropout", "'last'")])
def test_what_a_file_has_that_is_not_trained_is_named(tmp_path, op, why):
    weights = onnx.numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["z"]),
        onnx.helper.make_node(op, ["z"], ["y"], "last"),
    ]
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", size])
        for name, size in (("x", 3), ("y", 2))
    ]
    graph = onnx.helper.make_graph(nodes, "ends", ends[:1], ends[1:], [weights])
    path, opset = tmp_path / "ends.onnx", onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    with pytest.raises(tacit.TacitError, match=why):
        tacit.Trainer(path).fit((np.zeros((4, 3)), np.zeros(4, int)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": {"input": [4]}}, "a network's name or a list of layers"),
        ({"model": {"input": [4], "network": "resnet"}}, "choose one of network-a"),
        ({"epochs": 0}, "epochs"),
        ({"schedule": {"type": "step"}}, "missing field"),
        ({"protocol": "no"}, "choose one of falcon"),
        ({"optimiser": "lion"}, "choose one of sgd, adam"),
        ({"optimiser": "adam", "momentum": 0.9}, "momentum has no effect"),
        ({"betas": (0.9, 0.99)}, "betas has no effect"),
        ({"optimiser": "adam", "ring": 32, "fraction_bits": 10}, "need 60 bits"),
        ({"optimiser": "adam", "sign_bits": 32}, "sign_bits"),
    ],
)
def test_what_cannot_be_trained_is_named(change, why):
    arguments = {"model": LAYERS, **change}
    with pytest.raises(tacit.TacitError, match=why):
        tacit.Trainer(arguments.pop("model"), **arguments).fit(images(8, 1))


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (np.zeros((4, 5)), np.zeros(4, int), "the network takes"),
        (np.zeros((4, 16)), np.full(4, 3), "classes 0 to 2"),
        (np.zeros((4, 16)), np.zeros(5, int), "4 integer classes"),
        (np.array([["a"] * 16]), [0], "real numbers"),
    ],
)
def test_data_that_does_not_fit_is_named(x, y, why):
    with pytest.raises(tacit.TacitError, match=why):
        tacit.Trainer(LAYERS).fit((x, y))


def config(folder, epochs):
    folder.mkdir()
    for name, data in (("train", images(40, 1)), ("test", images(30, 2))):
        np.savez(folder / f"{name}.npz", x=data[0], y=data[1])
    path = folder / "train.toml"
    path.write_text(CONFIG.format(folder=folder, epochs=epochs))
    return path


def command(path):
    return subprocess.Popen(
        [sys.executable, "-m", "tacit", "train", str(path)], stderr=subprocess.PIPE, text=True
    )


def test_what_adam_follows_is_in_the_checkpoints(tmp_path):
    """Steps in two runs are those in one, though the moments and the step's number matter."""
    options = {"batch": 8, "optimiser": "adam", "learning_rate": 0.02, "truncation": "exact"}
    data, files = images(24, 1), []
    for name, stops in (("whole", [3]), ("parts", [2, 3])):
        kept = {"folder": tmp_path / name, "every": 1}
        for stop in stops:
            trainer = tacit.Trainer(LAYERS, checkpoint=kept, stop_after=stop, **options)
            trained = trainer.fit(data)
        files.append(trained.onnx)
    assert files[0] == files[1]


def test_a_killed_training_goes_on_with_the_same_result(tmp_path):
    paths = [config(tmp_path / name, 12) for name in ("whole", "killed")]
    assert command(paths[0]).wait(300) == 0
    rng, state = random.Random(5), paths[1].parent / "state"
    for _ in range(3):
        process = command(paths[1])
        done = len(list(state.glob("*"))) if state.exists() else 0
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if state.exists() and len(list(state.glob("*"))) >= max(done, 3):
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    last = command(paths[1])
    assert last.wait(300) == 0, last.stderr.read()
    files = [(path.parent / "trained.onnx").read_bytes() for path in paths]
    assert files[0] == files[1]
    reports = [json.loads((path.parent / "report.json").read_text()) for path in paths]
    curves = [[epoch["accuracy"] for epoch in report["epochs"]] for report in reports]
    assert curves[0] == curves[1] and len(curves[0]) == 12
    assert reports[1]["batches"] < reports[0]["batches"] == 120
    assert "<svg" in (paths[1].parent / "report.html").read_text()


OWN = """
[[data]]
train = "npz:{folder}/train.npz"
{part}
test = "npz:{folder}/test.npz"
"""


def organisations(folder):
    """Config files of three parties, of which two bring the items of `config`."""
    whole = config(folder, 8).read_text()
    network = whole[whole.index("[model]") : whole.index("[[data]]")]
    training = whole[whole.index("[training]") : whole.index("[run]")]
    parties = folder / "parties"
    assert main(["init", str(parties), "--training"]) == 0
    paths = [parties / f"party{party}" / "train.toml" for party in range(3)]
    move_ports(paths)
    for path, part in zip(paths, ("items = 20", None, "first = 20"), strict=True):
        text = path.read_text().replace('truncation = "gap"', 'truncation = "exact"')
        text = text.replace("timeout = 120.0", "timeout = 5.0")
        own = OWN.format(folder=folder, part=part) if part else ""
        member, run = text[: text.index("[model]")], text[text.index("[run]") :]
        path.write_text(member + network + own + training + run)
    return paths


def finished(started):
    """What the processes end with: their exit codes and what they said."""
    try:
        ends = [(process.communicate(timeout=300)[1], process.returncode) for process in started]
    finally:
        for process in started:
            process.kill()
    return [code for _, code in ends], [said for said, _ in ends]


def test_organisations_train_and_go_on_when_one_was_killed(tmp_path):
    paths = organisations(tmp_path / "apart")
    started = [command(path) for path in paths]
    state = paths[1].parent / "state"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (state.exists() and len(list(state.glob("*"))) > 1):
        time.sleep(0.01)
    started[1].send_signal(signal.SIGKILL)
    codes, said = finished(started)
    assert codes[0] == codes[2] == 2 and "party 1" in said[0] + said[2], said
    assert not (paths[0].parent / "trained.onnx").exists()
    codes, said = finished([command(path) for path in paths])
    assert codes == [0, 0, 0], said
    reports = [json.loads((path.parent / "report.json").read_text()) for path in paths]
    assert reports[0]["epochs"][-1]["accuracy"] == reports[1]["epochs"][-1]["accuracy"] > 0.6
    assert 0 < reports[0]["batches"] < 80

    # Items, order and start are those of one machine, and so is the result.
    train, test = images(40, 1), images(30, 2)
    parts = [(owner, train[0][part], train[1][part]) for owner, part in HALVES]
    options = {"batch": 4, "epochs": 8, "learning_rate": 0.2, "momentum": 0.5}
    trained = tacit.Trainer(LAYERS, truncation="exact", **options).fit(parts, [(2, *test)])
    assert (paths[0].parent / "trained.onnx").read_bytes() == trained.onnx
    assert not any((path.parent / "trained.onnx").exists() for path in paths[1:])
    assert "<svg" in (paths[2].parent / "report.html").read_text()


def test_a_party_plans_and_may_bring_nothing(tmp_path, capsys):
    paths = organisations(tmp_path / "plan")
    for path, batches in ((paths[0], 5), (paths[1], 1)):
        target = path.parent / "cost.json"
        assert main(["train", str(path), "--plan", "--no-measure", "--json", str(target)]) == 0
        assert json.loads(target.read_text())["batches"] == batches
    path = paths[2]
    path.write_text(path.read_text().replace("first = 20", "first = 20\nowner = 1"))
    assert main(["train", str(path)]) == 2
    said = capsys.readouterr().err
    assert "party 1 brings some itself" in said and "train.toml" in said


HALVES = ((0, slice(0, 20)), (2, slice(20, 40)))


def test_what_a_training_starts_from(tmp_path):
    """A training starts from what the float reference starts from."""
    x, y = images(8, 1)
    trainer = tacit.Trainer(LAYERS, batch=8, learning_rate=1e-9)
    outputs = []
    for name, file in (("start", trainer.start()), ("after", trainer.reference((x, y))[0])):
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(file)
        outputs.append(tacit.compile(path).reference(x))
    np.testing.assert_allclose(*outputs, atol=1e-6)
