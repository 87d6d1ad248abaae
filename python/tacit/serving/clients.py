"""The clients of a party, as its config names them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from .._tacit import TacitError
from ..operating.members import certificates
from .budgets import usual
from .hours import Hours

HASH = re.compile(r"[0-9a-fA-F]{64}")
TOP = re.compile(r"top-([1-9]\d{0,5})")


@dataclass(frozen=True)
class Shown:
    """What somebody shows of who it is.

    Attributes
    ----------
    digest : bytes
        The hash of its key; empty if it shows none.
    certificate : str or None
        The fingerprint of its certificate of TLS.
    subject : tuple of str, or None
        Issuer and subject of its token.
    """

    digest: bytes = b""
    certificate: str | None = None
    subject: tuple[str, str] | None = None


@dataclass(frozen=True)
class Client:
    """Who asks.

    Attributes
    ----------
    name : str
        What this party calls it.
    digest : bytes
        The hash of its key; empty of whoever has none.
    models : frozenset of str or None
        What it may ask; all models if None.
    budget : tuple of int and float, or None
        Queries per seconds.
    until : float or None
        When it may ask no more, in seconds since 1970.
    certificates : frozenset of str
        The fingerprints of its certificates; it shows one of them.
    subject : tuple of str, or None
        Issuer and subject of its tokens.
    reveal : str or None
        The most that it may learn; whatever plans reveal if None.
    hours : Hours or None
        When it may ask.
    metrics : bool
        Whether it may see the service's metrics from another machine.
    """

    name: str
    digest: bytes = b""
    models: frozenset[str] | None = None
    budget: tuple[int, float] | None = None
    until: float | None = None
    certificates: frozenset[str] = field(default_factory=frozenset[str])
    subject: tuple[str, str] | None = None
    reveal: str | None = None
    hours: Hours | None = None
    metrics: bool = False

    def is_shown(self, shown: Shown) -> bool:
        """Whether all that it has to show was shown, and no key or token of another beside it."""
        # Keys are compared in constant time, whatever else is shown.
        key = hmac.compare_digest(self.digest, shown.digest)
        token = self.subject == shown.subject
        certificate = not self.certificates or shown.certificate in self.certificates
        return key and token and certificate

    @property
    def proofs(self) -> tuple[bytes, frozenset[str], tuple[str, str] | None]:
        """What the client has to show: key's hash, certificates and token's subject."""
        return self.digest, self.certificates, self.subject


ANYONE = Client("anyone")
"""The client that asks where no client is named."""


def clients_of(config: Mapping[str, Any]) -> list[Client]:
    """The clients of a config file, each with a name and something to show of its own."""
    models = {each["name"] for each in config["models"]}
    issuers = [each["issuer"] for each in config.get("issuers") or ()]
    found: list[Client] = []
    for table in config["clients"]:
        client = _client(table, models, issuers)
        for other in found:
            if client.name == other.name:
                raise TacitError(f"clients: two are named {client.name!r}")
            if _alike(client, other):
                names = f"{client.name!r} and {other.name!r}"
                raise TacitError(f"clients: {names} have one key, token or certificate")
        found.append(client)
    return found


def rank(reveal: str) -> tuple[int, int]:
    """How much an answer tells: of two, the larger tells more."""
    top = TOP.fullmatch(reveal)
    if top:
        return 1, int(top[1])
    known = {"class": (0, 0), "probabilities": (2, 0), "logits": (3, 0)}
    # What is not known may be anything.
    return known.get(reveal, (4, 0))


def _alike(one: Client, other: Client) -> bool:
    """Whether what shows one may show the other, too."""
    if (one.digest, one.subject) != (other.digest, other.subject):
        return False
    return bool(one.certificates & other.certificates) or not (
        one.certificates and other.certificates
    )


def _client(table: Mapping[str, Any], models: set[str], issuers: Sequence[str]) -> Client:
    name, where = table["name"], f"clients: {table['name']!r}"
    allowed, reveal = table.get("models"), table.get("reveal")
    unknown = sorted(set(allowed or ()) - models)
    if unknown:
        raise TacitError(f"{where} may ask for {unknown[0]!r}, which is not served")
    if reveal is not None and rank(reveal)[0] > 3:
        words = "give class, top-K (such as top-3), probabilities or logits"
        raise TacitError(f"{where} may learn {reveal!r}, which is nothing; {words}")
    budget = usual(table)
    if budget is not None and (budget[0] < 0 or not budget[1] > 0):
        raise TacitError(f"{where} has no sensible queries or period_s")
    path = table.get("certificate")
    client = Client(
        name=name,
        digest=_digest(name, table.get("key_sha256")),
        models=None if allowed is None else frozenset(allowed),
        budget=budget,
        until=_moment(name, table.get("until")),
        certificates=frozenset(_prints(path)),
        subject=_subject(where, table, issuers),
        reveal=reveal,
        hours=Hours.of(table, where),
        metrics=table.get("metrics", False),
    )
    if not any(client.proofs):
        told = "give its key_sha256, its certificate, or the subject of its tokens"
        raise TacitError(f"{where} has nothing to show who it is: {told}")
    return client


def _digest(name: str, told: str | None) -> bytes:
    if told is None:
        return b""
    if not HASH.fullmatch(told):
        raise TacitError(f"clients: key_sha256 of {name!r} is not 64 hexadecimal digits")
    return bytes.fromhex(told)


def _subject(
    where: str, table: Mapping[str, Any], issuers: Sequence[str]
) -> tuple[str, str] | None:
    subject: str | None = table.get("subject")
    issuer: str | None = table.get("issuer")
    if subject is None:
        if issuer is not None:
            raise TacitError(f"{where} has an issuer of tokens and no subject")
        return None
    if issuer is None and len(issuers) == 1:
        issuer = issuers[0]
    if issuer is None or issuer not in issuers:
        raise TacitError(f"{where}: name one of [[issuers]] as its issuer")
    return issuer, subject


def _moment(name: str, told: str | None) -> float | None:
    if told is None:
        return None
    try:
        moment = datetime.fromisoformat(told.replace("Z", "+00:00"))
        if len(told) == len("2026-12-31"):
            # The last day on which the key holds, to its end.
            moment += timedelta(days=1)
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        raise TacitError(f"clients: until of {name!r} is no date such as 2026-12-31") from None


def _prints(path: str | None) -> list[str]:
    return [each.fingerprint for each in certificates(path)] if path else []
