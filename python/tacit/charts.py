"""Pictures of a page, as tables with SVG and colours: bars and confusion matrices."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_BARS = 16
"""Bars of a chart: what is smaller is put together."""
LONG = 40
"""Characters of a bar's name: of longer ones both ends are shown."""
MOST_CLASSES = 16
"""Classes of a matrix: of more the likeliest confusions are listed."""
MOST_PAIRS = 12
"""Confusions that are listed."""


def bars(title: str, rows: Sequence[tuple[str, float, str]], kind: str) -> str:
    """Horizontal bars in the order of the rows: a name, a length of at least 0, a length in words.

    Of many rows the longest are shown, and last how many others of that `kind` there are and what
    share of the whole they are.
    """
    most = max((value for _, value, _ in rows), default=0)
    kept = sorted(range(len(rows)), key=lambda i: -rows[i][1])[:MOST_BARS]
    lines = "".join(_bar(*rows[i], most) for i in sorted(kept))
    rest = [rows[i][1] for i in range(len(rows)) if i not in set(kept)]
    if rest:
        whole = sum(value for _, value, _ in rows) or 1
        words = f"{100 * sum(rest) / whole:.0f} % of all"
        lines += _bar(f"{len(rest)} other {kind}", 0, words, most)
    return f'<table class="bars"><caption>{html.escape(title)}</caption>{lines}</table>'


def _bar(name: str, value: float, words: str, most: float) -> str:
    width = 100 * value / most if most else 0
    box = f'<rect width="{width:.2f}" height="8"/>'
    picture = f'<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{box}</svg>'
    shown = name if len(name) <= LONG else f"{name[:19]}…{name[20 - LONG :]}"
    head = f'<th scope="row" title="{html.escape(name)}">{html.escape(shown)}</th>'
    return f"<tr>{head}<td>{picture}</td><td>{html.escape(words)}</td></tr>"


def matrix(labels: np.ndarray, answers: np.ndarray) -> str:
    """How often each class was answered for each true one; of many classes the confusions alone."""
    pairs = Counter(zip(labels.tolist(), answers.tolist(), strict=True))
    classes = sorted({each for pair in pairs for each in pair}, key=_order)
    if len(classes) > MOST_CLASSES:
        return _confusions(pairs)
    head = "".join(f'<th scope="col">{_name(each)}</th>' for each in classes)
    lines = "".join(_line(true, classes, pairs) for true in classes)
    told = '<p class="soft">Rows: the true class. Columns: the answer.</p>'
    return (
        f'{told}<div class="wide"><table class="matrix">'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _line(true: Any, classes: Sequence[Any], pairs: Counter[tuple[Any, Any]]) -> str:
    """The answers for one true class, each as dark as its share."""
    whole = sum(pairs[true, answer] for answer in classes) or 1
    cells: list[str] = []
    for answer in classes:
        count = pairs[true, answer]
        right = ' class="right"' if answer == true else ""
        cells.append(f'<td style="--share:{count / whole:.3f}"{right}>{count or "·"}</td>')
    return f'<tr><th scope="row">{_name(true)}</th>{"".join(cells)}</tr>'


def _confusions(pairs: Counter[tuple[Any, Any]]) -> str:
    """The pairs of a class and another answer that came most often."""
    wrong = [(pair, count) for pair, count in pairs.most_common() if pair[0] != pair[1]]
    if not wrong:
        return "<p>There is no confusion.</p>"
    lines = "".join(
        f"<tr><td>{_name(true)}</td><td>{_name(answer)}</td><td>{count}</td></tr>"
        for (true, answer), count in wrong[:MOST_PAIRS]
    )
    told = f"The {min(len(wrong), MOST_PAIRS)} most frequent of {len(wrong)} confusions."
    head = "<tr><th>true class</th><th>answer</th><th>times</th></tr>"
    return f'<div class="wide"><table><caption>{told}</caption>{head}{lines}</table></div>'


def _order(value: Any) -> tuple[bool, Any]:
    """Numbers in their order, then words in theirs."""
    return isinstance(value, str), value


def _name(value: Any) -> str:
    return html.escape(str(value)[:60])
