"""The lowest numbers where their exponential is 0, and scatters at places that are found."""

import numpy as np
import onnx
import onnxruntime
import pytest
from nets import Net
from onnx import TensorProto, helper, shape_inference

import tacit

PROTOCOLS = pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])
LOW = [np.float32(-np.inf), np.finfo(np.float32).min]


def near(path, x, others, protocol):
    """Holds a protocol to onnxruntime, on the samples and on others."""
    onnx.save(shape_inference.infer_shapes(onnx.load(path), data_prop=True), path)
    model = tacit.compile(path, protocol=protocol, samples=x)
    assert not model.warnings
    run = onnxruntime.InferenceSession(path).run
    for rows in (x, others):
        ours = tacit.local(protocol=protocol).predict(model, rows).output
        (theirs,) = run(None, {"x": rows})
        assert np.abs(ours - theirs).max() < 2e-3


def given(*shape):
    """Samples, and other inputs of their range."""
    pair = (np.random.default_rng(seed).uniform(-1, 1, shape) for seed in (0, 1))
    return [x.astype(np.float32) for x in pair]


def apart(n):
    """Samples and others whose numbers lie apart in every row, none near 0."""
    numbers = np.tile(np.float32([-5, -3, -1, 1, 3, 5]) / 6, (n, 1))
    return [np.random.default_rng(seed).permuted(numbers, axis=1) for seed in (0, 1)]


@PROTOCOLS
@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("holds", [True, False])
def test_exponentials_of_what_a_mask_leaves_out_are_0(protocol, low, holds, tmp_path):
    """A constant of the file leaves out numbers, as segment sums do, of large exponentials."""
    net, upper = Net([4, 4]), np.triu(np.ones((4, 4), bool), 1)
    x = net("Mul", "x", np.where(upper, 9, 1).astype(np.float32))
    branches = [low, x] if holds else [x, low]
    chosen = net("Where", upper if holds else ~upper, *branches)
    net.save(tmp_path / "m.onnx", net("Exp", chosen))
    near(tmp_path / "m.onnx", *given(5, 4, 4), protocol)


@PROTOCOLS
def test_exponentials_of_what_a_computed_mask_leaves_out_are_0(protocol, tmp_path):
    net = Net([6])
    chosen = net("Where", net("Less", "x", np.float32(0.2)), "x", LOW[0])
    net.save(tmp_path / "m.onnx", net("Exp", chosen))
    near(tmp_path / "m.onnx", *given(5, 6), protocol)


@PROTOCOLS
@pytest.mark.parametrize("sink", [True, False])
def test_softmaxes_take_the_largest_themselves(protocol, sink, tmp_path):
    """Softmaxes of masked scores, beside a column that every row has (attention sinks)."""
    net = Net([4, 4])
    mask = np.where(np.triu(np.ones((4, 4), bool), 1), LOW[1], 0).astype(np.float32)
    scores = net("Add", "x", mask)
    if sink:
        column = net("Slice", net("Mul", "x", np.float32(0.5)), *map(np.array, ([0], [1], [2])))
        scores = net("Concat", scores, column, axis=-1)
    largest = net("ReduceMax", scores, np.array([-1]))
    net.save(tmp_path / "m.onnx", net("Softmax", net("Sub", scores, largest), axis=-1))
    near(tmp_path / "m.onnx", *given(5, 4, 4), protocol)


@PROTOCOLS
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("low", LOW)
def test_logarithms_of_sums_leave_out_what_a_mask_does(protocol, axis, low, tmp_path):
    """Beside a softmax of the same scores, as attention with sinks has them (granite)."""
    net = Net([4, 4])
    upper = np.triu(np.ones((4, 4), bool), 1)
    mask = np.where(upper if axis == -1 else upper.T, low, 0).astype(np.float32)
    scores = net("Add", net("Mul", "x", np.where(mask < 0, 9, 1).astype(np.float32)), mask)
    sums = net("ReduceLogSumExp", scores, np.array([axis]))
    shares = net("Softmax", scores, axis=axis)
    net.save(tmp_path / "m.onnx", net("Mul", shares, net("Sigmoid", sums)))
    near(tmp_path / "m.onnx", *given(5, 4, 4), protocol)


@PROTOCOLS
def test_logarithms_of_sums_leave_out_what_a_computed_mask_does(protocol, tmp_path):
    net = Net([6])
    low = net("Where", net("Less", "x", np.float32(0.9)), np.float32(0), LOW[1])
    sums = net("ReduceLogSumExp", net("Add", "x", low), np.array([-1]))
    net.save(tmp_path / "m.onnx", net("Sigmoid", sums))
    near(tmp_path / "m.onnx", *given(5, 6), protocol)


