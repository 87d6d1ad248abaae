"""Quotients, logarithms and roots behind a choice, which takes none of bad arguments."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


SPLIT = helper.make_node("Split", ["x"], ["n", "d"], axis=1)
COUNT = [
    node("Greater", "x", "one", "m0"), node("Cast", "m0", "m", to=FLOAT),
    node("Mul", "x", "m", "k"), node("ReduceSum", "k", "axis", "sum"),
    node("ReduceSum", "m", "axis", "of"), node("ReduceSum", "m", "same axis", "again"),
]  # fmt: skip
FORMS = {
    "above": [
        SPLIT, node("Greater", "d", "none", "c"), node("Div", "n", "d", "q"),
        node("Where", "c", "q", "none", "y"),
    ],
    "equal": [
        SPLIT, node("Equal", "d", "none", "c0"), node("Cast", "c0", "c", to=BOOL),
        node("Div", "n", "d", "q0"), node("Mul", "q0", "two", "q"),
        node("Where", "c", "none", "q", "y"),
    ],
    "another": [
        SPLIT, node("Equal", "d", "none", "c0"), node("Not", "c0", "c"),
        node("Reciprocal", "d", "r"), node("Mul", "n", "r", "q"),
        node("Where", "c", "q", "none", "y"),
    ],
    "logarithm": [
        SPLIT, node("LessOrEqual", "d", "none", "c"), node("Log", "d", "q"),
        node("Where", "c", "none", "q", "y"),
    ],
    "both sides": [
        SPLIT, node("Less", "n", "none", "c"), node("Neg", "n", "o"), node("Sqrt", "o", "p"),
        node("Sqrt", "n", "r"), node("Neg", "p", "q"), node("Where", "c", "q", "r", "y"),
    ],
    "power": [
        SPLIT, node("Greater", "d", "one", "c"), node("Sub", "d", "one", "e"),
        node("Pow", "e", "exponent", "q"), node("Where", "c", "q", "d", "y"),
    ],
    "mean of what counts": [
        *COUNT, node("Greater", "of", "none", "c"), node("Div", "sum", "again", "q"),
        node("Where", "c", "q", "none", "y"),
    ],
    "mean or none": [
        *COUNT, node("Equal", "of", "none", "c"), node("Div", "sum", "of", "q"),
        node("Where", "c", "none", "q", "y"),
    ],
}  # fmt: skip
TENSORS = {
    "none": np.float32(0), "one": np.float32(1), "two": np.float32(2), "axis": np.int64([1]),
    "exponent": np.float32(0.75), "three": np.int64([3]), "same axis": np.int64([1]),
}  # fmt: skip


def saved(path, nodes):
    ends = [
        [helper.make_tensor_value_info("x", FLOAT, ["N", 6])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    ]
    tensors = [numpy_helper.from_array(v, name) for name, v in TENSORS.items()]
    graph = helper.make_graph(nodes, "test", *ends, tensors)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return onnxruntime.InferenceSession(str(path))


def rows(n, seed):
    """Three numbers, and three counts of which a quarter is 0."""
    rng = np.random.default_rng(seed)
    numbers, counts = rng.normal(size=(n, 3)) * 5, rng.integers(0, 4, (n, 3))
    return np.concatenate([numbers, counts], axis=1).astype(np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_what_no_choice_takes_is_computed_of_1(tmp_path, form):
    session = saved(tmp_path / "m.onnx", FORMS[form])
    x = rows(200, 3)
    right = session.run(None, {"x": x})[0]
    model = tacit.compile(tmp_path / "m.onnx", samples=x[:100], protocol="clear")
    found = tacit.local(protocol="clear").predict(model, x).output
    assert np.isfinite(right).all()
    np.testing.assert_allclose(found, right.reshape(found.shape), atol=2e-5)


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_guards_under_every_protocol(tmp_path, protocol):
    for form in ("above", "mean of what counts"):
        session = saved(tmp_path / "m.onnx", FORMS[form])
        x = rows(100, 3)
        model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol=protocol)
        found = tacit.local(protocol=protocol).predict(model, x[:20]).output
        right = session.run(None, {"x": x[:20]})[0]
        np.testing.assert_allclose(found, right.reshape(found.shape), atol=2e-3)


@pytest.mark.parametrize("form", ["mean of what counts", "mean or none"])
def test_counts_need_no_samples(tmp_path, form):
    """Of whole numbers what is guarded is 1 at least by the way it is made."""
    saved(tmp_path / "m.onnx", FORMS[form])
    model = tacit.compile(tmp_path / "m.onnx", samples=rows(100, 3), protocol="clear")
    assert not [text for text in model.warnings if "reciprocal" in text], model.warnings


def votes():
    """Nodes that count how often a row has each of three classes."""
    classes = "none", "one", "two"
    nodes = [node("Floor", "x", "f"), node("Max", "f", "none", "g"), node("Min", "g", "two", "v")]
    for name in classes:
        nodes += [
            node("Equal", "v", name, f"is {name}"),
            node("Cast", f"is {name}", f"t {name}", to=FLOAT),
            node("ReduceSum", f"t {name}", "axis", f"n {name}"),
        ]
    counts = [f"n {name}" for name in classes]
    return [*nodes, helper.make_node("Concat", counts, ["votes"], axis=1)]


def test_votes_over_their_sum_warn_of_nothing(tmp_path):
    """Some class has a vote, so the sum is 1 at least: a plan cannot know it, and need not."""
    nodes = [*votes(), node("ReduceSum", "votes", "axis", "all"), node("Div", "votes", "all", "y")]
    session = saved(tmp_path / "m.onnx", nodes)
    x = rows(100, 4)
    model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol="clear")
    assert not model.warnings
    found = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(found, session.run(None, {"x": x})[0], atol=1e-4)


def test_counts_over_the_sum_of_others_are_no_votes(tmp_path):
    """The sum of two of three may be 0 where the third is not: its quotient is infinite."""
    nodes = [
        *votes(), node("Slice", "votes", "axis", "three", "axis", "others"),
        node("ReduceSum", "others", "axis", "some"), node("Div", "votes", "some", "y"),
    ]  # fmt: skip
    saved(tmp_path / "m.onnx", nodes)
    x = rows(100, 4)
    x[:3] = 0
    with pytest.raises(tacit.CompileError, match="computed of positive numbers only"):
        tacit.compile(tmp_path / "m.onnx", samples=x)


def test_a_quotient_that_something_else_sees_is_refused(tmp_path):
    nodes = [*FORMS["above"][:-1], node("Where", "c", "q", "none", "w"), node("Add", "w", "q", "y")]
    saved(tmp_path / "m.onnx", nodes)
    with pytest.raises(tacit.CompileError, match="computed of positive numbers only"):
        tacit.compile(tmp_path / "m.onnx", samples=rows(100, 3))


def test_a_choice_by_another_value_guards_nothing(tmp_path):
    nodes = [SPLIT, node("Greater", "n", "none", "c"), *FORMS["above"][2:]]
    saved(tmp_path / "m.onnx", nodes)
    with pytest.raises(tacit.CompileError, match="computed of positive numbers only"):
        tacit.compile(tmp_path / "m.onnx", samples=rows(100, 3))
