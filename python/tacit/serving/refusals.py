"""What a service answers when it does not do as it is asked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

STATUS = {
    "malformed": 400,
    "unknown-client": 401,
    "not-allowed": 403,
    "closed": 403,
    "declined-elsewhere": 403,
    "not-found": 404,
    "no-such-method": 405,
    "too-slow": 408,
    "reused": 409,
    "other-session": 409,
    "too-large": 413,
    "too-many-items": 413,
    "wrong-host": 421,
    "budget": 429,
    "internal": 500,
    "missing-elsewhere": 502,
    "inconsistent": 502,
    "failed": 502,
    "busy": 503,
    "not-ready": 503,
    "draining": 503,
    "drained": 503,
    "quarantined": 503,
    "audit": 503,
    "timeout": 504,
}
"""The HTTP status of every code that an answer may have."""

AGAIN = {"busy": 0.2, "not-ready": 1.0, "draining": 2.0, "drained": 2.0}
"""Seconds after which to try again, where nothing else is known."""


class Refusal(Exception):  # noqa: N818
    """A request that is not answered.

    Attributes
    ----------
    code : str
        One of :data:`STATUS`.
    message : str
        What is wrong and what to do. It tells no path and no value.
    retry_after : float or None
        Seconds after which the same request may be answered.
    """

    def __init__(self, code: str, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.code = code if code in STATUS else "failed"
        self.message = message
        self.retry_after = AGAIN.get(code) if retry_after is None else retry_after

    @property
    def status(self) -> int:
        """The HTTP status of the refusal, by its code."""
        return STATUS[self.code]

    @classmethod
    def of(cls, told: str | bytes) -> Refusal:
        """What a `Service` says, as JSON."""
        said: Mapping[str, Any] = json.loads(told)
        return cls(said["code"], said["message"], said.get("retry_after"))

    def body(self, request: str) -> bytes:
        """The body of the answer, as JSON: the error, its code and the request's number."""
        told: dict[str, Any] = {"error": self.message, "code": self.code, "request": request}
        if self.retry_after is not None:
            told["retry_after"] = self.retry_after
        return json.dumps(told).encode() + b"\n"

    def headers(self) -> dict[str, str]:
        """The answer's headers beside those of all answers."""
        found = {"content-type": "application/json"}
        if self.retry_after is not None:
            found["retry-after"] = str(max(0, math.ceil(self.retry_after)))
        if self.status == 401:
            found["www-authenticate"] = 'Bearer realm="tacit"'
        return found
