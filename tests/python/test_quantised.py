"""Models of quantised numbers, on a grid where nothing is near the middle of two integers.

Every protocol has onnxruntime's integers there.
"""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit
from graphs.judge import SETTINGS

RNG = np.random.default_rng(5)
SCALE = np.float32(0.25)


def file(path, nodes, constants, shape, outputs):
    """A model of these nodes, whose input is `x`."""
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    imports = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def same(path, setting, x):
    """Holds the answers of a setting to onnxruntime's."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    [wanted] = session.run(None, {"x": x})
    given, run = SETTINGS[setting]
    model = tacit.compile(path, samples=x, **given)
    output = tacit.local(**run).predict(model, x).output
    assert np.ptp(wanted) > 1
    np.testing.assert_allclose(output, wanted, rtol=2e-3, atol=0.02)


def grid(*shape):
    """Numbers that are whole at the scale."""
    return (RNG.integers(-12, 13, (4, *shape)) * SCALE).astype(np.float32)


@pytest.mark.parametrize("setting", SETTINGS)
def test_dense_layers(setting, tmp_path):
    """QLinearMatMul, whose sums are thirds of the result's scale, and MatMulInteger by columns."""
    constants = {
        "s": SCALE, "z": np.uint8(128), "w": RNG.integers(-8, 9, (6, 5)).astype(np.int8),
        "ws": np.float32(0.5), "wz": np.int8(1), "ys": np.float32(0.375), "yz": np.uint8(100),
        "v": RNG.integers(-3, 4, (5, 2)).astype(np.int8), "vz": np.int8([1, -1]),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "quantise"),
        helper.make_node(
            "QLinearMatMul", ["q", "s", "z", "w", "ws", "wz", "ys", "yz"], ["h"], "dense"
        ),
        helper.make_node("MatMulInteger", ["h", "v", "yz", "vz"], ["i"], "integers"),
        helper.make_node("Cast", ["i"], ["y"], "cast", to=TensorProto.FLOAT),
    ]
    path = tmp_path / "model.onnx"
    file(path, nodes, constants, [6], ["y"])
    same(path, setting, grid(6))


@pytest.mark.parametrize("setting", SETTINGS)
def test_convolutions(setting, tmp_path):
    """QLinearConv with scales by filter and a bias; its sums are ninths of the result's scale."""
    constants = {
        "s": SCALE, "z": np.uint8(128), "w": RNG.integers(-5, 6, (2, 2, 3, 3)).astype(np.int8),
        "ws": np.float32([0.5, 0.25]), "wz": np.int8([0, 0]), "ys": np.float32(0.5625),
        "yz": np.uint8(90), "b": np.int32([3, -40]),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "quantise"),
        helper.make_node(
            "QLinearConv", ["q", "s", "z", "w", "ws", "wz", "ys", "yz", "b"], ["h"], "conv",
            pads=[1, 1, 1, 1],
        ),
        helper.make_node("DequantizeLinear", ["h", "ys", "yz"], ["y"], "back"),
    ]  # fmt: skip
    path = tmp_path / "model.onnx"
    file(path, nodes, constants, [2, 4, 4], ["y"])
    same(path, setting, grid(2, 4, 4))


def dynamic(kind, shape, weight, zeros):
    """What `quantize_dynamic` makes of a product: its input is quantised by its own range."""
    constants = {"w": weight, "wz": zeros, "ws": np.float32([0.03125])}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], "quantise"),
        helper.make_node("Mul", ["s", "ws"], ["scale"], "scales"),
        helper.make_node(kind, ["q", "w", "z", "wz"], ["i"], "integers"),
        helper.make_node("Cast", ["i"], ["f"], "cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "scale"], ["y"], "scaled"),
    ]
    return nodes, constants, shape, ["y"]


DYNAMIC = {
    "dense": lambda: dynamic(
        "MatMulInteger", [6], RNG.integers(-60, 60, (6, 4)).astype(np.int8), np.int8([0] * 4)
    ),
    "convolution": lambda: dynamic(
        "ConvInteger", [2, 4, 4], RNG.integers(0, 99, (3, 2, 3, 3)).astype(np.uint8), np.uint8(50)
    ),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", DYNAMIC)
def test_products_of_what_is_quantised_by_its_own_range(name, setting, tmp_path):
    """Every item is as alone in a batch of one.

    Over narrow rings and fields a scale is too small, which is warned of.
    """
    path = tmp_path / "model.onnx"
    nodes, constants, shape, outputs = DYNAMIC[name]()
    file(path, nodes, constants, shape, outputs)
    x = (0.5 * RNG.standard_normal((4, *shape))).astype(np.float32)
    # Of a range of 255 steps every number of the grid is a whole number of steps.
    x = np.round(x * 64).clip(-100, 100) / 64
    x.reshape(4, -1)[:, 0], x.reshape(4, -1)[:, 1] = -128 / 64, 127 / 64
    x *= (4 ** np.arange(4, dtype=np.float32)).reshape(4, *[1] * len(shape))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    wanted = np.concatenate([session.run(None, {"x": x[i : i + 1]})[0] for i in range(len(x))])
    given, run = SETTINGS[setting]
    model = tacit.compile(path, samples=x, **given)
    if setting.endswith(("31 bits", "32 bits")):
        assert model.warnings
        return
    output = tacit.local(**run).predict(model, x).output
    assert np.ptp(wanted) > 5
    np.testing.assert_allclose(output, wanted, rtol=4e-3, atol=0.1)


@pytest.mark.parametrize("setting", SETTINGS)
def test_whole_numbers(setting, tmp_path):
    """Floor, Ceil and Round of quarters, halves among them, which go to the even number."""
    nodes = [helper.make_node(kind, ["x"], [kind]) for kind in ("Floor", "Ceil", "Round")]
    nodes.append(helper.make_node("Concat", ["Floor", "Ceil", "Round"], ["y"], axis=1))
    path = tmp_path / "model.onnx"
    file(path, nodes, {}, [9], ["y"])
    x = np.arange(-18, 18, dtype=np.float32).reshape(4, 9) * SCALE
    same(path, setting, x)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "sirnn"])
@pytest.mark.parametrize("most", [1.0, 4.0])
def test_ends_of_a_range_that_is_as_far_on_both_sides(most, protocol, tmp_path):
    """Saturated values lie in the middle of two steps, of which float32 takes the lower one."""
    nodes = [
        helper.make_node("Clip", ["x", "low", "high"], ["c"], "saturated"),
        helper.make_node("DynamicQuantizeLinear", ["c"], ["q", "s", "z"], "quantise"),
        helper.make_node("Cast", ["q"], ["f"], "steps", to=TensorProto.FLOAT),
        helper.make_node("Cast", ["z"], ["g"], "zero", to=TensorProto.FLOAT),
        helper.make_node("Sub", ["f", "g"], ["y"], "from_zero"),
    ]
    constants = {"low": np.float32(-most), "high": np.float32(most)}
    path = tmp_path / "model.onnx"
    file(path, nodes, constants, [16], ["y"])
    # A step is a 255th of 2 most: no number but the ends lies near the middle of two.
    x = np.float32(most) * np.float32([-3, -1, 1, 5, *np.arange(-6, 6) / 8])
    given = np.stack([np.roll(x, i) for i in range(4)])
    model = tacit.compile(path, samples=given, protocol=protocol)
    found = tacit.local(protocol).predict(model, given).output
    session = onnxruntime.InferenceSession(path)
    right = np.concatenate([session.run(None, {"x": each[None]})[0] for each in given])
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.01
    assert right.max() == 127 == -right.min()
