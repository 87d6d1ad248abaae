"""Files of decoders as builders and quantisers write them: grouped heads, caches, few bits."""

import argparse

import numpy as np
import onnx
import onnxruntime
import pytest
from nets import normals
from onnx import TensorProto, helper, numpy_helper
from test_runtime_forms import check, own, refused, write

import tacit
from tacit.arguments import constant

RNG = np.random.default_rng(11)
normal = normals(RNG)
HEADS, GROUPS, WIDTH = 4, 2, 32
"""Heads of queries, heads of keys, and the numbers of each."""


def packed(bits, rows, columns, size):
    """Weights of so many bits as bytes by blocks, with their scales and packed zero points."""
    blocks = -(-columns // size)
    numbers = RNG.integers(0, 2**bits, (rows, blocks * size), dtype=np.uint8)
    zeros = RNG.integers(0, 2**bits, (rows, -(-blocks * bits // 8) * 8 // bits), dtype=np.uint8)

    def joined(values):
        each = values.reshape(*values.shape[:-1], -1, 8 // bits)
        places = bits * np.arange(8 // bits, dtype=np.uint8)
        return (each << places).sum(-1).astype(np.uint8)

    scales = np.abs(normal(rows, blocks, scale=0.05))
    return joined(numbers).reshape(rows, blocks, -1), scales, joined(zeros), numbers


PRODUCTS = {
    "of 4 bits": (4, []),
    "of 8 bits": (8, []),
    "of 2 bits": (2, []),
    "with zero points": (4, ["zeros"]),
    "with zero points of 8 bits": (8, ["zeros"]),
    "with floats for zero points": (4, ["means"]),
    "with a bias": (4, ["zeros", "", "bias"]),
    "with blocks by column": (4, ["", "groups"]),
}


@pytest.mark.parametrize("form", PRODUCTS)
def test_products_with_weights_of_a_few_bits(tmp_path, form):
    bits, more = PRODUCTS[form]
    rows, columns, size = 6, 40, 16
    data, scales, zeros, numbers = packed(bits, rows, columns, size)
    constants = {"w": data, "scales": scales.reshape(-1), "zeros": zeros.reshape(-1)}
    constants["means"] = 8 + normal(rows, 3)
    constants["bias"] = normal(rows)
    constants["groups"] = RNG.permutation(np.arange(columns) // size).astype(np.int32)
    attributes = {"K": columns, "N": rows, "bits": bits, "block_size": size}
    nodes = [own("MatMulNBits", ["x", "w", "scales", *more], **attributes)]
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(40, 5, columns)})
    if "groups" not in more:
        check(tmp_path / "m.onnx", inputs)
        return
    # ONNX Runtime has let go of blocks by column: they are what they say.
    by_column = scales[:, constants["groups"]]
    weights = (numbers[:, :columns].astype(np.float32) - 8) * by_column
    right = inputs["x"] @ weights.T
    model = tacit.compile(tmp_path / "m.onnx", samples=inputs["x"])
    found = tacit.local(protocol="clear").predict(model, inputs["x"]).output
    assert np.abs(found - right).max() <= 2e-3 * right.std()


MISFITS = {
    "of 3 bits": ({"bits": 3}, "have 3 bits; 1, 2, 4 and 8 are read"),
    "of many columns": ({"K": 2**40}, "more than 134217728 elements"),
    "of more columns than it has": ({"K": 60}, "do not fit its scales"),
    "of blocks of no size": ({"block_size": 0}, "do not fit its scales"),
    "of more blocks than scales": ({"block_size": 4}, "do not fit its scales"),
    "of no rows": ({"N": 0}, "its weights are 0 rows of 40"),
    "of other rows": ({"N": 5}, "Reshape"),
    "for one device": ({"weight_prepacked": 1}, "packed for one device"),
}


@pytest.mark.parametrize("form", MISFITS)
def test_weights_that_do_not_fit(tmp_path, form):
    changed, why = MISFITS[form]
    data, scales, _, _ = packed(4, 6, 40, 16)
    attributes = {"K": 40, "N": 6, "bits": 4, "block_size": 16} | changed
    nodes = [own("MatMulNBits", ["x", "w", "scales"], **attributes)]
    constants = {"w": data, "scales": scales}
    write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(4, 5, 40)})
    refused(tmp_path / "m.onnx", why)


@pytest.mark.parametrize(("bits", "zeros"), [(4, True), (8, True), (4, False)])
def test_rows_of_weights_of_a_few_bits(tmp_path, bits, zeros):
    data, scales, points, _ = packed(bits, 9, 32, 16)
    constants = {"w": data.reshape(9, -1), "scales": scales, "zeros": points}
    names = ["w", "ids", "scales", *(["zeros"] if zeros else [])]
    attributes = {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    inputs = {"ids": RNG.integers(0, 9, (20, 3))}
    node = own("GatherBlockQuantized", names, **attributes)
    write(tmp_path / "m.onnx", [node], constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("raw", [True, False])
def test_tensors_of_4_bits(tmp_path, kind, raw):
    """An odd number of elements, of which the last has a byte of its own."""
    low = -8 if kind == TensorProto.INT4 else 0
    numbers = RNG.integers(low, low + 16, (3, 5))
    tensor = helper.make_tensor("w", kind, numbers.shape, numbers.reshape(-1).tolist())
    if raw:
        both = [*numbers.reshape(-1).tolist(), 0]
        data = bytes((a & 15) | (b & 15) << 4 for a, b in zip(both[::2], both[1::2], strict=True))
        tensor = helper.make_tensor("w", kind, numbers.shape, data, raw=True)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale"], ["real"]),
        helper.make_node("Add", ["x", "real"], ["y"]),
    ]
    constants = {"scale": np.float32(0.25)}
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(9, 3, 5)}, opset=21)
    model = onnx.load(tmp_path / "m.onnx")
    model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "m.onnx")
    check(tmp_path / "m.onnx", inputs)


def angles(places=12, half=WIDTH // 2):
    by = np.arange(places)[:, None] / 50 ** (np.arange(half) / half)
    return {"cos": np.cos(by).astype(np.float32), "sin": np.sin(by).astype(np.float32)}


def grouped(
    path, rows, *, cached=0, given=("", "", ""), constants=(), packed=True, more=(), **attributes
):
    """Writes an attention of `rows` rows after a cache, as builders do: a mask counts the keys."""
    x, mask = normal(6, rows, 24), np.ones((6, cached + rows), np.int64)
    wide = WIDTH * (HEADS + 2 * GROUPS)
    tensors = {"w": normal(24, wide, scale=0.2), "one": np.array([1]), "at": np.array(1)}
    tensors |= {"parts": np.array([WIDTH * HEADS, WIDTH * GROUPS, WIDTH * GROUPS])}
    tensors |= dict(constants)
    inputs = {"x": x, "mask": mask}
    for name in ["past_k", "past_v"] if cached else []:
        inputs[name] = normal(6, GROUPS, cached, WIDTH)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["all"]),
        helper.make_node("ReduceSum", ["mask", "one"], ["sum"], keepdims=0),
        helper.make_node("Sub", ["sum", "one"], ["last"]),
        helper.make_node("Cast", ["last"], ["last32"], to=TensorProto.INT32),
        helper.make_node("Shape", ["mask"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "at"], ["total"], axis=0),
        helper.make_node("Cast", ["total"], ["total32"], to=TensorProto.INT32),
    ]
    names = ["all", "", ""]
    if not packed:
        names = ["q", "k", "v"]
        nodes.append(helper.make_node("Split", ["all", "parts"], names, axis=-1))
    past = ["past_k", "past_v"] if cached else ["", ""]
    names += [*past, "last32", "total32", *given, *more]
    attributes = {"num_heads": HEADS, "kv_num_heads": GROUPS} | attributes
    outputs = ["y", "present_k", "present_v"] if cached else ["y"]
    nodes.append(own("GroupQueryAttention", names, outputs, **attributes))
    write(path, nodes, tensors, inputs=inputs)
    model = onnx.load(path)
    more = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs[1:]]
    model.graph.output.extend(more)
    onnx.save(model, path)
    return inputs


