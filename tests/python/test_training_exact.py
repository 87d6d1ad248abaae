"""What a training computes beside what PyTorch does, at the ends of what it takes."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit
from tacit import TacitError


def trainer(folder, model, start=None, **options):
    """A training in the clear, from given weights."""
    if start is not None:
        path = folder / "start.bin"
        np.asarray(start, "<f4").tofile(path)
        model = {**model, "weights": str(path)}
    return tacit.Trainer(model, protocol="clear", **options)


ONE = {"input": [1], "layers": [{"type": "linear", "outputs": 1, "bias": False}]}


@pytest.mark.parametrize(("items", "batch"), [(17, 16), (40, 16), (129, 128), (5, 8)])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_momentum_counts_items_alike_in_whole_batches_and_others(tmp_path, items, batch, decay):
    """Items that are all alike, so that their order is none; PyTorch's rule is written out."""
    options = {"batch": batch, "epochs": 4, "learning_rate": 0.05, "momentum": 0.9}
    options |= {"weight_decay": decay, "loss": "mean-squared-error"}
    data = np.ones((items, 1), np.float32), np.full((items, 1), 2, np.float32)
    w = v = 0.0
    for _ in range(4 * -(-items // batch)):
        v = 0.9 * v + (w - 2) + decay * w
        w -= 0.05 * v
    training = trainer(tmp_path, ONE, [0.0], **options)
    np.testing.assert_allclose(training.fit([(0, *data)]).weights, [w], atol=2e-3)
    np.testing.assert_allclose(weights(training.reference([(0, *data)])[0]), [w], atol=2e-3)


def weights(file):
    initializers = onnx.load_from_string(file).graph.initializer
    return np.concatenate([numpy_helper.to_array(each).ravel() for each in initializers])


@pytest.mark.parametrize(
    ("shape", "batch", "mean", "deviation"),
    [((1, 64, 64), 32, 130, 18), ((1, 32, 32), 16, 980, 3), ((2, 28, 28), 64, 0, 20)],
)
def test_large_images_are_normalised(tmp_path, shape, batch, mean, deviation):
    """Many numbers of a channel, far from 0 or far apart: running statistics are the batch's."""
    rng = np.random.default_rng(1)
    x = rng.normal(mean, deviation, (batch, *shape)).astype(np.float32)
    # One that is far from the others.
    x[0] += 5 * deviation
    pool = {"type": "avg-pool", "kernel": shape[1]}
    layers = [{"type": "batch-norm"}, pool, {"type": "linear", "outputs": 2}]
    training = trainer(tmp_path, {"input": list(shape), "layers": layers}, batch=batch, epochs=1)
    found = training.fit([(0, x, np.arange(batch) % 2)]).weights
    running = found[2 * shape[0] : 4 * shape[0]].reshape(2, shape[0])
    channels = x.transpose(1, 0, 2, 3).reshape(shape[0], -1)
    np.testing.assert_allclose(running[0], 0.1 * channels.mean(1), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(running[1], 0.9 + 0.1 * channels.var(1, ddof=1), rtol=1e-3)


def test_a_normalised_item_alone_is_refused(tmp_path):
    last = {"type": "linear", "outputs": 3}
    layers = [last, {"type": "batch-norm"}, last]
    data = np.zeros((9, 2), np.float32), np.arange(9) % 3
    training = trainer(tmp_path, {"input": [2], "layers": layers}, batch=8, epochs=1)
    for act in (lambda: training.fit([(0, *data)]), lambda: training.reference([(0, *data)])):
        with pytest.raises(TacitError, match="leave one item in a mini-batch"):
            act()
    assert training.fit([(0, *(each[:8] for each in data))]).weights.size


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_windows_that_reach_beyond_an_image_are_refused(tmp_path, kind):
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 5, 5]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3]),
    ]
    nodes = [
        helper.make_node(kind, ["x"], ["p"], "p", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w"], ["y"]),
    ]
    matrix = numpy_helper.from_array(np.ones((9, 3), np.float32), "w")
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [matrix])
    path = tmp_path / "up.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    data = np.zeros((2, 1, 5, 5), np.float32), np.arange(2)
    with pytest.raises(TacitError, match=r"'p'.*ceil_mode"):
        tacit.Trainer(path).fit(data)


