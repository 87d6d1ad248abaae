"""Random models of rows whose numbers may be missing: trees of every mode, and networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")

TABLES = "ai.onnx.ml"


def forest(random: np.random.Generator, columns: int, before: str | None) -> onnx.ModelProto:
    """Three trees of rows: alone, behind a scaler, or behind an imputer of two columns."""
    net = Net(columns)
    x = "x"
    if before == "Scaler":
        x = net.scaler(random, x, columns)
    if before == "Imputer":
        imputed = net.add("Gather", [net.imputer(random, x, columns), np.arange(2)], axis=1)
        others = net.add("Gather", [x, np.arange(2, columns)], axis=1)
        x = net.add("Concat", [imputed, others], axis=1)
    trees = [_tree(random, columns, 3) for _ in range(3)]
    net.nodes.append(_ensemble(trees, x, "y"))
    return net.model([("y", 1)])


def network(random: np.random.Generator, columns: int) -> onnx.ModelProto:
    """Some operations, one behind the other or side by side, and one output or two."""
    net = Net(columns)
    values = [("x", columns)]
    for _ in range(random.integers(3, 9)):
        made = _step(net, random, values)
        values += [made] if made else []
    outputs = values[-2:] if random.random() < 0.3 and len(values) > 2 else values[-1:]
    named = [(net.add("Identity", [name]), width) for name, width in outputs]
    return net.model(named)


class Net:
    """A model that is being made."""

    def __init__(self, columns: int):
        self.columns = columns
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, op: str, inputs: list[Any], domain: str = "", **attributes: Any) -> str:
        """The output of another node; arrays become constants."""
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [output], domain=domain, **attributes))
        return output

    def scaler(self, random: np.random.Generator, x: str, width: int) -> str:
        """A scaler of every column."""
        offset, scale = (random.normal(size=width).astype("f4").tolist() for _ in range(2))
        return self.add("Scaler", [x], TABLES, offset=offset, scale=scale)

    def imputer(self, random: np.random.Generator, x: str, width: int) -> str:
        """An imputer of every column, of zeros in one of four cases."""
        numbers = random.normal(size=width).astype("f4") * (random.random() < 0.75)
        return self.add(
            "Imputer",
            [x],
            TABLES,
            imputed_value_floats=numbers.tolist(),
            replaced_value_float=float("nan"),
        )

    def model(self, outputs: list[tuple[str, int]]) -> onnx.ModelProto:
        """The model with these outputs."""

        def of(name: str, width: int) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width])

        ends = [of(*each) for each in outputs]
        graph = helper.make_graph(self.nodes, "g", [of("x", self.columns)], ends, self.constants)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(TABLES, 3)]
        return helper.make_model(graph, opset_imports=versions, ir_version=9)

    def _constant(self, numbers: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(numbers), name))
        return name


MOST_COLUMNS = 12
"""The most columns of a value."""

BEARING = ("Imputer", "IsNaN", "Where", "Not", "tree")
"""Operations that say what becomes of a missing number."""

CARRYING = ("Scaler", "Add", "Mul", "Neg", "Gather", "Concat", "Cast", "Identity")
"""Operations that leave a missing number what it is."""

SPREADING = ("both", "Max", "Relu", "MatMul", "Clip", "ReduceSum", "Abs", "Greater", "chosen")
"""Operations that make NaN, or what a comparison with it gives, of more than that number."""


def _step(
    net: Net, random: np.random.Generator, values: list[tuple[str, int]]
) -> tuple[str, int] | None:
    """The value and the width of one more operation; none where a tree would be a leaf."""
    late = values[max(0, len(values) - 1 - random.integers(3))]
    x, width = late if random.random() < 0.5 else values[random.integers(len(values))]
    alike = [name for name, other in values if other == width]
    kinds = (BEARING, CARRYING, SPREADING)[random.choice(3, p=[0.4, 0.35, 0.25])]
    op = str(random.choice(kinds))
    numbers = random.normal(size=width).astype("f4")
    if op in ("Imputer", "Scaler"):
        make = net.imputer if op == "Imputer" else net.scaler
        return make(random, x, width), width
    if op in ("IsNaN", "Where", "Not", "chosen"):
        return _chosen(net, random, (op, x, numbers), alike), width
    if op == "tree":
        tree = _tree(random, width, 2)
        if len(tree) == 1:
            return None
        net.nodes.append(_ensemble([tree], x, f"v{len(net.nodes)}"))
        return net.nodes[-1].output[0], 1
    if op in ("both", "Max"):
        other = str(random.choice(alike))
        name = op if op == "Max" else str(random.choice(["Add", "Mul", "Sub"]))
        return net.add(name, [x, other]), width
    return _plain(net, random, (op, x, width, numbers), values)


def _plain(
    net: Net,
    random: np.random.Generator,
    step: tuple[str, str, int, np.ndarray],
    values: list[tuple[str, int]],
) -> tuple[str, int]:
    op, x, width, numbers = step
    other, more = values[random.integers(len(values))]
    kept = random.permutation(width)[: random.integers(1, width + 1)]
    weight = random.normal(size=(width, random.integers(1, 4))).astype("f4")
    match op:
        case "Add" | "Mul":
            factors = numbers * np.float32(op == "Add" or random.random() < 0.9)
            made = net.add(op, [x, factors])
        case "Gather":
            made, width = net.add(op, [x, kept], axis=1), len(kept)
        case "Concat" if width + more <= MOST_COLUMNS:
            made, width = net.add(op, [x, other], axis=1), width + more
        case "Concat":
            made = net.add("Identity", [x])
        case "Cast":
            made = net.add(op, [net.add(op, [x], to=TensorProto.DOUBLE)], to=TensorProto.FLOAT)
        case "MatMul":
            made, width = net.add(op, [x, weight]), weight.shape[1]
        case "ReduceSum":
            made, width = net.add(op, [x, np.array([1])], keepdims=1), 1
        case "Clip":
            made = net.add(op, [x, np.float32(-1), np.float32(1)])
        case "Greater":
            made = net.add("Cast", [net.add(op, [x, numbers])], to=TensorProto.FLOAT)
        case _:
            made = net.add(op, [x])
    return made, width


def _chosen(
    net: Net,
    random: np.random.Generator,
    step: tuple[str, str, np.ndarray],
    alike: list[str],
) -> str:
    """Which numbers are missing, or what is chosen by it."""
    op, x, numbers = step
    of = x if random.random() < 0.8 else str(random.choice(alike))
    asked = net.add("IsNaN", [of])
    instead = numbers if random.random() < 0.5 else np.float32(random.choice([0, 1.5]))
    if op == "IsNaN":
        return net.add("Cast", [asked], to=TensorProto.FLOAT)
    if op == "Where":
        return net.add("Where", [asked, instead, x])
    if op == "Not":
        return net.add("Where", [net.add("Not", [asked]), x, instead])
    return net.add("Where", [asked, str(random.choice(alike)), x])


def _tree(random: np.random.Generator, columns: int, depth: int) -> list[dict[str, Any]]:
    """A tree's nodes, the root first; leaves have no mode."""
    nodes: list[dict[str, Any]] = []

    def grow(depth: int) -> int:
        at = len(nodes)
        nodes.append({"mode": "LEAF", "weight": float(random.normal())})
        if depth and (at == 0 or random.random() > 0.15):
            numbers = [random.normal(), float(random.integers(-2, 3)), 100 * random.normal(), 0.0]
            nodes[at] = {
                "mode": f"BRANCH_{random.choice(MODES)}",
                "feature": int(random.integers(columns)),
                "number": float(np.float32(random.choice(numbers))),
                "tracks": int(random.random() < 0.5),
            }
            nodes[at]["leads"] = grow(depth - 1), grow(depth - 1)
        return at

    grow(depth)
    return nodes