def test_a_maximum_along_another_axis_is_taken_away(tmp_path):
    """A maximum that differs within a row is taken away, which a softmax does not do itself."""
    net = Net([4, 4])
    largest = net("ReduceMax", "x", np.array([-2]))
    net.save(tmp_path / "m.onnx", net("Softmax", net("Sub", "x", largest), axis=-1))
    near(tmp_path / "m.onnx", *given(5, 4, 4), "clear")


def topk(net, x, k):
    """Values and places of the largest."""
    out = [f"values {len(net.nodes)}", f"places {len(net.nodes)}"]
    node = helper.make_node("TopK", [x, net.constant(np.array([k]))], out)
    net.nodes.append(node)
    return out


@PROTOCOLS
@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("finder", ["TopK", "ArgMax"])
def test_the_largest_of_what_a_computed_mask_leaves_are_found(protocol, finder, opset, tmp_path):
    """Places as routers of experts choose them; of rows left out wholly the first places."""
    net = Net([6])
    kept = net("Mul", "x", np.float32([-1, 1, 1, 1, -1, 1]))
    above = net("Greater", net("Mul", "x", np.float32([1, 1, -1, 1, 1, 1])), np.float32(0.1))
    left = net("Where", above, LOW[opset == 17], kept)
    places = topk(net, left, 2)[1] if finder == "TopK" else net("ArgMax", left, axis=-1)
    net.save(tmp_path / "m.onnx", net("Cast", places, to=TensorProto.FLOAT), opset=opset)
    x, others = apart(12)
    x[0] = np.float32([0.3, 0.4, -0.2, 0.5, 0.6, 0.7])
    near(tmp_path / "m.onnx", x, others, protocol)


FORMS = {
    "chosen": lambda net, left, low, x: net("Where", left, low, x),
    "kept": lambda net, left, low, x: net("Where", net("Not", left), x, low),
    "added": lambda net, left, low, x: net(
        "Add", net("Mul", np.clip(low, -3e38, 3e38), net("Cast", left, to=1)), x
    ),
}


@PROTOCOLS
@pytest.mark.parametrize("axis", [1, -2])
@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("form", FORMS)
def test_extremes_of_what_a_mask_leaves(protocol, form, opset, axis, tmp_path):
    """A text as the largest of its steps, beside those that it has not, and as the smallest."""
    net = Net([5, 3])
    first = net("Slice", "x", *(np.array([v]) for v in (0, 1, 2)))
    left = net("Less", first, np.float32(0))
    found = []
    for kind, low in (("ReduceMax", LOW[opset == 17]), ("ReduceMin", -LOW[0])):
        value = FORMS[form](net, left, low, "x")
        given = {"axes": [axis]} if opset == 17 else {}
        axes = [] if opset == 17 else [np.array([axis])]
        found.append(net(kind, value, *axes, keepdims=0, **given))
    net.save(tmp_path / "m.onnx", net("Concat", *found, axis=-1), opset=opset)
    x, others = given_steps(0), given_steps(1)
    near(tmp_path / "m.onnx", x, others, protocol)


def given_steps(seed):
    """Steps that a mask leaves some of in every item."""
    x = np.random.default_rng(seed).uniform(-1, 1, (6, 5, 3)).astype(np.float32)
    x[:, :, 0] = np.where(np.abs(x[:, :, 0]) < 0.05, 0.3, x[:, :, 0])
    x[:, 2, 0] = 0.5
    return x


NO_MASKS = {
    "any sign": lambda net: net("Sub", "x", np.float32(0.5)),
    "negative": lambda net: net("Neg", net("Cast", net("Less", "x", np.float32(0)), to=1)),
    "shares": lambda net: net("Softmax", "x", axis=-1),
}


@pytest.mark.parametrize("form", NO_MASKS)
def test_what_is_no_mask_hides_nothing(form, tmp_path):
    net = Net([5])
    low = net("Mul", NO_MASKS[form](net), LOW[1])
    net.save(tmp_path / "m.onnx", net("ReduceMax", net("Add", low, "x"), np.array([1])))
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx", samples=given(5, 5)[0])


def test_a_line_that_a_mask_hides_whole_has_its_least(tmp_path):
    """Where floats have minus infinity, as the model owner's page says."""
    net = Net([4])
    low = net("Where", net("Less", "x", np.float32(0)), LOW[0], "x")
    net.save(tmp_path / "m.onnx", net("ReduceMax", low, axes=[1], keepdims=0), opset=17)
    x = np.float32([[1, -2, 3, -4], [-1, -2, -3, -4]])
    model = tacit.compile(tmp_path / "m.onnx", samples=x)
    found = tacit.local(protocol="clear").predict(model, x).output
    assert np.abs(found - [3, -4]).max() < 1e-3


