"""Whether an audit log holds: `tacit audit verify`."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import FileError

START = "0" * 64
"""What stands for the hash of the line before the first."""
LONGEST = 1 << 20
"""Bytes that a line may have."""


class AuditError(FileError):
    """An audit log that does not hold.

    Attributes
    ----------
    line : int
        The first line that does not.
    """

    def __init__(self, path: Path, line: int, why: str):
        super().__init__(f"{path}: line {line} does not hold: {why}", source=str(path))
        self.line = line


@dataclass(frozen=True)
class Held:
    """What a log that holds is.

    Attributes
    ----------
    lines : int
        How many there are.
    last : str
        The hash of the last: who keeps it elsewhere can tell later whether the tail was cut off.
    signed : int
        The last line that a signature covers which was checked.
    signatures : int
        How many of these were checked.
    unchecked : int
        Signatures of keys whose certificate was not given.
    seen : int or None
        The line of the hash that was looked for.
    """

    lines: int
    last: str
    signed: int
    signatures: int
    unchecked: int
    seen: int | None


def signed_words(last: str) -> bytes:
    """What a signature is of: the hash of the line before."""
    return b"tacit audit log, version 1\n" + last.encode()


def check(path: Path, keys: Mapping[str, Any], seen: str | None = None) -> Held:
    """Reads a log to its end.

    Parameters
    ----------
    path
        The log.
    keys
        Public keys by the fingerprints of their certificates.
    seen
        The hash of a line that was there before, which must be there still.
    """
    last, lines, signed, signatures, unchecked = START, 0, 0, 0, 0
    found = 0 if seen == START else None
    for lines, text in _lines(path):
        entry = _entry(path, lines, text)
        if entry.get("n") != lines:
            raise AuditError(path, lines, f"its number is {entry.get('n')!r:.20}")
        if entry.get("previous") != last:
            why = "it does not follow the line before: one was removed, changed or moved"
            raise AuditError(path, lines, why)
        if entry.get("kind") == "signature":
            if entry.get("certificate") in keys:
                _check_signature(path, lines, entry, keys[entry["certificate"]], last)
                signed, signatures = lines, signatures + 1
            else:
                unchecked += 1
        last = hashlib.sha256(text).hexdigest()
        found = lines if last == seen else found
    if seen is not None and found is None:
        raise AuditError(path, lines + 1, "the line with the hash that was kept is not there")
    return Held(lines, last, signed, signatures, unchecked, found)


def public_keys(paths: list[Path]) -> dict[str, Any]:
    """The public keys of certificates in PEM, by their fingerprints."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

    found: dict[str, Any] = {}
    for path in paths:
        try:
            shown = x509.load_pem_x509_certificate(path.read_bytes())
        except ValueError:
            raise FileError(f"{path} is no certificate in PEM", source=str(path)) from None
        found[shown.fingerprint(hashes.SHA256()).hex()] = shown.public_key()
    return found


def _check_signature(path: Path, line: int, entry: Mapping[str, Any], key: Any, last: str) -> None:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    try:
        signature = base64.b64decode(entry["signature"], validate=True)
        key.verify(signature, signed_words(last), ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError, KeyError, TypeError):
        raise AuditError(path, line, "its signature is not of this certificate's key") from None


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", source=str(path)) from None
    with file:
        number = 0
        while line := file.readline(LONGEST + 1):
            number += 1
            if not line.endswith(b"\n"):
                why = "it is cut off" if len(line) <= LONGEST else "it is too long"
                raise AuditError(path, number, why)
            yield number, line[:-1]


def _entry(path: Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise AuditError(path, number, "it is not an object of JSON")
    return cast("dict[str, Any]", entry)
