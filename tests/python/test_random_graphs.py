"""Random small models on every protocol, held against onnxruntime: a few hundred of those of
`make random-graphs`, and what makes and judges them.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from graphs import judge, models, operations

SETTINGS = [*judge.SETTINGS]
ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (\w+)", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
SUPPORTED = set(ROWS) - {"operation"}


def test_every_supported_operation_has_a_generator():
    made = {*operations.GENERATORS, *operations.ENDS, "Constant", "ConstantOfShape"}
    assert made == SUPPORTED


def test_every_supported_operation_is_made():
    """In whichever of some thousand models it comes to, and none that is not supported."""
    used = set()
    for seed in range(5000):
        g, _ = models.random_model(seed)
        used |= g.used
    assert used == SUPPORTED


def test_models_are_made_again_from_their_number():
    first, again = (models.random_model(17)[0].model() for _ in range(2))
    assert first.SerializeToString() == again.SerializeToString()


def test_inputs_are_inside_the_declared_range():
    _, x = models.inputs(np.random.default_rng(0), (3,), 2.0)
    assert np.abs(x).max() == 2
    assert (x[0] == 0).all()


@pytest.mark.parametrize(
    ("output", "right"),
    [
        (lambda y: y, True),
        (lambda y: y + 0.019 * np.abs(y - y.mean()).max(), True),
        (lambda y: y + 0.05 * np.abs(y - y.mean()).max(), False),
        (lambda y: np.full_like(y, y.mean()), False),
        (np.zeros_like, False),
        (lambda y: -y, False),
        (lambda y: y[:2], False),
    ],
)
def test_a_collapsed_output_is_wrong(output, right):
    g, limit = models.random_model(5, kinds=["MatMul"])
    _, x = models.inputs(np.random.default_rng(0), g.input.shape, limit)
    [wanted] = judge.Oracle(g, [g.output.name])(x)
    error, bound = judge.distance(g, x, output(wanted), 2.0**-18)
    assert (error <= bound) is right


@pytest.mark.parametrize("setting", SETTINGS)
def test_nothing_is_silently_wrong(setting):
    many = 150 if setting.startswith("clear") else 20 if setting == "sirnn" else 40
    verdicts = {seed: judge.judge(models.trial(seed, setting), blame=False) for seed in range(many)}
    assert not {seed: v for seed, v in verdicts.items() if v.kind == "silently wrong"}
    counts = Counter(v.kind for v in verdicts.values())
    assert counts["right"] >= 0.85 * many, counts
    assert counts["refused"] <= 0.05 * many, counts


FOUND_IN = [
    "Add", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Conv", "Div",
    "Dropout", "Erf", "Exp", "Expand", "Flatten", "GRU", "Gather", "Gelu", "Gemm",
    "GlobalAveragePool", "GlobalMaxPool", "Identity", "LSTM", "LayerNormalization",
    "LeakyRelu", "MatMul", "MaxPool", "Mul", "Neg", "Pad", "Pow", "RNN", "Reciprocal",
    "ReduceMean", "ReduceSum", "Relu", "Reshape", "Shape", "Sigmoid", "Slice", "Softmax",
    "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Transpose", "Unsqueeze",
]  # fmt: skip
"""What the models of the following numbers are made of."""


@pytest.mark.parametrize("seed", [5830, 88334, 90264])
def test_answers_that_hardly_differ_are_warned_of(seed):
    """The outputs of these inputs differ by far less than those of the trial: no plan knows."""
    ends = ["ArgMax", "LogSoftmax", "Softmax", "Sigmoid"]
    made_of = {"kinds": FOUND_IN, "ends": ends, "opsets": range(9, 23)}
    verdict = judge.judge(models.trial(seed, "clear, 32 bits", **made_of), blame=False)
    assert verdict.kind.startswith("wrong, warned")
    assert "these answers differ by up to" in verdict.why
