"""Rows and elements at places that the model computes, held against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from nets import Net
from onnx import TensorProto, helper

import tacit
from graphs.judge import SETTINGS

INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT
SETTING_OF = {"clear": "clear, 64 bits", "falcon": "falcon, 64 bits", "sirnn": "sirnn"}


def compared(path, samples, x, setting):
    """A prediction of each item, within a little of what onnxruntime has of it."""
    options, run = SETTINGS[setting]
    model = tacit.compile(path, samples=samples, protocol=run["protocol"], **options)
    outputs = tacit.local(**run).predict(model, x).outputs
    session = onnxruntime.InferenceSession(path)
    given = x if isinstance(x, dict) else {"x": x}
    wanted = session.run(None, given)
    for output, right in zip(session.get_outputs(), wanted, strict=True):
        found = outputs[output.name].reshape(right.shape)
        assert np.abs(found - right).max() <= 0.02 * max(right.std(), 0.1), output.name
    return model


def matrix(n, seed=0):
    """Three numbers and two categories of five, as one matrix of floats."""
    rng = np.random.default_rng(seed)
    return np.hstack([rng.normal(0, 1, (n, 3)), rng.integers(0, 5, (n, 2))]).astype("f4")


def coded(path):
    """Columns of a matrix as categories: `x[:, 3].long()` chooses rows of a table."""
    net = Net([5])
    parts = [net("Gather", "x", np.array(column), axis=1) for column in (3, 4)]
    codes = [net("Cast", part, to=INT) for part in parts]
    rows = [net("Gather", net.rng.normal(0, 1, (5, k)), code)
            for k, code in zip((4, 2), codes, strict=True)]  # fmt: skip
    numbers = net("Slice", "x", np.array([0]), np.array([3]), np.array([1]))
    net.save(path, net.linear(net("Concat", numbers, *rows, axis=1), 9, 2), opset=18)


@pytest.mark.parametrize("setting", SETTINGS)
def test_categories_among_numbers(setting, tmp_path):
    path = str(tmp_path / "m.onnx")
    coded(path)
    compared(path, matrix(8), matrix(4, 1), setting)


@pytest.mark.parametrize("value", [5.0, -1.0, 1.5])
def test_no_other_category_is_taken(value, tmp_path):
    """Neither one that the table has not, nor what lies between two, which a cast makes one."""
    path = str(tmp_path / "m.onnx")
    coded(path)
    model = tacit.compile(path, samples=matrix(8))
    x = matrix(4, 1)
    x[2, 4] = value
    with pytest.raises(tacit.TacitError, match="whole numbers from 0 to 4"):
        tacit.local(protocol="clear").predict(model, x)


def test_a_cast_of_all_numbers_makes_tokens(tmp_path):
    """Where an input of floats holds categories alone, they are shared as tokens."""
    path = str(tmp_path / "m.onnx")
    net = Net([6])
    rows = net("Gather", net.rng.normal(0, 1, (20, 4)), net("Cast", "x", to=INT))
    net.save(path, net("ReduceMean", rows, axes=[1], keepdims=0), opset=17)
    x = np.random.default_rng(0).integers(0, 20, (8, 6)).astype("f4")
    model = compared(path, x, x[:3], "falcon, 64 bits")
    assert model.plan["inputs"][0]["kind"] == {"tokens": {"classes": 20}}


@pytest.mark.parametrize("setting", SETTINGS)
def test_remainders_choose_rows(setting, tmp_path):
    """Numbers of words that are hashed to the rows of a small table."""
    path = str(tmp_path / "m.onnx")
    net = Net((), 1, [("ids", INT, ["N", 3])])
    rows = net("Gather", net.rng.normal(0, 1, (8, 4)), net("Mod", "ids", np.array(8)))
    net.save(path, rows, opset=18)
    ids = np.random.default_rng(0).integers(0, 100, (8, 3))
    x = ids[:4]
    if setting == "shamir, 31 bits":
        # So few bits give another row of one multiple of 8 in a hundred, which is warned of.
        x = np.where(x % 8 == 0, x + 1, x)
    model = compared(path, {"ids": ids}, {"ids": x}, setting)
    if setting == "shamir, 31 bits":
        assert any("61-bit field" in warning for warning in model.warnings)


def last_valid(path, steps=5, size=3):
    """The last step of a sequence by its length, as torch's `gather` is exported."""
    net = Net((), 2, [("x", FLOAT, ["N", steps, size]), ("n", INT, ["N"])])
    place = net("Reshape", net("Sub", "n", np.array(1)), np.array([-1, 1, 1]))
    first = net("Slice", net("Shape", "x"), np.array([0]), np.array([1]))
    place = net("Expand", place, net("Concat", first, np.array([1, size]), axis=0))
    found = net("GatherElements", "x", place, axis=1)
    net.save(path, net("Squeeze", found, np.array([1])), opset=18)


