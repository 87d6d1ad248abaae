"""Numbers of a file that are not finite, and are nowhere where it runs."""

import numpy as np
import onnxruntime
import pytest
from nets import Net
from onnx import TensorProto, helper

import tacit

FLOAT = TensorProto.FLOAT


def compared(path, x):
    """A prediction of each item, within a little of what onnxruntime has of it."""
    model = tacit.compile(path, samples=x, protocol="clear")
    output = tacit.local(protocol="clear").predict(model, x).output
    given = x if isinstance(x, dict) else {"x": x}
    [wanted] = onnxruntime.InferenceSession(path).run(None, given)
    assert np.abs(output.reshape(wanted.shape) - wanted).max() <= 0.02 * wanted.std()


def test_nothing_that_parties_hold_is_infinite(tmp_path):
    """What `nan_to_num` puts in place of numbers that are not finite is nowhere."""
    path = str(tmp_path / "m.onnx")
    net = Net([4])
    x = net.linear("x", 4, 4)
    x = net("Where", net("IsNaN", x), np.float32(0), x)
    largest = np.float32(np.finfo("f4").max)
    for sign, op in ((1, "Greater"), (-1, "Less")):
        at = net("And", net("IsInf", x), net(op, x, np.float32(0)))
        x = net("Where", at, sign * largest, x)
    net.save(path, x, opset=18)
    x = np.random.default_rng(0).normal(0, 1, (8, 4)).astype("f4")
    compared(path, x)


def test_what_may_be_infinite_is_refused(tmp_path):
    path = str(tmp_path / "m.onnx")
    net = Net([4])
    logarithm = net("Log", "x")
    net.save(path, net("Where", net("IsInf", logarithm), np.float32(0), logarithm), opset=18)
    with pytest.raises(tacit.TacitError, match=r"IsInf.*not finite everywhere"):
        tacit.compile(path, samples=np.ones((2, 4), "f4"))


def masked_attention(path, items=5, size=4):
    """Attention under a mask of paddings as torch's first exporter writes it: times 1."""
    inputs = [
        ("x", FLOAT, ["N", items, size]), ("padding", TensorProto.BOOL, ["N", items])
    ]  # fmt: skip
    net = Net((), 5, inputs)
    lowest = net("Where", "padding", np.float32(-np.inf), np.float32(0))
    one = "one"
    tensor = helper.make_tensor("one", FLOAT, [], [1.0])
    net.nodes.append(helper.make_node("Constant", [], [one], value=tensor))
    mask = net("Mul", net("Unsqueeze", lowest, np.array([1])), one)
    keys = net("Transpose", net.linear("x", size, size), perm=[0, 2, 1])
    scores = net("Add", net("MatMul", net.linear("x", size, size), keys), mask)
    net.save(path, net("MatMul", net("Softmax", scores, axis=-1), "x"), opset=18)


def test_masks_of_paddings_are_scaled(tmp_path):
    path = str(tmp_path / "m.onnx")
    masked_attention(path)
    padding = np.arange(5) >= np.array([[5], [3], [1], [2]])
    x = {"x": np.random.default_rng(1).normal(0, 1, (4, 5, 4)).astype("f4"), "padding": padding}
    compared(path, x)


def test_causal_choices_before_a_mask_hide(tmp_path):
    """Scores of later steps are the least float, to which a mask of an input is added."""
    path = str(tmp_path / "m.onnx")
    inputs = [("x", FLOAT, ["N", 4, 4]), ("keep", TensorProto.BOOL, ["N", 4])]
    net = Net((), 6, inputs)
    least = np.float32(np.finfo("f4").min)
    lowest = net("Unsqueeze", net("Where", "keep", np.float32(0), least), np.array([1]))
    scores = net("MatMul", "x", net("Transpose", "x", perm=[0, 2, 1]))
    seen = net("Where", np.tril(np.ones((1, 4, 4), bool)), scores, least)
    shares = net("Softmax", net("Add", seen, lowest), axis=-1)
    net.save(path, net("MatMul", shares, "x"), opset=18)
    keep = np.arange(4) < np.array([[4], [3], [1], [2]])
    x = {"x": np.random.default_rng(1).normal(0, 1, (4, 4, 4)).astype("f4"), "keep": keep}
    compared(path, x)