FORMS = {
    "plain": {},
    "apart": {"packed": False},
    "scaled": {"scale": 0.1},
    "capped": {"softcap": 2.0},
    "of a window": {"local_window_size": 3},
    "of a window of one": {"local_window_size": 1},
    "turned": {"do_rotary": 1, "given": ("cos", "sin", ""), "constants": angles()},
    "turned in pairs": {
        "do_rotary": 1,
        "rotary_interleaved": 1,
        "given": ("cos", "sin", ""),
        "constants": angles(),
    },
    "turned in part": {
        "do_rotary": 1,
        "given": ("cos", "sin", ""),
        "constants": angles(half=8),
    },
    "biased": {"constants": {"bias": normal(1, 1, 5, 5)}, "more": ["bias"]},
}


@pytest.mark.parametrize("form", FORMS)
def test_heads_of_queries_that_share_keys(tmp_path, form):
    inputs = grouped(tmp_path / "m.onnx", 5, **FORMS[form])
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "sirnn", "shamir"])
def test_grouped_heads_under_every_protocol(tmp_path, protocol):
    inputs = grouped(tmp_path / "m.onnx", 4, **FORMS["turned"])
    check(tmp_path / "m.onnx", inputs, protocol, share=2e-2)


def predicted(path, inputs, **options):
    """What the model makes of inputs that are not fixed, beside onnxruntime's answers of all."""
    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    right = dict(zip(names, session.run(None, inputs), strict=True))
    given = {k: v for k, v in inputs.items() if k not in options.get("fix", {}) and v.size}
    model = tacit.compile(path, samples=given, **options)
    found = tacit.local(protocol="clear").predict(model, given)
    return right, found


