"""Who may ask for what, when, and how often."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._tacit import TacitError
from ..operating.members import secret
from .budgets import Budgets, Spent
from .clients import ANYONE, Client, Shown, rank
from .hours import Hours
from .notices import is_pinned
from .refusals import Refusal
from .tokens import Tokens

BEARER = re.compile(r"Bearer +([\x21-\x7e]{1,8192})", re.IGNORECASE)
JWT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)


class Policy:
    """The clients of a party, and what each has left.

    Parameters
    ----------
    clients
        Who may ask; whoever reaches the party if there is none.
    budgets
        What each has left.
    clock
        The time in seconds since 1970.
    hours
        When anyone may ask.
    salt
        What keys are hashed with, if they are.
    tokens
        Says of whom tokens are.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        budgets: Budgets,
        clock: Callable[[], float] = time.time,
        *,
        hours: Hours | None = None,
        salt: bytes | None = None,
        tokens: Tokens | None = None,
    ):
        self.clients, self.budgets, self.clock = list(clients), budgets, clock
        self.hours, self.salt, self.tokens = hours, salt, tokens

    @property
    def is_open(self) -> bool:
        """Whether anyone may ask."""
        return not self.clients

    def who(self, authorization: Sequence[str], certificate: str | None = None) -> Client:
        """The client of a request, by its `Authorization` headers and its certificate's print."""
        if self.is_open:
            return ANYONE
        if not authorization and certificate is None:
            told = "there is no key: send `Authorization: Bearer KEY`"
            raise Refusal("unknown-client", told)
        shown = self._shown(authorization, certificate)
        # All are compared, so that how long it takes tells nothing of who there is.
        found = [each for each in self.clients if each.is_shown(shown)]
        if not found:
            told = "this key, token or certificate is not known here; ask the operator for one"
            raise Refusal("unknown-client", told)
        client = found[0]
        if client.until is not None and self.clock() >= client.until:
            raise Refusal("unknown-client", "this key has ended; ask the operator for a new one")
        return client

    def _shown(self, authorization: Sequence[str], certificate: str | None) -> Shown:
        if not authorization:
            return Shown(certificate=certificate)
        match = BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
        if match is None:
            told = "send one `Authorization: Bearer KEY`, and nothing else in it"
            raise Refusal("unknown-client", told)
        if self.tokens is not None and JWT.fullmatch(match[1]):
            return Shown(certificate=certificate, subject=self.tokens.subject(match[1]))
        return Shown(digest=key_hash(match[1], self.salt), certificate=certificate)

    def check_model(self, client: Client, model: str) -> None:
        """Refuses a model that a client may not ask."""
        if client.models is not None and model not in client.models:
            raise Refusal("not-allowed", f"this key is not for the model '{model}'")

    def check_metrics(self, client: Client) -> None:
        """Refuses the metrics, which tell of all models and of what others ask."""
        if not client.metrics:
            told = "this client may not see the metrics; its table needs metrics = true"
            raise Refusal("not-allowed", told)

    def check_hours(self, client: Client) -> None:
        """Refuses a request outside of the hours of this party and of its client."""
        for whose, hours in (("this party's", self.hours), ("this client's", client.hours)):
            wait = hours.wait(self.clock()) if hours else 0.0
            if hours and wait:
                told = f"requests are not taken now: {whose} hours are {hours.told}"
                raise Refusal("closed", told, wait)

    def check_reveal(self, client: Client, model: str, reveal: str) -> None:
        """Refuses a model whose answers tell more than a client may learn."""
        if client.reveal is not None and rank(reveal) > rank(client.reveal):
            told = (
                f"the model '{model}' reveals {reveal}, and this client may learn {client.reveal}"
            )
            raise Refusal("not-allowed", f"{told}; ask for a model that reveals no more")

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


def key_hash(key: str, salt: bytes | None) -> bytes:
    """What a config has of a key: its SHA-256, or with a salt its HMAC."""
    if salt is None:
        return hashlib.sha256(key.encode()).digest()
    return hmac.new(salt, key.encode(), hashlib.sha256).digest()


def salt_of(service: Mapping[str, Any]) -> bytes | None:
    """What keys are hashed with, by the table `[service]`."""
    source = service.get("key_salt")
    salt = secret(source, "service.key_salt") if source else None
    if salt is not None and len(salt.strip()) < 16:
        told = "it has fewer than 16 bytes; make one: openssl rand -hex 32"
        raise TacitError(f"service.key_salt: {told}")
    return salt.strip() if salt is not None else None


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
    check_pinned(service, config["models"])
    if config["clients"]:
        return []
    return ["no [[clients]] are named: whoever reaches this machine's loopback may ask"]


def check_pinned(service: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> None:
    """Refuses to serve others with what another party's models are not held to."""
    address = service["listen"]
    if is_loopback(host_of(address)):
        return
    for table in tables:
        if not is_pinned(service, table):
            raise TacitError(
                f"models: '{table['name']}' is another party's, and whatever plan and weights that "
                f"one offers would be served at service.listen, {address}, which is not this "
                'machine alone; write approved = "approved.json" in [service], then look at it and '
                "approve it by `tacit approve`; or give the model both digest and commitment"
            )


def host_of(address: str) -> str:
    """The host of `host:port`."""
    return address.rpartition(":")[0].strip("[]")


def port_of(address: str) -> int:
    """The port of `host:port`."""
    text = address.rpartition(":")[2]
    if not (text.isascii() and text.isdigit()) or int(text) > 65535 or not host_of(address):
        raise TacitError(f"service.listen: {address!r} is no host:port")
    return int(text)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone; a name other than localhost is not trusted to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
