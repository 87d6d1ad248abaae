"""What an operator is told of a config file while its party serves: certificates, warnings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._tacit import TacitError
from ..operating.members import SOON_DAYS, certificates, lasting


def fingerprints(config: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprints of the parties' certificates, by their names; while one changes, of both."""
    found: dict[str, str] = {}
    for each in config["parties"]:
        try:
            prints = [one.fingerprint for one in certificates(each["certificate"])]
        except (TacitError, OSError):
            # Damaged since the parties met by it.
            prints = ["unreadable"]
        found[each["name"]] = " ".join(prints)
    return found


def ends_of(config: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The ends of the certificates of a config file, by what they are for.

    This party's own is the one that it shows; of another's the last to end counts.
    """
    own = config["party"]
    found = [
        (each["name"], lasting(each["certificate"]))
        for number, each in enumerate(config["parties"])
        if number != own["id"]
    ]
    found.append((config["parties"][own["id"]]["name"], certificates(own["certificate"])[0]))
    if config["service"].get("certificate"):
        found.append(("https", certificates(config["service"]["certificate"])[0]))
    return [(name, each.ends) for name, each in found if each.ends is not None]


def is_pinned(service: Mapping[str, Any], table: Mapping[str, Any]) -> bool:
    """Whether a model is this party's own, or served only as this party has approved it.

    A digest alone is of the plan: the owner could change all weights under it.
    """
    named = table.get("digest") and table.get("commitment")
    return bool(table.get("file") or service.get("approved") or named)


def unpinned(service: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Warnings of models that are served whatever their owner makes of them."""
    for each in models:
        if not is_pinned(service, each):
            what = "whatever its owner offers"
            if each.get("digest"):
                what = "with whatever weights its owner offers, as its digest is of the plan alone"
            yield (
                f"the model '{each['name']}' is served {what}: approve one by service.approved and "
                "`tacit approve`"
            )


def ending(config: Mapping[str, Any]) -> Iterable[str]:
    """Warnings of certificates that end soon."""
    for name, until in ends_of(config):
        days = (until - time.time()) / 86400
        if days < SOON_DAYS:
            yield (
                f"the certificate of {name} ends in {max(days, 0):.0f} days; a party makes a new "
                "one by `tacit cert rotate`, and all others accept it before it switches"
            )
