"""If whose condition is computed: both graphs are computed, and nobody learns which way it goes."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

RNG = np.random.default_rng(5)
PROTOCOLS = ["clear", "falcon", "bicoptor", "shamir", "sirnn"]


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def graph(nodes, shape, constants=()):
    return helper.make_graph(nodes, "one way", [], [value(nodes[-1].output[0], shape)], constants)


def write(path, then, other, condition, shape=(1, 1)):
    """Files where a score decides which graph runs: `then` and `other` are graphs."""
    weights = {k: RNG.normal(size=(4, 1)).astype(np.float32) for k in "ab"}
    weights["half"] = np.array(0.5, np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["p"]),
        *condition,
        helper.make_node("If", ["c"], ["y"], "either", then_branch=then, else_branch=other),
    ]
    constants = [numpy_helper.from_array(v, k) for k, v in weights.items()]
    whole = helper.make_graph(nodes, "g", [value("x", [1, 4])], [value("y", shape)], constants)
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(whole, opset_imports=opset, ir_version=8), path)
    onnx.checker.check_model(str(path))


def by_item(path, x):
    """Answers of ONNX Runtime, item by item: a condition is of one."""
    session = onnxruntime.InferenceSession(path)
    return np.concatenate([session.run(None, {"x": row[None]})[0] for row in x])


OVER_HALF = [helper.make_node("Greater", ["p", "half"], ["c"])]
"""A condition of two axes."""
OF_NO_AXIS = [
    helper.make_node("ReduceMax", ["p"], ["most"], keepdims=0),
    helper.make_node("Greater", ["most", "half"], ["c"]),
]
"""One of none, over all that there is."""
VERIFIER = [
    helper.make_node("MatMul", ["x", "b"], ["t1"]),
    helper.make_node("Sigmoid", ["t1"], ["t"]),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("condition", [OVER_HALF, OF_NO_AXIS], ids=["axes", "none"])
def test_a_computed_condition_chooses(tmp_path, protocol, condition):
    path = tmp_path / "verified.onnx"
    as_it_is = [helper.make_node("Identity", ["p"], ["e"])]
    write(path, graph(VERIFIER, [1, 1]), graph(as_it_is, [1, 1]), condition)
    samples, x = RNG.normal(size=(2, 24, 4)).astype(np.float32)
    right = by_item(path, x)
    if condition is OF_NO_AXIS:
        samples, x = samples[:, None], x[:, None]
    model = tacit.compile(path, samples=samples, protocol=protocol)
    found = tacit.local(protocol).predict(model, x).output
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.01 * right.std()


def test_a_constant_may_be_chosen(tmp_path):
    path = tmp_path / "silent.onnx"
    nothing = numpy_helper.from_array(np.full((1, 3), -2, np.float32), "nothing")
    as_they_are = [helper.make_node("Concat", ["p", "p", "s"], ["e"], axis=1)]
    none = [helper.make_node("Identity", ["nothing"], ["n"])]
    write(path, graph(as_they_are, [1, 3]), graph(none, [1, 3], [nothing]), OVER_HALF, [1, 3])
    samples, x = RNG.normal(size=(2, 24, 4)).astype(np.float32)
    found = tacit.local("clear").predict(tacit.compile(path, samples=samples), x).output
    assert np.abs(found - by_item(path, x)).max() <= 0.01


def test_a_graph_may_ask_again(tmp_path):
    """Both of its graphs have the same names, and a node that nothing reads."""
    path = tmp_path / "within.onnx"
    turned = [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Relu", ["x"], ["u"])]
    kept = [helper.make_node("Identity", ["x"], ["t"]), helper.make_node("Abs", ["x"], ["u"])]
    again = [helper.make_node("If", ["d"], ["v"], then_branch=graph(turned, [1, 4]),
                              else_branch=graph(kept, [1, 4]))]  # fmt: skip
    zero = numpy_helper.from_array(np.zeros((1, 4), np.float32), "zero")
    nothing = graph([helper.make_node("Identity", ["zero"], ["v"])], [1, 4], [zero])
    asked = [*OVER_HALF, helper.make_node("Less", ["s", "half"], ["d"])]
    write(path, graph(again, [1, 4]), nothing, asked, [1, 4])
    samples, x = RNG.normal(size=(2, 24, 4)).astype(np.float32)
    found = tacit.local("clear").predict(tacit.compile(path, samples=samples), x).output
    assert np.abs(found - by_item(path, x)).max() <= 0.01


def test_integers_that_floats_do_not_hold_are_refused(tmp_path):
    """No float of 32 bits is the larger of what is chosen between."""
    path = tmp_path / "large.onnx"
    whole = TensorProto.INT64
    large = numpy_helper.from_array(np.full((1, 1), 2**24 + 1), "large")
    place = [helper.make_node("ArgMax", ["x"], ["place"], axis=1)]
    ways = [graph([helper.make_node("Identity", ["large"], ["l"])], [1, 1], [large])]
    ways.append(graph(place, [1, 1]))
    for way in ways:
        way.output[0].type.tensor_type.elem_type = whole
    write(path, *ways, OVER_HALF)
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.elem_type = whole
    onnx.save(model, path)
    with pytest.raises(tacit.TacitError, match=r"'l' holds 16777217 .*float32 does not hold"):
        tacit.compile(path)


def test_graphs_of_other_shapes_are_refused(tmp_path):
    path = tmp_path / "shapes.onnx"
    more = [helper.make_node("Concat", ["p", "p"], ["e"], axis=1)]
    write(path, graph(VERIFIER, [1, 1]), graph(more, [1, 2]), OVER_HALF, [1, "n"])
    with pytest.raises(tacit.TacitError, match=r"'either' .If.*other shapes than one another"):
        tacit.compile(path)
    several = [helper.make_node("Greater", ["x", "half"], ["c"])]
    as_it_is = [helper.make_node("Identity", ["p"], ["e"])]
    write(path, graph(VERIFIER, [1, 1]), graph(as_it_is, [1, 1]), several)
    with pytest.raises(tacit.TacitError, match="4 truths for one item"):
        tacit.compile(path)


def test_what_nobody_reads_of_either_graph_is_left_out(tmp_path):
    """A second output of other shapes, and a node of an unknown operation that no other reads."""
    path = tmp_path / "unread.onnx"
    more = [helper.make_node("Concat", ["p", "p"], ["e"], axis=1)]
    ways = [graph(VERIFIER, [1, 1]), graph(more, [1, 2])]
    for way, shape in zip(ways, ([1, 1], [1, 1]), strict=True):
        way.node.append(helper.make_node("Neg", ["p"], ["n"]))
        way.output.append(value("n", shape))
    ways[0].node.append(helper.make_node("Unique", ["p"], ["alone"]))
    write(path, *ways, OVER_HALF)
    model = onnx.load(path)
    either = next(node for node in model.graph.node if node.op_type == "If")
    either.output[:] = ["unread", "y"]
    onnx.save(model, path)
    samples, x = RNG.normal(size=(2, 24, 4)).astype(np.float32)
    found = tacit.local("clear").predict(tacit.compile(path, samples=samples), x).output
    assert np.abs(found - by_item(path, x)).max() <= 0.01
