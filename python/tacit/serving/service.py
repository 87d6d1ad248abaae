"""What the core gives a service: one model, run with the other parties."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from .. import _tacit


class Stands(Protocol):
    """Whatever says how a model stands."""

    def standing(self) -> str:
        """The model's state and counters, as JSON."""
        ...


class Service(Stands, Protocol):
    """One served model at one party; safe for several threads."""

    def run(self, notice: Callable[[str], None]) -> None:
        """One life: meets the other parties, then answers until :meth:`leave` or an error."""
        ...

    def described(self) -> bytes | None:
        """What clients need to know of the model, as JSON; None unless the parties are together.

        The core takes it back as a session ends, before anyone can see how the model stands then.
        """
        ...

    def offered(self) -> bytes | None:
        """What the model's owner offers, as JSON, whether or not this party approves it."""
        ...

    def submit(
        self, client: str, session: str, request: bytes, items: int, share: bytes
    ) -> str | None:
        """Takes a request of a client for a session; None, or why not, as JSON.

        A request for another session than that of the parties now is not taken.
        """
        ...

    def decline(self, request: bytes, code: str) -> None:
        """Notes why this party's policy does not allow a request, for the others to hear."""
        ...

    def answer(self, request: bytes, seconds: float) -> tuple[str, bytes] | None:
        """Waits so long for `("answered", share)` or `("refused", JSON)`; None: not yet."""
        ...

    def bell(self) -> int:
        """A socket's descriptor, to be closed by the caller: readable when requests have ended."""
        ...

    def ended(self) -> list[bytes]:
        """The requests that have ended since this was asked last; none before :meth:`bell`."""
        ...

    def times(self, request: bytes) -> tuple[float, float] | None:
        """Seconds that an answered request waited for its batch, and that its batch took."""
        ...

    def forget(self, request: bytes) -> bool:
        """Frees the place of a request that has not begun; whether it had not."""
        ...

    def leave(self) -> None:
        """Takes no more requests; :meth:`run` returns once those accepted are answered.

        It begins no life any more. Where it still waits for the other parties, it returns at once.
        """
        ...


class Sharing(Protocol):
    """A client's side of one model."""

    def split(
        self,
        array: tuple[bytes, list[int]] | None,
        named: list[tuple[str, tuple[bytes, list[int]]]] | None,
    ) -> tuple[int, list[bytes]]:
        """The number of items of what is given, and a share for each party."""
        ...

    def join(self, items: int, shares: list[bytes]) -> tuple[bytes, list[int]]:
        """The outputs of one share of each party."""
        ...


def make_service(config: str, model: str, version: str) -> Service:
    """A model of a config file, which its owner compiles here."""
    return _tacit.Service(config, model, version)


def make_sharing(described: bytes) -> Sharing:
    """A client's side of what the parties describe."""
    return _tacit.Sharing(described)


def read_config(path: str) -> dict[str, Any]:
    """A `serve.toml`, checked; paths are absolute."""
    return json.loads(_tacit.serve_config(path))


def standing(service: Stands) -> dict[str, Any]:
    """How a model stands."""
    return json.loads(service.standing())
