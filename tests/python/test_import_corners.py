"""Corners of what import knows of values: names, types, shapes, and numbers just at a limit."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
RNG = np.random.default_rng(0)
F32 = np.float32
WHOLE = RNG.integers(-20, 21, (120, 3)).astype(F32)
WIDE = RNG.integers(-20, 21, (120, 6)).astype(F32)
MIXED = (RNG.normal(size=(100, 3)) * 5).astype(F32)


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def branch(nodes, output):
    ends = [helper.make_tensor_value_info(output, FLOAT, None)]
    return helper.make_graph(nodes, "branch", [], ends)


def saved(path, nodes, x, tensors):
    kind = INT64 if x.dtype.kind == "i" else FLOAT
    ends = [
        [helper.make_tensor_value_info("x", kind, ["N", *x.shape[1:]])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    ]
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()]
    graph = helper.make_graph(nodes, "test", *ends, named)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def check(path, nodes, x, **tensors):
    saved(path, nodes, x, tensors)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x, protocol="clear")
    found = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=1e-3, rtol=1e-3)


def test_names_of_branches_have_the_types_of_their_own(tmp_path):
    """`a` is an integer in one branch and none in the other: the mean lost its places."""
    then = [node("Cast", "x", "a", to=INT64), node("ReduceMean", "a", "q", axes=[1])]
    other = [node("Sigmoid", "x", "a"), node("ReduceMean", "a", "q", axes=[1])]
    graphs = {
        "then_branch": branch([*then, node("Cast", "q", "r", to=FLOAT)], "r"),
        "else_branch": branch([*other, node("Add", "q", "z", "r2")], "r2"),
    }
    chosen = node("If", "c", "y", **graphs)
    check(tmp_path / "m.onnx", [chosen], MIXED, c=np.array(False), z=F32(0))


RESHAPED = {
    "sum": [
        node("Unsqueeze", "x", "two", "u"), node("Floor", "u", "w0"), node("Div", "u", "c", "q"),
        node("Reshape", "q", "row", "r"), node("Add", "w0", "square", "w"),
        node("Floor", "w", "v"), node("Add", "r", "v", "s"), node("Floor", "s", "y"),
    ],
    "transposed": [
        node("Div", "x", "c", "q"), node("Transpose", "q", "t", perm=[1, 0]),
        node("Floor", "t", "f"), node("Transpose", "f", "y", perm=[1, 0]),
    ],
    "stretched": [
        node("Slice", "x", "zero", "one", "one", "x1"), node("Div", "x1", "three", "q"),
        node("Sign", "q", "s"), node("ReduceSum", "s", "one", "y"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("form", RESHAPED)
def test_quotients_in_other_shapes(tmp_path, form):
    tensors = {
        "c": F32(4), "two": np.int64([2]), "row": np.int64([-1, 1, 3]), "zero": np.int64([0]),
        "one": np.int64([1]), "square": np.zeros((3, 3), F32), "three": F32([2, 3, 4]),
    }  # fmt: skip
    check(tmp_path / "m.onnx", RESHAPED[form], WHOLE, **tensors)


def test_a_reshaped_quotient_and_whole_numbers(tmp_path):
    nodes = [
        node("Div", "x", "c", "q"), node("Reshape", "q", "s", "r"), node("Reshape", "x", "s", "w0"),
        node("Floor", "w0", "w"), node("Add", "r", "w", "y"),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, WIDE, c=F32(4), s=np.int64([-1, 2, 3]))


@pytest.mark.parametrize("kind", ["Greater", "LessOrEqual"])
def test_nothing_is_compared_with_no_number(tmp_path, kind):
    nodes = [node(kind, "x", "t", "h"), node("Cast", "h", "y", to=FLOAT)]
    saved(tmp_path / "m.onnx", nodes, WHOLE, {"t": F32([1, np.nan, 0])})
    with pytest.raises(tacit.CompileError, match="it compares with NaN"):
        tacit.compile(tmp_path / "m.onnx")


BESIDE = {
    "thirds": ("Div", [3, 1, 1], [1000, 0.3137, 0.7771]),
    "hundredths": ("Div", [1, 1, 1], [0.13, 1000, 0.5]),
    "tiny": ("Mul", [0.3, 0.3, 1e4], [0.9, 1.5, 0.2]),
    "far": ("Add", [1000, 1000, 1000], [1000.3, 1000.3, 1000.3]),
}


@pytest.mark.parametrize("form", BESIDE)
@pytest.mark.parametrize("kind", ["Greater", "GreaterOrEqual", "Equal"])
def test_columns_with_limits_of_their_own(tmp_path, form, kind):
    """Some columns leave their limit out and others have it, at any size of the numbers."""
    by, factors, limits = BESIDE[form]
    n = 300
    columns = {
        "thirds": [RNG.integers(995, 1006, n), RNG.random(n) * 2, RNG.random(n) * 2],
        "hundredths": [RNG.integers(0, 30, n) / 100, RNG.integers(990, 1010, n), RNG.random(n)],
        "tiny": [RNG.integers(0, 10, n), RNG.integers(0, 10, n), RNG.random(n) * 1e-4],
        "far": [0.29 + 0.02 * RNG.random(n)] * 3,
    }[form]
    x = np.stack(columns, axis=1).astype(F32)
    at = F32(limits) / F32(factors) if form == "thirds" else F32(limits)
    nodes = [
        node(by, "x", "c", "q"), node(kind, "q", "t", "h"), node("Cast", "h", "y", to=FLOAT),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, x, c=F32(factors), t=F32(at))


@pytest.mark.parametrize("limit", [0.4, 0.8, 0.3, 2 / 3, 0.25])
@pytest.mark.parametrize("kind", ["Greater", "GreaterOrEqual", "Equal"])
def test_shares_of_counts_that_are_their_limit(tmp_path, kind, limit):
    x = np.stack([RNG.integers(0, 20, 300), RNG.integers(1, 20, 300)], axis=1).astype(F32)
    nodes = [
        helper.make_node("Split", ["x"], ["a0", "b0"], axis=1), node("Floor", "a0", "a"),
        node("Floor", "b0", "b1"), node("Max", "b1", "one", "b"), node("Div", "a", "b", "q"),
        node(kind, "q", "k", "h"), node("Cast", "h", "y", to=FLOAT),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, x, one=F32(1), k=F32(limit))


ALIKE = [node("Mul", "x", "c", "a"), node("Mul", "x", "c", "b")]


@pytest.mark.parametrize("kind", ["Max", "Min", "Equal", "Greater", "Sub"])
def test_two_that_are_made_alike(tmp_path, kind):
    last = [node(kind, "a", "b", "h"), node("Cast", "h", "y", to=FLOAT)]
    check(tmp_path / "m.onnx", [*ALIKE, *last], WHOLE, c=F32(2))


def test_a_guard_of_constants_and_names_that_are_taken(tmp_path):
    table = [
        node("Mul", "table", "one", "t"), node("Greater", "t", "zero", "c"), node("Log", "t", "l"),
        node("Where", "c", "l", "zero", "w"), node("Cast", "w", "v", to=FLOAT),
        node("Mul", "x", "v", "y"),
    ]  # fmt: skip
    half = {"zero": np.float16(0), "one": np.float16(1), "table": np.float16([0, 1, 2, 0, 4, 5])}
    check(tmp_path / "m.onnx", table, WIDE, **half)
    nodes = [
        helper.make_node("Split", ["x"], ["n", "d0"], axis=1), node("Abs", "d0", "d"),
        node("Greater", "d", "z", "c"), node("Mul", "n", "two", "guarded 0"),
        node("Div", "n", "d", "q"), node("Where", "c", "q", "guarded 0", "y"),
    ]  # fmt: skip
    check(tmp_path / "g.onnx", nodes, WIDE, z=F32(0), two=F32(2))


def test_places_are_divided_as_integers(tmp_path):
    nodes = [
        node("ArgMax", "x", "a", axis=1), node("Div", "a", "k", "q"),
        node("Cast", "q", "y", to=FLOAT),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, WHOLE, k=np.int64(2))


def test_bounds_are_rounded_with_what_they_hold(tmp_path):
    nodes = [
        node("Div", "x", "c", "q"), node("Clip", "q", "low", "high", "r"), node("Floor", "r", "y"),
    ]  # fmt: skip
    check(tmp_path / "m.onnx", nodes, WHOLE, c=F32(3), low=F32(-2.5), high=F32(5.3))


@pytest.mark.parametrize(("scale", "size"), [(1.8, 5), (1.4, 5), (0.7, 10), (1.7, 10), (2.2, 5)])
def test_sizes_by_scales_of_32_bits(tmp_path, scale, size):
    """In float32 1.8 times 5 is 9; of the same number in 64 bits it is less."""
    x = RNG.standard_normal((4, 2, size)).astype(F32)
    nodes = [node("Resize", "x", "", "s", "y", mode="linear")]
    check(tmp_path / "m.onnx", nodes, x, s=F32([1, 1, scale]))


@pytest.mark.parametrize("scale", [0.7, 2.3, 3.3])
@pytest.mark.parametrize("size", [7, 10, 13])
def test_the_nearer_of_two_places_in_32_bits(tmp_path, size, scale):
    """Places in the middle of two are rounded as floats of 32 bits are."""
    x = RNG.standard_normal((4, 2, size)).astype(F32)
    options = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel"}
    check(
        tmp_path / "m.onnx", [node("Resize", "x", "", "s", "y", **options)], x, s=F32([1, 1, scale])
    )


@pytest.mark.parametrize("form", ["clipped", "clipped and shifted", "shifted twice"])
def test_tokens_that_choose_after_some_steps(tmp_path, form):
    """Numbers of rows are from 0 on, so that a clip there changes none; sums follow each other."""
    x = RNG.integers(0, 3, (20, 2))
    steps = [
        node("Clip", "x", "zero", "c") if "clipped" in form else node("Identity", "x", "c"),
        node("Add", "c", "o", "s") if "shifted" in form else node("Identity", "c", "s"),
        node("Add", "s", "t", "i") if "twice" in form else node("Identity", "s", "i"),
        node("Gather", "table", "i", "y"),
    ]
    constants = {"zero": np.int64(0), "o": np.int64([0, 3]), "t": np.int64(1)}
    constants["table"] = RNG.standard_normal((8, 3)).astype(F32)
    path = tmp_path / "m.onnx"
    check(path, steps, x, **constants)
    model = tacit.compile(path)
    for lies in ([-1, 0], [0, 8]):
        with pytest.raises(tacit.TacitError):
            tacit.local(protocol="clear").predict(model, np.array([lies]))


@pytest.mark.parametrize("protocol", ["clear", "falcon", "sirnn"])
@pytest.mark.parametrize("form", ["zeros", "hidden", "expanded", "largest", "added"])
def test_experts_chosen_without_declared_shapes(tmp_path, form, protocol):
    """Scores of the chosen alone, as routers write them: others are 0, or hidden from a softmax."""
    fill = -np.inf if form in ("hidden", "expanded") else 0
    value = helper.make_tensor("value", FLOAT, [1], [fill])
    nodes = [
        node("Gemm", "x", "w", "g"),
        node("Shape", "g", "sizes"),
        node("ConstantOfShape", "sizes", "else", value=value)
        if form != "expanded"
        else node("Expand", "fill", "sizes", "else"),
    ]
    by, axis = ("none", -1) if form != "added" else ("add", 1)
    if form == "largest":
        nodes += [
            node("ArgMax", "g", "i", axis=1, keepdims=1),
            node("ReduceMax", "g", "v", axes=[1], keepdims=1),
        ]
        axis = 1
    else:
        nodes.append(helper.make_node("TopK", ["g", "k"], ["v", "i"], axis=axis))
    nodes += [
        node("ScatterElements", "else", "i", "v", "s", axis=axis, reduction=by),
        node("Softmax", "s", "y", axis=-1) if fill else node("Identity", "s", "y"),
    ]
    x = RNG.standard_normal((30, 5)).astype(F32)
    w = RNG.standard_normal((5, 6)).astype(F32)
    path = tmp_path / "m.onnx"
    saved(path, nodes, x, {"w": w, "k": np.int64([2]), "fill": F32([fill])})
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x, protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x).output
    np.testing.assert_allclose(found, right, atol=5e-3)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "sirnn"])
@pytest.mark.parametrize("axis", [-1, 1])
def test_pairs_of_found_places_choose_from_a_table(tmp_path, axis, protocol):
    """A boosting machine looks up what two columns say together, by the interval of each."""
    edges = {"e0": F32([-0.5, 0, 0.5]), "e1": F32([0, 1])}
    nodes = []
    for i, (name, each) in enumerate(edges.items()):
        nodes += [
            node("Gather", "x", f"at{i}", f"c{i}", axis=1),
            node("Flatten", f"c{i}", f"f{i}", axis=1),
            node("LessOrEqual", name, f"f{i}", f"h{i}"),
            node("Cast", f"h{i}", f"n{i}", to=FLOAT),
            node("Mul", f"n{i}", f"steps{i}", f"s{i}"),
            node("ArgMax", f"s{i}", f"p{i}", axis=axis, keepdims=1),
        ]
        edges[name] = np.concatenate([F32([-1e3]), each])
    nodes += [
        node("Concat", "p0", "p1", "pair", axis=axis),
        node("GatherND", "table", "pair", "y"),
    ]
    constants = {**edges, "at0": np.int64([0]), "at1": np.int64([1])}
    constants |= {f"steps{i}": np.arange(len(e), dtype=F32) for i, e in enumerate(edges.values())}
    constants["table"] = RNG.standard_normal((4, 3)).astype(F32)
    x = RNG.standard_normal((40, 2)).astype(F32)
    path = tmp_path / "m.onnx"
    saved(path, nodes, x, constants)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x, protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=5e-3)


def test_a_slice_without_elements_joins_to_nothing(tmp_path):
    """What rotary embeddings leave as it is, where they turn all: from a size that is computed."""
    nodes = [
        node("Shape", "turns", "size"),
        node("Slice", "x", "nothing", "size", "one", "head"),
        node("Slice", "x", "size", "far", "one", "rest"),
        node("Neg", "head", "turned"),
        node("Concat", "turned", "rest", "y", axis=1),
    ]
    given = {"turns": F32([1, 2, 3]), "nothing": [0], "one": [1], "far": [2**62]}
    check(tmp_path / "m.onnx", nodes, MIXED, **given)


def test_a_slice_without_elements_is_no_number(tmp_path):
    """Beside what it does not join there is nothing to compute with."""
    nodes = [node("Slice", "x", "three", "far", "one", "rest"), node("ReduceSum", "rest", "y")]
    given = {"three": np.array([3]), "far": np.array([9]), "one": np.array([1])}
    saved(tmp_path / "m.onnx", nodes, MIXED, given)
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx", samples=MIXED)


@pytest.mark.parametrize("kind", [F32, np.int64])
def test_constants_are_padded_with_the_number_that_is_given(kind, tmp_path):
    """Not with 0, which they were."""
    nodes = [
        node("Pad", "c", "pads", "value", "wide"),
        node("Cast", "wide", "w", to=FLOAT),
        node("Add", "x", "w", "y"),
    ]
    given = {"c": kind([4]), "pads": [1, 1], "value": kind(7)}
    check(tmp_path / "m.onnx", nodes, MIXED, **given)


@pytest.mark.parametrize("fmod", [0, 1])
def test_constants_are_divided_with_the_sign_that_is_asked_for(fmod, tmp_path):
    nodes = [
        node("Mod", "a", "b", "rest", fmod=fmod),
        node("Cast", "rest", "r", to=FLOAT),
        node("Add", "x", "r", "y"),
    ]
    check(tmp_path / "m.onnx", nodes, MIXED, a=np.array([-3, 3, -3]), b=np.array([2, -2, 2]))


@pytest.mark.parametrize("equation", ["bij,bkl->bil", "bij,bil->bl", "bi,bj->bj", "bij->bi"])
def test_products_of_nothing_are_refused(equation, tmp_path):
    """Panics stood here: a slice of the input, and a constant of the file without elements."""
    shapes = {"b": 1, "i": 3, "j": 0, "k": 0, "l": 2}
    terms = equation.split("->")[0].split(",")
    given = {f"c{i}": np.ones([shapes[a] for a in term], F32) for i, term in enumerate(terms)}
    made = [node("Einsum", *given, "e", equation=equation), node("ReduceSum", "e", "s")]
    saved(tmp_path / "m.onnx", [*made, node("Add", "x", "s", "y")], MIXED, given)
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx", samples=MIXED)


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_what_has_no_elements_is_not_repeated(mode, tmp_path):
    nodes = [node("Pad", "c", "pads", "p", mode=mode), node("Add", "x", "p", "y")]
    given = {"c": np.zeros(0, F32), "pads": np.array([1, 2])}
    saved(tmp_path / "m.onnx", nodes, MIXED, given)
    with pytest.raises(tacit.CompileError, match="has none"):
        tacit.compile(tmp_path / "m.onnx", samples=MIXED)
