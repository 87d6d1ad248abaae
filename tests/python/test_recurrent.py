"""Recurrent networks and functions inside a model, compared with onnxruntime."""

from functools import partial

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import recurrent_networks
import tacit

RNG = np.random.default_rng(1)
STEPS, WIDTH, HIDDEN = 4, 3, 2
DIRECTIONS = ["forward", "reverse", "bidirectional"]
GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def floats(*shape, scale=1.0):
    return RNG.uniform(-scale, scale, shape).astype(np.float32)


def compare(path, x, bound=5e-4, protocol="falcon", ring=None):
    """The model in float32 and as predicted privately, beside onnxruntime."""
    session = onnxruntime.InferenceSession(str(path))
    expected = session.run(None, {session.get_inputs()[0].name: x})[0]
    model = tacit.compile(path, samples=x, ring=ring)
    np.testing.assert_allclose(model.reference(x), expected, atol=1e-5)
    output = tacit.local(protocol).predict(model, x).output
    assert output.shape == expected.shape
    np.testing.assert_allclose(output, expected, atol=bound)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", [("GRU", 0), ("GRU", 1), ("LSTM", 0), ("RNN", 0)])
def test_recurrent_node(kind, direction, save_onnx):
    op, reset_after = kind
    directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    attributes = {"linear_before_reset": 1} if reset_after else {}
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node(
            op, ["t", "w", "r", "b"], ["s", "h"], hidden_size=HIDDEN, direction=direction,
            **attributes,
        ),
        helper.make_node("Transpose", ["s"], ["y"], perm=[2, 0, 1, 3]),
    ]  # fmt: skip
    constants = {
        "w": floats(directions, rows, WIDTH),
        "r": floats(directions, rows, HIDDEN),
        "b": floats(directions, 2 * rows),
    }
    path = save_onnx(nodes, [STEPS, WIDTH], [STEPS, directions, HIDDEN], constants)
    compare(path, floats(3, STEPS, WIDTH))


@pytest.mark.parametrize("protocol", ["falcon", "sirnn"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("initial", [False, True])
def test_gates_see_the_cell_through_peepholes(direction, initial, protocol, save_onnx):
    """Gates of input and forgetting see the one before, that of the output the new one."""
    directions = 2 if direction == "bidirectional" else 1
    states = ["h0", "c0"] if initial else ["", ""]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node(
            "LSTM", ["t", "w", "r", "b", "", *states, "p"], ["s", "h", "c"],
            hidden_size=HIDDEN, direction=direction,
        ),
        helper.make_node("Transpose", ["s"], ["y"], perm=[2, 0, 1, 3]),
    ]  # fmt: skip
    constants = {
        "w": floats(directions, 4 * HIDDEN, WIDTH),
        "r": floats(directions, 4 * HIDDEN, HIDDEN),
        "b": floats(directions, 8 * HIDDEN),
        "p": floats(directions, 3 * HIDDEN, scale=2.0),
    }
    if initial:
        constants |= {name: floats(directions, 1, HIDDEN) for name in states}
    path = save_onnx(nodes, [STEPS, WIDTH], [STEPS, directions, HIDDEN], constants)
    compare(path, floats(1 if initial else 3, STEPS, WIDTH), protocol=protocol, bound=2e-3)


def test_a_long_sequence(save_onnx):
    """More than 10,000 operations, each a layer of the plan."""
    steps = 800
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["t", "w", "r"], ["", "h"], hidden_size=HIDDEN),
        helper.make_node("Squeeze", ["h", "first"], ["y"]),
    ]
    constants = {
        "w": floats(1, 4 * HIDDEN, WIDTH),
        "r": floats(1, 4 * HIDDEN, HIDDEN),
        "first": np.array([0]),
    }
    path = save_onnx(nodes, [steps, WIDTH], [HIDDEN], constants)
    x = floats(2, steps, WIDTH)
    assert len(tacit.compile(path, samples=x).plan["layers"]) > 10_000
    compare(path, x, protocol="bicoptor")


