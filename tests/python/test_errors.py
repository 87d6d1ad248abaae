"""What other systems answer with plausible wrong numbers is refused here, or right."""

import numpy as np
import pytest
from onnx import helper

import tacit
from tacit import TacitError


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e16, 1e300])
def test_no_number_or_too_large(bad, digits_model, digits):
    x = digits[0][:2].astype(np.float64)
    x[1, 0, 3, 4] = bad
    with pytest.raises(TacitError, match=r"input.*(nan|inf|range|NaN|1e16|1000000)"):
        tacit.local().predict(digits_model, x)


@pytest.mark.parametrize("ring", [32, 64])
def test_a_product_beyond_the_ring(ring, save_onnx):
    """1e6 times 1e6 is refused, or right."""
    path = save_onnx([helper.make_node("Mul", ["x", "x"], ["y"], "square")], [3], [3])
    x = np.array([[1e6, -1e6, 3.0]], np.float32)
    try:
        output = tacit.local().predict(tacit.compile(path, input_range=1e6, ring=ring), x).output
    except TacitError as error:
        assert "square" in str(error)
    else:
        np.testing.assert_allclose(output, x.astype(np.float64) ** 2, rtol=1e-3)


@pytest.mark.parametrize("kind", ["Bernoulli", "RandomNormalLike", "RandomUniformLike"])
def test_functions_that_are_not_there(kind, save_onnx):
    nodes = [
        helper.make_node(kind, ["x"], ["h"], "strange"),
        helper.make_node("Relu", ["h"], ["y"], "relu"),
    ]
    with pytest.raises(TacitError) as caught:
        tacit.compile(save_onnx(nodes, [3], [3]))
    for word in ("strange", kind, "Gemm"):
        assert word in str(caught.value)


def test_all_that_is_not_there_is_named_at_once(save_onnx):
    nodes = [
        helper.make_node("Bernoulli", ["x"], ["h"], "first"),
        helper.make_node("Relu", ["h"], ["r"], "relu"),
        helper.make_node("RandomNormalLike", ["r"], ["y"], "second"),
    ]
    with pytest.raises(TacitError) as caught:
        tacit.compile(save_onnx(nodes, [3], [3]))
    for word in ("first", "Bernoulli", "second", "RandomNormalLike"):
        assert word in str(caught.value)


def test_fractions_are_kept(save_onnx):
    """Fractions are kept: no float is truncated to an integer before it is scaled."""
    path = save_onnx([helper.make_node("Relu", ["x"], ["y"], "relu")], [3], [3])
    x = np.array([[0.5, 1.7, -2.3]])
    output = tacit.local().predict(tacit.compile(path), x).output
    np.testing.assert_allclose(output, [[0.5, 1.7, 0]], atol=1e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: x[0], r"\(1, 8, 8\).*\(n, 1, 8, 8\)"),
        (lambda x: x[:, 0], r"\(n, 1, 8, 8\)"),
        (lambda x: x[:0], "n >= 1"),
        (lambda x: x.astype(complex), "complex"),
        (lambda x: x.astype(str), "real numbers"),
        (lambda x: x.astype(object), "object"),
        (lambda x: (x * 0).astype(np.int64) + (2**60 + 1), "float32"),
    ],
)
def test_not_a_batch_of_inputs(make, words, digits_model, digits):
    with pytest.raises(TacitError, match=words):
        tacit.local().predict(digits_model, make(digits[0][:2]))


@pytest.mark.parametrize("labels", [[1], [0.5, 1.5], [[1], [2]]])
def test_labels_that_fit_nothing(labels, digits_model, digits):
    with pytest.raises(TacitError, match="labels"):
        tacit.local().predict(digits_model, digits[0][:2], labels=labels)


def test_weights_that_are_no_numbers(save_onnx):
    weights = np.array([[1, 2], [np.nan, 1]], np.float32)
    nodes = [helper.make_node("MatMul", ["x", "weights"], ["y"], "fc")]
    with pytest.raises(TacitError, match="weights"):
        tacit.compile(save_onnx(nodes, [2], [2], {"weights": weights}))


def test_a_layer_beyond_the_ring_is_named(save_onnx):
    weights = np.full((2, 2), 1e5, np.float32)
    nodes = [helper.make_node("MatMul", ["x", "weights"], ["y"], "huge")]
    path = save_onnx(nodes, [2], [2], {"weights": weights})
    with pytest.raises(TacitError, match="huge"):
        tacit.compile(path, ring=32, samples=np.ones((4, 2)), fraction_bits=12)


def test_samples_of_another_shape(digits_path):
    with pytest.raises(TacitError, match="sample"):
        tacit.compile(digits_path, samples=np.zeros((4, 7)))


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "faclon"},
        {"truncation": "round"},
        {"network": "moon"},
        {"timeout": -1},
        {"parties": 64},
        {"comparison": "bush"},
        {"opening": "queen"},
    ],
)
def test_settings_that_do_not_exist(options, digits_model, digits):
    with pytest.raises(TacitError, match=str(next(iter(options.values())))):
        tacit.local(**options).predict(digits_model, digits[0][:2])


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"ring": 48}, "rings have 32 or 64 bits"),
        ({"ring": 61}, "rings have 32 or 64 bits"),
        ({"field": 64}, "fields have 31 or 61 bits"),
        ({"ring": 64, "field": 61}, "give one or none"),
    ],
)
def test_rings_and_fields_that_do_not_exist(numbers, words, digits_path):
    with pytest.raises(TacitError, match=words):
        tacit.compile(digits_path, **numbers)


def test_what_is_no_model():
    with pytest.raises(TacitError, match="ONNX"):
        tacit.compile(3)