def test_the_mean_of_many_has_few_fraction_bits(tmp_path):
    """A factor of 1/576 is 0 in 8 bits."""
    layers = [{"type": "avg-pool", "kernel": 24}, {"type": "linear", "outputs": 1, "bias": False}]
    x, y = np.full((4, 1, 24, 24), 2, np.float32), np.full((4, 1), 1, np.float32)
    options = {"batch": 4, "epochs": 1, "learning_rate": 0.25, "fraction_bits": 8}
    model = {"input": [1, 24, 24], "layers": layers}
    training = trainer(tmp_path, model, [0.0], loss="mean-squared-error", **options)
    np.testing.assert_allclose(training.fit([(0, x, y)]).weights, [0.5], atol=0.02)


def test_accuracy_is_that_of_the_largest_outputs(tmp_path):
    """Of outputs that are close in few fraction bits, and of targets that are no class."""
    model = {"input": [4], "layers": [{"type": "linear", "outputs": 4, "bias": False}]}
    options = {"batch": 8, "epochs": 1, "learning_rate": 1e-2, "fraction_bits": 8}
    x, y = np.eye(4, dtype=np.float32).repeat(2, 0), np.arange(8) // 2
    start = 0.06 * np.roll(np.eye(4), 1, 1)
    training = trainer(tmp_path, model, start, reveal_curve=True, **options)
    epochs = training.fit([(0, x, y)], [(0, x, y)]).report.epochs
    assert epochs[-1]["accuracy"] == 0
    soft = np.full((8, 4), 0.1, np.float32) + 0.6 * np.eye(4, dtype=np.float32)[y]
    with pytest.raises(TacitError, match="no single class"):
        training.fit([(0, x, soft)], [(0, x, soft)])


def test_numbers_of_one_output_are_no_classes(tmp_path):
    options = {"batch": 4, "epochs": 1, "learning_rate": 0.5, "loss": "mean-squared-error"}
    data = np.ones((4, 1), np.float32), np.zeros(4, np.int64)
    assert trainer(tmp_path, ONE, [0.0], **options).fit([(0, *data)]).weights == [0]


@pytest.mark.parametrize(
    ("shape", "given", "fits"),
    [
        ([3, 4, 4], (2, 4, 4, 3), False),
        ([3, 4, 4], (2, 3, 4, 4), True),
        ([3, 4, 4], (2, 48), True),
        ([1, 4, 4], (2, 4, 4), True),
        ([3, 4, 4], (2, 16, 3), False),
    ],
)
def test_items_of_another_layout_are_refused(shape, given, fits):
    layers = [{"type": "linear", "outputs": 3}]
    training = tacit.Trainer({"input": shape, "layers": layers}, protocol="clear")
    data = np.zeros(given, np.float32), np.arange(2)
    if fits:
        training.fit([(0, *data)])
        return
    with pytest.raises(tacit.InputError, match="reshape"):
        training.fit([(0, *data)])
    with pytest.raises(tacit.InputError, match="targets"):
        training.fit([(0, np.zeros((2, *shape), np.float32), np.zeros((3, 2), np.float32))])


def test_factors_beyond_what_there_is_are_refused(tmp_path):
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3]),
    ]
    numbers = {"s": np.float32(1e13), "w": np.ones((2, 3), np.float32)}
    initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in numbers.items()]
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Mul", ["r", "s"], ["m"], "large"),
        helper.make_node("Relu", ["m"], ["q"]),
        helper.make_node("Gemm", ["q", "w"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], initializers)
    path = tmp_path / "large.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    data = np.zeros((2, 2), np.float32), np.arange(2)
    with pytest.raises(TacitError, match=r"'large'.*below 1024"):
        tacit.Trainer(path).fit(data)
