"""Files that ONNX Runtime has optimised or quantised: its own operations run as what they mean."""

import numpy as np
import onnx
import onnxruntime
import pytest
from nets import Net, gelu, normals
from onnx import TensorProto, helper, numpy_helper

import tacit

RNG = np.random.default_rng(5)
normal = normals(RNG)


def write(path, nodes, constants=(), *, inputs=None, opset=17):
    """Writes a model from `x`, or these inputs, to `y`, and returns the inputs."""
    inputs = inputs or {"x": normal(8, 4)}
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
    infos = [
        helper.make_tensor_value_info(name, kinds[x.dtype], ["N", *x.shape[1:]])
        for name, x in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "test", infos, [out], tensors)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return inputs


def own(kind, inputs, outputs=("y",), **attributes):
    return helper.make_node(kind, list(inputs), list(outputs), domain="com.microsoft", **attributes)


def check(path, inputs, protocol="clear", share=2e-3):
    """Answers are those of onnxruntime, but for rounding."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options)
    right = session.run(None, inputs)[0]
    given = next(iter(inputs.values())) if len(inputs) == 1 else inputs
    model = tacit.compile(path, samples=given)
    found = tacit.local(protocol=protocol).predict(model, given).output
    assert found.shape == right.shape
    assert np.abs(found - right).max() <= share * right.std() + 1e-5
    return model


def refused(path, why):
    with pytest.raises(tacit.errors.CompileError, match=why):
        tacit.compile(path)


ELEMENTS = {
    "Gelu": ([], {}),
    "BiasGelu": (["b"], {}),
    "FastGelu": (["b"], {}),
    "FastGelu, plain": ([], {}),
    "QuickGelu": ([], {}),
    "QuickGelu, steep": ([], {"alpha": 3.0}),
    "SkipLayerNormalization": (["s", "b", "b"], {"epsilon": 1e-5}),
    "SkipLayerNormalization, biased": (["s", "b", "b", "b"], {"epsilon": 1e-5}),
    "SkipSimplifiedLayerNormalization": (["s", "b"], {}),
    "CDist": (["rows"], {"metric": "euclidean"}),
    "CDist, squared": (["rows"], {"metric": "sqeuclidean"}),
}


@pytest.mark.parametrize("form", ELEMENTS)
def test_operations_on_rows(tmp_path, form):
    more, attributes = ELEMENTS[form]
    constants = {"b": normal(4), "rows": normal(5, 4)}
    nodes = [helper.make_node("Mul", ["x", "two"], ["s"])]
    nodes.append(own(form.split(",")[0], ["x", *more], **attributes))
    constants["two"] = np.float32(2)
    inputs = {"x": normal(40, 3, 4)}
    if form.startswith("CDist"):
        inputs = {"x": normal(40, 4)}
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_normalisations_of_early_operator_sets(tmp_path, opset):
    nodes = [
        helper.make_node("LayerNormalization", ["x", "b", "b"], ["n"], axis=-1),
        helper.make_node("SimplifiedLayerNormalization", ["n", "b"], ["y"], axis=-1),
    ]
    inputs = write(
        tmp_path / "m.onnx", nodes, {"b": normal(4)}, inputs={"x": normal(40, 4)}, opset=opset
    )
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("constant", [True, False])
def test_products_of_turned_matrices(tmp_path, turned, constant):
    a, b = turned
    left = normal(20, 2, *((3, 5) if a else (5, 3)))
    right = normal(20, 2, *((4, 3) if b else (3, 4)))
    inputs, constants = {"x": left, "z": right}, {}
    if constant:
        inputs, constants = {"x": left}, {"z": right[0, 0]}
    nodes = [own("FusedMatMul", ["x", "z"], transA=a, transB=b, alpha=0.3)]
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


ACTIVATIONS = {
    "": [],
    "Relu": [],
    "Sigmoid": [],
    "Tanh": [],
    "LeakyRelu": [0.2],
    "Clip": [-0.5, 0.7],
    "HardSigmoid": [0.3, 0.4],
}


@pytest.mark.parametrize("opset", [9, 17])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_convolutions_with_an_activation(tmp_path, activation, opset):
    x = normal(30, 2, 6, 6)
    constants = {"w": normal(2, 2, 3, 3, scale=0.3), "b": normal(2)}
    attributes = {"pads": [1] * 4, "kernel_shape": [3, 3]}
    if activation:
        attributes["activation"] = activation
    if ACTIVATIONS[activation]:
        attributes["activation_params"] = ACTIVATIONS[activation]
    nodes = [own("FusedConv", ["x", "w", "b", "x"], **attributes)]
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": x}, opset=opset)
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("activation", ["Relu", "LeakyRelu", "Sigmoid"])
def test_gemm_with_an_activation(tmp_path, activation):
    attributes = {"activation_alpha": 0.2} if activation == "LeakyRelu" else {}
    nodes = [own("FusedGemm", ["x", "w", "b"], activation=activation, transB=1, **attributes)]
    constants = {"w": normal(3, 4), "b": normal(3)}
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(40, 4)})
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("form", ["plain", "mask", "causal", "bias", "sizes"])
def test_attention_of_one_product(tmp_path, form):
    width, heads, length = 8, 2, 5
    x, mask = normal(30, length, width), np.ones((30, length), np.int64)
    mask[::2, 3:] = 0
    inputs, constants = {"x": x}, {"w": normal(width, 24, scale=0.4), "b": normal(24)}
    names, attributes = ["x", "w", "b"], {"num_heads": heads}
    nodes = []
    if form == "mask":
        inputs["mask"] = mask
        nodes = [helper.make_node("Cast", ["mask"], ["m"], to=TensorProto.INT32)]
        names.append("m")
    elif form == "causal":
        attributes["unidirectional"] = 1
    elif form == "bias":
        constants["scores"] = normal(1, heads, length, length)
        names += ["", "", "scores"]
    elif form == "sizes":
        constants |= {"w": normal(width, 8 + 8 + 12, scale=0.4), "b": normal(28)}
        attributes |= {"qkv_hidden_sizes": [8, 8, 12], "scale": 0.2}
    nodes.append(own("Attention", names, **attributes))
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("form", ["plain", "bias", "mask"])
def test_attention_of_given_queries(tmp_path, form):
    width, heads, length = 8, 2, 5
    x, mask = normal(30, length, width), np.ones((30, length), np.int64)
    mask[::2, 3:] = 0
    inputs, constants = {"x": x}, {name: normal(width, width, scale=0.4) for name in "qkv"}
    nodes = [helper.make_node("MatMul", ["x", name], [f"of {name}"]) for name in "qkv"]
    names = [f"of {name}" for name in "qkv"]
    if form != "plain":
        constants["b"] = normal(3 * width)
        names.append("b")
    if form == "mask":
        inputs["mask"] = mask
        nodes.append(helper.make_node("Cast", ["mask"], ["m"], to=TensorProto.INT32))
        names.append("m")
    nodes.append(own("MultiHeadAttention", names, num_heads=heads))
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def test_embeddings_that_are_normalised(tmp_path):
    ids, segments = RNG.integers(0, 9, (30, 5)), RNG.integers(0, 2, (30, 5))
    inputs = {"ids": ids, "segments": segments}
    casts = [
        helper.make_node("Cast", [name], [f"{name} of 32 bits"], to=TensorProto.INT32)
        for name in inputs
    ]
    names = ["ids of 32 bits", "segments of 32 bits", "words", "places", "kinds", "g", "b"]
    constants = {"words": normal(9, 8), "places": normal(12, 8), "kinds": normal(2, 8)}
    constants |= {"g": normal(8), "b": normal(8)}
    nodes = [*casts, own("EmbedLayerNormalization", names, ("y", "mask"), epsilon=1e-5)]
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def test_tokens_that_are_counted(tmp_path):
    """An embedding counts the tokens that its mask keeps: these are taken to come first."""
    ids, mask = RNG.integers(0, 9, (30, 5)), np.ones((30, 5), np.int64)
    mask[::3, 3:], mask[1::3, :2] = 0, 0
    inputs = {"ids": ids, "mask": mask}
    nodes = [
        helper.make_node("Cast", [name], [f"{name} of 32 bits"], to=TensorProto.INT32)
        for name in inputs
    ]
    constants = {"words": normal(9, 8), "places": normal(12, 8), "g": normal(8), "b": normal(8)}
    names = ["ids of 32 bits", "", "words", "places", "", "g", "b", "mask of 32 bits"]
    nodes.append(own("EmbedLayerNormalization", names, ("rows", "count")))
    constants |= {"w": normal(8, 24, scale=0.4), "wb": normal(24)}
    nodes.append(own("Attention", ["rows", "w", "wb", "count"], num_heads=2))
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def quantised(form):
    """Nodes between a QuantizeLinear of `x` and a DequantizeLinear to `y`."""
    zero = ["s", "z"]
    if form == "QLinearConcat":
        return [own(form, ["t", "z", "q", *zero, "q", *zero], ("r",), axis=1)]
    if form in ("QLinearAdd", "QLinearMul"):
        return [own(form, ["q", *zero, "q", *zero, "t", "z"], ("r",))]
    more = {
        "QLinearLeakyRelu": {"alpha": 0.1},
        "QLinearAveragePool": {"kernel_shape": [2, 2], "strides": [2, 2]},
        "QLinearSoftmax": {"axis": -1, "opset": 17},
    }
    return [own(form, ["q", *zero, "t", "z"], ("r",), **more.get(form, {}))]


@pytest.mark.parametrize(
    "form",
    [
        "QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid", "QLinearLeakyRelu",
        "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearSoftmax",
    ],
)  # fmt: skip
def test_quantised_operations(tmp_path, form):
    """Answers are those of onnxruntime; what is near the middle of two steps may become either."""
    step = 1 / 32
    constants = {"s": np.float32(0.03), "t": np.float32(step), "z": np.uint8(120)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        *quantised(form),
        helper.make_node("DequantizeLinear", ["r", "t", "z"], ["y"]),
    ]
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(30, 2, 4, 4)})
    right = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, inputs)[0]
    model = tacit.compile(tmp_path / "m.onnx", samples=inputs["x"])
    found = tacit.local(protocol="clear").predict(model, inputs["x"]).output
    error = np.abs(found - right)
    assert error.max() < 1.01 * step and (error > 0.01 * step).mean() < 0.02


def test_quantised_products(tmp_path):
    """QGemm, and the two products of integers that become floats at once."""
    a, b = np.float32(0.03), normal(3, scale=0.01) ** 2 + np.float32(0.01)
    # Of weights of 8 bits onnxruntime's own sums of two products may be beyond 16 bits.
    w = RNG.integers(-60, 60, (4, 3)).astype(np.int8)
    constants = {"s": a, "z": np.uint8(120), "w": w, "ws": b, "wz": np.zeros(3, np.int8)}
    constants |= {"c": RNG.integers(-900, 900, 3).astype(np.int32), "f": normal(3)}
    start = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"])
    ends = {
        "gemm": [own("QGemm", ["q", "s", "z", "w", "ws", "wz", "c"])],
        "to float": [own("MatMulIntegerToFloat", ["q", "w", "s", "ws", "z", "wz", "f"])],
        "dynamic": [own("DynamicQuantizeMatMul", ["x", "w", "ws", "wz", "f"])],
    }
    for name, nodes in ends.items():
        x = normal(1 if name == "dynamic" else 30, 4)
        first = [] if name == "dynamic" else [start]
        path = tmp_path / f"{name}.onnx"
        check(path, write(path, [*first, *nodes], constants, inputs={"x": x}), share=0.02)


def test_items_of_a_merged_batch_have_ranges_of_their_own(tmp_path):
    """Where a batch is merged with another axis, items are quantised as in a batch of one."""
    w = RNG.integers(-60, 60, (3, 2)).astype(np.int8)
    constants = {"w": w, "s": np.float32([0.01, 0.02]), "z": np.zeros(2, np.int8)}
    constants |= {"rows": np.array([-1, 3]), "apart": np.array([-1, 4, 2])}
    nodes = [
        helper.make_node("Reshape", ["x", "rows"], ["r"]),
        own("DynamicQuantizeMatMul", ["r", "w", "s", "z"], ["p"]),
        helper.make_node("Reshape", ["p", "apart"], ["y"]),
    ]
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(12, 4, 3)})
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    right = np.concatenate([session.run(None, {"x": row[None]})[0] for row in inputs["x"]])
    model = tacit.compile(tmp_path / "m.onnx", samples=inputs["x"])
    found = tacit.local(protocol="clear").predict(model, inputs["x"]).output
    error = np.abs(found - right)
    assert np.quantile(error, 0.9) < 2e-3 and error.max() < 0.1


def optimised(path, level):
    """What ONNX Runtime makes of a file, as a file."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(path.with_suffix(".optimised.onnx"))
    onnxruntime.InferenceSession(str(path), options)
    return path.with_suffix(".optimised.onnx")


