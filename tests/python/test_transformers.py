"""Small transformers of random weights, as exporters write them, held against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from nets import Net, gelu, norm_by_parts
from onnx import TensorProto

import tacit
from graphs.judge import SETTINGS


def root_norm(net, x, n):
    """A normalisation by the root of the mean of squares."""
    mean = net("ReduceMean", net("Pow", x, np.float32(2)), np.array([-1]))
    root = net("Sqrt", net("Add", mean, np.float32(1e-6)))
    normal = net("Mul", x, net("Reciprocal", root))
    return net("Mul", net.rng.uniform(0.8, 1.2, n), normal)


def bert(path, items=8, size=32):
    """An encoder of two layers with two heads: the first token's state gives classes."""
    net = Net((items, size), 1)
    x = net("Add", "x", net.rng.normal(0, 0.3, (1, items, size)))
    x = norm_by_parts(net, x, size)
    for _ in range(2):
        x = norm_by_parts(net, net("Add", net.attention(x, size, 2), x), size)
        inside = gelu(net, net.linear(x, size, 2 * size))
        x = norm_by_parts(net, net("Add", net.linear(inside, 2 * size, size), x), size)
    first = net("Gather", x, np.array(0), axis=1)
    pooled = net("Tanh", net.linear(first, size, size))
    net.save(path, net("Gemm", pooled, net.weights(size, 5), net.rng.normal(0, 0.1, 5)))
    return net.shape


def vit(path, size=32):
    """Patches of an image, a class token before them, blocks that normalise first."""
    net = Net((3, 16, 16), 2)
    patches = net(
        "Conv", "x", net.rng.normal(0, 0.15, (size, 3, 4, 4)), net.rng.normal(0, 0.1, size),
        kernel_shape=[4, 4], strides=[4, 4],
    )  # fmt: skip
    rows = net("Reshape", patches, np.array([0, size, -1]))
    rows = net("Transpose", rows, perm=[0, 2, 1])
    x = net("Concat", net.token(size), rows, axis=1)
    x = net("Add", x, net.rng.normal(0, 0.3, (1, 17, size)))
    for _ in range(2):
        x = net("Add", x, net.joint_attention(net.norm(x, size), size, 4))
        inside = net("Gelu", net.linear(net.norm(x, size), size, 2 * size), approximate="tanh")
        x = net("Add", x, net.linear(inside, 2 * size, size))
    first = net("Gather", net.norm(x, size), np.array(0), axis=1)
    net.save(path, net.linear(first, size, 10), opset=20)
    return net.shape


