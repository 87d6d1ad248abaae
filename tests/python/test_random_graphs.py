"""Random small models on every protocol, held against onnxruntime: a few hundred of those of
`make random-graphs`, and what makes and judges them.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from graphs import judge, models, operations
from graphs.build import Graph

SETTINGS = [*judge.SETTINGS]
ROOT = Path(__file__).resolve().parents[2]
# Those of tables, in a section of their own, are held by `test_tables.py`.
STANDARD = (ROOT / "docs" / "operations.md").read_text().split("\n## ")[0]
ROWS = re.findall(r"^\| (\w+)", STANDARD, re.MULTILINE)
SUPPORTED = set(ROWS) - {"operation"} - operations.NEWER - operations.APART


def test_every_supported_operation_has_a_generator():
    made = {*operations.GENERATORS, *operations.ENDS, "Constant", "ConstantOfShape"}
    assert made == SUPPORTED


def test_every_supported_operation_is_made():
    """In whichever of some thousand models it comes to, and none that is not supported."""
    used = set()
    for seed in range(12000):
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
    g, limit = models.random_model(5, kinds=["Gemm"])
    _, x = models.inputs(np.random.default_rng(0), g.input.shape, limit)
    [wanted] = judge.Oracle(g, [g.output.name])(x)
    error, bound = judge.distance(g, x, output(wanted), 2.0**-18)
    assert (error <= bound) is right


@pytest.mark.parametrize("setting", SETTINGS)
def test_nothing_is_silently_wrong(setting):
    many = 100 if setting.startswith("clear") else 20 if setting == "sirnn" else 40
    verdicts = {seed: judge.judge(models.trial(seed, setting), blame=False) for seed in range(many)}
    assert not {seed: v for seed, v in verdicts.items() if v.kind == "silently wrong"}
    counts = Counter(v.kind for v in verdicts.values())
    # Comparisons of what is nearly equal want more bits than 31.
    narrow = setting.endswith(("31 bits", "32 bits"))
    assert counts["right"] >= (0.75 if narrow else 0.85) * many, counts
    assert counts["refused"] <= 0.05 * many, counts


def shares_of_reciprocals(g):
    """A softmax of reciprocals of up to 20, of numbers that are mostly far from their least."""
    x = g.start((12,), 3.0)
    low, high = (g.plain(np.float32(v)) for v in (0.05, 3.0))
    v = g.node("Clip", [x, low, high], (12,), 0.05, 3)
    v = g.node("Reciprocal", [v], (12,), 1 / 3, 20)
    starts, ends, axes = g.ints(6), g.ints(12), g.ints(1)
    v = g.node("Slice", [v, starts, ends, axes], (6,), 1 / 3, 20)
    g.output = g.node("Softmax", [v], (6,), 0, 1)
    return 5830


def exponentials_of_a_norm(g):
    """Exponentials of numbers that were normalised, whatever their size."""
    scale = [-0.957, 0.259, -0.527, 0.628, 0.33, 0.586, 0.23, 0.429, -0.627, -0.532, -0.857, -0.856]
    x = g.start((12,), 1.0)
    names = [g.plain(np.float32(v)) for v in (scale, [0.641])]
    v = g.node("LayerNormalization", [x, *names], (12,), -4, 4, epsilon=1e-3)
    v = g.node("LeakyRelu", [v], (12,), -2, 4, alpha=0.5)
    g.output = g.node("Exp", [v], (12,), 0.138, 52.3)
    return 90264


@pytest.mark.parametrize("make", [shares_of_reciprocals, exponentials_of_a_norm])
def test_answers_that_hardly_differ_are_warned_of(make):
    """The outputs of these inputs differ by far less than those of the trial: no plan knows."""
    g = Graph(np.random.default_rng(0), 18)
    seed = make(g)
    samples, x = models.inputs(np.random.default_rng([seed, 1]), g.input.shape, g.input.high)
    samples = samples if seed % 4 else None
    verdict = judge.judge(judge.Trial(g, g.input.high, samples, x, "clear, 32 bits"), blame=False)
    assert verdict.kind.startswith("wrong, warned")
    assert "these answers differ by up to" in verdict.why
