"""The quarantine of a party: after cheating nobody is met, in no model and after no restart.

Each time that parties meet is another chance for a cheater, and what is missed once in 2^40 tries
is soon not rare any more. So a service that has found cheating writes it down, in a file beside
its audit log, and meets nobody while that file is there. A person looks at it and lifts it, by
`tacit quarantine`; the service takes that up, and notes it in the audit log.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from .._tacit import TacitError, __version__
from ..operating.files import replace
from ..visible import visible
from .log import now
from .notices import fingerprints

Event = Mapping[str, Any]
"""What is known of one time that cheating was found."""

MOST = 1 << 20
"""Bytes of such a file that are read."""


def quarantine_file(audit: Path) -> Path:
    """Where a quarantine stands: beside the audit log, whose folder a service needs anyway."""
    return audit.with_name(audit.name + ".quarantine.json")


def lifted_file(audit: Path) -> Path:
    """Where a quarantine that was lifted waits for the service to note it in its audit log."""
    return audit.with_name(audit.name + ".quarantine-lifted.json")


def event_of(config: Mapping[str, Any], key: tuple[str, str], told: Mapping[str, Any]) -> Event:
    """What a party knows of an error that means cheating.

    Parameters
    ----------
    config
        The config of the service.
    key
        Name and version of the model.
    told
        How the model stands: `suspects`, the numbers of the parties one of which cheats, `why`, the
        words of the error, and the `certificates` that the parties have shown, by their names.
    """
    # Before they met there are those of the config alone.
    prints = {**fingerprints(config), **told["certificates"]}
    names = [each["name"] for each in config["parties"]]
    parties = [
        {"number": number, "name": names[number], "certificates": prints[names[number]].split()}
        for number in told["suspects"]
        if 0 <= number < len(names)
    ]
    facts = {
        "date": now(),
        "model": key[0],
        "version": key[1],
        "parties": parties,
        "why": told["why"],
    }
    return {**facts, "tacit": __version__}


def named(parties: Sequence[Mapping[str, Any]]) -> str:
    """The parties of which one cheats, by their numbers and names."""
    words = [f"party {each['number']} ({each['name']})" for each in parties]
    return " or ".join(words) or "a party"


def quarantined(who: str) -> str:
    """What a quarantine means, and what to do."""
    return (
        f"quarantined: {who} broke the protocol; nothing connects again by itself, in no model. "
        "Find out with its operator what happened (`tacit quarantine show` has what is known "
        "here), then `tacit quarantine lift` and restart this service"
    )


def events(path: Path) -> list[Event] | None:
    """What a file says of a quarantine; nothing of one that is damaged, None if there is none."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return None
    return _events(_read(path))


class Quarantine:
    """Whether a party meets the others, for all of its models together.

    Attributes
    ----------
    words : str or None
        Why nobody is met, for anyone to read; None if the party meets the others.
    events : list of Mapping
        What is known of it.
    written : bool
        Whether it is in the file.

    Parameters
    ----------
    audit
        The audit log.
    """

    def __init__(self, audit: Path):
        self.path, self.lifted = quarantine_file(audit), lifted_file(audit)
        self.lock = threading.Lock()
        self.words: str | None = None
        self.events: list[Event] = []
        self.written = False
        self.read()

    def why(self) -> str | None:
        """Why nobody is met; None if the party meets the others."""
        return self.words

    def is_there(self) -> bool:
        """Whether the file is there, whatever is in it."""
        return events(self.path) is not None

    def read(self) -> None:
        """Takes over what stands in the file, if it is there."""
        found = events(self.path)
        if found is not None:
            with self.lock:
                self.events, self.written = found, True
                self.words = quarantined(named(found[0]["parties"] if found else []))

    def add(self, event: Event) -> None:
        """From now on nobody is met; it is not in the file yet."""
        with self.lock:
            self.events, self.written = [*self.events, event], False
            self.words = self.words or quarantined(named(event["parties"]))

    def write(self) -> None:
        """Writes the file; once this returns, a loss of power loses nothing of it."""
        with self.lock:
            text = json.dumps({"quarantined": self.events}, indent=2) + "\n"
            replace(self.path, text.encode())
            self.written = True

    def end(self) -> None:
        """The party meets the others again."""
        with self.lock:
            self.words, self.events, self.written = None, [], False

    def was_lifted(self) -> Mapping[str, Any] | None:
        """What is to be noted in the audit log of a quarantine that was lifted."""
        if not self.lifted.exists():
            return None
        told = _read(self.lifted)
        facts = {key: told.get(key) for key in ("lifted", "reason")}
        return {**facts, "quarantined": _events(told)}

    def noted(self) -> None:
        """Removes what was to be noted, since the audit log has it."""
        self.lifted.unlink(missing_ok=True)


def lift(audit: Path, reason: str) -> None:
    """Lifts a quarantine, and leaves word of it for the audit log.

    The word is written first: whatever happens between, the quarantine is there or the word is.
    """
    path = quarantine_file(audit)
    found = events(path)
    if found is None:
        raise TacitError(f"this party is not quarantined: {path} is not there")
    if not reason.strip():
        raise TacitError("say in --reason what you have found out: the audit log keeps it")
    told = {"lifted": now(), "reason": reason, "quarantined": found}
    replace(lifted_file(audit), json.dumps(told, indent=2).encode() + b"\n")
    path.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def lines_of(path: Path, found: Sequence[Event]) -> list[str]:
    """A quarantine in lines, for a terminal."""
    lines = [f"quarantined: this party meets nobody, whatever model ({visible(path)})"]
    if not found:
        lines.append("  the file is damaged; the audit log has lines of kind quarantined")
    for each in found:
        who, model = named(each["parties"]), f"{each['model']} version {each['version']}"
        lines.append(f"  {visible(each['date'])}  {visible(who)}, in {visible(model)}")
        for party in each["parties"]:
            prints = " ".join(map(str, party["certificates"]))
            lines.append(f"    certificates of {visible(party['name'])}: {visible(prints)}")
        lines.append(f"    {visible(each['why'])}")
    return lines


def _read(path: Path) -> Mapping[str, Any]:
    """The object of a file in JSON; nothing if it is damaged."""
    try:
        with path.open("rb") as file:
            told = json.loads(file.read(MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _events(told: Mapping[str, Any]) -> list[Event]:
    try:
        return [_event(each) for each in told["quarantined"]]
    except (KeyError, TypeError, AttributeError):
        return []


def _event(told: Mapping[str, Any]) -> Event:
    parties = [
        {"number": each["number"], "name": each["name"], "certificates": list(each["certificates"])}
        for each in told["parties"]
    ]
    plain = {key: told.get(key) for key in ("date", "model", "version", "why", "tacit")}
    return {**plain, "parties": parties}
