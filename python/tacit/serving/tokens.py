"""Tokens of an identity provider (OIDC, JWT), checked by PyJWT."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._tacit import TacitError
from ..errors import FileError
from .needs import need
from .refusals import Refusal

ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures that are accepted unless the config names others. None of a shared secret: whoever
checks these could make them."""
HOSTILE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""What bytes of a token or of a file of keys may raise, beside what PyJWT says of them."""
LEEWAY_S = 30.0
"""How far clocks may be apart."""
MOST_KEYS = 1 << 20
NEEDED = ("exp", "iss", "aud", "sub")


@dataclass(frozen=True)
class Issuer:
    """Whose tokens are accepted.

    Attributes
    ----------
    name, audience : str
        What `iss` and `aud` must be.
    keys : dict
        Public keys by their numbers, `kid`; of a token without a number the only one.
    algorithms : tuple of str
        Of its signatures.
    """

    name: str
    audience: str
    keys: Mapping[str | None, Any]
    algorithms: tuple[str, ...]

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Issuer:
        """The issuer of a table of `[[issuers]]`."""
        need("oidc", "[[issuers]]")
        import jwt  # noqa: PLC0415
        from jwt.algorithms import get_default_algorithms  # noqa: PLC0415

        name, path = table["issuer"], table["keys"]
        given = tuple(table.get("algorithms") or ALGORITHMS)
        for each in given:
            if each not in get_default_algorithms() or each[:2] in ("HS", "no"):
                known = ", ".join(ALGORITHMS)
                raise TacitError(f"issuers: {each!r} of {name!r} is no signature such as {known}")
        try:
            with Path(path).open("rb") as file:
                read = json.loads(file.read(MOST_KEYS))
            found = jwt.PyJWKSet.from_dict(read).keys
        except (*HOSTILE, jwt.PyJWTError):
            told = f"{path}: it is no JSON Web Key Set; take it from the issuer's jwks_uri"
            raise FileError(told, source=path) from None
        public = [each for each in found if each.key_type in ("RSA", "EC", "OKP")]
        if not public:
            told = f"{path}: it has no public key of RSA, EC or Ed25519"
            raise FileError(told, source=path)
        keys: dict[str | None, Any] = {each.key_id: each for each in public}
        if len(public) == 1:
            keys[None] = public[0]
        return cls(name, table["audience"], keys, given)


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

    def subject(self, token: str) -> tuple[str, str]:
        """The issuer and the subject of a token; refused if it does not hold."""
        import jwt  # noqa: PLC0415

        try:
            header = jwt.get_unverified_header(token)
            claimed = jwt.decode(token, options={"verify_signature": False}).get("iss")
            issuer = self.issuers.get(claimed) if isinstance(claimed, str) else None
            if issuer is None:
                raise refused("is of no issuer that is known here")
            key = issuer.keys.get(header.get("kid"))
            if key is None:
                raise refused(
                    "is signed by a key that is not known here; its operator reads them anew"
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


def tokens_of(config: Mapping[str, Any]) -> Tokens | None:
    """The issuers of a config file; None if it has none."""
    tables = config.get("issuers") or ()
    return Tokens([Issuer.of(each) for each in tables]) if tables else None
