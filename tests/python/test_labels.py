"""Labels of scores that are far smaller for most items than for some, as densities are."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def memberships(path, last):
    """The largest of products of four memberships, or of their logarithms."""
    centres = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    tensors = {
        "c": centres,
        "axis": np.int64([2]),
        "width": np.float32(-4.0),
        "along": np.int64([1]),
    }
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axis"], ["u"]),
        helper.make_node("Sub", ["u", "c"], ["d"]),
        helper.make_node("Mul", ["d", "d"], ["s"]),
        helper.make_node("Mul", ["s", "width"], ["l"]),
        helper.make_node("Exp", ["l"], ["e"]),
    ]
    if last == "densities":
        nodes.append(helper.make_node("ReduceProd", ["e"], ["p"], axes=[1], keepdims=0))
    else:
        nodes.append(helper.make_node("ReduceSum", ["l", "along"], ["p"], keepdims=0))
    nodes.append(helper.make_node("ArgMax", ["p"], ["y"], axis=1, keepdims=0))
    named = [numpy_helper.from_array(v, name) for name, v in tensors.items()]
    ends = [
        [helper.make_tensor_value_info("x", FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", INT64, ["N"])],
    ]
    graph = helper.make_graph(nodes, "test", *ends, named)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


@pytest.mark.parametrize("protocol", ["falcon", "sirnn"])
def test_labels_of_scores_below_a_last_place_are_warned_of(tmp_path, protocol):
    """Two of five such items had another label, and nothing said so: the errors are small."""
    x = (np.random.default_rng(1).normal(size=(200, 4)) * 1.2).astype(np.float32)
    memberships(tmp_path / "m.onnx", "densities")
    model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol=protocol)
    told = [text for text in model.warnings if "labels of the samples are others" in text]
    assert len(told) == 1 and "logarithms" in told[0], model.warnings


def test_labels_of_logarithms_are_right(tmp_path):
    x = (np.random.default_rng(1).normal(size=(200, 4)) * 1.2).astype(np.float32)
    memberships(tmp_path / "m.onnx", "logarithms")
    model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol="falcon")
    assert not [text for text in model.warnings if "labels" in text]
