"""Buckets by a search in halves, as torch's newer exporter writes `torch.bucketize`."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

RNG = np.random.default_rng(0)
F32, I64 = np.float32, np.int64
LIMITS = F32([-1.5, -0.25, 0.0, 0.4, 0.4, 1.0, 2.5])


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def halves(steps, compares="GreaterOrEqual", number="x"):
    """A search of so many steps, which ends in `low` and its number."""
    nodes = []
    for i in range(steps):
        low, high, on = f"low{i}", f"high{i}", f"on{i}"
        nodes += [
            node("Less", low, high, on),
            node("Sub", high, low, f"size{i}"),
            node("Div", f"size{i}", "two", f"half{i}"),
            node("Add", low, f"half{i}", f"place{i}"),
            node("Where", on, f"place{i}", "zero", f"middle{i}"),
            node("Unsqueeze", f"middle{i}", "last", f"at{i}"),
            node("GatherND", "limits", f"at{i}", f"limit{i}"),
            node(compares, f"limit{i}", number, f"reaches{i}"),
            node("Not", f"reaches{i}", f"is less{i}"),
            node("And", f"is less{i}", on, f"up{i}"),
            node("Add", f"middle{i}", "one", f"next{i}"),
            node("Where", f"up{i}", f"next{i}", low, f"low{i + 1}"),
            node("And", f"reaches{i}", on, f"down{i}"),
            node("Where", f"down{i}", f"middle{i}", high, f"high{i + 1}"),
        ]
    return nodes


def saved(path, nodes, **tensors):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "xy"]
    del ends[1].type.tensor_type.shape.dim[:]
    ends[1].type.tensor_type.ClearField("shape")
    constants = {
        "limits": LIMITS, "low0": I64(0), "high0": I64(len(LIMITS)), "zero": I64(0),
        "one": I64(1), "two": I64(2), "last": I64([-1]), **tensors,
    }  # fmt: skip
    named = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "test", ends[:1], ends[1:], named)
    imports = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def numbers():
    x = RNG.standard_normal((40, 3)).astype(F32) * 2
    x[:7] = LIMITS[:, None]
    # Between a limit and the number that takes its place below, where no number is tried.
    x[7] = 0.42
    return x


@pytest.mark.parametrize("compares", ["GreaterOrEqual", "Greater"])
@pytest.mark.parametrize("protocol", ["clear", "falcon"])
@pytest.mark.parametrize("then", ["number", "rows"])
def test_the_bucket_of_a_number(tmp_path, then, protocol, compares):
    """Numbers that are a limit are in the bucket before it, or behind it (`right=True`)."""
    table = RNG.standard_normal((len(LIMITS) + 1, 4)).astype(F32)
    ends = {
        "number": [node("Cast", "low3", "y", to=TensorProto.FLOAT)],
        "rows": [node("Gather", "table", "low3", "y")],
    }
    path = saved(tmp_path / "m.onnx", [*halves(3, compares), *ends[then]], table=table)
    x = numbers()
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    found = tacit.local(protocol).predict(tacit.compile(path, samples=x), x).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=1e-3)
    side = "left" if compares == "GreaterOrEqual" else "right"
    if then == "number":
        assert np.array_equal(right, np.searchsorted(LIMITS, x, side=side))


def ends_elsewhere(nodes, before, after):
    for made in nodes:
        for i, name in enumerate(made.input):
            if name == before and made.op_type == after[0]:
                made.input[i] = after[1]
    return nodes


@pytest.mark.parametrize(
    "form",
    ["too few steps", "another step", "another number", "a limit that is none", "another axis"],
)
def test_what_is_no_search_among_limits_is_none(tmp_path, form):
    """The nearest wrong searches are refused for their computed places, or are what they are."""
    nodes = halves(2 if form == "too few steps" else 3)
    extra = []
    if form == "another step":
        nodes = ends_elsewhere(nodes, "one", ("Add", "two"))
    if form == "another number":
        extra = [node("Neg", "x", "z")]
        at = next(i for i, made in enumerate(nodes) if "limit1" in made.input)
        nodes[at].input[1] = "z"
    if form == "another axis":
        at = next(i for i, made in enumerate(nodes) if "low2" in made.output)
        nodes[at].output[0] = "flat"
        nodes.insert(at + 1, node("Unsqueeze", "flat", "front", "low2"))
    if form == "a limit that is none":
        nodes = ends_elsewhere(nodes, "limit0", ("GreaterOrEqual", "other"))
    last = "low2" if form == "too few steps" else "low3"
    ends = [*extra, *nodes, node("Cast", last, "y", to=TensorProto.FLOAT)]
    path = saved(tmp_path / "m.onnx", ends, other=F32(0.45), front=I64([0]))
    x = numbers()
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    try:
        model = tacit.compile(path, samples=x)
    except tacit.CompileError as error:
        assert "its indices are computed" in str(error)
        return
    assert form != "another axis"
    found = tacit.local("clear").predict(model, x).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=1e-3)
