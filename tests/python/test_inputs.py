"""Models with several inputs, and with inputs of tokens and masks, held against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from nets import Net, gelu, norm_by_parts
from onnx import TensorProto

import tacit
from graphs.judge import SETTINGS
from tacit.cli import main

WORDS, ITEMS, SIZE = 23, 6, 16


def sentences(path):
    """A small encoder of sentences: words, kinds, places, a mask; classes of the first row."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    net = Net((), 7, [(name, TensorProto.INT64, ["N", ITEMS]) for name in names])
    words = net("Gather", net.rng.normal(0, 1, (WORDS, SIZE)), "input_ids")
    kinds = net("Gather", net.rng.normal(0, 1, (2, SIZE)), "token_type_ids")
    places = net("Gather", net.rng.normal(0, 1, (9, SIZE)), np.arange(ITEMS))
    x = norm_by_parts(net, net("Add", net("Add", words, kinds), places), SIZE)
    mask = net("Unsqueeze", "attention_mask", np.array([1, 2]))
    hidden = net("Sub", np.float32(1), net("Cast", mask, to=TensorProto.FLOAT))
    hidden = net("Mul", hidden, np.finfo(np.float32).min)
    q, k, v = (net.heads(net.linear(x, SIZE, SIZE), SIZE, 2) for _ in range(3))
    scores = net("MatMul", q, net("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net("Add", net("Div", scores, np.float32(8**0.5)), hidden)
    mixed = net("MatMul", net("Softmax", scores, axis=-1), v)
    back = net("Reshape", net("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([0, 0, SIZE]))
    x = norm_by_parts(net, net("Add", net.linear(back, SIZE, SIZE), x), SIZE)
    first = net("Gather", gelu(net, x), np.array(0), axis=1)
    net.save(path, net("Gemm", first, net.weights(SIZE, 3), net.rng.normal(0, 0.1, 3)))


def given(n, seed=0):
    """Sentences of two to six words."""
    rng = np.random.default_rng(seed)
    long = rng.integers(2, ITEMS + 1, (n, 1))
    mask = (np.arange(ITEMS) < long).astype(np.int64)
    ids = rng.integers(1, WORDS, (n, ITEMS)) * mask
    kinds = (np.arange(ITEMS) >= rng.integers(1, ITEMS, (n, 1))) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("sentences") / "m.onnx")
    sentences(path)
    return path


def expected(path, x):
    return onnxruntime.InferenceSession(path).run(None, x)[0]


@pytest.mark.parametrize("setting", SETTINGS)
def test_sentences_on_every_protocol(setting, model_path):
    options, run = SETTINGS[setting]
    x = given(3, 1)
    model = tacit.compile(model_path, samples=given(16), **options)
    output = tacit.local(**run, timeout=60).predict(model, x).output
    wanted = expected(model_path, x)
    narrow = setting.endswith(("31 bits", "32 bits"))
    assert np.abs(output - wanted).max() <= (0.1 if narrow else 0.01) * wanted.std()


def test_what_the_plan_tells_of_inputs(model_path):
    model = tacit.compile(model_path)
    kinds = {each["name"]: each["kind"] for each in model.plan["inputs"]}
    assert kinds == {
        "attention_mask": "truths",
        "input_ids": {"tokens": {"classes": WORDS}},
        "token_type_ids": {"tokens": {"classes": 2}},
    }
    assert model.input_shape == dict.fromkeys(kinds, (ITEMS,))
    # Without samples, and on words that no sample has shown.
    x = given(64, 3)
    output = tacit.local(protocol="clear").predict(model, x).output
    wanted = expected(model_path, x)
    assert np.abs(output - wanted).max() <= 0.01 * wanted.std()
    np.testing.assert_allclose(model.reference(x), wanted, atol=1e-4)


def test_padding_is_not_seen(model_path):
    """What stands where the mask is 0 changes no answer."""
    model = tacit.compile(model_path)
    x = given(8, 5)
    other = {**x, "input_ids": np.where(x["attention_mask"] == 1, x["input_ids"], 5)}
    first, second = (
        tacit.local(protocol="clear").predict(model, each).output for each in (x, other)
    )
    np.testing.assert_allclose(first, second, atol=1e-4)


REFUSED = [
    (
        {"input_ids": np.full((1, ITEMS), WORDS)},
        "input_ids' is 23; it takes whole numbers from 0 to",
    ),
    ({"input_ids": np.full((1, ITEMS), -1)}, "input_ids' is -1"),
    ({"attention_mask": np.full((1, ITEMS), 2)}, "attention_mask' is 2; it takes 0 or 1"),
    ({"input_ids": np.zeros((2, ITEMS), int)}, "differ in their number of items"),
    ({"input_ids": np.zeros((1, 2), int)}, "the input 'input_ids' has shape (1, 2)"),
    ({"words": np.zeros((1, ITEMS))}, "reads no input 'words'; it reads attention_mask, input_ids"),
]


@pytest.mark.parametrize(("changed", "words"), REFUSED)
def test_what_is_refused(changed, words, model_path):
    model = tacit.compile(model_path)
    with pytest.raises(tacit.TacitError) as refused:
        tacit.local(protocol="clear").predict(model, {**given(1), **changed})
    assert words in str(refused.value)
    if "it takes" in words:
        with pytest.raises(tacit.TacitError, match="it takes"):
            model.reference({**given(1), **changed})
    with pytest.raises(tacit.TacitError, match="is missing; the model takes"):
        model.reference({"input_ids": given(1)["input_ids"]})


def test_inputs_may_be_fixed(model_path):
    x = given(4, 2)
    ones = np.ones_like(x["attention_mask"])
    model = tacit.compile(model_path, fix={"attention_mask": 1})
    some = {name: array for name, array in x.items() if name != "attention_mask"}
    output = tacit.local(protocol="clear").predict(model, some).output
    wanted = expected(model_path, {**x, "attention_mask": ones})
    assert np.abs(output - wanted).max() <= 0.01 * wanted.std()


def test_commands_take_arrays_by_name(model_path, tmp_path, capsys):
    x = given(2, 4)
    file, out = str(tmp_path / "x.npz"), str(tmp_path / "y.npy")
    np.savez(file, **x)
    line = ["run", model_path, "--input", file, "--samples", file, "--output", out]
    assert main([*line, "--protocol", "bicoptor", "--processes"]) == 0, capsys.readouterr().err
    wanted = expected(model_path, x)
    assert np.abs(np.load(out) - wanted).max() <= 0.01 * wanted.std()
    np.savez(file, **{name: array for name, array in x.items() if name != "input_ids"})
    assert main(["run", model_path, "--input", file, "--protocol", "clear"]) == 2
    assert "no array 'input_ids'" in " ".join(capsys.readouterr().err.split())


def test_a_state_whose_batch_is_not_the_first_axis(tmp_path):
    """A state of recurrent networks has its batch second: `(layers, n, size)`."""
    path = str(tmp_path / "m.onnx")
    inputs = [("x", TensorProto.FLOAT, ["N", 4]), ("state", TensorProto.FLOAT, [2, "N", 4])]
    net = Net((), 3, inputs)
    first = net("Gather", "state", np.array(0), axis=0)
    net.save(path, net("Add", net.linear("x", 4, 4), net.linear(first, 4, 4)))
    rng = np.random.default_rng(8)
    x = {"x": rng.normal(0, 1, (5, 4)), "state": rng.normal(0, 1, (2, 5, 4))}
    x = {name: array.astype(np.float32) for name, array in x.items()}
    model = tacit.compile(path, samples=x)
    assert model.input_shape == {"x": (4,), "state": (2, 4)}
    output = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(output, expected(path, x), atol=1e-3)


def test_a_batch_behind_a_time_of_a_fixed_length(tmp_path):
    """Inputs of torch's recurrent networks: `(steps, n, size)`, the one axis without a size."""
    path = str(tmp_path / "m.onnx")
    net = Net((), 3, [("x", TensorProto.FLOAT, [3, "N", 4])])
    steps = net("Tanh", net.linear("x", 4, 4))
    last = net("Gather", steps, np.array(2), axis=0)
    net.save(path, net.linear(last, 4, 2))
    x = np.random.default_rng(8).normal(0, 1, (3, 5, 4)).astype(np.float32)
    model = tacit.compile(path, samples={"x": x})
    assert model.input_shape == (3, 4)
    for given_as in ({"x": x}, x.transpose(1, 0, 2)):
        output = tacit.local(protocol="clear").predict(model, given_as).output
        np.testing.assert_allclose(output, expected(path, {"x": x}), atol=1e-3)
    with pytest.raises(tacit.TacitError, match=r"give \{'x': array\} as the file"):
        model.reference(x)
    with pytest.raises(tacit.TacitError, match="with the items of 'x' along axis 1"):
        tacit.compile(path, samples=x)


def test_a_free_axis_that_is_no_batch_is_told(tmp_path):
    path = str(tmp_path / "m.onnx")
    net = Net((), 3, [("x", TensorProto.FLOAT, [1, "T", 4])])
    net.save(path, net("ReduceMean", net.linear("x", 4, 4), np.array([1]), keepdims=0))
    words = r"'T', and taken as the batch it is refused: .* give its size with --dim T="
    with pytest.raises(tacit.TacitError, match=words):
        tacit.compile(path)
    assert tacit.compile(path, dims={"T": 3}).input_shape == (3, 4)
