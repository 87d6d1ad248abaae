"""The bodies of requests and answers: the binary extension of the Open Inference Protocol.

A header in JSON, of as many bytes as `Inference-Header-Content-Length` says, and the share after
it. Both ends read what the other sends with the same care: it is hostile.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, cast

LENGTH = "inference-header-content-length"
"""The header of HTTP that says how long the header in JSON is."""
MOST_HEADER = 64 << 10
"""Bytes that the header in JSON may have."""
MOST_ITEMS = 1 << 31
HEX_ID = re.compile(r"[0-9a-f]{32}")
SESSION = re.compile(r"[0-9a-f]{1,128}")
NUMBER = re.compile(r"[0-9]{1,12}")


class WireError(Exception):
    """Bytes that are not what they should be: the words say what and where, and show no value."""


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes
    ----------
    id : bytes
        16 bytes that the client chose.
    items : int
        How many items the share is of.
    session : str
        The life of the service that the share is made for.
    share : bytes
        One party's share.
    """

    id: bytes
    items: int
    session: str
    share: bytes


@dataclass(frozen=True)
class Answered:
    """One party's answer.

    Attributes
    ----------
    id : bytes
        That of the request.
    model, version, session, digest : str
        What was run.
    party : int
        Whose answer it is.
    seconds : float
        How long that party had it.
    share : bytes
        That party's share of the outputs.
    """

    id: bytes
    model: str
    version: str
    session: str
    digest: str
    party: int
    seconds: float
    share: bytes

    @property
    def facts(self) -> tuple[bytes, str, str, str, str]:
        """What the answers to one request have in common."""
        return self.id, self.model, self.version, self.session, self.digest


def request_body(asked: Asked) -> tuple[str, bytes]:
    """The value of :data:`LENGTH`, and the body of a request."""
    named: dict[str, Any] = {"id": asked.id.hex(), "inputs": [_tensor(len(asked.share))]}
    named["parameters"] = {"items": asked.items, "session": asked.session}
    return _joined(named, asked.share)


def answer_body(answered: Answered) -> tuple[str, bytes]:
    """The value of :data:`LENGTH`, and the body of an answer."""
    named = {
        "model_name": answered.model,
        "model_version": answered.version,
        "id": answered.id.hex(),
        "outputs": [_tensor(len(answered.share))],
        "parameters": {
            "session": answered.session,
            "digest": answered.digest,
            "party": answered.party,
            "seconds": answered.seconds,
        },
    }
    return _joined(named, answered.share)


def read_request(length: str | None, body: bytes) -> Asked:
    """Reads a request; every field is checked."""
    header, share = _parted(length, body)
    _keys("the header", header, ("id", "inputs", "parameters"), ("outputs",))
    _held("inputs", header["inputs"], len(share))
    if header.get("outputs", []) != []:
        raise WireError("outputs: which outputs there are is the model's plan; leave it out")
    parameters = _object("parameters", header["parameters"])
    _keys("parameters", parameters, ("items", "session"), ("binary_data_output",))
    if parameters.get("binary_data_output", True) is not True:
        raise WireError("parameters.binary_data_output: an answer is binary; leave it out")
    items = _whole("parameters.items", parameters["items"], 1, MOST_ITEMS)
    session = _text("parameters.session", parameters["session"], SESSION, "hexadecimal digits")
    return Asked(_id(header["id"]), items, session, share)


def read_answer(length: str | None, body: bytes) -> Answered:
    """Reads one party's answer; every field is checked."""
    header, share = _parted(length, body)
    needed = ("model_name", "model_version", "id", "outputs", "parameters")
    _keys("the header", header, needed, ())
    _held("outputs", header["outputs"], len(share))
    parameters = _object("parameters", header["parameters"])
    _keys("parameters", parameters, ("session", "digest", "party", "seconds"), ())
    seconds = parameters["seconds"]
    if type(seconds) not in (int, float) or not math.isfinite(seconds) or seconds < 0:
        raise WireError("parameters.seconds is no number of seconds")
    return Answered(
        id=_id(header["id"]),
        model=_text("model_name", header["model_name"]),
        version=_text("model_version", header["model_version"]),
        session=_text("parameters.session", parameters["session"], SESSION, "hexadecimal digits"),
        digest=_text("parameters.digest", parameters["digest"]),
        party=_whole("parameters.party", parameters["party"], 0, 63),
        seconds=float(seconds),
        share=share,
    )