def convolutional():
    net = Net([1, 10, 10])
    first = net("Relu", net("Conv", "x", net.weights(4, 1, 3, 3), net.rng.normal(0, 0.1, 4)))
    second = net("Conv", first, net.weights(4, 4, 3, 3), net.rng.normal(0, 0.1, 4), pads=[1] * 4)
    flat = net("Flatten", net("Relu", net("Add", second, first)))
    last = net("Relu", net("Gemm", flat, net.weights(256, 8), net.rng.normal(0, 0.1, 8)))
    return net, net("Gemm", last, net.weights(8, 3), net.rng.normal(0, 0.1, 3))


def encoder():
    net = Net([5, 8])
    hidden = net.norm(net("Add", net.attention("x", 8, 2), "x"), 8)
    inner = net.linear(hidden, 8, 16)
    return net, net.norm(net("Add", net.linear(gelu(net, inner), 16, 8), hidden), 8)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])
@pytest.mark.parametrize("made", [convolutional, encoder])
def test_files_that_the_runtime_has_optimised(tmp_path, made, protocol):
    net, out = made()
    net.save(tmp_path / "plain.onnx", out)
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    path = optimised(tmp_path / "plain.onnx", level)
    assert any(node.domain == "com.microsoft" for node in onnx.load(path).graph.node)
    check(path, {"x": normal(6, *net.shape)}, protocol, share=2e-2)


