"""Who may ask for what, and how often."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .._tacit import TacitError
from .budgets import Budgets, Spent, usual
from .refusals import Refusal

HASH = re.compile(r"[0-9a-fA-F]{64}")
BEARER = re.compile(r"Bearer +([\x21-\x7e]{1,512})", re.IGNORECASE)


@dataclass(frozen=True)
class Client:
    """Who asks.

    Attributes
    ----------
    name : str
        What this party calls it.
    digest : bytes
        The SHA-256 of its key; empty of whoever needs none.
    models : frozenset of str or None
        What it may ask; all models if None.
    budget : tuple of int and float, or None
        Queries per seconds.
    until : float or None
        When its key ends, in seconds since 1970.
    """

    name: str
    digest: bytes = b""
    models: frozenset[str] | None = None
    budget: tuple[int, float] | None = None
    until: float | None = None


ANYONE = Client("anyone")
"""Who asks where no client is named."""


class Policy:
    """The clients of a party, and what each has left.

    Attributes
    ----------
    clients : list of Client
        Who may ask; whoever reaches the party if there is none.
    """

    def __init__(self, clients: Sequence[Client], budgets: Budgets):
        self.clients = list(clients)
        self.budgets = budgets

    @property
    def is_open(self) -> bool:
        """Whether anyone may ask."""
        return not self.clients

    def who(self, authorization: Sequence[str]) -> Client:
        """The client of the `Authorization` headers of a request."""
        if self.is_open:
            return ANYONE
        if not authorization:
            told = "there is no key: send `Authorization: Bearer KEY`"
            raise Refusal("unknown-client", told)
        match = BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
        digest = hashlib.sha256(match[1].encode() if match else b"").digest()
        # All are compared, each in constant time: how long it takes tells nothing.
        found = [each for each in self.clients if hmac.compare_digest(each.digest, digest)]
        if not match or not found:
            raise Refusal("unknown-client", "this key is not known here; ask the operator for one")
        client = found[0]
        if client.until is not None and time.time() >= client.until:
            raise Refusal("unknown-client", "this key has ended; ask the operator for a new one")
        return client

    def check_model(self, client: Client, model: str) -> None:
        """Refuses a model that a client may not ask."""
        if client.models is not None and model not in client.models:
            raise Refusal("not-allowed", f"this key is not for the model '{model}'")

    def charge(self, client: Client, items: int) -> None:
        """Counts the queries of a request before it is taken: every item is one."""
        if client.budget is None:
            return
        most, period = client.budget
        try:
            self.budgets.charge(client.name, items, most, period)
        except Spent as spent:
            told = f"the budget is {most} items in {period:g} s, of which too few are left"
            raise Refusal("budget", f"{told} for {items}", spent.wait) from None
        except OSError:
            raise Refusal("audit", "the budget cannot be written down; tell the operator") from None

    def refund(self, client: Client, items: int) -> None:
        """Gives back what a request was charged that was not taken."""
        if client.budget is not None:
            self.budgets.refund(client.name, items, client.budget[1])


def clients_of(config: Mapping[str, Any]) -> list[Client]:
    """The clients of a config file, each with a name and a key of its own."""
    models = {each["name"] for each in config["models"]}
    found: list[Client] = []
    for table in config["clients"]:
        client = _client(table, models)
        for other in found:
            if client.name == other.name:
                raise TacitError(f"clients: two are named {client.name!r}")
            if client.digest == other.digest:
                raise TacitError(f"clients: {client.name!r} and {other.name!r} have one key")
        found.append(client)
    return found


def check_listener(config: Mapping[str, Any]) -> list[str]:
    """Refuses an open door; warnings of what is open on this machine alone."""
    service = config["service"]
    address = service["listen"]
    local, encrypted = is_loopback(host_of(address)), bool(service.get("certificate"))
    if encrypted != bool(service.get("key")):
        raise TacitError("service: HTTPS needs both certificate and key")
    if not encrypted and not local:
        raise TacitError(
            f"service.listen: {address} is not this machine alone, where plain HTTP would show "
            "keys to the network; give service.certificate and service.key, or listen on 127.0.0.1"
        )
    if not config["clients"] and not local:
        raise TacitError(
            f"service.listen: {address} is not this machine alone and no [[clients]] are named: "
            "anyone could ask; name who may, or listen on 127.0.0.1"
        )
    for origin in service["origins"]:
        if not re.fullmatch(r"https?://[a-z0-9.\-\[\]:]+", origin):
            told = "give scheme://host[:port] in lower case, without a path or *"
            raise TacitError(f"service.origins: {origin!r} is no origin; {told}")
    if config["clients"]:
        return []
    return ["no [[clients]] are named: whoever reaches this machine's loopback may ask"]


def host_of(address: str) -> str:
    """The host of `host:port`."""
    return address.rpartition(":")[0].strip("[]")


def port_of(address: str) -> int:
    """The port of `host:port`."""
    text = address.rpartition(":")[2]
    if not text.isdigit() or int(text) > 65535 or not host_of(address):
        raise TacitError(f"service.listen: {address!r} is no host:port")
    return int(text)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone; a name other than localhost is not trusted to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _client(table: Mapping[str, Any], models: set[str]) -> Client:
    name = table["name"]
    if not HASH.fullmatch(table["key_sha256"]):
        raise TacitError(f"clients: key_sha256 of {name!r} is not 64 hexadecimal digits")
    allowed = table.get("models")
    unknown = sorted(set(allowed or ()) - models)
    if unknown:
        raise TacitError(f"clients: {name!r} may ask for {unknown[0]!r}, which is not served")
    budget = usual(table)
    if budget is not None and (budget[0] < 0 or not budget[1] > 0):
        raise TacitError(f"clients: {name!r} has no sensible queries or period_s")
    return Client(
        name=name,
        digest=bytes.fromhex(table["key_sha256"]),
        models=None if allowed is None else frozenset(allowed),
        budget=budget,
        until=_moment(name, table.get("until")),
    )


def _moment(name: str, told: str | None) -> float | None:
    if told is None:
        return None
    try:
        moment = datetime.fromisoformat(told.replace("Z", "+00:00"))
    except ValueError:
        raise TacitError(f"clients: until of {name!r} is no date such as 2026-12-31") from None
    if len(told) == len("2026-12-31"):
        # The last day on which the key holds, to its end.
        moment += timedelta(days=1)
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
