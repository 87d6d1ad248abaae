"""Places by tokens and counts, masks that fill a tensor, and guards, as torch exports them."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

RNG = np.random.default_rng(0)
F32, I64 = np.float32, np.int64
TYPES = {"f4": TensorProto.FLOAT, "f8": TensorProto.DOUBLE, "i8": TensorProto.INT64}
TABLE = RNG.standard_normal((20, 3)).astype(F32)
LOWEST = F32(-np.inf)


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def filled(number, shape, output):
    value = numpy_helper.from_array(np.array([number], F32))
    return node("ConstantOfShape", shape, output, value=value)


def saved(path, nodes, inputs, tensors, items="N"):
    ends = [
        helper.make_tensor_value_info(name, TYPES[x.dtype.str[1:]], [items, *x.shape[1:]])
        for name, x in inputs.items()
    ]
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "test", ends, [output], named)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def check(folder, nodes, inputs, protocol="clear", *, samples=None, atol=2e-3, **tensors):
    path = folder / "m.onnx"
    saved(path, nodes, inputs, tensors)
    right = onnxruntime.InferenceSession(str(path)).run(None, inputs)[0]
    given = inputs if len(inputs) > 1 else next(iter(inputs.values()))
    model = tacit.compile(path, samples=samples)
    found = tacit.local(protocol=protocol).predict(model, given).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=atol, rtol=2e-3)


def bag(reduction, ids="x"):
    """Rows of zeros, as many as items, with `update` at the tokens of each."""
    shape = [node("Shape", "x", "n", start=0, end=1), node("Concat", "n", "words", "s", axis=0)]
    ones = [node("Shape", ids, "t"), filled(1.5, "t", "ones")]
    scatter = node("ScatterElements", "zeros", ids, "ones", "b", axis=1, reduction=reduction)
    return [*shape, filled(0, "s", "zeros"), *ones, scatter, node("MatMul", "b", "table", "y")]


@pytest.mark.parametrize("protocol", ["clear", "falcon"])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_bags_of_words(tmp_path, reduction, protocol):
    """A token that comes twice is one mark, or is counted twice."""
    x = RNG.integers(0, 20, (12, 6))
    x[0] = 7
    check(tmp_path, bag(reduction), {"x": x}, protocol, table=TABLE, words=I64([20]))


def test_a_bag_of_one_column(tmp_path):
    column = node("Slice", "x", "one", "two", "one", "ids")
    constants = {"one": I64([1]), "two": I64([2]), "words": I64([20])}
    x = RNG.integers(0, 20, (12, 6))
    check(tmp_path, [column, *bag("none", "ids")], {"x": x}, table=TABLE, **constants)


@pytest.mark.parametrize("rows", [1, 3])
def test_bags_of_one_item(tmp_path, rows):
    """Of more rows than there are of tokens the others are not written into."""
    x = RNG.integers(0, 20, (1, 6))
    nodes = [
        node("ScatterElements", "zeros", "x", "ones", "b", axis=1),
        node("MatMul", "b", "table", "y"),
    ]
    constants = {"zeros": np.zeros((rows, 20), F32), "ones": np.ones((1, 6), F32), "table": TABLE}
    path = tmp_path / "m.onnx"
    saved(path, nodes, {"x": x}, constants, items=1)
    if rows == 1:
        right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
        found = tacit.local("clear").predict(tacit.compile(path), x).output
        np.testing.assert_allclose(found.reshape(right.shape), right, atol=2e-3)
        return
    with pytest.raises(tacit.CompileError, match="its places are computed"):
        tacit.compile(path)


def test_columns_of_each_other_are_refused(tmp_path):
    """Whoever looks for the input that tokens are columns of must not go round."""
    round_ = [
        node("Slice", b, "one", "two", "one", a) for a, b in (("ids", "others"), ("others", "ids"))
    ]
    constants = {"one": I64([1]), "two": I64([2]), "words": I64([20]), "table": TABLE}
    nodes = [*round_, *bag("none", "ids")]
    saved(tmp_path / "m.onnx", nodes, {"x": RNG.integers(0, 20, (12, 6))}, constants)
    with pytest.raises(tacit.CompileError, match="cycle"):
        tacit.compile(tmp_path / "m.onnx")


def last(counted):
    """The row before the place that a count gives, of every item."""
    return [
        *counted,
        node("Sub", "count", "one", "place"),
        node("Gather", "table", "x", "rows"),
        node("Shape", "x", "n", start=0, end=1),
        node("Squeeze", "n", "items"),
        node("Range", "zero", "items", "one", "each"),
        node("Unsqueeze", "each", "last", "first"),
        node("Unsqueeze", "place", "last", "second"),
        node("Concat", "first", "second", "at", axis=-1),
        node("GatherND", "rows", "at", "y"),
    ]


NUMBERS = {"zero": I64(0), "one": I64(1), "last": I64([-1]), "axis": I64([1]), "table": TABLE}


@pytest.mark.parametrize("protocol", ["clear", "falcon"])
def test_the_last_step_by_what_is_no_padding(tmp_path, protocol):
    """Of an item of paddings alone the place before the first is the last."""
    x = RNG.integers(1, 20, (12, 8)) * (np.arange(8) < RNG.integers(0, 9, (12, 1)))
    counted = [
        node("Equal", "x", "zero", "padding"),
        node("Not", "padding", "words"),
        node("Cast", "words", "marks", to=TensorProto.INT64),
        node("ReduceSum", "marks", "axis", "count", keepdims=0),
    ]
    check(tmp_path, last(counted), {"x": x}, protocol, **NUMBERS)


def test_the_last_step_by_the_sum_of_a_mask(tmp_path):
    """The sum of an input counts marks if its numbers are 0 and 1, which its owner is asked for."""
    x = RNG.integers(0, 20, (12, 8))
    mask = (np.arange(8) < RNG.integers(1, 9, (12, 1))).astype(I64)
    counted = [node("ReduceSum", "mask", "axis", "count", keepdims=0)]
    check(tmp_path, last(counted), {"x": x, "mask": mask}, **NUMBERS)
    model = tacit.compile(tmp_path / "m.onnx")
    with pytest.raises(tacit.InputError, match="0"):
        tacit.local(protocol="clear").predict(model, {"x": x, "mask": mask + 1})


@pytest.mark.parametrize("form", ["ConstantOfShape", "Expand"])
@pytest.mark.parametrize("kind", ["ReduceMax", "ReduceMin"])
def test_masks_that_fill_a_tensor(tmp_path, kind, form):
    """`where(mask, h, full_like(h, -inf)).amax(1)`."""
    far = LOWEST if kind == "ReduceMax" else -LOWEST
    full = {
        "ConstantOfShape": filled(far, "s", "full"),
        "Expand": node("Expand", "far", "s", "full"),
    }[form]
    nodes = [
        node("Greater", "x", "limit", "mask"),
        node("Shape", "x", "s"),
        full,
        node("Where", "mask", "x", "full", "w"),
        node(kind, "w", "y", axes=[1], keepdims=0),
    ]
    x = RNG.standard_normal((12, 7, 3)).astype(F32)
    check(tmp_path, nodes, {"x": x}, limit=F32(-2), far=far)


LARGEST = [
    node("Greater", "x", "limit", "mask"),
    node("Where", "mask", "x", "far", "w"),
    node("ReduceMax", "w", "m", axes=[1], keepdims=0),
]


@pytest.mark.parametrize("asked", ["IsInf", "Equal"])
def test_the_largest_of_nothing_is_not_asked_for(tmp_path, asked):
    """No party can tell whether it is minus infinity: the least of a row stands in its place."""
    nodes = [
        *LARGEST,
        node("IsInf", "m", "no") if asked == "IsInf" else node("Equal", "m", "far", "no"),
        node("Where", "no", "zero", "m", "y"),
    ]
    constants = {"limit": F32(-2), "far": LOWEST, "zero": F32(0)}
    saved(tmp_path / "m.onnx", nodes, {"x": np.ones((2, 7, 3), F32)}, constants)
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx")


@pytest.mark.parametrize("form", ["Clip", "Max", "Max of", "Relu", "read twice"])
def test_the_largest_of_nothing_is_clipped(tmp_path, form):
    """`where(mask, h, -1e30).amax(1).clamp(min=-9)`: of a row that is hidden whole it is -9."""
    nodes = [
        *LARGEST,
        node("Relu", "m", "y") if form == "Relu" else node("Max", "m", "low", "y"),
    ]
    if form == "Clip":
        nodes[-1] = node("Clip", "m", "low", "y")
    if form == "Max of":
        nodes[-1] = node("Max", "low", "m", "y")
    x = RNG.standard_normal((12, 7, 3)).astype(F32)
    x[3] = -5
    constants = {"limit": F32(-2), "far": F32(-1e30), "low": F32(-9)}
    if form != "read twice":
        check(tmp_path, nodes, {"x": x}, **constants)
        return
    nodes[-1:] = [node("Clip", "m", "low", "c"), node("Max", "c", "m", "y")]
    right = np.where(x > -2, x, x.min(1, keepdims=True)).max(1)
    saved(tmp_path / "m.onnx", nodes, {"x": x}, constants)
    found = tacit.local("clear").predict(tacit.compile(tmp_path / "m.onnx"), x).output
    np.testing.assert_allclose(found, right, atol=2e-3)


def test_places_in_their_order(tmp_path):
    """The largest of a row as they stand in it: places of places."""
    nodes = [
        helper.make_node("TopK", ["x", "k"], ["v", "p"]),
        helper.make_node("TopK", ["p", "k"], ["sorted", "q"], largest=0),
        node("GatherElements", "x", "sorted", "y", axis=1),
    ]
    x = RNG.standard_normal((20, 9)).astype(F32)
    check(tmp_path, nodes, {"x": x}, k=I64([3]))


@pytest.mark.parametrize("form", ["where", "double"])
def test_degrees_that_are_zero(tmp_path, form):
    """`where(isinf(d ** -0.5), 0, d ** -0.5)` of degrees, some of which are 0."""
    doubles = node("Cast", "p", "asked", to=TensorProto.DOUBLE)
    nodes = [
        node("ReduceSum", "x", "last", "d", keepdims=0),
        node("Pow", "d", "half", "p"),
        doubles if form == "double" else node("Identity", "p", "asked"),
        node("IsInf", "asked", "far"),
        node("Shape", "p", "s"),
        filled(0, "s", "zeros"),
        node("Where", "far", "zeros", "p", "y"),
    ]
    x = (RNG.random((40, 5, 5)) > 0.6) * (RNG.random((40, 5, 1)) > 0.2)
    x = x.astype(F32)
    assert (x.sum(-1) == 0).any()
    check(tmp_path, nodes, {"x": x}, samples=x, atol=1e-2, last=I64([-1]), half=F32(-0.5))


@pytest.mark.parametrize("form", ["is NaN", "is no number"])
@pytest.mark.parametrize("divided", ["x", "d"])
def test_shares_of_nothing(tmp_path, divided, form):
    """`where(isnan(a / a.sum(-1)), 0, ...)`, and by `q == q`; of 0 / 0 there is no number."""
    asked = {
        "is NaN": [node("IsNaN", "q", "no"), node("Where", "no", "zero", "q", "y")],
        "is no number": [node("Equal", "q", "q", "same"), node("Where", "same", "q", "zero", "y")],
    }
    nodes = [
        node("ReduceSum", "x", "last", "d", keepdims=1),
        node("Div", divided, "d", "q"),
        *asked[form],
    ]
    x = (RNG.random((40, 5, 5)) > 0.6) * (RNG.random((40, 5, 1)) > 0.2)
    x = x.astype(F32)
    check(tmp_path, nodes, {"x": x}, samples=x, last=I64([-1]), zero=F32(0))


@pytest.mark.parametrize("far", [LOWEST, np.finfo(F32).min])
@pytest.mark.parametrize("form", ["sum", "product"])
def test_attention_to_nothing(tmp_path, form, far):
    """`nan_to_num` of what a softmax weighs: of texts of which a mask hides all, 0.

    Where it hides them by a finite number, all of a text count alike, and nothing is no number.
    """
    weighed = {
        "sum": [
            node("Unsqueeze", "p", "last", "column"),
            node("Mul", "column", "x", "m"),
            node("ReduceSum", "m", "axis", "h", keepdims=0),
        ],
        "product": [
            node("Unsqueeze", "p", "axis", "row"),
            node("MatMul", "row", "x", "m"),
            node("Squeeze", "m", "axis", "h"),
        ],
    }
    nodes = [
        node("Unsqueeze", "n", "axis", "column of n"),
        node("GreaterOrEqual", "places", "column of n", "mask"),
        node("ReduceSum", "x", "last", "s", keepdims=0),
        node("Where", "mask", "far", "s", "w"),
        node("Softmax", "w", "p", axis=1),
        *weighed[form],
        node("IsNaN", "h", "no"),
        node("Where", "no", "zero", "h", "k"),
        node("IsInf", "k", "inf"),
        node("Greater", "k", "zero", "above"),
        node("And", "inf", "above", "most"),
        node("Where", "most", "large", "k", "y"),
    ]
    constants = {"places": np.arange(8)[None], "far": far, "last": I64([2]), "axis": I64([1])}
    x = RNG.standard_normal((12, 8, 3)).astype(F32)
    n = RNG.integers(1, 9, 12)
    if far == LOWEST:
        n[0] = 0
    check(tmp_path, nodes, {"x": x, "n": n}, zero=F32(0), large=-np.finfo(F32).min, **constants)


def test_whether_a_quotient_is_a_number_is_no_answer(tmp_path):
    """Of 1 / 0 no answer is NaN, though a choice may be told so."""
    nodes = [
        node("Div", "one", "x", "q"),
        node("IsNaN", "q", "no"),
        node("Cast", "no", "y", to=TensorProto.FLOAT),
    ]
    saved(
        tmp_path / "m.onnx", nodes, {"x": np.ones((2, 3), F32)}, {"one": F32(1), "axis": I64([1])}
    )
    with pytest.raises(tacit.CompileError, match="every number that a party has is finite"):
        tacit.compile(tmp_path / "m.onnx")


def test_a_slice_up_to_the_batch(tmp_path):
    """Of a constant of one item for all nothing was left, and the model ended in a panic."""
    shape = [node("Shape", "x", "n", start=0, end=1), node("Concat", "n", "six", "s", axis=0)]
    ends = [node("Shape", "x", "ends"), node("Slice", "ones", "begin", "ends", "some")]
    nodes = [*shape, filled(2, "s", "ones"), *ends, node("Mul", "some", "x", "y")]
    x = RNG.standard_normal((5, 6)).astype(F32)
    check(tmp_path, nodes, {"x": x}, six=I64([6]), begin=I64([0, 0]))


def test_as_many_of_a_table_as_items_are_refused(tmp_path):
    nodes = [
        node("Shape", "x", "n", start=0, end=1),
        node("Slice", "table", "begin", "n", "some"),
        node("ReduceSum", "some", "axis", "sum", keepdims=0),
        node("Add", "x", "sum", "y"),
    ]
    x = np.ones((5, 3), F32)
    constants = {"table": TABLE, "begin": I64([0]), "axis": I64([0])}
    saved(tmp_path / "m.onnx", nodes, {"x": x}, constants)
    with pytest.raises(tacit.CompileError, match="as the batch has items"):
        tacit.compile(tmp_path / "m.onnx")


def test_other_computed_places_are_refused_with_what_to_write(tmp_path):
    nodes = [
        node("ArgMax", "scores", "place", axis=1),
        node("Add", "x", "place", "at"),
        node("Shape", "x", "t"),
        filled(1, "t", "ones"),
        *bag("none")[:3],
        node("ScatterElements", "zeros", "at", "ones", "b", axis=1),
        node("MatMul", "b", "table", "y"),
    ]
    inputs = {"x": RNG.integers(0, 9, (12, 1)), "scores": RNG.random((12, 4)).astype(F32)}
    saved(tmp_path / "m.onnx", nodes, inputs, {"table": TABLE, "words": I64([20])})
    with pytest.raises(tacit.CompileError, match=r"write the rows as one_hot\(places, size\)"):
        tacit.compile(tmp_path / "m.onnx")


@pytest.mark.parametrize("protocol", ["clear", "falcon", "sirnn"])
def test_divisors_of_either_sign(tmp_path, protocol):
    """Ratios of gains and losses: only samples tell that a divisor has both signs."""
    x = RNG.uniform(0.5, 4, (12, 6)).astype(F32) * RNG.choice([-1, 1], (12, 6)).astype(F32)
    nodes = [
        node("Slice", "x", "first", "end", "axis", "half"),
        node("Slice", "x", "end", "all", "axis", "other"),
        node("Div", "half", "other", "q"),
        node("Reciprocal", "half", "r"),
        node("Add", "q", "r", "y"),
    ]
    ends = {"first": I64([0]), "end": I64([3]), "all": I64([6]), "axis": I64([1])}
    check(tmp_path, nodes, {"x": x}, protocol, samples=x, **ends)
    check(tmp_path, nodes, {"x": np.abs(x)}, protocol, samples=np.abs(x), **ends)
    layers = tacit.compile(tmp_path / "m.onnx", samples=np.abs(x)).plan["layers"]
    assert not [layer for layer in layers if layer["op"] == "NonNegative"]


def test_divisors_that_are_zero_are_refused(tmp_path):
    nodes = [node("Reciprocal", "x", "y")]
    saved(tmp_path / "m.onnx", nodes, {"x": np.ones((2, 3), F32)}, {})
    with pytest.raises(tacit.CompileError, match=r"planned from 0\.0000 to"):
        tacit.compile(tmp_path / "m.onnx", samples=np.array([[0, -1, 2]], F32))


def mean(counted="x", otherwise=None):
    """The mean of the rows of all tokens but 0, by their count; an own number if there are none."""
    is_none = [node("Equal", ids, "0", f"none {ids}") for ids in {"x", counted}]
    given = [node("Not", f"none {ids}", f"given {ids}") for ids in {"x", counted}]
    truths = [node("Cast", f"given {ids}", f"of {ids}", to=1) for ids in {"x", counted}]
    weighed = [
        node("Unsqueeze", "of x", "last", "w"),
        node("Gather", "table", "x", "rows"),
        node("Mul", "w", "rows", "kept"),
        node("ReduceSum", "kept", "axis", "sum", keepdims=0),
        node("ReduceSum", f"of {counted}", "axis", "count"),
        node("Div", "sum", "count", "y" if otherwise is None else "mean"),
    ]
    guard = [node("IsNaN", "mean", "nan"), node("Where", "nan", "own", "mean", "y")]
    return [*is_none, *given, *truths, *weighed, *(guard if otherwise is not None else [])]


MEAN = {
    "table": TABLE,
    "0": np.array(0, I64),
    "last": np.array([-1], I64),
    "axis": np.array([1], I64),
}


def test_means_of_what_is_counted(tmp_path):
    """A count of 0 would divide 0, so it is no doubt; of other tokens than are weighed it is."""
    x = np.array([[3, 0, 7, 0], [1, 2, 3, 4], [0, 0, 0, 8]], I64)
    check(tmp_path, mean(), {"x": x}, **MEAN)
    assert tacit.compile(tmp_path / "m.onnx").warnings == []
    check(tmp_path, mean("z"), {"x": x, "z": x[:, ::-1]}, **MEAN)
    assert tacit.compile(tmp_path / "m.onnx").warnings != []


def test_what_a_mean_of_nothing_is_replaced_by(tmp_path):
    x = np.array([[3, 0, 7, 0], [0, 0, 0, 0], [0, 0, 0, 9]], I64)
    check(tmp_path, mean(otherwise=5), {"x": x}, own=np.array(5, F32), **MEAN)


def test_a_known_quotient_is_stretched_to_its_divisors(tmp_path):
    """16 // 2 beside every number of an item, thrice."""
    nodes = [
        node("Mul", "x", "none", "n"),
        node("Add", "n", "steps", "s"),
        node("Div", "s", "halves", "d"),
        node("ReduceSum", "d", "axis", "r"),
        node("Cast", "r", "y", to=1),
    ]
    tensors = {"none": np.array(0), "steps": np.array(16), "halves": np.array([2, 2, 2])}
    check(tmp_path, nodes, {"x": np.arange(4)[:, None]}, axis=np.array([1]), **tensors)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_zeros_of_a_tensor_less_itself_have_its_type(kind, tmp_path):
    last = np.dtype(kind).type(2)
    nodes = [node("Sub", "x", "x", "0"), node("Max", "0", "last", "m"), node("Add", "x", "m", "s")]
    x = np.arange(6).reshape(2, 3).astype(kind)
    path = tmp_path / "m.onnx"
    tensors = {"last": np.array([last])}
    saved(path, [*nodes, node("Cast", "s", "y", to=1)], {"x": x}, tensors)
    model = tacit.compile(path)
    np.testing.assert_allclose(tacit.local("clear").predict(model, x).output, x + 2, atol=1e-3)
