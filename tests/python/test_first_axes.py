"""Files whose first axis is no batch: frames of one item, or parts that make one item together.

Their size is given by name, and what is predicted has one more axis, for the items.
"""

import numpy as np
import onnxruntime
import pytest
from nets import Net
from onnx import TensorProto

import tacit

FLOAT = TensorProto.FLOAT


def frames(path):
    """A mean over frames, which the first axis counts."""
    net = Net([4], inputs=[("x", FLOAT, ["frames", 4])])
    mean = net("ReduceMean", net("Relu", net.linear("x", 4, 5)), axes=[0], keepdims=1)
    net.save(path, net.linear(mean, 5, 3), opset=17)


def wanted(path, x):
    session = onnxruntime.InferenceSession(path)
    names = [each.name for each in session.get_inputs()]
    items = [dict(zip(names, each, strict=True)) for each in zip(*x, strict=True)]
    return np.stack([session.run(None, item)[0] for item in items])


@pytest.mark.parametrize("protocol", ["clear", "falcon", "sirnn"])
def test_frames_of_one_item(protocol, tmp_path):
    path = str(tmp_path / "m.onnx")
    frames(path)
    x = np.random.default_rng(1).normal(0, 1, (6, 10, 4)).astype("f4")
    with pytest.raises(tacit.TacitError, match="batch"):
        tacit.compile(path, samples=x[:, 0])
    model = tacit.compile(path, samples=x, dims={"frames": 10}, protocol=protocol)
    assert model.plan["inputs"][0]["shape"] == [10, 4]
    found = tacit.local(protocol).predict(model, x[:3]).output
    right = wanted(path, [x[:3]])
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.01


def test_a_size_holds_wherever_its_name_stands(tmp_path):
    """Weights of frames beside them; the size of the other axis is given as ever."""
    path = str(tmp_path / "m.onnx")
    inputs = [("x", FLOAT, ["frames", "width"]), ("weights", FLOAT, [1, "frames"])]
    net = Net([4], inputs=inputs)
    net.save(path, net("MatMul", "weights", "x"), opset=17)
    rng = np.random.default_rng(1)
    x = {
        "x": rng.normal(0, 1, (6, 5, 3)).astype("f4"),
        "weights": rng.normal(0, 1, (6, 1, 5)).astype("f4"),
    }
    sizes = {"frames": 5, "width": 3}
    model = tacit.compile(path, samples=x, dims=sizes)
    found = tacit.local("clear").predict(model, x).output
    right = wanted(path, [x["x"], x["weights"]])
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.001


def test_parts_of_one_item(tmp_path):
    """Two rows that make one item together, which a reshape joins."""
    path = str(tmp_path / "m.onnx")
    net = Net([3])
    joined = net("Reshape", net.linear("x", 3, 4), np.array([-1, 8]))
    net.save(path, net.linear(joined, 8, 2), opset=17)
    x = np.random.default_rng(1).normal(0, 1, (6, 2, 3)).astype("f4")
    with pytest.raises(tacit.TacitError, match="merges the batch"):
        tacit.compile(path, samples=x[:, 0])
    model = tacit.compile(path, samples=x, dims={"N": 2})
    found = tacit.local("clear").predict(model, x).output
    right = wanted(path, [x])
    assert np.abs(found.reshape(right.shape) - right).max() <= 0.001


@pytest.mark.parametrize("given", [{"rows": 4}, {"frames": 10, "rows": 4}])
def test_other_names_are_refused(given, tmp_path):
    path = str(tmp_path / "m.onnx")
    frames(path)
    x = np.zeros((6, 10, 4), "f4")
    with pytest.raises(tacit.TacitError, match="dimension 'rows'"):
        tacit.compile(path, samples=x, dims=given)