def _ensemble(trees: list[list[dict[str, Any]]], x: str, y: str) -> onnx.NodeProto:
    """The node of trees whose leaves' weights are added."""
    nodes = [(tree, at, node) for tree, own in enumerate(trees) for at, node in enumerate(own)]
    leaves = [(tree, at, node) for tree, at, node in nodes if node["mode"] == "LEAF"]
    return helper.make_node(
        "TreeEnsembleRegressor",
        [x],
        [y],
        domain=TABLES,
        n_targets=1,
        nodes_treeids=[tree for tree, _, _ in nodes],
        nodes_nodeids=[at for _, at, _ in nodes],
        nodes_modes=[node["mode"] for _, _, node in nodes],
        nodes_featureids=[node.get("feature", 0) for _, _, node in nodes],
        nodes_values=[node.get("number", 0.0) for _, _, node in nodes],
        nodes_truenodeids=[node.get("leads", (0, 0))[0] for _, _, node in nodes],
        nodes_falsenodeids=[node.get("leads", (0, 0))[1] for _, _, node in nodes],
        nodes_missing_value_tracks_true=[node.get("tracks", 0) for _, _, node in nodes],
        target_treeids=[tree for tree, _, _ in leaves],
        target_nodeids=[at for _, at, _ in leaves],
        target_ids=[0] * len(leaves),
        target_weights=[node["weight"] for _, _, node in leaves],
    )