def test_what_a_mask_hides_may_have_fewer_axes(tmp_path):
    """A row of the file's, hidden in some places of every item's rows."""
    net = Net([4, 3])
    row = net("Where", net("Less", "x", np.float32(0)), LOW[0], np.float32([-1, 2, 1]))
    places = [net("ArgMax", row, axis=axis, keepdims=0) for axis in (-1, 2)]
    found = net("Add", *(net("Cast", place, to=1) for place in places))
    net.save(tmp_path / "m.onnx", found, opset=17)
    x, others = given(6, 4, 3)
    x[:, :, 1], others[:, :, 1] = 0.5, 0.5
    near(tmp_path / "m.onnx", x, others, "falcon")


def test_the_largest_is_found_along_an_axis_from_the_first(tmp_path):
    """An action of those that are allowed, of a mask with as many axes."""
    net = Net([6])
    kept = net("Mul", "x", np.float32([-1, 1, 1, 1, -1, 1]))
    above = net("Greater", net("Mul", "x", np.float32([1, 1, -1, 1, 1, 1])), np.float32(0.1))
    place = net("ArgMax", net("Where", above, LOW[0], kept), axis=1)
    net.save(tmp_path / "m.onnx", net("Cast", place, to=TensorProto.FLOAT), opset=17)
    near(tmp_path / "m.onnx", *apart(12), "falcon")


def test_values_of_what_a_mask_leaves_out_are_refused_by_name(tmp_path):
    net = Net([6])
    left = net("Where", net("Greater", "x", np.float32(0.1)), LOW[0], "x")
    net.save(tmp_path / "m.onnx", topk(net, left, 2)[0])
    with pytest.raises(tacit.CompileError, match=r"'c\d+' holds -inf"):
        tacit.compile(tmp_path / "m.onnx", samples=apart(5)[0])


SCATTERS = {
    "ones among zeros": (lambda net, v, i: (zeros(net), i, np.ones((1, 2), np.float32)), {}),
    "values among zeros": (lambda net, v, i: (zeros(net), i, v), {}),
    "values among others": (lambda net, v, i: ("x", i, net("Neg", v)), {}),
    "sums": (lambda net, v, i: ("x", i, v), {"reduction": "add"}),
    "the first of the largest": (lambda net, v, i: (zeros(net), first(net), negated(net)), {}),
    "whole numbers": (lambda net, v, i: (wholes(net, "x"), i, wholes(net, net("Neg", v))), {}),
    "truths": (lambda net, v, i: (truths(net, "x", 0), i, truths(net, v, 9)), {}),
}


def zeros(net):
    return net("ConstantOfShape", net("Shape", "x"))


def first(net):
    return net("ArgMax", "x", axis=1)


def negated(net):
    return net("ReduceMin", net("Neg", "x"), np.array([1]))


def wholes(net, x):
    return net("Cast", net("Round", net("Mul", x, np.float32(6))), to=TensorProto.INT64)


def truths(net, x, above):
    return net("Greater", x, np.float32(above))


@PROTOCOLS
@pytest.mark.parametrize("form", SCATTERS)
def test_scatters_at_places_that_are_found_are_right(protocol, form, tmp_path):
    make, attributes = SCATTERS[form]
    net = Net([6])
    values, places = topk(net, "x", 2)
    data, places, updates = make(net, values, places)
    if not isinstance(updates, str):
        updates = net("Expand", updates[:, :1], net("Shape", values))
    scattered = net("ScatterElements", data, places, updates, axis=1, **attributes)
    if form in ("truths", "whole numbers"):
        scattered = net("Cast", scattered, to=TensorProto.FLOAT)
    net.save(tmp_path / "m.onnx", scattered)
    near(tmp_path / "m.onnx", *apart(5), protocol)


@pytest.mark.parametrize("declared", [5, 7])
def test_a_shape_that_is_declared_and_not_so_is_refused(declared, tmp_path):
    """A shape is read of the file's own words, which need not be true."""
    net, path = Net([6]), tmp_path / "m.onnx"
    values, places = topk(net, "x", 2)
    data = zeros(net)
    net.save(path, net("ScatterElements", data, places, values, axis=1))
    model = onnx.load(path)
    for name, kind, size in ((data, TensorProto.FLOAT, declared), (places, TensorProto.INT64, 2)):
        model.graph.value_info.append(helper.make_tensor_value_info(name, kind, ["N", size]))
    onnx.save(model, path)
    with pytest.raises(tacit.CompileError):
        tacit.compile(path, samples=apart(5)[0])