@pytest.mark.parametrize("setting", SETTINGS)
def test_lengths_choose_the_last_step(setting, tmp_path):
    path = str(tmp_path / "m.onnx")
    last_valid(path)
    rng = np.random.default_rng(0)
    x = {"x": rng.normal(0, 1, (8, 5, 3)).astype("f4"), "n": np.array([1, 5, 3, 2, 4, 5, 1, 3])}
    compared(path, x, {name: v[:4] for name, v in x.items()}, setting)


def rows_at(path, flat, batch="N", steps=5, size=3):
    """`x[arange(len(x)), n - 1]` as torch's exporters write it: by pairs, or of one table.

    The newer one computes with the batch, which is free; the older one merges it with the steps,
    and writes what it takes the sizes of twice.
    """
    net = Net((), 2, [("x", FLOAT, [batch, steps, size]), ("n", INT, [batch])])
    turned = net("Transpose", net.linear("x", size, 4), perm=[1, 0, 2])
    turned, again = (net("Transpose", turned, perm=[1, 0, 2]) for _ in range(2))
    items = net("Gather", net("Shape", "x"), np.array(0), axis=0)
    rows = net("Range", np.array(0), items, np.array(1))
    place = net("Sub", "n", np.array(1))
    if flat:
        count = net("Gather", net("Shape", again), np.array(1), axis=0)
        both = net("Add", place, net("Mul", rows, count))
        net.save(path, net("Gather", net("Flatten", turned, axis=2), both, axis=0))
        return
    pair = [net("Unsqueeze", each, np.array([-1])) for each in (rows, place)]
    net.save(path, net("GatherND", turned, net("Concat", *pair, axis=-1)))