def rotary(net, items, size):
    """Turns the halves of every row by angles that grow with its place."""
    rates = 100.0 ** -(np.arange(size // 2) * 2 / size)
    angles = np.tile(np.outer(np.arange(items), rates), 2)

    def turn(x):
        first = net("Slice", x, np.array([0]), np.array([size // 2]), np.array([3]))
        second = net("Slice", x, np.array([size // 2]), np.array([size]), np.array([3]))
        across = net("Concat", net("Neg", second), first, axis=-1)
        return net(
            "Add", net("Mul", x, np.cos(angles)), net("Mul", across, np.sin(angles))
        )  # fmt: skip

    return turn


def gpt(path, items=8, size=32, lowest=-np.inf):
    """A decoder's block on embeddings: a causal mask, turned queries and keys, gated by SiLU."""
    net = Net((items, size), 3)
    mask = np.triu(np.full((1, 1, items, items), lowest), 1)
    inside = root_norm(net, "x", size)
    turn = rotary(net, items, size // 2)
    x = net("Add", "x", net.attention(inside, size, 2, mask, turn))
    inside = root_norm(net, x, size)
    gate = net.linear(inside, size, 2 * size)
    gate = net("Mul", gate, net("Sigmoid", gate))
    inside = net("Mul", gate, net.linear(inside, size, 2 * size))
    x = net("Add", x, net.linear(inside, 2 * size, size))
    net.save(path, net("MatMul", root_norm(net, x, size), net.weights(size, 11)))
    return net.shape


def block(path):
    """The smallest that has it all: two heads over four rows, a mask, a class token."""
    net = Net((3, 8), 4)
    x = net("Concat", net.token(8), "x", axis=1)
    mask = np.triu(np.full((4, 4), np.finfo(np.float32).min), 1)
    x = net("Add", x, net.attention(net.norm(x, 8), 8, 2, mask))
    net.save(path, net.linear(gelu(net, net.norm(x, 8)), 8, 4))
    return net.shape


def held(make, path, many, run, options):
    """A model's outputs beside those of onnxruntime, on inputs that the planner has not seen."""
    shape = make(path)
    x = np.random.default_rng(9).normal(0, 1, (16 + many, *shape)).astype(np.float32)
    model = tacit.compile(path, samples=x[:16], **options)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": x[16:]})[0]
    output = tacit.local(**run, timeout=60).predict(model, x[16:]).output
    assert output.shape == expected.shape
    return output, expected


def near(output, expected, most):
    """Whether places of the largest agree, and no error is more than a share of the spread."""
    assert np.abs(output - expected).max() <= most * expected.std()
    best = np.sort(expected, -1)
    clear = best[..., -1] - best[..., -2] > 2 * most * expected.std()
    np.testing.assert_array_equal(output.argmax(-1)[clear], expected.argmax(-1)[clear])
    assert clear.mean() > 0.8


@pytest.mark.parametrize("make", [bert, vit, gpt])
@pytest.mark.parametrize(("protocol", "many"), [("clear", 16), ("falcon", 2)])
def test_a_transformer(make, protocol, many, tmp_path):
    output, expected = held(make, str(tmp_path / "m.onnx"), many, {"protocol": protocol}, {})
    near(output, expected, 0.01)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_block_on_every_protocol(setting, tmp_path):
    options, run = SETTINGS[setting]
    output, expected = held(block, str(tmp_path / "m.onnx"), 4, run, options)
    near(output, expected, 0.05 if setting.endswith(("31 bits", "32 bits")) else 0.01)


def one_node(path, way):
    """A block's attention in one node, of operator set 23, after a normalisation in one."""
    net = Net((5, 12), 6)
    x = net("RMSNormalization", "x", net.rng.uniform(0.8, 1.2, 12), axis=-1, epsilon=1e-5)
    q, k, v = net.linear(x, 12, 12), net.linear(x, 12, 6), net.linear(x, 12, 6)
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    mask = [net.rng.normal(0, 1, (4, 5, 5)).astype(np.float32)]
    if way == "causal":
        mask, heads["is_causal"] = [], 1
    elif way == "kept":
        mask = [np.tri(5, dtype=bool)]
    elif way == "apart":
        q, k, v = net.heads(q, 12, 4), net.heads(k, 6, 2), net.heads(v, 6, 2)
        heads = {"scale": 0.25}
        mask[0][:, 1, 2:] = -np.inf
    y = net("Attention", q, k, v, *mask, **heads)
    net.save(path, net("Mul", y, np.float32(2)), opset=23)
    return net.shape


@pytest.mark.parametrize("way", ["causal", "kept", "added", "apart"])
def test_attention_in_one_node(way, tmp_path):
    path = str(tmp_path / "m.onnx")
    output, expected = held(lambda p: one_node(p, way), path, 8, {"protocol": "clear"}, {})
    assert np.abs(output - expected).max() <= 0.001 * expected.std()


def test_too_few_bits_are_found_out(tmp_path):
    """What the other tests hold a transformer to is not held by any plan."""
    output, expected = held(
        vit, str(tmp_path / "m.onnx"), 4, {"protocol": "clear"}, {"fraction_bits": 7}
    )
    assert np.abs(output - expected).max() > 0.01 * expected.std()


@pytest.mark.parametrize("lowest", [-np.inf, -1e4, -1e9, np.finfo(np.float32).min])
def test_what_a_mask_hides_is_not_seen(lowest, tmp_path):
    """The first rows of a decoder do not depend on those that follow."""
    path = str(tmp_path / "m.onnx")
    x = np.random.default_rng(5).normal(0, 1, (2, *gpt(path, lowest=lowest))).astype(np.float32)
    x[1, :5] = x[0, :5]
    model = tacit.compile(path, input_range=6.0)
    first, second = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_array_equal(first[:5], second[:5])
    assert np.abs(first[5:] - second[5:]).min() > 0


def attention_without_nan(path, items=6, size=8):
    """Attention as torch writes it: shares that are NaN become 0, under a mask that is an input."""
    inputs = [
        ("x", TensorProto.FLOAT, ["N", items, size]), ("keep", TensorProto.BOOL, ["N", items])
    ]  # fmt: skip
    net = Net((), 5, inputs)
    key = net("Transpose", net.linear("x", size, size), perm=[0, 2, 1])
    scores = net("MatMul", net.linear("x", size, size), key)
    lowest = net("Where", "keep", np.float32(0), np.float32(-np.inf))
    shares = net("Softmax", net("Add", scores, net("Unsqueeze", lowest, np.array([1]))), axis=-1)
    shown = net("Where", net("IsNaN", shares), np.float32(0), shares)
    net.save(path, net("MatMul", shown, "x"), opset=18)


def positions(path, items=6, size=8):
    """Places as RoBERTa numbers its tokens: those that are no padding are counted, from 2 on."""
    net = Net((), 6, [("ids", TensorProto.INT64, ["N", items])])
    shown = net("Cast", net("Not", net("Equal", "ids", np.array(1))), to=TensorProto.INT32)
    count = net("Mul", net("CumSum", shown, np.array(1)), shown)
    place = net("Add", net("Cast", count, to=TensorProto.INT64), np.array(1))
    words, places = (net("Gather", net.rng.normal(0, 1, (n, size)), i)
                     for n, i in ((20, "ids"), (items + 4, place)))  # fmt: skip
    net.save(path, net("Add", words, places), opset=18)


def distances(path, items=6, size=8):
    """Graph transformers' distances: a table's rows are added to scores, or hide them."""
    inputs = [
        ("x", TensorProto.FLOAT, ["N", items, size]), ("d", TensorProto.INT64, ["N", items, items])
    ]  # fmt: skip
    net = Net((), 7, inputs)
    table = net.rng.normal(0, 1, (5, 1))
    table[0] = -np.inf
    scores = net("MatMul", net.linear("x", size, size), net("Transpose", "x", perm=[0, 2, 1]))
    of_distance = net("Squeeze", net("Gather", table, "d"), np.array([3]))
    shares = net("Softmax", net("Add", scores, of_distance), axis=-1)
    net.save(path, net("MatMul", shares, "x"), opset=18)


@pytest.mark.parametrize("setting", SETTINGS)
def test_rows_of_a_table_hide_scores(setting, tmp_path):
    path = str(tmp_path / "m.onnx")
    distances(path)
    rng = np.random.default_rng(3)
    d = rng.integers(0, 5, (4, 6, 6))
    d[:, :, 0] = np.maximum(d[:, :, 0], 1)
    compared(path, {"x": rng.normal(0, 1, (4, 6, 8)).astype("f4"), "d": d}, setting)


@pytest.mark.parametrize("setting", SETTINGS)
def test_masks_that_leave_nothing(setting, tmp_path):
    path = str(tmp_path / "m.onnx")
    attention_without_nan(path)
    keep = np.arange(6) < np.array([[6], [3], [1], [0]])
    x = {"x": np.random.default_rng(1).normal(0, 1, (4, 6, 8)).astype("f4"), "keep": keep}
    compared(path, x, setting)


@pytest.mark.parametrize("setting", SETTINGS)
def test_computed_places_choose_rows(setting, tmp_path):
    path = str(tmp_path / "m.onnx")
    positions(path)
    ids = np.random.default_rng(2).integers(2, 20, (4, 6))
    ids[1:, 4:], ids[2, 0] = 1, 1
    compared(path, {"ids": ids}, setting)


def compared(path, x, setting):
    """A private prediction beside onnxruntime's."""
    options, run = SETTINGS[setting]
    expected = onnxruntime.InferenceSession(path).run(None, x)[0]
    model = tacit.compile(path, samples=x, **options)
    output = tacit.local(**run, timeout=60).predict(model, x).output
    most = 0.05 if setting.endswith(("31 bits", "32 bits")) else 0.01
    assert np.abs(output - expected).max() <= most * expected.std()
