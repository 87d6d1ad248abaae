"""Who the parties of a config file are, and what their certificates say."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from .. import _tacit

SOON_DAYS = 30.0
"""Days before its end at which a certificate is warned of."""

Source = str | dict[str, Any]
"""Where a secret comes from: a path, `{"env": NAME}` or `{"command": [...]}`."""


def secret(source: Source, setting: str) -> bytes:
    """A secret; an error names the setting and shows nothing of it."""
    return _tacit.secret(json.dumps(source), setting)


def place(source: Source) -> str:
    """What a source is called; arguments of a command are not told."""
    if isinstance(source, str):
        return source
    if "env" in source:
        return f"the variable {source['env']}"
    return f"the command {source['command'][0] if source['command'] else '(none)'}"


@dataclass(frozen=True)
class Certificate:
    """A certificate of a file.

    Attributes
    ----------
    name : str or None
        What its maker called it.
    fingerprint : str
        The SHA-256 of its DER form.
    begins, ends : float or None
        When it is valid, in seconds since 1970.
    """

    name: str | None
    fingerprint: str
    begins: float | None
    ends: float | None

    @property
    def days(self) -> float | None:
        """Days that it is valid still, if that can be read."""
        return None if self.ends is None else (self.ends - time.time()) / 86400


def certificates(path: str | Path) -> list[Certificate]:
    """All certificates of a file: a party that takes a new one has two for a while."""
    return [
        Certificate(name, fingerprint, *(_moments(period)))
        for name, fingerprint, period in _tacit.certificates(str(path))
    ]


def lasting(path: str | Path) -> Certificate:
    """The certificate of a file that ends last: until then the party needs no other."""
    return max(reversed(certificates(path)), key=lambda each: each.ends or 0.0)


@dataclass(frozen=True)
class Peer:
    """A party as this one's config has it.

    Attributes
    ----------
    number : int
        From 0.
    name, address : str
        What it is called, and where it listens for the parties above it.
    certificate : Path
        The file of the certificates that it is known by.
    http : str or None
        Where its clients come in, if the config says so.
    """

    number: int
    name: str
    address: str
    certificate: Path
    http: str | None = None

    def __str__(self) -> str:
        return f"party {self.number} ({self.name})"


@dataclass(frozen=True)
class Member:
    """A party as it knows itself.

    Attributes
    ----------
    id : int
        Its number.
    key : str or dict
        Where its private key comes from.
    certificate : Path
        Its own.
    listen : str
        Where it hears the parties above it.
    parties : sequence of Peer
        All of them, by their numbers.
    serves : bool
        Whether the config is that of a service.
    """

    id: int
    key: Source
    certificate: Path
    listen: str
    parties: Sequence[Peer]
    serves: bool

    @classmethod
    def read(cls, path: str) -> Member:
        """The party of a config file of any kind."""
        told: Mapping[str, Any] = json.loads(_tacit.members(path))
        peers = [
            Peer(number, each["name"], each["address"], Path(each["certificate"]), each.get("http"))
            for number, each in enumerate(told["parties"])
        ]
        return cls(
            id=int(told["id"]),
            key=told["key"],
            certificate=Path(told["certificate"]),
            listen=told["listen"] or peers[int(told["id"])].address,
            parties=peers,
            serves=told["serves"],
        )

    @property
    def others(self) -> list[Peer]:
        """The parties beside this one."""
        return [peer for peer in self.parties if peer.number != self.id]

    @property
    def is_last(self) -> bool:
        """Whether this party is the last one, which only dials."""
        return self.id + 1 == len(self.parties)


def _moments(period: Sequence[str]) -> tuple[float | None, float | None]:
    if len(period) != 2:
        return None, None
    begins, ends = (datetime.fromisoformat(each.replace("Z", "+00:00")) for each in period)
    return begins.timestamp(), ends.timestamp()