def test_what_absorbs_all_that_parties_hold_is_a_constant(tmp_path):
    """A state that begins at -1e38, as RWKV's running maximum, and float32's lowest beside it."""
    path = str(tmp_path / "m.onnx")
    net = Net([3, 4])
    x = net.linear("x", 4, 4)
    least = np.full((1, 1, 4), -1e38, "f4")
    largest = net("Max", x, least)
    shares = [net("Exp", net("Sub", each, largest)) for each in (x, least)]
    both = net("Add", *shares)
    least = net("Sub", largest, -least)
    after = net("Add", net("Exp", net("Sub", least, x)), net("Min", x, np.float32(3e38)))
    net.save(path, net("Add", both, after), opset=17)
    compared(path, np.random.default_rng(0).normal(0, 1, (8, 3, 4)).astype("f4"))


def test_a_mask_of_the_lowest_numbers_is_a_truth_again(tmp_path):
    """MPT's mask: 0 and float32's lowest, cast to a truth that hides scores."""
    path = str(tmp_path / "m.onnx")
    padding = ("padding", TensorProto.INT64, ["N", 4])
    net = Net([4], inputs=[("x", FLOAT, ["N", 4]), padding])
    kept = net("Cast", "padding", to=TensorProto.BOOL)
    added = net("Where", kept, np.float32(0), np.float32(np.finfo("f4").min))
    hidden = net("Cast", added, to=TensorProto.BOOL)
    scores = net.linear("x", 4, 4)
    scores = net("Where", hidden, np.float32(np.finfo("f4").min), scores)
    shares = net("Softmax", scores, axis=-1)
    net.save(path, net("Add", shares, shares), opset=17)
    rng = np.random.default_rng(0)
    mask = rng.integers(0, 2, (8, 4))
    mask[:, 0] = 1
    compared(path, {"x": rng.normal(0, 1, (8, 4)).astype("f4"), "padding": mask})


def test_what_is_larger_than_sums_hold_absorbs_nothing(tmp_path):
    """A choice between numbers and -3e38, and a pad of -1e38, are no numbers of parties."""
    path = str(tmp_path / "m.onnx")
    net = Net([1])
    chosen = net("Where", net("Greater", "x", np.float32(0)), "x", np.float32(-3e38))
    net.save(path, net("Cast", net("Cast", chosen, to=TensorProto.BOOL), to=FLOAT), opset=17)
    with pytest.raises(tacit.TacitError, match=r"others.*3\.00e38"):
        tacit.compile(path, samples=np.ones((2, 1), "f4"))
    net = Net([1])
    padded = net("Pad", net.linear("x", 1, 1), np.array([0, 0, 0, 1]), np.float32(-1e38))
    net.save(path, net("Exp", net("Add", padded, np.float32(1e38))), opset=17)
    with pytest.raises(tacit.TacitError, match=r"values up to .*e38"):
        tacit.compile(path, samples=np.ones((2, 1), "f4"))


@pytest.mark.parametrize("kind", ["Add", "Sum"])
def test_sums_of_what_absorbs_go_on(tmp_path, kind):
    """Constants of fewer and of more axes than the value, and one more term after it."""
    path = str(tmp_path / "m.onnx")
    net = Net([2, 3])
    x = net.linear("x", 3, 3)
    lost = [net(kind, x, np.float32(-2e38)), net(kind, np.full((1, 1, 2, 3), -1e38, "f4"), x)]
    if kind == "Sum":
        lost.append(net(kind, x, np.float32(-2e38), np.float32(4)))
    for each in lost:
        x = net("Add", x, net("Exp", each))
    net.save(path, x, opset=17)
    compared(path, np.random.default_rng(0).normal(0, 1, (6, 2, 3)).astype("f4"))
