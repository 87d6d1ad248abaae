"""Texts that a model knows: columns of categories, of which each is given as its place.

The texts that a model knows of an input are public, as its layers are. Which of them an item has is
its owner's secret: it is given as a number, and shared as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from .errors import InputError
from .given import array as array_of
from .given import is_frame, series

MOST = 8
"""The most texts that are told of those that a model knows."""


def are_texts(array: np.ndarray) -> bool:
    """Whether an array holds texts, as far as its type tells."""
    return array.dtype.kind in "OSTU"


def hold_texts(x: Any) -> bool:
    """Whether columns of a data frame, or arrays by their names, hold texts."""
    if is_frame(x):
        return any(are_texts(found) for _, found in series(x))
    if isinstance(x, Mapping):
        held = cast(Mapping[Any, Any], x)
        return any(hold_texts(each) for each in held.values())
    return x is not None and are_texts(array_of("the samples", x))


def numbered(what: str, array: np.ndarray, texts: dict[str, Any], name: str | None) -> np.ndarray:
    """The place of every text among `texts`, float32; of one that is none the place behind.

    Where the model takes no others these are refused. Errors show no text of the array: it is its
    owner's secret.
    """
    if not are_texts(array):
        raise InputError(
            f"{what} holds {array.dtype} values, and the model takes texts: {told(texts)}",
            input=name,
        )
    places = {text: place for place, text in enumerate(texts["known"])}
    found = np.empty(array.shape, "<f4")
    for place, text in np.ndenumerate(array):
        if not isinstance(text, str):
            raise InputError(
                f"{what}: item {place[0]}, position {list(place[1:])}, is no text; put a text such "
                "as '' in place of what is missing, the one that the model was trained with",
                input=name,
                item=place[0],
                position=place[1:],
            )
        number = places.get(text)
        if number is None and not texts["others"]:
            raise InputError(
                f"{what}: item {place[0]}, position {list(place[1:])}, is none of the texts that "
                f"the model knows: {told(texts)}",
                input=name,
                item=place[0],
                position=place[1:],
            )
        found[place] = len(places) if number is None else number
    return found


def told(texts: dict[str, Any]) -> str:
    """The texts that a model knows, in words."""
    known = texts["known"]
    some = ", ".join(map(repr, known[:MOST]))
    more = f" and {len(known) - MOST} more" if len(known) > MOST else ""
    return f"{some}{more}{', or any other' if texts['others'] else ''}"


def known(inputs: list[dict[str, Any]]) -> str:
    """Which texts all parties know, in words up to a semicolon; empty where there are none."""
    of = [f"{each['name']!r} ({told(each['texts'])})" for each in inputs if each.get("texts")]
    return f"all parties know the texts of {', '.join(of)}; " if of else ""
