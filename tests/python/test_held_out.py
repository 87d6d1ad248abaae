"""Networks and inputs that no choice was made with: classes are those that float is sure of."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import off_samples
import tacit

FEATURES, HIDDEN, CLASSES, SIDE = 20, 24, 6, 6
SETTINGS = {
    "falcon 64": ({}, {"protocol": "falcon"}),
    "falcon 32": ({"ring": 32}, {"protocol": "falcon"}),
    "bicoptor ubl 64": ({}, {"protocol": "bicoptor", "sharing": "ubl"}),
    "bicoptor ubl 32": ({"ring": 32}, {"protocol": "bicoptor", "sharing": "ubl"}),
    "bicoptor rss 64": ({}, {"protocol": "bicoptor", "sharing": "rss"}),
    "bicoptor rss 32": ({"ring": 32}, {"protocol": "bicoptor", "sharing": "rss"}),
    "shamir 61": ({}, {"protocol": "shamir"}),
    "shamir 31": ({"field": 31}, {"protocol": "shamir"}),
    "sirnn": ({}, {"protocol": "sirnn"}),
}


def blocks(rng, kind):
    """Three residual blocks from `h0` to `h3`, and their weights."""
    node, nodes, fixed = helper.make_node, [], []
    for i in range(3):
        h, a, b, c, d = (f"{name}{i}" for name in "habcd")
        square = [off_samples.weights(rng, f"{name}{i}", HIDDEN, HIDDEN) for name in ("u", "v")]
        fixed += square
        nodes.append(node("Gemm", [h, square[0].name], [a]))
        if kind == "sigmoid":
            nodes += [node("Sigmoid", [a], [c]), node("Gemm", [c, square[1].name], [d])]
        elif kind == "gated":
            gates = [node("Gemm", [h, square[1].name], [b]), node("Sigmoid", [b], [c])]
            nodes += [*gates, node("Mul", [a, c], [d])]
        else:
            nodes += [node("Softmax", [a], [c], axis=-1), node("Gemm", [c, square[1].name], [d])]
        nodes.append(node("Add", [h, d], [f"h{i + 1}"]))
    return nodes, fixed


def convolutions(rng):
    """A residual convolution with sigmoids as in SiLU, from `x` to `h3`."""
    node, pads = helper.make_node, {"pads": [1, 1, 1, 1]}
    fixed = [
        off_samples.weights(rng, "w1", 8, 2, 3, 3),
        off_samples.weights(rng, "w2", 8, 8, 3, 3),
        off_samples.weights(rng, "w3", 8, HIDDEN),
    ]
    nodes = [
        node("Conv", ["x", "w1"], ["a"], **pads),
        node("Sigmoid", ["a"], ["s"]),
        node("Mul", ["a", "s"], ["h"]),
        node("Conv", ["h", "w2"], ["b"], **pads),
        node("Add", ["h", "b"], ["c"]),
        node("Relu", ["c"], ["d"]),
        node("GlobalAveragePool", ["d"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "w3"], ["g"]),
        node("Tanh", ["g"], ["h3"]),
    ]
    return nodes, fixed


def network(kind, path):
    """Writes the network; the shape of its inputs."""
    rng = np.random.default_rng([1606, *map(ord, kind)])
    if kind == "convolutions":
        shape, (nodes, fixed) = [2, SIDE, SIDE], convolutions(rng)
    else:
        first = off_samples.weights(rng, "first", FEATURES, HIDDEN)
        shape, (nodes, fixed) = [FEATURES], blocks(rng, kind)
        nodes.insert(0, helper.make_node("Gemm", ["x", "first"], ["h0"]))
        fixed.append(first)
    last = off_samples.weights(rng, "last", HIDDEN, CLASSES)
    nodes.append(helper.make_node("Gemm", ["h3", "last"], ["y"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        kind,
        [value("x", TensorProto.FLOAT, ["n", *shape])],
        [value("y", TensorProto.FLOAT, ["n", CLASSES])],
        [*fixed, last],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return shape


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", ["sigmoid", "gated", "softmax", "convolutions"])
def test_classes_are_those_of_float_where_its_margin_is_beyond_the_stated_error(
    kind, setting, tmp_path
):
    path = tmp_path / "network.onnx"
    shape = network(kind, path)
    rng = np.random.default_rng(42)
    samples, fresh = rng.normal(0, 1, (2, 24, *shape)).astype(np.float32)
    reach = np.abs(samples).max()
    unseen = np.concatenate([np.clip(fresh, -reach, reach), fresh * reach / np.abs(fresh).max()])
    options, session = SETTINGS[setting]
    model = tacit.compile(path, samples=samples, **options)
    error = model.plan_for(session["protocol"])["error"]
    run = tacit.local(**session).predict(model, unseen)
    expected = model.reference(unseen)
    highest = np.sort(expected, axis=1)
    sure = highest[:, -1] - highest[:, -2] > 2 * error
    # Where numbers are short the planner rather errs by more than leave a doubt about their range.
    short = {"ring", "field"} & set(options)
    assert sure.mean() > (0.05 if short else 0.5), f"a stated error of {error} tells of no class"
    assert np.array_equal(run.output.argmax(1)[sure], expected.argmax(1)[sure])
    assert np.abs(run.output - expected).max() <= error
