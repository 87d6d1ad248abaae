"""What `tacit doctor` looks at on this machine: keys, certificates, ports, memory."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import _tacit
from .._tacit import TacitError
from .approve import kept_offer
from .findings import Finding, error, ok, warning
from .members import SOON_DAYS, Certificate, Member, certificates, place, secret
from .peers import over_http
from .ports import listening
from .rotation import fits

PORTION = 256 << 20
"""Bytes of correlated randomness that a party makes at a time."""


def keys(member: Member) -> Iterator[Finding]:
    """Whether the private key is there, is this party's alone, and fits its certificate."""
    where = place(member.key)
    try:
        key = secret(member.key, "party.key")
    except TacitError as failed:
        yield error("key", str(failed), "correct it: without its key a party can prove nothing")
        return
    try:
        own = certificates(member.certificate)[0]
    except TacitError as failed:
        yield error("key", str(failed), "put this party's certificate there")
        return
    if not fits(member.certificate, key):
        told = f"the key of {where} does not fit {member.certificate}"
        yield error("key", told, "take key and certificate of one `tacit init` or `tacit cert`")
        return
    yield ok("key", f"the key of {where} fits the certificate {own.fingerprint}")
    listed = member.parties[member.id].certificate
    try:
        known = [each.fingerprint for each in certificates(listed)]
    except TacitError:
        return
    if own.fingerprint not in known:
        told = f"{member.certificate} is not among the certificates of {listed}"
        yield error("key", told, f"[[parties]] lists {listed} for this party: put its own there")


def periods(member: Member, https: str | None) -> Iterator[Finding]:
    """Whether all certificates can be read, are valid, and belong to one party each."""
    seen: dict[str, str] = {}
    for peer in member.parties:
        for each in _read(str(peer), peer.certificate):
            if isinstance(each, Finding):
                yield each
                continue
            yield _period(str(peer), each, own=peer.number == member.id)
            other = seen.setdefault(each.fingerprint, str(peer))
            if other != str(peer):
                told = f"{other} and {peer} have the same certificate"
                yield error("certificate", told, "ask each for its own: each needs one")
    if https:
        for each in _read("https", Path(https)):
            yield each if isinstance(each, Finding) else _period("https", each, own=True)


def _read(who: str, path: Path) -> Iterator[Certificate | Finding]:
    try:
        yield from certificates(path)
    except TacitError as failed:
        told = f"the certificate of {who}: {failed}"
        yield error("certificate", told, f"put the certificate of {who} there", party=who)


def _period(who: str, each: Certificate, *, own: bool) -> Finding:
    days, facts = each.days, {"party": who, "fingerprint": each.fingerprint, "days": each.days}
    name = f"the certificate of {who} ({each.fingerprint[:16]}...)"
    new = "make a new one: tacit cert rotate" if own else f"ask {who} for a new one: tacit cert"
    if days is None:
        return warning("certificate", f"{name} has a period that cannot be read", new, **facts)
    if each.begins is not None and each.begins > time.time():
        told = f"{name} is not valid yet"
        return error("certificate", told, "set the clock of whoever made it, or of here", **facts)
    if days <= 0:
        return error("certificate", f"{name} has expired {-days:.0f} days ago", new, **facts)
    if days < SOON_DAYS:
        return warning("certificate", f"{name} ends in {days:.0f} days", new, **facts)
    return ok("certificate", f"{name} is valid for {days:.0f} days", **facts)


def ports(addresses: Mapping[str, str], http: str | None) -> Iterator[Finding]:
    """Whether this party can listen where it is to; or does so already.

    `addresses` are by what they are for; `http` is where a service that runs would answer.
    """
    runs = http is not None and over_http(http) is not None
    for what, address in addresses.items():
        try:
            listening(address).close()
        except OSError as failed:
            yield _taken(what, address, failed, runs)
        else:
            yield ok("port", f"{address} ({what}) is free", address=address)


def _taken(what: str, address: str, failed: OSError, runs: bool) -> Finding:
    if failed.errno == errno.EADDRINUSE and runs:
        return ok("port", f"{address} ({what}) is held; this party's service runs", address=address)
    words = f"{address} ({what}) cannot be listened at ({failed.strerror or failed})"
    if failed.errno == errno.EADDRINUSE:
        do = "if that is this party, well; else end what holds it (ss -ltnp), or take another port"
        return warning("port", words, do, address=address)
    do = "give an address of this machine: [party] listen, or service.listen"
    return error("port", words, do, address=address)


def memory(path: str, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the models of a service fit the memory, as far as their plans are known here."""
    needed, unknown, service = 0, 0, config["service"]
    for model in config["models"]:
        name = model["name"]
        try:
            text = _offer_of(path, model) or kept_offer(config, model)
        except TacitError as failed:
            yield error("model", f"'{name}': {failed}", "correct the model or its plan")
            continue
        if text is None:
            told = f"'{name}': its plan is not known here before its owner has offered it"
            unknown += 1
            yield warning("memory", told, "look again once the parties have met", model=name)
            continue
        offer, batch = json.loads(text), service["batch"]
        made = min(batch * offer["material_bytes"], max(PORTION, offer["material_bytes"]))
        ahead = service["pool_mb"] * 1e6 if service["pool"] else 0
        each = int(batch * offer["item_bytes"] + made + ahead) * model["sessions"]
        needed += each
        told = f"'{name}' takes up to {_size(each)} for batches of {batch}"
        told += f" in {model['sessions']} sessions" if model["sessions"] > 1 else ""
        yield ok("model", told, model=name, digest=offer["digest"], bytes=each)
    beside = int((8 * service["body_mb"] + service["keep_mb"]) * 1e6)
    models = "all models" if not unknown else f"all models but {unknown}"
    yield _fits(models, needed + beside, beside)


def _fits(models: str, needed: int, beside: int) -> Finding:
    free = available()
    words = f"{models} and {_size(beside)} for requests take up to {_size(needed)}"
    if free is None:
        do = "compare it with this machine's memory, which cannot be told here"
        return warning("memory", words, do, bytes=needed)
    words += f", and {_size(free)} are free"
    if needed <= free:
        return ok("memory", words, bytes=needed, free=free)
    do = "a smaller batch, pool_mb, body_mb or keep_mb in [service], or more memory"
    return warning("memory", words, do, bytes=needed, free=free)


def available() -> int | None:
    """Bytes of memory that programs may still take, where the system says so."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        return None


def _offer_of(path: str, model: Mapping[str, Any]) -> bytes | None:
    """What the owner's file makes, at the owner."""
    if not model["file"]:
        return None
    return _tacit.Service(path, model["name"], model["version"]).offered()


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