def test_what_is_made_for_one_processor_is_refused(tmp_path):
    net, out = convolutional()
    net.save(tmp_path / "plain.onnx", out)
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    path = optimised(tmp_path / "plain.onnx", level)
    if all(node.domain != "com.microsoft.nchwc" for node in onnx.load(path).graph.node):
        pytest.skip("ONNX Runtime makes nothing of its own for this processor")
    refused(path, "the file from before ONNX Runtime optimised it")


REFUSED = {
    "lengths": ("Attention", ["x", "w", "b", "lengths"], {"num_heads": 2}, "'perm'"),
    "cache": ("Attention", ["x", "w", "b", "", "past"], {"num_heads": 2}, "it has a cache"),
    "beams": ("MultiHeadAttention", ["x", "x", "x", *[""] * 6, "past"], {"num_heads": 2}, "beams"),
    "rotary": ("Attention", ["x", "w", "b"], {"num_heads": 2, "do_rotary": 1}, "do_rotary"),
    "heads": ("Attention", ["x", "w", "b"], {"num_heads": 0}, "num_heads"),
    "packed": ("MultiHeadAttention", ["x"], {"num_heads": 2}, "packed"),
    "metric": ("CDist", ["x", "b"], {"metric": "manhattan"}, "metric"),
    "batches": ("FusedMatMul", ["x", "x"], {"transBatchA": 1}, "transBatchA"),
    "activation": ("FusedGemm", ["x", "w"], {"activation": "Mish"}, "Mish"),
    "unknown": ("MurmurHash3", ["x"], {}, "the file from before ONNX Runtime optimised it"),
    "texts": ("Tokenizer", ["x"], {}, "it looks into a text"),
    "attribute": ("Gelu", ["x"], {"alpha": 1.0}, "alpha"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_read_is_refused(tmp_path, case):
    kind, names, attributes, why = REFUSED[case]
    inputs = {"x": normal(4, 5, 8)}
    constants = {"w": normal(8, 24), "b": normal(24)}
    constants["past"] = normal(2, 4, 2, 3, 4)
    nodes = []
    if case == "lengths":
        inputs["mask"] = np.ones((4, 1), np.int64)
        nodes = [
            helper.make_node("Cast", ["mask"], ["one"], to=TensorProto.INT32),
            helper.make_node("Squeeze", ["one", "along"], ["lengths"]),
        ]
        constants["along"] = np.array([1])
    write(tmp_path / "m.onnx", [*nodes, own(kind, names, **attributes)], constants, inputs=inputs)
    refused(tmp_path / "m.onnx", why)
