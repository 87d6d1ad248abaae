"""Options on their way to the extension module."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from ._tacit import TacitError


def to_json(options: Mapping[str, Any]) -> str:
    """Options as JSON; numbers that are none, and what is no option at all, are refused by name."""
    for key, value in options.items():
        _check(key, value)
    return json.dumps(options, default=_plain)


def _check(key: str, value: Any) -> None:
    if isinstance(value, Mapping):
        for name, inner in cast(Mapping[str, Any], value).items():
            _check(f"{key}.{name}", inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise TacitError(f"{key}: {value} is not a finite number")


def _plain(value: Any) -> Any:
    """What JSON has for numbers of numpy and for paths."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise TacitError(f"{value!r} is no option: give a number, a word or a list of them")