@pytest.mark.parametrize("flat", [False, True], ids=["pairs", "flattened"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_lengths_choose_a_row_of_every_item(setting, flat, tmp_path):
    path = str(tmp_path / "m.onnx")
    rows_at(path, flat)
    rng = np.random.default_rng(0)
    x = {"x": rng.normal(0, 1, (8, 5, 3)).astype("f4"), "n": np.array([1, 5, 3, 2, 4, 5, 1, 3])}
    compared(path, x, {name: v[:4] for name, v in x.items()}, setting)


@pytest.mark.parametrize("length", [6, -1])
def test_no_length_leads_beyond_its_item(length, tmp_path):
    path = str(tmp_path / "m.onnx")
    rows_at(path, flat=False)
    model = tacit.compile(path)
    x = {"x": np.zeros((2, 5, 3), "f4"), "n": np.array([1, length])}
    with pytest.raises(tacit.TacitError, match="whole numbers from 0 to 5"):
        tacit.local(protocol="clear").predict(model, x)


@pytest.mark.parametrize("setting", SETTINGS)
def test_quotients_of_places_choose_rows(setting, tmp_path):
    """A place among all scores as torch divides it, less 1 below 0: a truth, cast to a number."""
    path = str(tmp_path / "m.onnx")
    net = Net([4, 3])
    flat = net("Reshape", "x", np.array([-1, 12]))
    place = net("ArgMax", flat, axis=1, keepdims=0)
    below = net("Equal", net("Less", place, np.array(0)), np.array([True]))
    rest = net("Cast", net("Mod", place, np.array(3)), to=TensorProto.BOOL)
    less = net("Cast", net("And", below, rest), to=INT)
    row = net("Sub", net("Div", place, np.array(3)), less)
    batch = net("Gather", net("Shape", "x"), np.array(0), axis=0)
    pair = (net("Range", np.array(0), batch, np.array(1)), row)
    pair = [net("Unsqueeze", each, np.array([-1])) for each in pair]
    found = net("GatherND", "x", net("Concat", *pair, axis=-1))
    net.save(path, net.linear(found, 3, 2))
    x = np.random.default_rng(0).normal(0, 1, (8, 4, 3)).astype("f4")
    compared(path, x, x[:4], setting)


def test_rows_joined_of_a_fixed_batch_are_not_apart(tmp_path):
    """A place below 0 of the second item is the last row of the first in the file."""
    path = str(tmp_path / "m.onnx")
    rows_at(path, flat=True, batch=2)
    with pytest.raises(tacit.CompileError, match="may be 10, outside axis 0 of 10"):
        tacit.compile(path)


BY_PLACES = {
    "a limit above alone": lambda net, at: net("Clip", at, "", np.array(1)),
    "a constant of more axes": lambda net, at: net("Add", at, np.array([[1]])),
    "a constant of more places": lambda net, at: net("Add", at, np.ones((3, 1), np.int64)),
    "the sign of what is divided": lambda net, at: net(
        "Mod", net("Sub", at, np.array(3)), np.array(2), fmod=1
    ),
    "constants of several shapes": lambda net, at: net(
        "Where", net("Greater", at, np.array(0)), np.ones((3, 2), np.int64), np.array([2, 2])
    ),
}


@pytest.mark.parametrize("form", BY_PLACES)
def test_places_are_computed_with_as_other_numbers(form, tmp_path):
    """Beside constants of all shapes, of places that ArgMax finds."""
    net = Net((), 0, [("x", FLOAT, [2, 5])])
    place = net("ArgMax", "x", axis=1, keepdims=0)
    made = net("Cast", BY_PLACES[form](net, place), to=FLOAT)
    net.save(tmp_path / "m.onnx", net("Mul", made, np.float32(0.5)))
    x = np.random.default_rng(0).normal(0, 1, (6, 2, 5)).astype("f4")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    right = np.stack([session.run(None, {"x": item})[0] for item in x])
    model = tacit.compile(tmp_path / "m.onnx")
    assert tuple(model.input_shape) == (5,)
    found = tacit.local("clear").predict(model, x.reshape(-1, 5)).output
    # The items of the batch of two stand along the last axis.
    right = np.concatenate(right, axis=-1)
    assert found.shape == right.shape
    assert np.abs(found - right).max() < 1e-3


def sparse_shares(path, n=6):
    """Sparsemax: the threshold stands at a place that is a count of comparisons."""
    net = Net([n])
    order = np.arange(1, n + 1, dtype=np.float32)
    values = net.constant(np.array([n]))
    outputs = ["sorted", "places"]
    net.nodes.append(helper.make_node("TopK", ["x", values], outputs, "top", axis=1))
    sums = net("CumSum", "sorted", np.array(1))
    inside = net("Greater", net("Add", net("Mul", "sorted", order), np.float32(1)), sums)
    count = net("ReduceSum", net("Cast", inside, to=INT), np.array([1]), keepdims=1)
    sum_of = net("GatherElements", sums, net("Sub", count, np.array(1)), axis=1)
    least = net("Div", net("Sub", sum_of, np.float32(1)), net("Cast", count, to=FLOAT))
    net.save(path, net("Relu", net("Sub", "x", least)), opset=18)


@pytest.mark.parametrize("setting", SETTINGS)
def test_counts_choose_elements(setting, tmp_path):
    path = str(tmp_path / "m.onnx")
    sparse_shares(path)
    x = np.random.default_rng(0).normal(0, 1, (8, 6)).astype("f4")
    compared(path, x, x[:4], setting)


def test_constant_steps_begin_at_a_computed_state(tmp_path):
    """A decoder that is given a constant first step, and the state of what came before."""
    path = str(tmp_path / "m.onnx")
    net = Net([4])
    state = net("Unsqueeze", "x", np.array([0]))
    batch = net("Slice", net("Shape", "x"), np.array([0]), np.array([1]))
    sizes = net("Concat", np.array([2]), batch, np.array([3]), axis=0)
    steps = net("Expand", np.float32([[[0.5, -1, 0.25]], [[1, 0, 0]]]), sizes)
    gates = [net.rng.normal(0, 0.5, shape) for shape in ((1, 12, 3), (1, 12, 4), (1, 24))]
    out = net("GRU", steps, *gates, "", state, hidden_size=4)
    net.save(path, net("Squeeze", net("Gather", out, np.array(1), axis=0), np.array([0])), opset=18)
    x = np.random.default_rng(0).normal(0, 1, (8, 4)).astype("f4")
    compared(path, x, x[:4], "clear, 64 bits")


def weighed(path):
    """A mean of numbers by the inverse distances of where they stand, of which one may be 0."""
    net = Net([2])
    places = net.rng.normal(0, 1, (4, 2))
    places[0] = [0.5, -0.25]
    apart = net("Sub", net("Unsqueeze", "x", np.array([1])), places[None])
    squares = net("ReduceSum", net("Mul", apart, apart), np.array([2]), keepdims=0)
    weights = net("Reciprocal", net("Max", net("Sqrt", squares), np.float32(1e-6)))
    of_all = net("ReduceSum", weights, np.array([1]), keepdims=1)
    told = net("ReduceSum", net("Mul", weights, np.arange(4.0)), np.array([1]), keepdims=1)
    net.save(path, net("Div", told, of_all), opset=18)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "sirnn"])
