"""`tacit approve`: what a model's owner offers to serve, and what this party has approved of it.

A service writes down what is offered (`offered-MODEL@VERSION.json` beside the file of approvals)
when it refuses it. What is approved is that very plan, under that commitment to its file; a service
reads the file of approvals whenever it meets the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

from .. import _tacit
from .._tacit import TacitError
from ..errors import FileError
from .files import replace

OF_MODEL = ("protocol", "security", "reveal", "owner", "digest", "commitment")
OF_PLAN = ("modulus", "fraction_bits", "compare_bits", "order", "functions", "public_model")
MOST_SHOWN = 40
"""Layers that differ of which each is shown; the JSON has all."""


def offer_file(approved: str | Path, model: str, version: str) -> Path:
    """Where a service writes down what is offered."""
    return Path(approved).parent / f"offered-{model}@{version}.json"


def kept_offer(config: Mapping[str, Any], table: Mapping[str, Any]) -> bytes | None:
    """What was offered last of a model, if a service has written it down."""
    approved = config["service"].get("approved")
    if not approved:
        return None
    path = offer_file(approved, table["name"], table["version"])
    return path.read_bytes() if path.exists() else None


def keep_offer(approved: str | Path, table: Mapping[str, Any], offer: bytes) -> None:
    """Writes down what is offered of a model, unless it stands there."""
    path = offer_file(approved, table["name"], table["version"])
    if not path.exists() or path.read_bytes() != offer:
        replace(path, offer, mode=0o600)


@dataclass(frozen=True)
class Offered:
    """What is offered of one model.

    Attributes
    ----------
    path : str
        The config file.
    approved : Path
        The file of approvals.
    offer : Mapping
        What the service would serve, as JSON has it.
    before : Mapping or None
        What was approved last of the model, whatever its version.
    """

    path: str
    approved: Path
    offer: Mapping[str, Any]
    before: Mapping[str, Any] | None

    @classmethod
    def of(cls, path: str, model: str, version: str | None = None) -> Offered:
        """Reads what is offered, and refuses it if it is not what the service would serve."""
        config: Mapping[str, Any] = json.loads(_tacit.serve_config(path))
        table = meant(config, model, version)
        approved = config["service"].get("approved")
        if not approved:
            raise TacitError(
                f"{path}: name the file of approvals first: in [service], approved = "
                '"approved.json"; then nothing is served that does not stand there'
            )
        if table["file"]:
            text = _tacit.Service(path, model, table["version"]).offered()
        else:
            text = kept_offer(config, table)
        if text is None:
            raise TacitError(
                f"nothing is offered of {model!r} yet: start `tacit serve` at all parties; it "
                "refuses the model, writes down what its owner offers, and goes on by itself "
                "once it is approved"
            )
        _tacit.check_offer(path, model, table["version"], text)
        offer = cast("dict[str, Any]", json.loads(text))
        found = [each for each in approvals(Path(approved)) if each["name"] == model]
        return cls(path, Path(approved), offer, found[-1] if found else None)

    @property
    def changes(self) -> list[tuple[str, Any, Any]]:
        """What differs from what was approved before: where, before, now."""
        if self.before is None:
            return []
        before, now = self.before, self.offer
        keys = ("version", *OF_MODEL)
        found = [(key, before[key], now[key]) for key in keys if before[key] != now[key]]
        plans = before["plan"], now["plan"]
        found += [
            (key, plans[0].get(key), plans[1].get(key))
            for key in OF_PLAN
            if plans[0].get(key) != plans[1].get(key)
        ]
        found += layers(plans[0], plans[1])
        rest = [key for key in plans[1] if key not in (*OF_PLAN, "layers")]
        found += [
            (f"plan's {key}", plans[0].get(key), plans[1].get(key))
            for key in rest
            if plans[0].get(key) != plans[1].get(key)
        ]
        return found

    def shown(self) -> Iterator[str]:
        """The offer in lines, and what differs from what was approved before."""
        offer, plan = self.offer, self.offer["plan"]
        yield f"{offer['name']} version {offer['version']}, offered by party {offer['owner']}"
        for key in ("protocol", "security", "reveal"):
            yield f"  {key:<12} {offer[key]}"
        yield f"  numbers      {plan['modulus']} bits, {plan['fraction_bits']} of the fraction"
        yield f"  layers       {len(plan['layers'])}"
        yield f"  digest       {offer['digest']}"
        yield f"  commitment   {offer['commitment']}"
        if self.before is None:
            yield "Nothing was approved of this model before."
            return
        changes = self.changes
        if not changes:
            yield "It is what was approved before."
            return
        yield f"It differs from version {self.before['version']}, which was approved before:"
        for where, before, now in changes[:MOST_SHOWN]:
            yield f"  {where}: {_brief(before)} -> {_brief(now)}"
        if len(changes) > MOST_SHOWN:
            yield f"  and in {len(changes) - MOST_SHOWN} places more, which --json FILE has"

    def told(self) -> dict[str, Any]:
        """The offer as JSON has it, with the changes since what was approved before."""
        named = [{"where": a, "before": b, "now": c} for a, b, c in self.changes]
        return {"offer": self.offer, "approved_before": self.before is not None, "changes": named}

    def approve(
        self, digest: str | None, commitment: str | None = None, *, yes: bool
    ) -> Iterator[str]:
        """Writes it into the file of approvals, if that was asked for.

        A digest is of the plan, which has no weights; the commitment is to these. Who names one
        names both, as between looking and approving the owner may offer something else.
        """
        meant = {"digest": digest, "commitment": commitment}
        named = " ".join(f"--{key} {self.offer[key]}" for key in meant)
        if (digest is None) != (commitment is None):
            raise TacitError(f"name the digest and the commitment, both: {named}")
        for key, told in meant.items():
            if told is not None and told.lower() != self.offer[key]:
                raise TacitError(
                    f"what is offered has the {key} {self.offer[key]}, not {told}; nothing was "
                    "approved: look at how they differ"
                )
        if digest is None and not yes:
            yield f"Nothing was approved. To approve it: {named}"
            return
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        same = (self.offer["name"], self.offer["version"])
        kept = [
            each for each in approvals(self.approved) if (each["name"], each["version"]) != same
        ]
        all_now = [*kept, {**self.offer, "approved": now}]
        replace(self.approved, json.dumps({"models": all_now}).encode(), mode=0o600)
        yield f"Approved in {self.approved}; a service that runs takes it up within seconds."


def approvals(path: Path) -> list[dict[str, Any]]:
    """What was approved, the latest last."""
    try:
        read = json.loads(path.read_bytes())
        models = [dict(each) for each in read["models"]]
        for each in models:
            _ = [each[key] for key in ("name", "version", "plan", *OF_MODEL)]
        return models
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, RecursionError):
        told = f"{path} is no file of approvals; move it away, and approve anew"
        raise FileError(told, source=str(path)) from None


def meant(config: Mapping[str, Any], model: str, version: str | None) -> Mapping[str, Any]:
    """The table of a model; its version may be left out if there is one alone."""
    tables = [each for each in config["models"] if each["name"] == model]
    found = [each for each in tables if version in (None, each["version"])]
    if len(found) == 1:
        return found[0]
    if found:
        versions = ", ".join(each["version"] for each in found)
        raise TacitError(f"{model!r} is served in several versions: --version {versions}")
    names = ", ".join(f"{each['name']} version {each['version']}" for each in config["models"])
    raise TacitError(f"{model!r} is not served; those are {names}")


def layers(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """How the layers of two plans differ, by their names."""
    old = {each["name"]: each for each in before["layers"]}
    new = {each["name"]: each for each in now["layers"]}
    found: list[tuple[str, Any, Any]] = []
    found += [
        (f"layer {name}", "none", each["op"]) for name, each in new.items() if name not in old
    ]
    found += [
        (f"layer {name}", each["op"], "none") for name, each in old.items() if name not in new
    ]
    for name in (name for name in new if name in old):
        for key in new[name]:
            if old[name].get(key) != new[name][key]:
                found.append((f"layer {name}, {key}", old[name].get(key), new[name][key]))
    shared = [name for name in new if name in old]
    if shared != [name for name in old if name in new]:
        found.append(("layers", "another order", "another order"))
    if not found and before["layers"] != now["layers"]:
        # Names that stand for several layers hide how they differ.
        found.append(("layers", f"{len(before['layers'])}", f"{len(now['layers'])}, which differ"))
    return found


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 70 else text[:67] + "..."
