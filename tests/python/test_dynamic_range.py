"""Normalisations of inputs much quieter and louder than the samples, inside the declared range.

A layer's variance has the square of its inputs' range: inputs from 2^-8 to 2^8 times the samples
are variances from 2^-16 to 2^16 times theirs, about as far as 64 bits hold with a relative error of
2^-10; a field of 61 bits holds 2^-6 to 2^6. A softmax holds for any inputs.
"""

import numpy as np
import onnx
import pytest
from nets import Net
from onnx import TensorProto, helper

import tacit

LENGTH, EPSILON = 8, 1e-9
RELATIVE = 2.0**-10
SETTINGS = {
    "clear": {"protocol": "clear"},
    "falcon": {"protocol": "falcon"},
    "bicoptor ubl": {"protocol": "bicoptor", "sharing": "ubl"},
    "bicoptor rss": {"protocol": "bicoptor", "sharing": "rss"},
    "shamir": {"protocol": "shamir"},
}


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON)


def rms_norm(x):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON)


def softmax(x):
    exp = np.exp(x - x.max(-1, keepdims=True))
    return 2 * exp / exp.sum(-1, keepdims=True)


NODE = helper.make_node
FUNCTIONS = {
    "LayerNormalization": (
        [NODE("LayerNormalization", ["x", "ones"], ["y"], axis=-1, epsilon=EPSILON)],
        layer_norm,
        8,
    ),
    "RMS normalisation": (
        [
            NODE("Mul", ["x", "x"], ["square"]),
            NODE("ReduceMean", ["square", "axes"], ["mean"], keepdims=1),
            NODE("Add", ["mean", "epsilon"], ["sum"]),
            NODE("Sqrt", ["sum"], ["root"]),
            NODE("Div", ["x", "root"], ["y"]),
        ],
        rms_norm,
        8,
    ),
    # Its result is used, or the receiver would compute it.
    "softmax": (
        [NODE("Softmax", ["x"], ["share"], axis=-1), NODE("Add", ["share", "share"], ["y"])],
        softmax,
        12,
    ),
}
"""The nodes, the function, and how many powers of two its inputs may be off to either side."""
FEWER = 2
"""Powers of two fewer that inputs may be off over a field."""


@pytest.fixture(scope="module", params=FUNCTIONS)
def compiled(request, tmp_path_factory):
    """How to plan the model for a setting, its function, and samples of all sizes."""
    nodes, function, powers = FUNCTIONS[request.param]
    constants = [
        helper.make_tensor("ones", TensorProto.FLOAT, [LENGTH], np.ones(LENGTH)),
        helper.make_tensor("epsilon", TensorProto.FLOAT, [], [EPSILON]),
        helper.make_tensor("axes", TensorProto.INT64, [1], [-1]),
    ]
    value = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", LENGTH]) for name in "xy"
    ]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(model, path)
    samples = np.random.default_rng(1).normal(size=(16, LENGTH)).astype(np.float32)

    def planned(field):
        most = powers - FEWER if field else powers
        x = np.concatenate([samples * np.float32(2.0**k) for k in range(-most, most + 1, 2)])
        limit = float(np.abs(x).max())
        return tacit.compile(path, samples=samples, input_range=limit, **field), x

    return planned, function


@pytest.mark.parametrize("setting", SETTINGS)
def test_normalisations_hold_for_quiet_and_loud_inputs(compiled, setting):
    planned, function = compiled
    field = {"field": 61} if setting == "shamir" else {}
    model, x = planned(field)
    result = tacit.local(**SETTINGS[setting]).predict(model, x)
    exact = function(x.astype(np.float64))
    # The planner tries inputs 2^-10 times the samples, too, which a field does not hold.
    assert field or not result.report.warnings
    # All results are about 1 at most.
    assert np.abs(result.output - exact).max() <= RELATIVE * np.abs(exact).max()


def vanishing(path, layers):
    """What falls below the last place, and normalisations that make much of what is left of it.

    The weights are small, as those of networks that were never trained.
    """
    net, value, n = Net([6, 32]), "x", 32

    def weights(*shape):
        return net.rng.normal(0, 0.1, shape)

    for _ in range(14):
        value = net("MatMul", value, weights(n, n) / 64)
        value = net("Mul", value, net("Sigmoid", value))
    for _ in range(layers):
        normal = net("LayerNormalization", value, np.ones(n), axis=-1, epsilon=1e-5)
        wide = net("MatMul", normal, weights(n, 2 * n))
        wide = net("Mul", wide, net("Sigmoid", wide))
        value = net("Add", value, net("MatMul", wide, weights(2 * n, n)))
    net.save(path, value, opset=17)


@pytest.mark.parametrize("layers", [5, 9])
def test_what_vanishes_comes_back_as_rounding_alone(tmp_path, layers):
    """Of next to nothing normalisations make numbers of the size of others: a plan provides for
    these, and says so."""
    path = str(tmp_path / "m.onnx")
    vanishing(path, layers)
    x = np.random.default_rng(0).normal(0, 1, (4, 6, 32)).astype("f4")
    model = tacit.compile(path, samples=x)
    assert any("through rounding" in warning for warning in model.warnings)
    for setting in SETTINGS.values():
        output = tacit.local(**setting).predict(model, x).output
        assert np.abs(output).max() < 2, setting


def test_what_vanishes_in_few_bits_is_still_planned(tmp_path):
    """Bounds of what rounding leads to take fraction bits, and no plan is refused for them."""
    path = str(tmp_path / "m.onnx")
    vanishing(path, 5)
    x = np.random.default_rng(0).normal(0, 1, (4, 6, 32)).astype("f4")
    model = tacit.compile(path, samples=x, ring=32)
    assert any("rounding" in warning for warning in model.warnings)
    output = tacit.local(protocol="clear").predict(model, x).output
    assert np.abs(output).max() < 4