@pytest.mark.parametrize("form", ["plain", "turned", "of a window"])
def test_rows_after_a_cache(tmp_path, form):
    """New rows see those of the cache, have the places behind them, and stand after them."""
    path = tmp_path / "m.onnx"
    inputs = grouped(path, 1, cached=4, **FORMS[form])
    right, found = predicted(path, inputs, fix={"mask": 1})
    for name, value in right.items():
        assert found.outputs[name].shape == value.shape
        assert np.abs(found.outputs[name] - value).max() <= 2e-3 * value.std()


def test_a_mask_tells_where_a_cache_ends(tmp_path):
    """Where the mask is computed that place is secret; where it is fixed it must be the file's."""
    path = tmp_path / "m.onnx"
    grouped(path, 1, cached=4)
    refused(path, r"how many keys an item has is computed.*--fix attention_mask=1")
    with pytest.raises(tacit.errors.CompileError, match="the last key of an item has the place -1"):
        tacit.compile(path, fix={"mask": 0})


NOT_READ = {
    "sinks": ({"more": ["", "sink"], "constants": {"sink": normal(HEADS)}}, "sink"),
    "smooth": ({"smooth_softmax": 1}, "'smooth_softmax' is 1"),
    "later keys": ({"causal": 0}, "'causal' is 0"),
    "scores": ({"qk_output": 1}, "'qk_output' is 1"),
    "integers": ({"k_quant_type": "PER_TENSOR"}, "'k_quant_type' is 'PER_TENSOR'"),
    "heads": ({"kv_num_heads": 3}, "4 heads of queries do not fit 3"),
    "places": ({"do_rotary": 1}, "its angles are no matrix of the file"),
}


@pytest.mark.parametrize("case", NOT_READ)
def test_attention_that_is_not_read(tmp_path, case):
    options, why = NOT_READ[case]
    grouped(tmp_path / "m.onnx", 5, **options)
    refused(tmp_path / "m.onnx", why)


def test_a_cache_of_a_window_is_no_output(tmp_path):
    path = tmp_path / "m.onnx"
    grouped(path, 1, cached=4, local_window_size=4, sliding_window_cache=1)
    with pytest.raises(tacit.errors.CompileError, match="choose the other outputs"):
        tacit.compile(path, fix={"mask": 1})
    tacit.compile(path, fix={"mask": 1}, outputs=["y"])


