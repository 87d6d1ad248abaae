"""Reaches a service of private predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .serving.needs import need

if TYPE_CHECKING:
    from .serving.client import Client


def connect(
    parties: Sequence[str],
    *,
    key: str | None = None,
    keys: Sequence[str] | Mapping[str, str] | None = None,
    certificates: Sequence[str | Path] | str | Path | None = None,
    timeout: float = 60.0,
    identity: tuple[str | Path, str | Path] | None = None,
) -> Client:
    """A client of a service, which asks without being one of its parties.

    >>> with tacit.connect(["https://a:8100", "https://b:8100", "https://c:8100"]) as service:
    ...     answer = service.predict("digits", x)

    Parameters
    ----------
    parties
        The address of every party. Plain HTTP is for this machine alone.
    key
        The API key that all parties know, or a token of an identity provider. A party could use
        it at the others in the client's name: rather have one for each.
    keys
        The API key of each party, in their order or by their addresses.
    certificates
        PEM files of certificates to trust beside those that this machine trusts, such as a
        party's own.
    timeout
        Seconds that a prediction may take, with all that is tried again.
    identity
        PEM files of the client's own certificate and its key, for parties that know it by these.
    """
    need("client", "tacit.connect")
    from .serving import client  # noqa: PLC0415

    return client.connect(
        parties,
        key=key,
        keys=keys,
        certificates=certificates,
        timeout=timeout,
        identity=identity,
    )