def header_length(length: str | None, body: int | None = None) -> int:
    """The bytes of the header in JSON, which may not be more than the body has."""
    if length is None:
        raise WireError("there is no Inference-Header-Content-Length: give the header's bytes")
    if not NUMBER.fullmatch(length):
        raise WireError("Inference-Header-Content-Length is not a whole number")
    found = int(length)
    if not 2 <= found <= MOST_HEADER:
        raise WireError(f"Inference-Header-Content-Length is not from 2 to {MOST_HEADER}")
    if body is not None and found > body:
        told = f"Inference-Header-Content-Length is {found} and the body has {body} bytes"
        raise WireError(told)
    return found


def strict_json(text: bytes) -> dict[str, Any]:
    """An object of JSON: UTF-8, every key once, no NaN."""
    try:
        found = json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise WireError(f"the header is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise WireError(f"the header is not JSON at character {error.pos}") from None
    except RecursionError:
        raise WireError("the header is nested too deep") from None
    except ValueError:
        raise WireError("the header has a number that is too long") from None
    return _object("the header", found)


def _tensor(size: int) -> dict[str, Any]:
    parameters = {"binary_data_size": size}
    return {"name": "share", "datatype": "UINT8", "shape": [size], "parameters": parameters}


def _joined(header: dict[str, Any], share: bytes) -> tuple[str, bytes]:
    text = json.dumps(header, separators=(",", ":")).encode()
    return str(len(text)), text + share


def _parted(length: str | None, body: bytes) -> tuple[dict[str, Any], bytes]:
    end = header_length(length, len(body))
    return strict_json(body[:end]), body[end:]


def _held(where: str, found: Any, size: int) -> None:
    """Refuses what does not name one tensor of as many bytes as follow the header."""
    tensors = cast("list[Any]", found) if isinstance(found, list) else []
    if len(tensors) != 1:
        raise WireError(f"{where} is not a list of one tensor, the share")
    tensor = _object(f"{where}[0]", tensors[0])
    _keys(f"{where}[0]", tensor, ("name", "datatype", "shape", "parameters"), ())
    for key, value in (("name", "share"), ("datatype", "UINT8")):
        if tensor[key] != value:
            raise WireError(f"{where}[0].{key} is not {value!r}")
    parameters = _object(f"{where}[0].parameters", tensor["parameters"])
    _keys(f"{where}[0].parameters", parameters, ("binary_data_size",), ())
    told = parameters["binary_data_size"]
    _whole(f"{where}[0].parameters.binary_data_size", told, 0, 1 << 40)
    if told != size:
        raise WireError(f"{where}[0]: binary_data_size is {told} and {size} bytes follow")
    shape = cast("list[Any]", tensor["shape"]) if isinstance(tensor["shape"], list) else []
    if len(shape) != 1 or type(shape[0]) is not int or shape[0] != size:
        raise WireError(f"{where}[0].shape is not [{size}]")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WireError("the header has a key twice")
    return found


def _no_number(_: str) -> NoReturn:
    raise WireError("the header has a number that is not finite")


def _keys(where: str, found: dict[str, Any], needed: Iterable[str], allowed: Iterable[str]) -> None:
    needed = tuple(needed)
    for key in needed:
        if key not in found:
            raise WireError(f"{where} has no {key!r}")
    if set(found) - set(needed) - set(allowed):
        known = ", ".join((*needed, *allowed))
        raise WireError(f"{where} has a key that is unknown; it has {known}")


def _object(where: str, found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise WireError(f"{where} is not an object")
    return cast("dict[str, Any]", found)


def _whole(where: str, found: Any, least: int, most: int) -> int:
    if type(found) is not int or not least <= found <= most:
        raise WireError(f"{where} is not a whole number from {least} to {most}")
    return found


def _text(where: str, found: Any, form: re.Pattern[str] | None = None, words: str = "") -> str:
    if not isinstance(found, str) or not 0 < len(found) <= 256:
        raise WireError(f"{where} is not a text of 1 to 256 characters")
    if form is not None and not form.fullmatch(found):
        raise WireError(f"{where} is not made of {words}")
    return found


def _id(found: Any) -> bytes:
    if not isinstance(found, str) or not HEX_ID.fullmatch(found):
        raise WireError("id is not 32 hexadecimal digits in lower case")
    return bytes.fromhex(found)
