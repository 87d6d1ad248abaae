"""Pictures of lines: round ticks, where points stand, and what is told to those who cannot see."""

import math
import re

import numpy as np
import pytest

from tacit import ticks
from tacit.curves import Axis, Line, curve


def words(scale):
    return [ticks.number(tick, scale) for tick in scale.ticks]


def is_round(step):
    return f"{step:.9e}"[:3] in {"1.0", "2.0", "5.0"}


def test_ticks_are_few_and_round():
    rng, sizes = np.random.default_rng(1), []
    for _ in range(2000):
        low, high = np.sort(rng.normal(0, 1, 2)) * 10.0 ** rng.integers(-8, 9)
        scale = ticks.round_scale(low, high)
        assert 4 <= len(scale.ticks) <= 7
        assert scale.low == scale.ticks[0] <= low and high <= scale.ticks[-1] == scale.high
        assert is_round(scale.step)
        assert len(set(words(scale))) == len(scale.ticks)
        assert all(0 <= scale.share(value) <= 1 for value in (low, high))
        sizes.append(len(scale.ticks))
    assert np.mean(np.array(sizes) <= 6) > 0.9


def test_decades():
    rng = np.random.default_rng(2)
    for _ in range(500):
        low = 10.0 ** rng.uniform(-20, 5)
        high = low * 10.0 ** rng.uniform(2, 25)
        scale = ticks.logarithmic(low, high)
        assert 4 <= len(scale.ticks) <= 6
        assert scale.low <= low * (1 + 1e-6) and high <= scale.high * (1 + 1e-6)
        assert len(set(words(scale))) == len(scale.ticks)
    assert words(ticks.logarithmic(1e-14, 2.8))[0] == "10⁻¹⁴"
    assert words(ticks.logarithmic(0.02, 3)) == ["0.01", "0.1", "1", "10"]
    assert words(ticks.logarithmic(1, 100)) == ["1", "3", "10", "30", "100"]


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0, 0.41, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        (97.1, 98.4, ["97.0", "97.5", "98.0", "98.5"]),
        (2.3, 2.3, ["1.0", "1.5", "2.0", "2.5", "3.0", "3.5"]),
        (0, 0, ["-1.0", "-0.5", "0", "0.5", "1.0"]),
        (0, 4200, ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]),
        (0, 3e7, ["0", "10⁷", "2·10⁷", "3·10⁷"]),
        (0, 3e-6, ["0", "10⁻⁶", "2·10⁻⁶", "3·10⁻⁶"]),
    ],
)
def test_ticks_in_words(low, high, told):
    assert words(ticks.round_scale(low, high)) == told


def test_values_that_are_one_stay_where_they_can_be():
    assert words(ticks.round_scale(100, 100, 0, 100)) == ["50", "60", "70", "80", "90", "100"]
    assert ticks.round_scale(0, 0, 0).low == 0
    scale = ticks.round_scale(0.1, 0.1 + 1e-17)
    assert 4 <= len(scale.ticks) <= 7


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (1, 1, ["1"]),
        (1, 7, list("1234567")),
        (4, 30, ["5", "10", "15", "20", "25", "30"]),
        (1, 300, ["50", "100", "150", "200", "250", "300"]),
    ],
)
def test_whole_numbers(low, high, told):
    scale = ticks.within([high, low])
    assert words(scale) == told and (scale.low, scale.high) == (low, high)


def places(text):
    """The points of every line, as (across, down)."""
    return [
        [tuple(map(float, point.split(","))) for point in points.split()]
        for points in re.findall(r'<polyline[^>]* points="([^"]*)"', text)
    ]


def test_points_stand_where_their_numbers_are():
    points = [(1, 10.0), (2, 20.0), (3, 40.0)]
    text = curve([Line("", points)], Axis("epoch"), Axis("accuracy, %", 0, 100))
    [[first, second, third]] = places(text)
    assert second[0] - first[0] == pytest.approx(third[0] - second[0], abs=0.2)
    assert third[1] - second[1] == pytest.approx(2 * (second[1] - first[1]), abs=0.3)
    shown = dict(re.findall(r'y="([\d.]+)" text-anchor="end">([\d.]+)<', text))
    assert list(shown.values()) == ["0", "10", "20", "30", "40"]
    heights = {value: float(y) - 4.5 for y, value in shown.items()}
    assert heights["10"] == pytest.approx(first[1], abs=0.11)
    assert heights["40"] == pytest.approx(third[1], abs=0.11)


def test_what_is_told_to_those_who_do_not_see():
    lines = [Line("a", [(1, 0.5), (2, 0.25)]), Line("b", [(1, 1.0), (2, 2.0)])]
    text = curve(lines, Axis("epoch"), Axis("loss, nats"), ("float32 model", 0.4))
    assert 'role="img"' in text and "<title>loss, nats, by epoch</title>" in text
    assert "<desc>By epoch. a: 0.5 at 1, 0.25 at 2. b: 1 at 1, 2 at 2.</desc>" in text
    assert "<title>a: 2, 0.25</title>" in text
    # The legend has a piece of each line and of the level.
    legend = re.findall(r"</svg> ([^<]*)</span>", text)
    assert legend == ["a", "b", "float32 model"]
    dashes = re.findall(r'class="line" points[^>]*', text)
    assert len({re.search(r"dasharray.*", each + " dasharray")[0] for each in dashes}) == 2


def test_what_has_no_number_is_left_out():
    gaps = [(1, math.nan), (2, 3.0), (3, math.inf), (4, 5.0)]
    text = curve([Line("", gaps), Line("empty", [])], Axis("epoch"), Axis("loss"))
    [line] = places(text)
    assert len(line) == 2 and "empty" not in text and "nan" not in text and "legend" not in text
    assert curve([Line("", [(1, math.nan)])], Axis("epoch"), Axis("loss")) == ""
    assert curve([], Axis("epoch"), Axis("loss")) == ""


def test_one_point_and_decades():
    text = curve([Line("", [(1, 2.3)])], Axis("epoch"), Axis("loss"))
    [[(x, y)]] = places(text)
    assert 0 < x < 440 and 0 < y < 260
    wide = curve([Line("", [(f, 10.0 ** (f - 20)) for f in range(4, 21)])], Axis("f"), Axis("e1"))
    [line] = places(wide)
    steps = np.diff([y for _, y in line])
    assert np.allclose(steps, steps[0], atol=0.2), "a decade is as high as any other"
    # What has an end by its nature, such as a share, is not drawn by decades.
    share = curve([Line("", [(1, 0.1), (2, 100.0)])], Axis("epoch"), Axis("accuracy, %", 0, 100))
    assert ">0<" in share and ">100<" in share