def test_neighbours_are_weighed_by_their_distance(protocol, tmp_path):
    path = str(tmp_path / "m.onnx")
    weighed(path)
    samples = np.random.default_rng(0).normal(0, 1, (16, 2)).astype("f4")
    near = np.float32([[0.5, -0.25], [0.51, -0.25], [0.6, 0]])
    compared(path, samples, np.vstack([near, samples[:2]]), SETTING_OF[protocol])


@pytest.mark.parametrize("setting", SETTING_OF.values())
@pytest.mark.parametrize("classes", [1, 3])
def test_detections_end_to_end(classes, setting, tmp_path):
    """Boxes of the best classes among the best anchors, by rows of places that places choose.

    Ultralytics' networks end so (YOLOv10 and later): the places of the second TopK say which of the
    first one's, whose places are those of boxes.
    """
    path = str(tmp_path / "m.onnx")
    anchors, k = 12, 4
    net = Net([], inputs=[("x", FLOAT, [1, anchors, 4 + classes])])
    boxes, scores = (
        net("Slice", "x", np.array([first]), np.array([end]), np.array([2]))
        for first, end in ((0, 4), (4, 4 + classes))
    )
    net("TopK", net("ReduceMax", scores, axes=[-1], keepdims=0), np.array([k]), axis=-1)
    net.nodes[-1].output[:] = ["best", "index"]
    index = net("Unsqueeze", "index", np.array([-1]))
    kept = net("GatherElements", scores, net("Tile", index, np.array([1, 1, classes])), axis=1)
    net("TopK", net("Flatten", kept, axis=1), np.array([k]), axis=-1)
    net.nodes[-1].output[:] = ["score", "place"]
    row = net("Div", "place", np.array(classes))
    found = net("Gather", net("Flatten", index, axis=2), row, axis=0)
    every = net("Tile", found, np.array([1, 1, 4]))
    boxes = net("GatherElements", boxes, every, axis=1)
    kind = net("Cast", net("Mod", "place", np.array(classes)), to=FLOAT)
    ends = [net("Unsqueeze", end, np.array([2])) for end in ("score", kind)]
    net.save(path, net("Concat", boxes, *ends, axis=-1), opset=17)
    x = np.random.default_rng(1).random((8, 1, anchors, 4 + classes)).astype("f4")
    options, run = SETTINGS[setting]
    model = tacit.compile(path, samples=x, protocol=run["protocol"], **options)
    output = tacit.local(**run).predict(model, x[:3]).output
    session = onnxruntime.InferenceSession(path)
    right = np.concatenate([session.run(None, {"x": each})[0] for each in x[:3]])
    assert np.abs(output.reshape(right.shape) - right).max() <= 0.001
