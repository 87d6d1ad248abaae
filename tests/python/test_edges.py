"""Scaled numbers beside edges that are scaled numbers, too: quantile bins, and sides of rounds."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT = TensorProto.FLOAT
RNG = np.random.default_rng(3)
DATA = {
    "counts": RNG.poisson(4, 900),
    "children": RNG.integers(0, 6, 900),
    "ages": RNG.integers(18, 95, 900),
    "incomes": np.round(np.exp(RNG.normal(10.8, 0.6, 900)) / 500) * 500,
}


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def scales(x):
    """Nodes from x to z of these numbers, and their constants, as float32 has them."""
    low, most = np.float32(x.min()), np.float32(x.max() - x.min())
    scaler = {"mean": np.float32(x.mean()), "deviation": np.float32(x.std())}
    return {
        "standard": ([node("Sub", "x", "mean", "c"), node("Div", "c", "deviation", "z")], scaler),
        "range": (
            [node("Sub", "x", "low", "c"), node("Div", "c", "most", "z")],
            {"low": low, "most": most},
        ),
        "turned": (
            [node("Sub", "mean", "x", "c"), node("Mul", "c", "deviation", "z")],
            scaler,
        ),
        "root": ([node("Sqrt", "x", "z")], {}),
    }


def saved(path, nodes, constants):
    ends = [
        [helper.make_tensor_value_info("x", FLOAT, ["N", 1])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    ]
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "test", *ends, named)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    session = onnxruntime.InferenceSession(str(path))
    return lambda x: session.run(None, {"x": x})[0]


def edges(path, nodes, constants, x):
    """Deciles of the scaled numbers, each of them one of these."""
    scaled = saved(path, [*nodes, node("Identity", "z", "y")], constants)(x)
    levels = np.linspace(0.1, 0.9, 9)
    return np.unique(np.quantile(scaled, levels, method="lower")).astype(np.float32)


@pytest.mark.parametrize("scale", ["standard", "range", "turned", "root"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("side", ["Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"])
def test_numbers_at_an_edge_are_on_their_side(tmp_path, scale, data, side):
    """A third of counts is at an edge: up to 65 of 100 rows were in another bin."""
    x = DATA[data].astype(np.float32).reshape(-1, 1)
    nodes, constants = scales(x)[scale]
    bins = edges(tmp_path / "e.onnx", nodes, constants, x)
    nodes = [
        *nodes, node(side, "z", "edges", "b"), node("Cast", "b", "t", to=FLOAT),
        node("ReduceSum", "t", "axis", "y", keepdims=0),
    ]  # fmt: skip
    constants = {**constants, "edges": bins, "axis": np.int64([1])}
    right = saved(tmp_path / "m.onnx", nodes, constants)(x)
    model = tacit.compile(tmp_path / "m.onnx", samples=x[:300], protocol="clear")
    found = tacit.local(protocol="clear").predict(model, x).output
    assert np.abs(found - right).max() < 0.25


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_edges_under_every_protocol(tmp_path, protocol):
    x = DATA["counts"].astype(np.float32).reshape(-1, 1)
    nodes, constants = scales(x)["standard"]
    bins = edges(tmp_path / "e.onnx", nodes, constants, x)
    nodes = [
        *nodes, node("Greater", "z", "edges", "b"), node("Cast", "b", "t", to=FLOAT),
        node("ReduceSum", "t", "axis", "y", keepdims=0),
    ]  # fmt: skip
    constants = {**constants, "edges": bins, "axis": np.int64([1])}
    right = saved(tmp_path / "m.onnx", nodes, constants)(x[:60])
    model = tacit.compile(tmp_path / "m.onnx", samples=x[:300], protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x[:60]).output
    assert np.abs(found - right).max() < 0.25


def test_a_probability_beside_its_limit_takes_no_function(tmp_path):
    """The sign of the score is all that is needed."""
    nodes = [
        node("Sigmoid", "x", "p"), node("Greater", "p", "half", "b"),
        node("Cast", "b", "y", to=FLOAT),
    ]  # fmt: skip
    x = RNG.normal(size=(200, 1)).astype(np.float32)
    x[:3, 0] = [0, 1e-3, -1e-3]
    right = saved(tmp_path / "m.onnx", nodes, {"half": np.float32(0.5)})(x)
    model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol="clear")
    found = tacit.local(protocol="clear").predict(model, x).output
    assert np.abs(found - right).max() < 0.25
    assert "Sigmoid" not in [layer["op"] for layer in model.plan["layers"]]


DIVIDED = [node("Div", "x", "d", "q")]
ROUNDS = {
    "floor of a sum": [*DIVIDED, node("Add", "q", "half", "s"), node("Floor", "s", "y")],
    "floor of two": [*DIVIDED, node("Div", "q", "seven", "r"), node("Floor", "r", "y")],
    "floor held": [
        *DIVIDED, node("Clip", "q", "one", "seven", "c"), node("Floor", "c", "y"),
    ],
    "weekday": [
        *DIVIDED, node("Add", "q", "four", "s"), node("Mod", "s", "seven", "r", fmod=1),
        node("Floor", "r", "y"),
    ],
    "weekday written out": [
        *DIVIDED, node("Add", "q", "four", "s"), node("Div", "s", "seven", "w"),
        node("Floor", "w", "f"), node("Mul", "f", "seven", "g"), node("Sub", "s", "g", "r"),
        node("Floor", "r", "y"),
    ],
    "sign": [*DIVIDED, node("Sub", "q", "four", "s"), node("Sign", "s", "y")],
    "less and times": [
        *DIVIDED, node("Sub", "four", "q", "s"), node("Mul", "s", "seven", "m"),
        node("Ceil", "m", "y"),
    ],
}  # fmt: skip
NUMBERS = {
    "half": np.float32(0.5), "seven": np.float32(7), "one": np.float32(1), "four": np.float32(4),
}  # fmt: skip


@pytest.mark.parametrize("form", ROUNDS)
@pytest.mark.parametrize("by", [7, 49, 100, 999, 43200, 86400])
def test_what_is_rounded_behind_a_quotient(tmp_path, form, by):
    """Midnights and noons: up to 100 of 100 were one day off."""
    nodes = ROUNDS[form]
    constants = {**NUMBERS, "d": np.float32(by)}
    right = saved(tmp_path / "m.onnx", nodes, constants)
    x = (np.arange(190) * np.float32(by)).reshape(-1, 1).astype(np.float32)
    if form == "floor of a sum" and by % 2 == 0:
        x += np.float32(by / 2)
    model = tacit.compile(tmp_path / "m.onnx", samples=x[::2], protocol="clear")
    found = tacit.local(protocol="clear").predict(model, x).output
    assert np.abs(found - right(x)).max() < 0.25


@pytest.mark.parametrize("kind", ["Greater", "GreaterOrEqual", "Less", "Equal"])
def test_the_layers_tell_nothing_of_the_edges(tmp_path, kind):
    """Edges that are scaled numbers, beside them and anywhere: all parties see the same layers."""
    x = DATA["counts"].astype(np.float32).reshape(-1, 1)
    nodes, constants = scales(x)["standard"]
    bins = edges(tmp_path / "e.onnx", nodes, constants, x)
    nodes = [*nodes, node(kind, "z", "edges", "b"), node("Cast", "b", "y", to=FLOAT)]
    seen = []
    for of in (bins, np.nextafter(bins, np.float32(9)), bins + np.float32(0.123)):
        saved(tmp_path / "m.onnx", nodes, {**constants, "edges": of.astype(np.float32)})
        model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol="clear")
        seen.append(
            [(layer["name"], layer["op"], layer["shape"]) for layer in model.plan["layers"]]
        )
    assert seen[0] == seen[1] == seen[2]
