"""Curves of a page, as SVG: lines over axes with round ticks, a light grid and a legend.

Drawn by hand: pure-Python charting libraries bring scripts, fixed colours or pictures that shrink
their words on a phone, and a page is one file that follows its reader's colours.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from .ticks import Scale, logarithmic, number, round_scale, within

WIDTH, HEIGHT = 440, 260
"""The size of a picture, in its own units, about a pixel each."""
TOP, BOTTOM, RIGHT = 40, 50, 18
"""Room above, below and right of the lines: for words of up to 18 units, as on a phone."""
LETTER = 11
"""Room for a letter of a tick beside the upright axis."""
COLOURS = ("#2b6cb0", "#b8500b", "#187a55", "#9c3587")
"""Of the lines, where no page's style says otherwise; told apart by the colour-blind, too."""
DASHES = ("", "7 3", "2 3", "8 3 2 3")
"""Of the lines, so that they differ on grey paper."""


@dataclass(frozen=True)
class Line:
    """A line of a picture.

    Attributes
    ----------
    name : str
        What the legend calls it.
    points : sequence of (float, float)
        Where it is along and up, from left to right; what is not finite is left out.
    """

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What an axis measures.

    Attributes
    ----------
    title : str
        What, and in which unit.
    least, most : float, optional
        Between which numbers every value lies by its nature.
    """

    title: str
    least: float = -math.inf
    most: float = math.inf


def curve(
    lines: Sequence[Line], along: Axis, up: Axis, level: tuple[str, float] | None = None
) -> str:
    """Lines over whole numbers `along`, with a level line and its name if it is given.

    The upright axis is logarithmic where positive values span two decades and `up` has no end. A
    picture without any finite point is empty.
    """
    drawn = [line for line in (_finite(line) for line in lines) if line.points]
    points = [point for line in drawn for point in line.points]
    if not points:
        return ""
    values = [y for _, y in points] + ([level[1]] if level else [])
    scale = _upright(values, up)
    marks = within([x for x, _ in points])
    left = 12 + LETTER * max(3, *(len(number(tick, scale)) for tick in scale.ticks))
    place = _Place(left, marks, scale)
    title = f"{up.title}, by {along.title}"
    shown = [
        f"<title>{html.escape(title)}</title><desc>{html.escape(_told(drawn, along))}</desc>",
        _grid(place),
        _titles(along, up),
        "" if level is None else _level(level[1], place),
        *(_line(line, at, place, len(drawn) == 1) for at, line in enumerate(drawn)),
    ]
    picture = (
        f'<svg class="curve" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-size="14" font-family="sans-serif" '
        f'fill="currentColor" role="img">{"".join(shown)}</svg>'
    )
    return f"<figure>{picture}{_legend(drawn, level)}</figure>"


@dataclass(frozen=True)
class _Place:
    """Where numbers stand in a picture: right of `left`, between the ends of both axes."""

    left: float
    along: Scale
    up: Scale

    def x(self, value: float) -> float:
        return self.left + self.along.share(value) * (WIDTH - RIGHT - self.left)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - self.up.share(value) * (HEIGHT - BOTTOM - TOP)


def _finite(line: Line) -> Line:
    return Line(line.name, [(x, y) for x, y in line.points if math.isfinite(y)])


def _upright(values: Sequence[float], axis: Axis) -> Scale:
    """The scale of values: from 0 on where they come near it, or with decades."""
    low, high = min(values), max(values)
    if 0 < 100 * low <= high and axis.most == math.inf:
        return logarithmic(low, high)
    low = min(low, 0) if low < high / 2 else low
    return round_scale(low, high, axis.least, axis.most)


def _grid(place: _Place) -> str:
    """Lines at the ticks, and their numbers."""
    low, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    path, words = "", ""
    for tick in place.up.ticks:
        y = place.y(tick)
        path += f"M{place.left:.1f},{y:.1f}H{right}"
        words += _text(place.left - 7, y + 4.5, "end", number(tick, place.up))
    for tick in place.along.ticks:
        x = place.x(tick)
        path += f"M{x:.1f},{TOP}V{low}"
        words += _text(x, low + 20, "middle", number(tick, place.along))
    grid = f'<path class="grid" d="{path}" fill="none" stroke="gray" stroke-opacity=".3"/>'
    axes = f"M{place.left:.1f},{TOP}V{low}H{right}"
    return f'{grid}<path class="axis" d="{axes}" fill="none" stroke="gray"/>{words}'


def _titles(along: Axis, up: Axis) -> str:
    """What the axes measure: the upright one above its end, for whom turned words are hard."""
    below = _text(WIDTH - RIGHT, HEIGHT - 8, "end", along.title)
    return _text(4, 18, "start", up.title) + below


def _text(x: float, y: float, anchor: str, words: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {place}>{html.escape(words)}</text>"


def _level(value: float, place: _Place) -> str:
    y = place.y(value)
    path = f"M{place.left:.1f},{y:.1f}H{WIDTH - RIGHT}"
    return f'<path class="level" d="{path}" fill="none" stroke="gray" stroke-width="1.5"/>'


def _line(line: Line, at: int, place: _Place, alone: bool) -> str:
    """A line and its marks, which tell their numbers to whoever points at them."""
    places = " ".join(f"{place.x(x):.1f},{place.y(y):.1f}" for x, y in line.points)
    path = f'<polyline class="line" points="{places}" fill="none" {_stroke(at)}/>'
    name = f"{line.name}: " if line.name else ""
    marks = "".join(
        _mark(place.x(x), place.y(y), at, f"{name}{x:g}, {y:.4g}", alone) for x, y in line.points
    )
    return f'<g class="of{at % len(COLOURS)}">{path}{marks}</g>'


def _stroke(at: int) -> str:
    dash = DASHES[at % len(DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{COLOURS[at % len(COLOURS)]}" stroke-width="2"{dashed}'


SHAPES = (
    "M{w},{y}a3.5,3.5 0 1 0 7,0a3.5,3.5 0 1 0 -7,0z",
    "M{w},{n}h7v7h-7z",
    "M{w},{n}h7l-3.5,7z",
    "M{w},{s}h7l-3.5,-7z",
)
"""Marks of the lines: a circle, a square, triangles down and up, 7 units wide."""


def _mark(x: float, y: float, at: int, words: str, full: bool) -> str:
    """A mark: hollow where several lines may lie on each other."""
    sides = {"w": f"{x - 3.5:.1f}", "y": f"{y:.1f}", "n": f"{y - 3.5:.1f}", "s": f"{y + 3.5:.1f}"}
    shape = SHAPES[at % len(SHAPES)].format(**sides)
    colour = COLOURS[at % len(COLOURS)]
    fill = colour if full else "none"
    told = f"<title>{html.escape(words)}</title>" if words else ""
    kind = "mark full" if full else "mark"
    return f'<path class="{kind}" d="{shape}" fill="{fill}" stroke="{colour}">{told}</path>'


def _legend(lines: Sequence[Line], level: tuple[str, float] | None) -> str:
    """The names of several lines beside a piece of each."""
    pieces = [
        f'<g class="of{at % len(COLOURS)}"><path class="line" d="M0,7H34" fill="none" '
        f"{_stroke(at)}/>{_mark(17, 7, at, '', False)}</g>"
        for at in range(len(lines))
    ]
    names = [line.name for line in lines]
    if level is not None:
        pieces.append('<path class="level" d="M0,7H34" stroke="gray" stroke-width="1.5"/>')
        names.append(level[0])
    if len(names) < 2:
        return ""
    shown = "".join(
        f'<span><svg class="piece" viewBox="0 0 34 14" width="34" height="14" aria-hidden="true">'
        f"{piece}</svg> {html.escape(name)}</span>"
        for piece, name in zip(pieces, names, strict=True)
    )
    return f'<figcaption class="legend">{shown}</figcaption>'


def _told(lines: Sequence[Line], along: Axis) -> str:
    """The ends of the lines in words, for those who do not see them."""
    told: list[str] = []
    for line in lines:
        (first, begin), (last, end) = line.points[0], line.points[-1]
        name = f"{line.name}: " if line.name else ""
        told.append(f"{name}{begin:.4g} at {first:g}, {end:.4g} at {last:g}.")
    return f"By {along.title}. {' '.join(told)}"
