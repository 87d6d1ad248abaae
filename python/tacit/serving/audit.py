"""The audit log: lines of JSON, each with the hash of the line before, signed with the party's key.

A line is never changed: whoever removes, changes or reorders one breaks the chain. A tail that is
cut off breaks nothing, so from time to time a line signs all before it, and an operator keeps the
hash of a line elsewhere (`tacit audit verify` prints it, and looks for one that was kept).
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import queue
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from .._tacit import TacitError
from ..errors import FileError
from ..operating.members import secret
from .audit_check import START, check, signed_words
from .budgets import own
from .log import now

EVERY = 100
"""Lines after which one signs those before."""
MOST = 256
"""Lines that are written at a time."""
SIGN_S = 60.0
"""Seconds after which what was written is signed, however few lines they are."""

Waiting = tuple[dict[str, Any], "Future[None]"]


class Signer:
    """Signs with a party's key, of ECDSA on P-256 as `tacit init` makes it."""

    def __init__(self, key: bytes, certificate: Path):
        from cryptography import x509  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        try:
            held = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError):
            raise FileError("party.key is not a private key in PEM format") from None
        if not isinstance(held, ec.EllipticCurvePrivateKey):
            raise FileError("party.key: the audit log needs an ECDSA key")
        self.key = held
        self.algorithm = ec.ECDSA(hashes.SHA256())
        shown = x509.load_pem_x509_certificate(certificate.read_bytes())
        self.fingerprint = shown.fingerprint(hashes.SHA256()).hex()

    def sign(self, last: str) -> dict[str, Any]:
        """The line that signs all before it, of which the last has this hash."""
        signature = self.key.sign(signed_words(last), self.algorithm)
        text = base64.b64encode(signature).decode()
        return {"kind": "signature", "certificate": self.fingerprint, "signature": text}


class Audit:
    """Writes the log; a line is on disk when its future is done.

    Parameters
    ----------
    path
        The file. What stands in it is checked, and goes on.
    signer
        Who signs; nobody if None.
    """

    def __init__(self, path: Path, signer: Signer | None = None, every: int = EVERY):
        self.path, self.signer, self.every = path, signer, every
        self.file = open(path, "ab", opener=own)  # noqa: SIM115
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            told = f"{path}: another service writes this audit log; stop it, or name another file"
            raise TacitError(told) from None
        torn = self._mend()
        held = check(path, {})
        self.lines, self.last = held.lines, held.last
        self.unsigned = 0
        self.failed: Exception | None = None
        self.waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self.thread.start()
        if torn:
            self.write(
                "repaired", torn_bytes=len(torn), torn_sha256=hashlib.sha256(torn).hexdigest()
            )

    def write(self, kind: str, **facts: Any) -> Future[None]:
        """Adds a line; facts that are None are left out."""
        told = {key: value for key, value in facts.items() if value is not None}
        future: Future[None] = Future()
        self.waiting.put(({"kind": kind, "date": now(), **told}, future))
        return future

    def close(self) -> None:
        """Writes what is waiting, signs, and ends."""
        if self.thread.is_alive():
            self.waiting.put(None)
            self.thread.join()
        self.file.close()

    def _mend(self) -> bytes:
        """Cuts off a last line that a crash left without its end, and gives it."""
        whole = self.path.read_bytes()
        kept = whole.rfind(b"\n") + 1
        if kept < len(whole):
            os.truncate(self.path, kept)
        return whole[kept:]

    def _write_all(self) -> None:
        going = True
        while going:
            taken: list[Waiting | str | None] = [self._next()]
            while not self.waiting.empty() and len(taken) < MOST:
                taken.append(self.waiting.get())
            going = None not in taken
            lines = [each for each in taken if isinstance(each, tuple)]
            try:
                self._write(lines, sign=not going or not lines)
            except Exception as error:
                # What stands on disk is not known: nothing may follow it before a restart.
                self.failed = self.failed or error
            for _, future in lines:
                if self.failed is None:
                    future.set_result(None)
                else:
                    future.set_exception(self.failed)

    def _next(self) -> Waiting | str | None:
        """What is to be written; a word if there is nothing, and it is time to sign."""
        try:
            return self.waiting.get(timeout=SIGN_S if self.unsigned else None)
        except queue.Empty:
            return "sign"

    def _write(self, lines: list[Waiting], *, sign: bool) -> None:
        if self.failed is not None:
            return
        text: list[bytes] = []
        for entry, _ in lines:
            text.append(self._line(entry))
            self.unsigned += 1
            if self.unsigned >= self.every:
                text += self._signature()
        if sign and self.unsigned:
            text += self._signature()
        self.file.write(b"".join(text))
        self.file.flush()
        os.fsync(self.file.fileno())

    def _signature(self) -> list[bytes]:
        if self.signer is None:
            return []
        self.unsigned = 0
        return [self._line({**self.signer.sign(self.last), "date": now()})]

    def _line(self, entry: dict[str, Any]) -> bytes:
        self.lines += 1
        whole = {"n": self.lines, **entry, "previous": self.last}
        line = json.dumps(whole, separators=(",", ":"), default=str).encode()
        self.last = hashlib.sha256(line).hexdigest()
        return line + b"\n"


def signer_of(party: Any) -> Signer:
    """Who signs for the party of a config file."""
    return Signer(secret(party["key"], "party.key"), Path(party["certificate"]))


__all__ = ["START", "Audit", "Signer", "signer_of"]
