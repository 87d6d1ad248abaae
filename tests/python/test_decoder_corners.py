"""Files of decoders at their limits: defaults, empty tensors, numbers that are none."""

import numpy as np
import onnx
import pytest
from nets import normals
from onnx import TensorProto, helper
from test_decoders import GROUPS, HEADS, WIDTH, angles, decoder, grouped, predicted
from test_runtime_forms import check, own, refused, write

import tacit

RNG = np.random.default_rng(12)
normal = normals(RNG)


@pytest.mark.parametrize("heads", [1, 2])
def test_keys_by_heads_have_no_bias(tmp_path, heads):
    """A bias is that of rows: queries have it, keys and values that stand by heads have none."""
    inputs = {"x": normal(30, 3, 8), "k": normal(30, heads, 4, 8 // heads)}
    inputs["v"] = normal(30, heads, 4, 8 // heads)
    node = own("MultiHeadAttention", ["x", "k", "v", "b"], num_heads=heads)
    write(tmp_path / "m.onnx", [node], {"b": normal(24)}, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def test_keys_have_the_heads_of_queries(tmp_path):
    inputs = {"x": normal(6, 3, 8), "k": normal(6, 1, 4, 4), "v": normal(6, 1, 4, 4)}
    node = own("MultiHeadAttention", ["x", "k", "v"], num_heads=2)
    write(tmp_path / "m.onnx", [node], (), inputs=inputs)
    refused(tmp_path / "m.onnx", "its input has 1 heads")


@pytest.mark.parametrize(
    "places", [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [0, 2, 4, 6, 8], [3, 1, 0, 2, 4]]
)
def test_places_of_a_first_prompt_are_those_behind_its_first(tmp_path, places):
    ids = np.tile(places, (6, 1))
    constants = angles() | {"ids": ids}
    given = ("cos", "sin", "ids")
    inputs = grouped(tmp_path / "m.onnx", 5, do_rotary=1, given=given, constants=constants)
    check(tmp_path / "m.onnx", inputs)


def test_places_that_are_computed_are_to_be_fixed(tmp_path):
    path = tmp_path / "m.onnx"
    given = ("cos", "sin", "ids")
    inputs = grouped(path, 5, do_rotary=1, given=given, constants=angles())
    model = onnx.load(path)
    model.graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, ["N", 5]))
    onnx.save(model, path)
    refused(path, r"its places are computed: fix them, as with --fix position_ids=0:8")
    ids = np.arange(5)
    right, found = predicted(path, inputs | {"ids": np.tile(ids, (6, 1))}, fix={"ids": ids})
    assert np.abs(found.output - right["y"]).max() <= 2e-3 * right["y"].std()


@pytest.mark.parametrize("window", [0, -2, 2**40, -(2**63)])
def test_windows_of_no_size_are_refused(tmp_path, window):
    grouped(tmp_path / "m.onnx", 5, local_window_size=window)
    refused(tmp_path / "m.onnx", "its 'local_window_size' is")


def test_defaults_that_are_written_out(tmp_path):
    inputs = grouped(tmp_path / "m.onnx", 5, smooth_softmax=-1, local_window_size=-1)
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("scale", [np.nan, np.inf])
def test_scales_that_are_no_numbers(tmp_path, scale):
    grouped(tmp_path / "m.onnx", 5, scale=scale)
    refused(tmp_path / "m.onnx", "its 'scale' is")


def few_bits(path, kind, shape, scales, data=b"", **attributes):
    """Writes rows of weights of a few bits, chosen by an input."""
    names = ["w", "ids", "scales"]
    inputs = {"ids": RNG.integers(0, 2, (20, 3))}
    node = own("GatherBlockQuantized", names, bits=4, block_size=16, **attributes)
    write(path, [node], {}, inputs=inputs, opset=21)
    model = onnx.load(path)
    model.graph.initializer.append(helper.make_tensor("w", kind, shape, data, raw=True))
    numbers = normal(*scales) if np.prod(scales) < 1e6 else np.zeros(0, np.float32)
    floats = numbers.astype(np.float32).tobytes()
    made = helper.make_tensor("scales", TensorProto.FLOAT, scales, floats, raw=True)
    model.graph.initializer.append(made)
    onnx.save(model, path)
    return inputs


def test_rows_that_are_not_packed(tmp_path):
    data = bytes(RNG.integers(0, 256, 4 * 32 // 2).tolist())
    for kind in (TensorProto.INT4, TensorProto.UINT4):
        inputs = few_bits(tmp_path / "m.onnx", kind, [4, 32], [4, 2], data, quantize_axis=1)
        check(tmp_path / "m.onnx", inputs)
    few_bits(tmp_path / "m.onnx", TensorProto.INT4, [4, 1, 32], [4, 1, 32], data)
    refused(tmp_path / "m.onnx", "its blocks do not lie along the last axis")


@pytest.mark.parametrize("kind", [TensorProto.UINT8, TensorProto.INT4])
@pytest.mark.parametrize("shape", [[0, 2**40], [0, 2**30], [2**40, 0], [2**62, 0], [0, 0]])
def test_weights_of_no_elements(tmp_path, kind, shape):
    """A few bytes of a file ask for no terabytes, and for no time."""
    few_bits(tmp_path / "m.onnx", kind, shape, [0, 4])
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx")


def test_more_bytes_than_a_shape_has(tmp_path):
    few_bits(tmp_path / "m.onnx", TensorProto.UINT4, [4, 32], [4, 2], bytes(64))
    model = onnx.load(tmp_path / "m.onnx")
    tensor = next(t for t in model.graph.initializer if t.name == "w")
    tensor.ClearField("raw_data")
    tensor.int32_data.extend([1] * 99)
    onnx.save(model, tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", "it has 99 bytes of data, its shape needs 64")


def test_queries_of_no_items(tmp_path):
    inputs = {"x": normal(6, 3, 8)}
    node = own("MultiHeadAttention", ["q", "x", "x"], num_heads=2)
    write(tmp_path / "m.onnx", [node], {}, inputs=inputs)
    model = onnx.load(tmp_path / "m.onnx")
    model.graph.initializer.append(
        helper.make_tensor("q", TensorProto.FLOAT, [0, 1, 2**62], b"", raw=True)
    )
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx")


@pytest.mark.parametrize("axis", [0, 1])
def test_a_first_axis_of_no_elements(tmp_path, axis):
    """A dimension of size 0 may be the first axis of an input: there is nothing of it to join."""
    inputs = {"x": normal(5, 3), "past": normal(5, 3)}
    node = helper.make_node("Concat", ["x", "past"], ["y"], axis=axis)
    write(tmp_path / "m.onnx", [node], (), inputs=inputs)
    model = onnx.load(tmp_path / "m.onnx")
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "K"
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx", dims={"K": 0})


def test_a_domain_that_no_file_has(tmp_path):
    node = helper.make_node("ByHeads", ["x"], ["y"], domain="tacit.made", num_heads=2)
    write(tmp_path / "m.onnx", [node], (), inputs={"x": normal(6, 3, 8)})
    refused(tmp_path / "m.onnx", "it names the domain 'tacit.made', which no file has")


def test_numbers_of_every_kind_fix_an_input(tmp_path):
    """Scalars of numpy are one number everywhere; what is not finite fixes nothing."""
    path = tmp_path / "m.onnx"
    inputs = {"x": normal(5, 3), "by": normal(5, 3)}
    write(path, [helper.make_node("Mul", ["x", "by"], ["y"])], (), inputs=inputs)
    for two in (2, 2.0, np.float32(2), np.int64(2), np.array(2.0), [2, 2, 2]):
        model = tacit.compile(path, fix={"by": two})
        np.testing.assert_allclose(model.reference(inputs["x"]), 2 * inputs["x"], rtol=1e-6)
    for none in (np.nan, [1, np.inf, 2]):
        with pytest.raises(tacit.TacitError, match="a number that is not finite"):
            tacit.compile(path, fix={"by": none})


def test_a_clip_of_what_tokens_look_up(tmp_path):
    """What a table says of a token may be below 0, and is clipped then."""
    nodes = [
        helper.make_node("Gather", ["map", "x"], ["found"]),
        helper.make_node("Clip", ["found", "zero"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["y"]),
    ]
    constants = {"map": np.array([-1, 2, 0, 3]), "zero": np.array(0), "table": normal(5, 3)}
    inputs = {"x": RNG.integers(0, 4, (30, 2))}
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


def test_sizes_of_a_decoder_are_those_of_its_cache(tmp_path):
    """A cache of as many rows as are said, with queries behind it."""
    path = tmp_path / "m.onnx"
    decoder(path)
    inputs = {"x": normal(6, 2, 24), "mask": np.ones((6, 5), np.int64)}
    inputs |= {name: normal(6, GROUPS, 3, WIDTH) for name in ["past_k", "past_v"]}
    # The runtime takes several new rows after a cache of one item alone.
    inputs = {name: array[:1] for name, array in inputs.items()}
    sizes = {"new": 2, "all": 5, "old": 3}
    right, found = predicted(path, inputs, dims=sizes, fix={"mask": 1}, outputs=["y"])
    assert found.output.shape == (1, 2, HEADS * WIDTH)
    assert np.abs(found.output - right["y"]).max() <= 2e-3 * right["y"].std()


def test_padding_behind_a_prompt_changes_no_token_before_it(tmp_path):
    """Without a cache the mask is not read: answers of the tokens that it keeps are right."""
    path = tmp_path / "m.onnx"
    inputs = grouped(path, 5, do_rotary=1, given=("cos", "sin", ""), constants=angles())
    inputs["mask"][1::2, 3:], inputs["mask"][2, 1:] = 0, 0
    right, found = predicted(path, inputs)
    kept = inputs["mask"].astype(bool)
    assert 0 < kept.mean() < 1
    assert np.abs(found.output - right["y"])[kept].max() <= 2e-3 * right["y"].std()