def decoder(path):
    """A prompt or a new token: the sizes of both, of the cache and of the mask are free."""
    grouped(path, 4, cached=3, **FORMS["turned"])
    model = onnx.load(path)
    names = {"x": {1: "new"}, "mask": {1: "all"}, "past_k": {2: "old"}, "past_v": {2: "old"}}
    for value in model.graph.input:
        for axis, name in names[value.name].items():
            value.type.tensor_type.shape.dim[axis].dim_param = name
    onnx.save(model, path)


def test_a_cache_that_holds_nothing(tmp_path):
    """A free dimension of size 0 leaves its inputs out: then the mask may be one of every item."""
    path = tmp_path / "m.onnx"
    decoder(path)
    inputs = {"x": normal(6, 4, 24), "mask": np.ones((6, 4), np.int64)}
    inputs |= {name: normal(6, GROUPS, 0, WIDTH) for name in ["past_k", "past_v"]}
    right, found = predicted(path, inputs, dims={"new": 4, "all": 4, "old": 0}, outputs=["y"])
    assert np.abs(found.output - right["y"]).max() <= 2e-3 * right["y"].std()


def test_all_sizes_that_are_missing_are_named(tmp_path):
    decoder(tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", r"--dim new=SIZE; sizes are missing of 'all', 'old', too")


def test_joining_what_holds_nothing(tmp_path):
    nodes = [
        helper.make_node("Concat", ["x", "past"], ["all"], axis=1),
        helper.make_node("Mul", ["all", "two"], ["y"]),
    ]
    inputs = {"x": normal(5, 3, 2), "past": normal(5, 0, 2)}
    write(tmp_path / "m.onnx", nodes, {"two": np.float32(2)}, inputs=inputs)
    model = onnx.load(tmp_path / "m.onnx")
    model.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "old"
    onnx.save(model, tmp_path / "m.onnx")
    right, found = predicted(tmp_path / "m.onnx", inputs, dims={"old": 0})
    assert np.abs(found.output - right["y"]).max() <= 1e-3


@pytest.mark.parametrize("form", ["by heads", "in pairs", "apart", "by width", "from a place"])
def test_places_by_angles(tmp_path, form):
    rows = 5
    constants = angles() | {"places": np.arange(rows)[None] + 3}
    shape = (20, HEADS, rows, WIDTH) if form == "apart" else (20, rows, HEADS * WIDTH)
    attributes = {} if form in ("apart", "by width") else {"num_heads": HEADS}
    if form == "in pairs":
        attributes["interleaved"] = 1
    if form == "from a place":
        constants["places"] = np.array([2])
    inputs = {"x": normal(*shape)}
    node = own("RotaryEmbedding", ["x", "places", "cos", "sin"], **attributes)
    write(tmp_path / "m.onnx", [node], constants, inputs=inputs)
    if form == "from a place":
        check(tmp_path / "m.onnx", inputs)
        return
    # The runtime has places of every item, here those of one are all items'.
    model = onnx.load(tmp_path / "m.onnx")
    for tensor in model.graph.initializer:
        if tensor.name == "places":
            every = np.repeat(constants["places"], len(inputs["x"]), 0)
            tensor.CopyFrom(numpy_helper.from_array(every, "places"))
    onnx.save(model, tmp_path / "m.onnx")
    check(tmp_path / "m.onnx", inputs)


def test_a_choice_of_halves(tmp_path):
    """A Where of float16 whose one branch hides scores, of a computed condition."""
    nodes = [
        helper.make_node("Cast", ["mask"], ["keep"], to=TensorProto.BOOL),
        helper.make_node("Where", ["keep", "shown", "hidden"], ["terms"]),
        helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("Add", ["half", "terms"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"]),
        helper.make_node("Cast", ["shares"], ["y"], to=TensorProto.FLOAT),
    ]
    constants = {"shown": np.float16(0), "hidden": np.float16(-65504)}
    mask = RNG.integers(0, 2, (30, 5))
    mask[:, 0] = 1
    inputs = {"x": normal(30, 5), "mask": mask}
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs, share=1e-2)


@pytest.mark.parametrize("form", ["plain", "cached", "causal", "causal, cached", "kept"])
def test_attention_that_keeps_its_keys(tmp_path, form):
    """Keys and values come after a cache, and are given out; a query sees no later ones."""
    width, heads, length, cached = 8, 2, 3, 4
    inputs = {"x": normal(30, length, width)}
    constants = {name: normal(width, width, scale=0.4) for name in "qkv"}
    nodes = [helper.make_node("MatMul", ["x", name], [f"of {name}"]) for name in "qkv"]
    names = [f"of {name}" for name in "qkv"]
    if "cached" in form:
        inputs["past k"], inputs["past v"] = [normal(30, heads, cached, 4) for _ in range(2)]
        names += ["", "", "", "past k", "past v"]
    attributes = {"num_heads": heads, "unidirectional": int("causal" in form)}
    outputs = ["attended"] if form in ("plain", "causal") else ["attended", "keys", "values"]
    nodes.append(own("MultiHeadAttention", names, outputs, **attributes))
    if len(outputs) == 1:
        nodes.append(helper.make_node("Identity", ["attended"], ["y"]))
    else:
        nodes += [helper.make_node("Flatten", [name], [f"flat {name}"], axis=1) for name in outputs]
        flat = [f"flat {name}" for name in outputs]
        nodes.append(helper.make_node("Concat", flat, ["y"], axis=1))
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def test_places_that_every_party_knows(tmp_path):
    """An input may be fixed to the numbers of every item."""
    path = tmp_path / "m.onnx"
    inputs = {"x": normal(20, 5, HEADS * WIDTH), "places": np.tile(np.arange(5) + 2, (20, 1))}
    node = own("RotaryEmbedding", ["x", "places", "cos", "sin"], num_heads=HEADS)
    write(path, [node], angles(), inputs=inputs)
    right, found = predicted(path, inputs, fix={"places": inputs["places"][:1]})
    assert np.abs(found.output - right["y"]).max() <= 2e-3 * right["y"].std()
    with pytest.raises(tacit.errors.CompileError, match="fixed to 4 numbers; an item has 5"):
        tacit.compile(path, fix={"places": [2, 3, 4, 5]})
    with pytest.raises(tacit.errors.CompileError, match=r"0.5 is no int64"):
        tacit.compile(path, fix={"places": [2, 3, 4, 5, 0.5]})


def test_places_on_the_command_line(tmp_path):
    """A list, or a row of whole numbers up to an end."""
    assert constant("a=1") == ("a", 1.0)
    assert constant("a=1,2.5") == ("a", [1.0, 2.5])
    assert constant("a=2:5") == ("a", [2.0, 3.0, 4.0])
    assert constant("a=2:3") == ("a", [2.0])
    for text in ("a", "a=", "a=1,", "a=nan", "a=3:3", "a=0:1e3", "a=0:99999999", "=1"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not name=number"):
            constant(text)


def test_attention_over_keys_of_another_model(tmp_path):
    """Keys and values by heads, as an encoder gives them to its decoder."""
    inputs = {"x": normal(30, 3, 8), "k": normal(30, 2, 4, 4), "v": normal(30, 2, 4, 4)}
    node = own("MultiHeadAttention", ["x", "k", "v"], num_heads=2)
    write(tmp_path / "m.onnx", [node], (), inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def test_convolutions_that_keep_a_state(tmp_path):
    inputs = {"x": normal(10, 3, 6), "past": normal(10, 3, 2)}
    constants = {"w": normal(3, 1, 3), "b": normal(3)}
    node = own("CausalConvWithState", ["x", "w", "b", "past"], ("y", "now"), activation="silu")
    write(tmp_path / "m.onnx", [node], constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)
    node = own("CausalConvWithState", ["x", "w", "b", "past"], ("y", "now"), dilation=2)
    write(tmp_path / "m.onnx", [node], constants, inputs=inputs)
    refused(tmp_path / "m.onnx", "its 'dilation' is 2")


def test_attention_without_a_softmax(tmp_path):
    inputs = {name: normal(10, 4, 8, scale=0.3) for name in "qkv"}
    inputs["past"] = normal(10, 2, 4, 4, scale=0.3)
    names = ["q", "k", "v", "past"]
    options = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    write(
        tmp_path / "m.onnx",
        [own("LinearAttention", names, ("y", "now"), **options)],
        (),
        inputs=inputs,
    )
    check(tmp_path / "m.onnx", inputs)
