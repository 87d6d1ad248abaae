"""Several batches that are predicted one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .errors import InputError
from .given import is_frame, is_tensor

TOTALS = ("setup", "offline", "online")


def is_batches(x: Any) -> bool:
    """Whether this gives batches, as a generator or a torch DataLoader does, and is none itself."""
    if isinstance(x, Mapping) or is_frame(x) or is_tensor(x) or isinstance(x, (str, bytes)):
        return False
    indexed = hasattr(x, "__getitem__") or hasattr(x, "__array__")
    return hasattr(x, "__iter__") and not indexed


def split(batches: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Inputs and labels of each batch; labels that are not there are None.

    A tuple is `(x,)` or `(x, labels)`, and so is a list of one or two tensors, as a torch
    DataLoader gives. Either all batches have labels or none.
    """
    labelled = None
    for number, batch in enumerate(batches):
        parts = _parts(batch)
        if not 1 <= len(parts) <= 2:
            raise InputError(
                f"batch {number} is a tuple of {len(parts)}; give x or (x, labels), and of a model "
                "with several inputs a dict of arrays by their names as x",
                item=number,
            )
        x, labels = (*parts, None)[:2]
        if labelled is None:
            labelled = labels is not None
        if labelled != (labels is not None):
            has = "no labels, others have" if labelled else "labels, others have none"
            told = f"batch {number} has {has}; give them for every batch or for none"
            raise InputError(told, input="labels", item=number)
        yield x, labels


def _parts(batch: Any) -> list[Any]:
    """The inputs of a batch, and its labels if there are any."""
    if not isinstance(batch, (tuple, list)):
        return [batch]
    parts = list(cast(Sequence[Any], batch))
    if isinstance(batch, tuple) or (len(parts) < 3 and all(map(is_tensor, parts))):
        return parts
    return [parts]


def joined(outputs: Sequence[Mapping[str, np.ndarray]], axes: Mapping[str, int]) -> dict[str, Any]:
    """The outputs of several runs as those of one, along the axis of the items of each."""
    return {
        name: np.concatenate([each[name] for each in outputs], axis=axis)
        for name, axis in axes.items()
    }


def total(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The report of runs of one model that followed each other: what each cost adds up.

    The shares `accuracy` and `agreement` are of all items, `max_abs_error`, `batch` and
    `peak_memory_bytes` the largest of any run. A layer's bytes are the sum of what the busiest
    party of each run sent. `runs` says how many there were.
    """
    first, images = reports[0], [each["images"] for each in reports]
    if len(reports) == 1:
        return dict(first)
    sums = {name: _phase([each[name] for each in reports]) for name in TOTALS}
    shares = {
        name: sum(each[name] * n for each, n in zip(reports, images, strict=True)) / sum(images)
        for name in ("accuracy", "agreement")
        if first[name] is not None
    }
    most = {
        name: max(each[name] for each in reports)
        for name in ("batch", "max_abs_error", "peak_memory_bytes")
        if first.get(name) is not None
    }
    doubts = {each["doubt"] for each in reports if each.get("doubt")}
    return {
        **first,
        **sums,
        **shares,
        **most,
        "images": sum(images),
        "runs": len(reports),
        "layers": [_layer(same) for same in zip(*(r["layers"] for r in reports), strict=True)],
        "batches": [batch for each in reports for batch in each["batches"]],
        "warnings": list(dict.fromkeys(w for each in reports for w in each["warnings"])),
        **({"doubt": "; ".join(sorted(doubts))} if doubts else {}),
        "revealed": _revealed(reports),
    }


def _phase(phases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sent = zip(*(each["bytes_sent"] for each in phases), strict=True)
    return {
        "seconds": sum(each["seconds"] for each in phases),
        "rounds": sum(each["rounds"] for each in phases),
        "bytes_sent": [sum(party) for party in sent],
    }


def _layer(same: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = {name: sum(each[name] for each in same) for name in ("seconds", "rounds", "bytes")}
    return {**same[0], **sums}


def _revealed(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was opened to whom, counted over all runs."""
    found: dict[str, dict[str, Any]] = {}
    for each in (entry for report in reports for entry in report.get("revealed", [])):
        kind = json.dumps([each["what"], each["to"]])
        known = found.setdefault(kind, {**each, "count": 0, "openings": 0, "begun": 0})
        for name in ("count", "openings", "begun"):
            known[name] += each[name]
    return list(found.values())
