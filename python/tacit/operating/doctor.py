"""`tacit doctor`: whether this party can run, and if not, what to do."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._tacit import TacitError, __version__
from ..serving.clients import clients_of
from ..serving.policy import check_listener
from ..serving.quarantine import events, quarantine_file
from ..serving.service import read_config
from . import local
from .echo import key_of
from .findings import Finding, error, ok, warning
from .members import Member
from .peers import Peers

WAIT_S = 10.0
"""Seconds for the other parties' doctors to come."""


def examine(path: str, wait: float = WAIT_S, *, models: bool = True) -> Iterator[Finding]:
    """All findings, as they come.

    Parameters
    ----------
    path
        The config file of this party, of whatever kind.
    wait
        Seconds for the other parties' doctors to come.
    models
        Whether to plan the models that this party owns, which takes as long as it does at a start.
    """
    yield ok(
        "version",
        f"tacit {__version__}, Python {platform.python_version()}, numpy {np.__version__}",
    )
    try:
        member = Member.read(path)
    except TacitError as failed:
        yield error("config", str(failed), "correct the config file")
        return
    config: Mapping[str, Any] | None = None
    if member.serves:
        config, found = _service(path)
        yield found
        yield from _still(config)
    else:
        told = f"this is party {member.id} of {len(member.parties)}"
        yield ok("config", f"{told}; all else in it is read at its start")
    yield from local.keys(member)
    service: Mapping[str, Any] = config["service"] if config else {}
    yield from local.periods(member, service.get("certificate"))
    yield from local.ports(_addresses(member, config), url_of(service))
    if config and models:
        yield from local.memory(path, config)
    elif config:
        yield warning("memory", "models and memory are not checked", "leave --no-models out")
    key = key_of(member)
    if key is None:
        told = "the other parties are not tried, since this party has no key"
        yield warning("peer", told, "correct the key first")
        return
    yield from Peers(member, key, wait).look()


def _service(path: str) -> tuple[Mapping[str, Any] | None, Finding]:
    """The config of a service, checked as it is at its start."""
    try:
        config = read_config(path)
        open_doors, clients = check_listener(config), clients_of(config)
    except (TacitError, OSError) as failed:
        return None, error("config", str(failed), "correct the config file")
    words = f"it serves {len(config['models'])} models to {len(clients) or 'all'} clients"
    if open_doors:
        return config, warning("config", f"{words}: {open_doors[0]}", "name [[clients]]")
    return config, ok("config", words)


def _still(config: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Whether a service meets nobody, since it has found cheating."""
    audit = Path(config["service"]["audit"]) if config else None
    found = events(quarantine_file(audit)) if audit else None
    if found is not None:
        told = "this party is quarantined, since one broke the protocol: it meets nobody"
        yield error("quarantine", told, "look at it by `tacit quarantine show`")


def url_of(service: Mapping[str, Any]) -> str | None:
    """Where a service answers its clients, by its table."""
    if not service:
        return None
    return f"{'https' if service.get('certificate') else 'http'}://{service['listen']}"


def _addresses(member: Member, config: Mapping[str, Any] | None) -> dict[str, str]:
    """Where this party listens, by what for: each session of a model has its own."""
    found: dict[str, str] = {}
    host, _, port = member.listen.rpartition(":")
    if not member.is_last and not config:
        found["the parties"] = member.listen
    for each in config["models"] if config and not member.is_last else ():
        for session in range(each["sessions"]):
            words = f"{each['name']} version {each['version']}"
            words += f", session {session}" if each["sessions"] > 1 else ""
            found[words] = f"{host}:{int(port) + each['place'] + session}"
    if config:
        found["clients"] = config["service"]["listen"]
    return found
