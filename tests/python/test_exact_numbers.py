"""Numbers that are exact, or as large as declared, are right to the last one on every protocol."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

RUNS = [("falcon", {}), ("falcon", {"security": "malicious"}), ("bicoptor", {}), ("shamir", {})]


def write(path, nodes, weights, outputs):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 1]) for n in outputs]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", len(weights)])
    constants = [numpy_helper.from_array(np.array(weights, np.float32)[:, None], "w"),
                 numpy_helper.from_array(np.array(3, np.float32), "three")]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [x], values, constants)
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize(("protocol", "options"), RUNS)
def test_what_is_exact_reaches_its_whole_number(tmp_path, protocol, options):
    """Malicious security's truncations are off by a last place: 3 was floored to 2 now and then."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Floor", ["a"], ["floor"]),
        helper.make_node("GreaterOrEqual", ["a", "three"], ["t"]),
        helper.make_node("Cast", ["t"], ["reached"], to=TensorProto.FLOAT),
        helper.make_node("Greater", ["a", "three"], ["u"]),
        helper.make_node("Cast", ["u"], ["above"], to=TensorProto.FLOAT),
    ]
    path = write(tmp_path / "m.onnx", nodes, [0.5, 0.25], ["floor", "reached", "above"])
    model = tacit.compile(path, input_range=16.0, protocol=protocol)
    x = np.tile(np.float32([4, 4]), (200, 1))
    found = tacit.local(protocol, **options).predict(model, x).outputs
    for name, right in (("floor", 3), ("reached", 1), ("above", 0)):
        np.testing.assert_allclose(found[name], right, atol=1e-3, err_msg=name)


@pytest.mark.parametrize(("protocol", "options"), RUNS[:3])
@pytest.mark.parametrize(
    ("ring", "given"),
    [(32, {"fraction_bits": 16}), (64, {"fraction_bits": 26, "order": "truncate-then-multiply"})],
)
def test_weights_that_are_all_rounded_up(tmp_path, protocol, options, ring, given):
    """Encoded, 640 weights of 1/640 add up to 1.0156: a hundredth of room was not enough."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    path = write(tmp_path / "m.onnx", nodes, np.full(640, 1 / 640), ["y"])
    model = tacit.compile(path, ring=ring, input_range=0.989, protocol=protocol, **given)
    most = np.nextafter(np.float32(0.989), np.float32(0))
    x = np.full((3, 640), most, np.float32) * np.float32([[1], [0.97], [-1]])
    found = tacit.local(protocol, **options).predict(model, x).output
    np.testing.assert_allclose(found, np.maximum(x.mean(1, keepdims=True), 0), atol=0.02)


@pytest.mark.parametrize(("protocol", "options"), RUNS[:2])
def test_what_is_ranked_is_an_order(tmp_path, protocol, options):
    """Numbers 2 last places apart: were those taken for equal, each would be behind one."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("TopK", ["a", "k"], ["y", "places"], axis=1),
    ]
    path = tmp_path / "m.onnx"
    weights = numpy_helper.from_array(np.eye(3, dtype=np.float32) / 2, "w")
    many = numpy_helper.from_array(np.array([3]), "k")
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 3]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weights, many])
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    model = tacit.compile(path, input_range=4.0, protocol=protocol, ring=32, fraction_bits=10)
    x = np.tile(np.float32([2, 2 + 2**-8, 2 + 2**-7]), (24, 1))
    found = tacit.local(protocol, **options).predict(model, x).output
    np.testing.assert_allclose(found, np.sort(x / 2, 1)[:, ::-1], atol=0.005)


def test_means_by_a_softmax_are_no_larger_for_their_rounding(tmp_path):
    """Shares stay shares: none is below 0, and all of them sum to 1."""
    rng = np.random.default_rng(3)
    made = helper.make_node
    nodes = [
        *(made("MatMul", ["x", name], [name.upper()]) for name in "qkv"),
        made("Transpose", ["K"], ["T"], perm=[0, 2, 1]),
        made("MatMul", ["Q", "T"], ["S"]),
        made("Softmax", ["S"], ["P"], axis=-1),
        made("MatMul", ["P", "V"], ["C"], "C"),
        made("MatMul", ["C", "v"], ["y"]),
    ]
    constants = [numpy_helper.from_array(rng.normal(size=(8, 8)).astype(np.float32) / 3, name)
                 for name in "qkv"]  # fmt: skip
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 64, 8]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    opset = [helper.make_opsetid("", 13)]
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    for protocol in ("falcon", "sirnn"):
        layers = tacit.compile(path, input_range=4.0, protocol=protocol).plan["layers"]
        ranges = {layer["name"]: layer["range"] for layer in layers}
        assert ranges["C"] <= 1.1 * ranges["V"]
