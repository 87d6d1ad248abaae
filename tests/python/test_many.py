"""Operations of a batch whose items stand beside others: convolutions and pools of all at once."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

RNG = np.random.default_rng(0)
F32 = np.float32
INFINITE = F32(-np.inf)


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def saved(path, nodes, shape, tensors):
    ends = [
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    ]
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()]
    graph = helper.make_graph(nodes, "test", *ends, named)
    imports = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def of_places(path, inside, item, many, **tensors):
    """A model of `many` places an item, which stand beside the items before the nodes `inside`."""
    of_one = [node("Identity", "x", "a"), *inside, node("Identity", "b", "y")]
    saved(path, of_one, [1, *item], tensors)
    session = onnxruntime.InferenceSession(str(path))
    size = session.run(None, {"x": np.zeros((1, *item), F32)})[0].size
    nodes = [node("Reshape", "x", "apart", "a"), *inside, node("Reshape", "b", "back", "y")]
    shapes = {"apart": np.array([-1, *item]), "back": np.array([-1, many * size])}
    saved(path, nodes, ["N", many, *item], {**shapes, **tensors})


def check(path, x):
    session = onnxruntime.InferenceSession(str(path))
    right = np.concatenate([session.run(None, {"x": one[None]})[0] for one in x])
    model = tacit.compile(path, samples=x)
    found = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=2e-3, rtol=1e-3)
    return model


def weights(*shape):
    return RNG.normal(size=shape).astype(F32)


CONVOLUTIONS = {
    "line": ((3, 9), weights(4, 3, 3), {"pads": [1, 1]}),
    "plane": ((3, 7, 6), weights(4, 3, 3, 2), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
    "groups": ((4, 6, 6), weights(6, 2, 3, 3), {"group": 2, "dilations": [2, 1]}),
    "depthwise": ((4, 6, 6), weights(4, 1, 3, 3), {"group": 4, "auto_pad": "SAME_UPPER"}),
    "one tap": ((3, 4, 4), weights(5, 3, 1, 1), {}),
    "whole": ((3, 4, 4), weights(5, 3, 4, 4), {}),
    "space": ((2, 4, 5, 4), weights(3, 2, 2, 3, 2), {"pads": [1, 0, 1, 0, 1, 0]}),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions_of_many_places_are_right(tmp_path, kind):
    item, w, attributes = CONVOLUTIONS[kind]
    inside = [node("Conv", "a", "w", "bias", "b", **attributes)]
    path = tmp_path / "m.onnx"
    of_places(path, inside, item, 5, w=w, bias=weights(len(w)))
    check(path, RNG.normal(size=(6, 5, *item)).astype(F32))


def test_quantised_convolutions_of_many_places_are_right(tmp_path):
    """Convolutions of integers with zero points, a scale for each filter, and numbers again."""
    inside = [
        node("QuantizeLinear", "a", "scale", "zero", "q"),
        node("QLinearConv", "q", "scale", "zero", "w", "scales", "zeros", "scale", "zero", "c"),
        node("DequantizeLinear", "c", "scale", "zero", "b"),
    ]
    path = tmp_path / "m.onnx"
    tensors = {
        "scale": F32(0.125), "zero": np.uint8(100), "scales": F32([0.5, 0.25, 0.125]),
        "zeros": np.zeros(3, np.int8), "w": RNG.integers(-3, 4, (3, 2, 2, 2)).astype(np.int8),
    }  # fmt: skip
    of_places(path, inside, (2, 4, 4), 5, **tensors)
    check(path, RNG.integers(-4, 5, (6, 5, 2, 4, 4)).astype(F32))


POOLS = {
    "MaxPool": {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]},
    "AveragePool": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
    "LpPool": {"kernel_shape": [2, 2], "p": 1},
    "GlobalAveragePool": {},
    "GlobalMaxPool": {},
    "GlobalLpPool": {"p": 1},
}


@pytest.mark.parametrize("kind", POOLS)
def test_pools_of_many_places_are_right(tmp_path, kind):
    inside = [node(kind, "a", "b", **POOLS[kind])]
    path = tmp_path / "m.onnx"
    of_places(path, inside, (3, 6, 5), 5)
    check(path, RNG.normal(size=(6, 5, 3, 6, 5)).astype(F32))


@pytest.mark.parametrize("item", [(4,), (4, 3, 2)])
def test_channels_of_many_places_are_normalised(tmp_path, item):
    names = ["scale", "shift", "mean", "variance"]
    inside = [node("BatchNormalization", "a", *names, "b")]
    numbers = {name: np.abs(weights(4)) + F32(0.5) for name in names}
    path = tmp_path / "m.onnx"
    of_places(path, inside, item, 5, **numbers)
    check(path, RNG.normal(size=(6, 5, *item)).astype(F32))


def test_many_places_take_the_rounds_of_one_and_are_as_many_as_there_are(tmp_path):
    """Of more than 64 places files were refused; of fewer each took its own rounds."""
    rounds = []
    for many in (2, 80):
        inside = [
            node("Conv", "a", "w", "c"),
            node("Relu", "c", "r"),
            node("MaxPool", "r", "b", kernel_shape=[2, 2]),
        ]
        path = tmp_path / f"{many}.onnx"
        of_places(path, inside, (2, 5, 5), many, w=weights(3, 2, 2, 2))
        model = check(path, RNG.normal(size=(6, many, 2, 5, 5)).astype(F32))
        rounds.append(model.predict_cost(1, protocol="falcon")["online"]["rounds"])
    assert rounds[0] == rounds[1]


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_every_protocol_has_many_places_at_once(tmp_path, protocol):
    inside = [node("Conv", "a", "w", "c"), node("MaxPool", "c", "b", kernel_shape=[2, 2])]
    path = tmp_path / "m.onnx"
    of_places(path, inside, (2, 4, 4), 3, w=weights(3, 2, 2, 2))
    x = RNG.normal(size=(6, 3, 2, 4, 4)).astype(F32)
    session = onnxruntime.InferenceSession(str(path))
    right = np.concatenate([session.run(None, {"x": one[None]})[0] for one in x[:2]])
    model = tacit.compile(path, samples=x, protocol=protocol)
    found = tacit.local(protocol=protocol).predict(model, x[:2]).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=2e-2, rtol=1e-2)


def padded(path, value, before=(0, 0, 0, 1, 0, 0, 2, 1), **attributes):
    nodes = [
        node("Pad", "x", "pads", "value", "p"),
        node("MaxPool", "p", "y", kernel_shape=[3, 3], strides=[2, 2], **attributes),
    ]
    tensors = {"pads": np.array(before), "value": np.asarray(value, F32)}
    saved(path, nodes, ["N", 2, 7, 6], tensors)


@pytest.mark.parametrize("value", [INFINITE, np.finfo(F32).min])
@pytest.mark.parametrize("own", [{}, {"pads": [1, 0, 0, 1]}])
def test_the_lowest_numbers_before_a_maximum_are_its_padding(tmp_path, value, own):
    """All numbers are negative: padding with 0 would be the maximum."""
    path = tmp_path / "m.onnx"
    padded(path, value, **own)
    check(path, -np.abs(RNG.normal(size=(6, 2, 7, 6))).astype(F32) - F32(1))


def test_numbers_that_a_maximum_sees_are_padding_of_the_value(tmp_path):
    path = tmp_path / "m.onnx"
    padded(path, -2.0)
    check(path, (-4 * np.abs(RNG.normal(size=(6, 2, 7, 6)))).astype(F32))


@pytest.mark.parametrize(
    "given",
    [
        {"ceil_mode": 1},
        {"auto_pad": "SAME_UPPER"},
        {"before": (0, 0, 0, -1, 0, 0, 0, 0)},
        {"before": (0, 1, 0, 0, 0, 0, 0, 0)},
    ],
)
def test_other_padding_with_infinity_is_refused(tmp_path, given):
    """The windows of a maximum that is padded itself stand elsewhere, or there are others."""
    path = tmp_path / "m.onnx"
    padded(path, INFINITE, **given)
    with pytest.raises(tacit.TacitError, match="fills a computed value up with -inf"):
        tacit.compile(path, samples=-np.ones((4, 2, 7, 6), F32), protocol="clear")