@pytest.mark.parametrize("items", [None, 1])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_states_to_begin_with(op, direction, items, tmp_path):
    """States that are given and handed on, their layers before the batch; a cell of the file."""
    directions = 2 if direction == "bidirectional" else 1
    rows, n = GATES[op] * HIDDEN, items or "n"
    state = [directions, n, HIDDEN]
    constants = {
        "w": floats(directions, rows, WIDTH),
        "r": floats(directions, rows, HIDDEN),
        "c": floats(directions, 1, HIDDEN),
    }
    last = ["c"] if op == "LSTM" and items else []
    names = ["t", "w", "r", "", "", "h", *last]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node(op, names, ["s", "y"], hidden_size=HIDDEN, direction=direction),
    ]
    info = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT)
    given = [info("x", shape=[n, STEPS, WIDTH]), info("h", shape=state)]
    outputs = [info("s", shape=[STEPS, directions, n, HIDDEN]), info("y", shape=state)]
    held = [numpy_helper.from_array(v, name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "states", given, outputs, held)
    path = tmp_path / "states.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    n = items or 3
    x = {"x": floats(n, STEPS, WIDTH), "h": floats(directions, n, HIDDEN)}
    right = onnxruntime.InferenceSession(str(path)).run(None, x)
    if items:
        # A file of fixed sizes is one item, which needs an axis of items before.
        x = {name: values[None] for name, values in x.items()}
        right = [values[None] for values in right]
    model = tacit.compile(path, samples=x)
    for found in (model.reference(x), tacit.local().predict(model, x).outputs):
        for name, values in zip(["s", "y"], right, strict=True):
            assert found[name].shape == values.shape
            np.testing.assert_allclose(found[name], values, atol=2e-3)


@pytest.mark.parametrize("op", ["Sigmoid", "Tanh", "Exp", "Erf", "Softmax"])
def test_function_inside_a_model(op, save_onnx):
    nodes = [helper.make_node(op, ["x"], ["f"]), helper.make_node("Mul", ["f", "x"], ["y"])]
    compare(save_onnx(nodes, [6], [6]), floats(5, 6, scale=2))


@pytest.mark.parametrize("op", ["Reciprocal", "Sqrt"])
def test_function_of_positive_numbers(op, save_onnx):
    nodes = [helper.make_node(op, ["x"], ["y"])]
    compare(save_onnx(nodes, [6], [6]), np.abs(floats(5, 6, scale=2)) + 0.25)


def test_layer_normalization(save_onnx):
    nodes = [helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"])]
    constants = {"s": floats(6), "b": floats(6)}
    compare(save_onnx(nodes, [3, 6], [3, 6], constants), floats(4, 3, 6, scale=2), 2e-3)


@pytest.mark.parametrize("name", ["gru-fsdd", "fastgrnn-fsdd"])
@pytest.mark.parametrize(("protocol", "items"), [("clear", 32), ("falcon", 4)])
def test_reference_model(name, protocol, items, models):
    samples = np.load(models / f"{name}.samples.npz")
    x, logits = samples["x"], samples["logits"]
    model = tacit.compile(models / f"{name}.onnx", samples=x[:32], ring=64)
    output = tacit.local(protocol).predict(model, x[32 : 32 + items]).output
    np.testing.assert_allclose(output, logits[32 : 32 + items], atol=0.02)
    assert (output.argmax(1) == logits[32 : 32 + items].argmax(1)).all()


GRNN = {"steps": 3, "inputs": 5, "hidden": 8, "classes": 4, "zeta": 0.9, "nu": 0.1}


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (recurrent_networks.fastgrnn, GRNN),
        (recurrent_networks.fastgrnn, {**GRNN, "ranks": (3, 4)}),
        (recurrent_networks.lstm, {"steps": 2, "inputs": 5, "hidden": 8, "layers": 2}),
        (recurrent_networks.tanh_network, {"sizes": [12, 8, 8, 4]}),
    ],
)
def test_the_papers_networks_between_two_parties(build, sizes, tmp_path):
    """The papers' networks run over 32 bits, as they are measured, in a small size."""
    path = tmp_path / "network.onnx"
    x = recurrent_networks.save(path, 20, build, **sizes)
    compare(path, x, 2e-3, "sirnn", 32)


@pytest.mark.parametrize(
    ("name", "sigmoids", "tanhs"),
    [
        ("industrial-72", 7 * 64, 7 * 64),
        ("google-30", 99 * 100, 99 * 100),
        ("minionn-lstm", 2 * 600, 2 * 400),
    ],
)
def test_the_papers_networks_have_the_papers_functions(name, sigmoids, tanhs, tmp_path):
    path, x = recurrent_networks.save_onnx(name, tmp_path, 2)
    layers = tacit.compile(path, samples=x, ring=32).plan_for("sirnn")["layers"]
    found = {
        op: sum(np.prod(layer["shape"]) for layer in layers if layer["op"] == op)
        for op in ("Sigmoid", "Tanh")
    }
    assert found == {"Sigmoid": sigmoids, "Tanh": tanhs}


LENGTHS = [
    *(("clear", way, known) for way in DIRECTIONS for known in (False, True)),
    # Of what a constant says nothing is left in the plan.
    *((protocol, "bidirectional", False) for protocol in ("falcon", "shamir")),
]


@pytest.mark.parametrize(("protocol", "direction", "known"), LENGTHS)
@pytest.mark.parametrize("op", GATES)
def test_sequences_of_lengths(op, direction, protocol, known, tmp_path):
    """Sequences that end before the last step: as many steps as a constant or as an input says."""
    directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    constants = {
        "w": floats(directions, rows, WIDTH),
        "r": floats(directions, rows, HIDDEN),
        "b": floats(directions, 2 * rows),
    }
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", STEPS, WIDTH])]
    if known:
        constants["n"] = np.array([3], np.int32)
    else:
        inputs.append(helper.make_tensor_value_info("n", TensorProto.INT32, ["N"]))
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node(
            op, ["t", "w", "r", "b", "n"], ["s", "h"], hidden_size=HIDDEN, direction=direction
        ),
        helper.make_node("Transpose", ["s"], ["y"], perm=[2, 0, 1, 3]),
        helper.make_node("Transpose", ["h"], ["z"], perm=[1, 0, 2]),
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in "yz"]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), path)
    x = {"x": floats(5, STEPS, WIDTH), "n": np.array([1, 4, 2, 3, 4], np.int32)}
    if known:
        del x["n"]
    session = onnxruntime.InferenceSession(str(path))
    runs = [session.run(None, {k: v[i : i + 1] for k, v in x.items()}) for i in range(5)]
    model = tacit.compile(path, samples=x)
    result = tacit.local(protocol).predict(model, x)
    for name, parts in zip("yz", zip(*runs, strict=True), strict=True):
        np.testing.assert_allclose(result.outputs[name], np.concatenate(parts), atol=1e-3)
    if not known:
        with pytest.raises(tacit.TacitError, match="'n' is 5; it takes whole numbers from 0 to 4"):
            tacit.local("clear").predict(model, {**x, "n": np.full(5, 5, np.int32)})
