"""Tokens of an identity provider (OIDC, JWT), checked by PyJWT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._tacit import TacitError
from .keysets import HOSTILE, FetchedKeys, FiledKeys, keys_from
from .needs import need
from .refusals import Refusal

ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures that are accepted unless the config names others. None of a shared secret: whoever
checks these could make them."""
LEEWAY_S = 30.0
"""How far clocks may be apart."""
NEEDED = ("exp", "iss", "aud", "sub")


def quiet(_: str) -> None:
    """Hears a warning, and does nothing."""


@dataclass(frozen=True)
class Issuer:
    """Whose tokens are accepted.

    Attributes
    ----------
    name, audience : str
        What `iss` and `aud` must be.
    keys : FiledKeys or FetchedKeys
        Its public keys.
    algorithms : tuple of str
        Of its signatures.
    """

    name: str
    audience: str
    keys: FiledKeys | FetchedKeys
    algorithms: tuple[str, ...]

    @classmethod
    def of(cls, table: Mapping[str, Any], warn: Callable[[str], None] = quiet) -> Issuer:
        """The issuer of a table of `[[issuers]]`; `warn` hears why its keys cannot be fetched."""
        need("oidc", "[[issuers]]")
        from jwt.algorithms import get_default_algorithms  # noqa: PLC0415

        name = table["issuer"]
        given = tuple(table.get("algorithms") or ALGORITHMS)
        for each in given:
            if each not in get_default_algorithms() or each[:2] in ("HS", "no"):
                known = ", ".join(ALGORITHMS)
                raise TacitError(f"issuers: {each!r} of {name!r} is no signature such as {known}")
        return cls(name, table["audience"], keys_from(table["keys"], warn), given)


class Tokens:
    """Says of whom a token is.

    Attributes
    ----------
    issuers : dict of str to Issuer
        By their names.
    """

    def __init__(self, issuers: Sequence[Issuer]):
        self.issuers = {each.name: each for each in issuers}
        if len(self.issuers) != len(issuers):
            raise TacitError("issuers: two have one name")

    def refresh(self) -> None:
        """Fetches keys that are somewhere else."""
        for issuer in self.issuers.values():
            issuer.keys.refresh()

    def keep(self, before: Tokens | None) -> None:
        """Goes on with keys that were fetched before, where none could be fetched now."""
        for name, issuer in self.issuers.items():
            known = before.issuers.get(name) if before else None
            issuer.keys.keep(known.keys if known else None)

    def subject(self, token: str) -> tuple[str, str]:
        """The issuer and the subject of a token; refused if it does not hold."""
        import jwt  # noqa: PLC0415

        try:
            header = jwt.get_unverified_header(token)
            claimed = jwt.decode(token, options={"verify_signature": False}).get("iss")
            issuer = self.issuers.get(claimed) if isinstance(claimed, str) else None
            if issuer is None:
                raise refused("is of no issuer that is known here")
            key = issuer.keys.find(header.get("kid"))
            if key is None:
                raise refused(
                    "is signed by a key that is not known here; its operator reads them anew, or "
                    "it is fetched within a minute"
                )
            found = jwt.decode(
                token,
                key.key,
                algorithms=list(issuer.algorithms),
                audience=issuer.audience,
                issuer=issuer.name,
                leeway=LEEWAY_S,
                options={"require": list(NEEDED), "strict_aud": False},
            )
        except jwt.ExpiredSignatureError:
            raise refused("has ended; ask its issuer for a new one") from None
        except jwt.InvalidAudienceError:
            raise refused("is for another audience") from None
        except (*HOSTILE, jwt.PyJWTError):
            raise refused("does not hold") from None
        subject = found["sub"]
        if not isinstance(subject, str):
            raise refused("does not hold")
        return issuer.name, subject


def refused(why: str) -> Refusal:
    """A token that is not accepted; what is in it is not told."""
    return Refusal("unknown-client", f"this token {why}")


def tokens_of(config: Mapping[str, Any], warn: Callable[[str], None] = quiet) -> Tokens | None:
    """The issuers of a config file; None if it has none."""
    tables = config.get("issuers") or ()
    return Tokens([Issuer.of(each, warn) for each in tables]) if tables else None
