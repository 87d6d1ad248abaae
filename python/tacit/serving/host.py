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
from .runner import Runner
from .tracing import Traces


@dataclass
class Served:
    """A model that is served.

    Attributes
    ----------
    name, version : str
        As in the config file.
    runner : Runner
        Keeps it running.
    desk : Desk
        Takes its requests.
    read : tuple of bytes and dict
        What the core said last of it, and the same read.
    """

    name: str
    version: str
    runner: Runner
    desk: Desk
    read: tuple[bytes, dict[str, Any]] = (b"", {})

    def described(self) -> dict[str, Any]:
        """What clients need to know of it; refused while it is not ready."""
        told = self.desk.service.described()
        reason = self.runner.reason()
        if told is None or reason is not None:
            raise not_ready(self.name, reason or "connecting")
        if told != self.read[0]:
            self.read = (told, json.loads(told))
        return self.read[1]


@dataclass
class Host:
    """One party's service.

    Attributes
    ----------
    models : Mapping of str to Served
        By their names.
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

    models: Mapping[str, Served]
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
        """A model that a client may ask."""
        found = self.models.get(name)
        if found is None or version not in (None, found.version):
            self.policy.check_model(client, name)
            raise Refusal("not-found", "there is no such model or version here")
        self.policy.check_model(client, name)
        return found

    def names_for(self, client: Client) -> list[dict[str, str]]:
        """The models that a client may ask."""
        return [
            {"name": name, "version": served.version}
            for name, served in self.models.items()
            if client.models is None or name in client.models
        ]

    def reasons(self) -> dict[str, str]:
        """Why models are not ready, by their names."""
        found = {name: served.runner.reason() for name, served in self.models.items()}
        if self.stopping:
            found = dict.fromkeys(self.models, "draining")
        return {name: reason for name, reason in found.items() if reason is not None}


def not_ready(name: str, reason: str) -> Refusal:
    """Why a model is not answering."""
    word = reason.partition(":")[0]
    code = word if word in ("quarantined", "draining") else "not-ready"
    return Refusal(code, f"the model '{name}' is not ready: {reason}")
