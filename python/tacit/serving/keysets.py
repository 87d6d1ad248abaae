"""Public keys of an identity provider: from a file, or from its own address."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._tacit import TacitError
from ..errors import FileError

MOST = 1 << 20
"""Bytes of a set of keys."""
PATIENCE_S = 10.0
"""Seconds that fetching it may take."""
OLD_S, DEAD_S = 3600.0, 86400.0
"""Seconds after which keys are fetched again, and after which they hold no more if none come."""
PAUSE_S = 60.0
"""Seconds between two tries, whoever asks for a key that is not there."""
HOSTILE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""What bytes of a token or of a set of keys may raise, beside what PyJWT says of them."""

Keys = Mapping[str | None, Any]
"""Public keys by their numbers, `kid`; of a token without a number the only one."""


class FiledKeys:
    """Keys of a file, read once."""

    def __init__(self, path: str):
        self.source = path
        with Path(path).open("rb") as file:
            self.keys = parsed(file.read(MOST + 1), path)

    def find(self, kid: str | None) -> Any:
        """The key of a number; None if there is none."""
        return self.keys.get(kid)

    def refresh(self) -> None:
        """Stays as it is until the config is read anew."""

    def keep(self, before: object) -> None:
        """Needs nothing of what was read before."""


class FetchedKeys:
    """Keys of an address, fetched now and then, and when a key is asked for that is not there.

    Parameters
    ----------
    url
        Of the provider's keys, `jwks_uri`: by HTTPS alone, and no redirect is followed.
    warn
        Hears why they cannot be had; the service goes on with those that it has, for a day.
    clock
        The time in seconds.
    """

    def __init__(
        self, url: str, warn: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ):
        self.source, self.warn, self.clock = url, warn, clock
        self.keys: Keys = {}
        self.got = self.tried = -float("inf")
        self.fetching = threading.Lock()

    def find(self, kid: str | None) -> Any:
        """The key of a number; None if there is none, which is then looked for meanwhile."""
        now = self.clock()
        found = self.keys.get(kid) if now < self.got + DEAD_S else None
        if (found is None or now >= self.got + OLD_S) and now >= self.tried + PAUSE_S:
            self.tried = now
            threading.Thread(target=self.refresh, name="keys", daemon=True).start()
        return found

    def keep(self, before: object) -> None:
        """Takes those that were fetched from the same address before, if none came now."""
        if isinstance(before, FetchedKeys) and before.source == self.source and not self.keys:
            self.keys, self.got = before.keys, before.got

    def refresh(self) -> None:
        """Fetches them, unless that is under way."""
        if not self.fetching.acquire(blocking=False):
            return
        try:
            self.tried = self.clock()
            self.keys = parsed(fetched(self.source), self.source)
            self.got = self.clock()
        except TacitError as error:
            self.warn(f"the keys of an issuer cannot be had: {error}")
        finally:
            self.fetching.release()


def keys_from(source: str, warn: Callable[[str], None]) -> FiledKeys | FetchedKeys:
    """The keys at a path or an address."""
    if source.startswith("http://"):
        raise TacitError(f"issuers: {source}: anyone on the way could change keys; take https")
    if not source.startswith("https://"):
        return FiledKeys(source)
    found = FetchedKeys(source, warn)
    found.refresh()
    return found


def fetched(url: str) -> bytes:
    """What is at an address, within limits of time and bytes."""
    import httpx  # noqa: PLC0415

    until, whole = time.monotonic() + PATIENCE_S, bytearray()
    plain = {"accept": "application/json", "accept-encoding": "identity"}
    try:
        with httpx.stream("GET", url, headers=plain, timeout=PATIENCE_S) as answer:
            if answer.status_code != 200:
                raise TacitError(f"{url} answers with status {answer.status_code}")
            for chunk in answer.iter_raw():
                whole += chunk
                if len(whole) > MOST or time.monotonic() > until:
                    told = f"more than {MOST} bytes, or not within {PATIENCE_S:g} s"
                    raise TacitError(f"{url} answers with {told}")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise TacitError(f"{url} cannot be reached ({type(error).__name__}: {error})") from None
    return bytes(whole)


def parsed(text: bytes, source: str) -> Keys:
    """The public keys of a JSON Web Key Set."""
    import jwt  # noqa: PLC0415

    try:
        if len(text) > MOST:
            raise ValueError
        found = jwt.PyJWKSet.from_dict(json.loads(text)).keys
    except (*HOSTILE, jwt.PyJWTError):
        told = f"{source}: it is no JSON Web Key Set; take it from the issuer's jwks_uri"
        raise FileError(told, source=source) from None
    public = [each for each in found if each.key_type in ("RSA", "EC", "OKP")]
    if not public:
        told = f"{source}: it has no public key of RSA, EC or Ed25519"
        raise FileError(told, source=source)
    keys: dict[str | None, Any] = {each.key_id: each for each in public}
    if len(public) == 1:
        keys[None] = public[0]
    return keys
