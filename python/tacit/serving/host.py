"""What the routes of one party share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .audit import Audit
from .clients import Client
from .desk import Desk
from .limits import Limits
from .log import Log
from .metrics import Metrics
from .policy import Policy
from .quiet import Quiet
from .refusals import Refusal
from .runner import Key, Runner
from .tracing import Traces


@dataclass
class Served:
    """A model that is served.

    Attributes
    ----------
    table : Mapping
        What the config file has of it.
    runner : Runner
        Keeps it running.
    desk : Desk
        Takes its requests.
    added : bool
        Whether it came while the service ran: until it is ready once, nobody misses it.
    read : tuple of bytes and dict
        What the core said last of it, and the same read.
    """

    table: Mapping[str, Any]
    runner: Runner
    desk: Desk
    added: bool = False
    read: tuple[bytes, dict[str, Any]] = (b"", {})

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.table["name"]

    @property
    def version(self) -> str:
        """The version of the model."""
        return self.table["version"]

    @property
    def is_leaving(self) -> bool:
        """Whether the model takes no more requests."""
        return self.runner.stopping.is_set()

    def described(self) -> dict[str, Any]:
        """What clients need to know of it; refused while it is not ready."""
        told, reason = self.desk.service.described(), self.runner.leaving()
        if told is None or reason is not None:
            raise not_ready(self.name, reason or self.runner.reason() or "connecting")
        if told != self.read[0]:
            self.read = (told, json.loads(told))
        return self.read[1]


@dataclass
class Host:
    """One party's service.

    Attributes
    ----------
    models : Mapping of Key to Served
        By their names and versions, as the config file has them.
    stopping : bool
        Whether it takes no more requests.
    quiet : Quiet
        Which refused requests have a line in the audit log.
    open_names : bool
        Whether any `Host` header is taken; else those of this machine's loopback alone.
    origins : tuple of str
        Pages that may ask from a browser.
    encrypted : bool
        Whether it is reached by HTTPS.
    traces : Traces or None
        Where traces of requests go.
    """

    models: Mapping[Key, Served]
    policy: Policy
    audit: Audit
    log: Log
    metrics: Metrics
    limits: Limits
    quiet: Quiet
    open_names: bool = False
    origins: tuple[str, ...] = ()
    encrypted: bool = False
    stopping: bool = False
    traces: Traces | None = None

    def model(self, client: Client, name: str, version: str | None) -> Served:
        """A model that a client may ask; of several versions the first, if none is named."""
        self.policy.check_model(client, name)
        found = [each for each in self.versions(name) if version in (None, each.version)]
        if not found:
            raise Refusal("not-found", "there is no such model or version here")
        return next((each for each in found if not each.is_leaving), found[0])

    def _named(self, served: Served) -> str:
        several = len(self.versions(served.name)) > 1
        return f"{served.name} version {served.version}" if several else served.name

    def versions(self, name: str) -> list[Served]:
        """All versions of a model."""
        return [each for each in self.models.values() if each.name == name]

    def names_for(self, client: Client) -> list[dict[str, str]]:
        """The models that a client may ask."""
        return [
            {"name": served.name, "version": served.version}
            for served in self.models.values()
            if not served.is_leaving and (client.models is None or served.name in client.models)
        ]

    def reasons(self, *, whole: bool = False) -> dict[str, str]:
        """Why models are not ready, by their names; of those that are to be served."""
        found: dict[str, str] = {}
        for served in self.models.values():
            reason = "draining" if self.stopping else served.runner.reason(whole=whole)
            known = served.runner.was_ready() or served.runner.halted() is not None
            here = not served.is_leaving and (known or not served.added)
            if reason is not None and (self.stopping or here):
                found[self._named(served)] = reason
        return found


def not_ready(name: str, reason: str) -> Refusal:
    """Why a model is not answering."""
    word = reason.partition(":")[0]
    code = word if word in ("quarantined", "draining") else "not-ready"
    return Refusal(code, f"the model '{name}' is not ready: {reason}")
