"""What parties say of a model, held against each other, and what a client makes of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._tacit import TacitError
from ..answers import Outputs, readings
from ..decoding import decoded
from ..errors import ServiceError, of_kind
from ..inputs import Given, rows
from .service import Sharing, make_sharing

SAME = (
    *("name", "version", "protocol", "security", "parties", "digest", "commitment", "scheme"),
    *("inputs", "outputs", "reveal", "plan"),
)
"""What all parties must say alike; and `session`, which is another after they met anew."""
MOST_AXES = 17
"""The most axes of an input or an output: at most 16 of an item, and that of the batch."""


class ApartError(ServiceError):
    """Parties that have not met anew all yet, or not read their configs all: it passes."""


@dataclass(frozen=True)
class Agreed:
    """A model as all parties describe it.

    Attributes
    ----------
    told : dict
        What they say alike.
    order : tuple of int
        For every party of the client, its number.
    sharing : Sharing
        The client's side of its scheme.
    max_items : int
        The most items of a request.
    item_bytes : int
        The most bytes of an item's share: of a token that is a number for every token there is.
    """

    told: dict[str, Any]
    order: tuple[int, ...]
    sharing: Sharing
    max_items: int
    item_bytes: int

    @property
    def is_redundant(self) -> bool:
        """Whether shares of an answer hold each other, so that the client refuses false ones."""
        return self.told["scheme"]["kind"] in ("replicated", "shamir")

    def encode(self, x: Given) -> np.ndarray:
        """The items of `x`, float32, in the order in which they are shared."""
        inputs = [
            {
                "name": each["name"],
                **_axes(each),
                "texts": each.get("texts"),
                "missing": each.get("missing"),
            }
            for each in self.told["inputs"]
        ]
        return rows(inputs, x)

    def split(self, items: np.ndarray) -> list[bytes]:
        """A share of these items for every party of the client, in its order."""
        array = np.ascontiguousarray(items, "<f4")
        count, shares = self.sharing.split((array.tobytes(), list(array.shape)), None)
        if count != len(items) or len(shares) != len(self.order):
            raise ServiceError("the plan that the parties describe takes other inputs than it says")
        return [shares[number] for number in self.order]

    def join(self, items: int, shares: Sequence[bytes]) -> np.ndarray:
        """The numbers of every item, of the answer of every party in the client's order."""
        ordered = [b""] * len(shares)
        for number, share in zip(self.order, shares, strict=True):
            ordered[number] = share
        try:
            values, _ = self.sharing.join(items, ordered)
        except TacitError as error:
            raise of_kind(ServiceError, error) from None
        return np.frombuffer(values, "<f4").reshape(items, -1)

    def decode(self, numbers: np.ndarray) -> Outputs:
        """The outputs by their names."""
        outputs = [self._output(each) for each in self.told["outputs"]]
        sizes = [math.prod(each["shape"]) for each in outputs]
        if numbers.shape[1] != sum(sizes):
            raise ServiceError("the answers have another size than the parties describe")
        try:
            return Outputs(decoded(outputs, numbers), readings(outputs, self.told["reveal"]))
        except (ValueError, LookupError, TypeError, AttributeError):
            told = "the answers are not the outputs that the parties describe"
            raise ServiceError(told) from None

    def _output(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """An output as the package's plans have it."""
        likely = self.told["reveal"] == "probabilities"
        axes = _axes(told)
        return {
            "name": told["name"],
            "shape": told.get("item_shape", axes["shape"]),
            "batch": axes["batch"],
            "classes": told.get("classes"),
            "tail": [{"function": "Softmax"}] * likely,
        }


def agree(parties: Sequence[str], said: Sequence[bytes]) -> Agreed:
    """What all parties say of a model; an error names those that differ.

    Parameters
    ----------
    parties
        What the parties are called.
    said
        What each answers when it is asked for the model.
    """
    whole = [_parameters(name, each) for name, each in zip(parties, said, strict=True)]
    all_told = [_read(name, each) for name, each in zip(parties, whole, strict=True)]
    first = all_told[0]
    for name, told in zip(parties[1:], all_told[1:], strict=True):
        for key in SAME:
            if told[key] != first[key]:
                values = f": {_brief(first[key])} and {_brief(told[key])}"
                # While a version comes or goes the parties may differ in which is the first.
                kind = ApartError if key == "version" else ServiceError
                raise kind(
                    f"{parties[0]} and {name} differ in {key!r}{values}; they do not serve the "
                    "same model: tell their operators",
                    address=name,
                    code=f"differ-{key}",
                )
    numbers = tuple(told["party"] for told in all_told)
    if sorted(numbers) != list(range(first["parties"])):
        told = ", ".join(f"{name} is {number}" for name, number in zip(parties, numbers))  # noqa: B905
        raise ServiceError(
            f"{told} of {first['parties']} parties; name every party of the model once",
            code="other-parties",
        )
    if any(told["session"] != first["session"] for told in all_told):
        raise ApartError("the parties have not met anew all yet; try again", code="not-ready")
    most = min(told["max_items"] for told in all_told)
    item = max(told["max_body"] // told["max_items"] for told in all_told)
    sharing = make_sharing(json.dumps(whole[numbers.index(0)]).encode())
    return Agreed(first, numbers, sharing, most, item)


def _parameters(party: str, said: bytes) -> Any:
    """What one party's answer has for its clients, as it is; no answer is read twice."""
    try:
        return json.loads(said)["parameters"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _malformed(party) from None


def _malformed(party: str) -> ServiceError:
    why = f"{party} does not describe the model as a service of Tacit does"
    return ServiceError(why, address=party, code="malformed")


def _read(party: str, told: Any) -> dict[str, Any]:
    """What one party says, checked as far as it is used here."""
    held: dict[str, Any] = {}
    body = 0
    try:
        held = {**{key: told[key] for key in (*SAME, "session")}, "party": told["party"]}
        whole = (told["party"], told["parties"], told["max_items"])
        body = told["max_body"]
        fits = type(body) is int and body >= 0
        fits = fits and all(type(number) is int and 0 <= number < 1 << 31 for number in whole)
        fits = fits and told["max_items"] > 0
        texts = ("name", "version", "protocol", "security", "digest", "session", "reveal")
        fits = fits and all(isinstance(held[key], str) for key in texts)
        fits = fits and isinstance(held["scheme"]["kind"], str)
        for each in (*held["inputs"], *held["outputs"]):
            fits = fits and isinstance(each["name"], str) and len(each["shape"]) <= MOST_AXES
            fits = fits and len(each.get("item_shape", ())) <= MOST_AXES
            for size in (*each["shape"], *each.get("item_shape", ())):
                fits = fits and type(size) is int and -1 <= size < 1 << 31
            fits = fits and (each.get("texts") is None or _are_texts(each["texts"]))
            fits = fits and (each.get("missing") is None or _are_places(each))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fits = False
    if not fits:
        raise _malformed(party)
    return {**held, "max_items": told["max_items"], "max_body": body}


def _are_texts(told: Any) -> bool:
    """Whether this is what a model knows of an input of texts."""
    known = told["known"]
    whole = isinstance(known, list) and all(
        isinstance(text, str) for text in cast(list[Any], known)
    )
    return whole and isinstance(told["others"], bool)


def _are_places(told: Mapping[str, Any]) -> bool:
    """Whether what may be missing of an input is places of numbers of an item."""
    most = math.prod(_axes(told)["shape"])
    places = told["missing"]["places"]
    whole = isinstance(places, list) and len(cast(list[Any], places)) <= most
    return whole and all(
        type(place) is int and 0 <= place < most for place in cast(list[Any], places)
    )


def _axes(told: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of an item, and the axis of the items: -1 stands there, or it is the first."""
    shape = list(told["shape"])
    if -1 not in shape:
        return {"shape": shape, "batch": 0}
    axis = shape.index(-1)
    return {"shape": shape[:axis] + shape[axis + 1 :], "batch": axis}


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 70 else text[:67] + "..."
