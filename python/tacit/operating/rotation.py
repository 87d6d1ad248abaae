"""How a party takes a new certificate while the others accept both for a while.

A party's new certificate waits in `next-cert.pem` (and `next-key.pem`) beside those that it uses.
The others put it behind its old one, into the file that they know the party by. Once all have, the
party switches, and the others drop the old one. Certificates are read whenever parties meet: who
accepts or drops need not be restarted.
"""

from __future__ import annotations

import argparse
import ssl
from collections.abc import Iterator
from pathlib import Path

from .. import _tacit
from .._tacit import TacitError
from ..errors import FileError
from .files import in_memory, replace
from .members import Certificate, Member, Peer, certificates, secret

NEXT_KEY, NEXT_CERTIFICATE = "next-key.pem", "next-cert.pem"
MOST_DAYS = 3650
MARK = b"-----BEGIN CERTIFICATE-----"
MOST = 1 << 20
"""Bytes of a file of certificates."""


def act(args: argparse.Namespace) -> Iterator[str]:
    """Does what `tacit cert` was asked for; what to show."""
    if args.what == "show":
        if not args.path:
            raise TacitError("tacit cert show: name a file, such as cert.pem")
        for path in args.path:
            yield from shown(path)
        return
    if not args.config:
        raise TacitError(f"tacit cert {args.what}: name this party's config file: --config FILE")
    member = Member.read(args.config)
    if args.what in ("renew", "rotate"):
        yield from begin(member, rotate=args.what == "rotate", days=args.days)
    elif args.what == "switch":
        yield from switch(member)
    else:
        peer = _peer(member, args.party, args.what)
        if args.what == "drop":
            yield from drop(peer)
        elif len(args.path) != 1:
            raise TacitError(f"tacit cert accept: name one file, the new certificate of {peer}")
        else:
            yield from accept(member, peer, Path(args.path[0]), args.fingerprint)


def shown(path: str | Path) -> Iterator[str]:
    """What tells the certificates of a file from any other."""
    for name, fingerprint, period in _tacit.certificates(str(path)):
        yield str(path)
        yield f"  name         {name or '(none)'}"
        yield f"  fingerprint  {fingerprint}"
        if period:
            yield f"  valid        {period[0]} to {period[1]}"


def begin(member: Member, *, rotate: bool, days: int) -> Iterator[str]:
    """Makes the next certificate, and for `rotate` its key."""
    if not 1 <= days <= MOST_DAYS:
        raise TacitError(f"--days: {days} is out of range; give 1 to {MOST_DAYS}")
    folder = member.certificate.parent
    name = certificates(member.certificate)[0].name or member.parties[member.id].name
    key = None if rotate else secret(member.key, "party.key")
    _tacit.next_certificate(str(folder), name, days, key)
    new = folder / NEXT_CERTIFICATE
    yield from shown(new)
    yield f"Send {new} to the other parties, and nothing else; tell them the fingerprint by phone."
    yield f"Each puts it beside the old one: tacit cert accept {new.name} --party {member.id} ..."
    if rotate and not isinstance(member.key, str):
        yield f"The key of this party is not in a file: put {folder / NEXT_KEY} where it is kept."
    yield "Once all have: tacit cert switch, and start this party anew."


def accept(member: Member, peer: Peer, path: Path, expected: str | None) -> Iterator[str]:
    """Puts another party's new certificate beside the old one."""
    text, old = read(path), read(peer.certificate)
    found, held = parsed(text, path), parsed(old, peer.certificate)
    if len(found) != 1:
        raise FileError(f"{path} holds {len(found)} certificates; give the new one alone")
    new = found[0]
    plain = (expected or new.fingerprint).replace(":", "").lower()
    if plain != new.fingerprint:
        raise TacitError(
            f"{path} has the fingerprint {new.fingerprint}, not {plain}: it is not the one that "
            "its owner reads out; nothing was changed. Ask for it again, on another way"
        )
    _check_new(new, path)
    for other in member.parties:
        if new.fingerprint in (each.fingerprint for each in certificates(other.certificate)):
            raise TacitError(f"{path} is accepted for {other} already; nothing was changed")
    if len(held) > 1:
        raise TacitError(
            f"{peer.certificate} holds {len(held)} certificates already; drop the old one first: "
            f"tacit cert drop --party {peer.number}"
        )
    replace(peer.certificate, old.rstrip(b"\n") + b"\n" + text, mode=0o644)
    yield from shown(peer.certificate)
    yield f"Both are accepted for {peer} from the next time that the parties meet."
    if expected is None:
        yield "Compare the last fingerprint with what its owner reads out, over the phone."
    yield f"Once it has switched: tacit cert drop --party {peer.number}"


def switch(member: Member) -> Iterator[str]:
    """Uses the next certificate from now on; the old one stays beside it."""
    folder = member.certificate.parent
    new, new_key = folder / NEXT_CERTIFICATE, folder / NEXT_KEY
    if not new.exists():
        raise FileError(f"{new} is not there; make it: tacit cert renew or rotate", source=str(new))
    _check_new(certificates(new)[0], new)
    in_file = isinstance(member.key, str)
    # After a crash between the two the new key is in its place already.
    key = new_key.read_bytes() if in_file and new_key.exists() else secret(member.key, "party.key")
    if not fits(new, key):
        hint = "" if in_file else f"; put {new_key} where the key is kept first"
        raise FileError(f"{new} does not fit the key of this party{hint}", source=str(new))
    if in_file and new_key.exists():
        place = Path(str(member.key))
        replace(place.with_name("old-" + place.name), place.read_bytes(), mode=0o600)
        new_key.replace(place)
    old = member.certificate
    replace(old.with_name("old-" + old.name), old.read_bytes(), mode=0o644)
    new.replace(old)
    yield from shown(old)
    yield "This party shows it from its next start on. Start it anew, then let the others drop"
    yield f"the old one: tacit cert drop --party {member.id}. Signatures of the audit log before"
    yield f"are checked with {old.with_name('old-' + old.name)}: keep it."
    listed = member.parties[member.id].certificate
    if listed != old:
        yield f"The config lists {listed} for this party: put the new certificate there, too."


def drop(peer: Peer) -> Iterator[str]:
    """Takes away all but the last certificate that a party is known by."""
    text = read(peer.certificate)
    if len(parsed(text, peer.certificate)) < 2:
        raise TacitError(
            f"{peer.certificate} holds one certificate alone: {peer} is known by no other"
        )
    replace(peer.certificate, text[text.rindex(MARK) :], mode=0o644)
    yield from shown(peer.certificate)
    yield f"{peer} is known by it alone from the next time that the parties meet."


def fits(certificate: Path, key: bytes) -> bool:
    """Whether a private key belongs to a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        load_key(context, certificate.read_bytes(), key)
    except ssl.SSLError:
        return False
    return True


def load_key(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Gives a context its certificate and key, which OpenSSL reads from files alone."""
    with in_memory(certificate) as chain, in_memory(key) as private:
        context.load_cert_chain(chain, private, password="")


def read(path: Path) -> bytes:
    """What is in a file of certificates; what is checked of it is what is used then."""
    with path.open("rb") as file:
        text = file.read(MOST + 1)
    if len(text) > MOST:
        raise FileError(f"{path} has more than {MOST} bytes: it is no certificate")
    return text


def parsed(text: bytes, path: Path) -> list[Certificate]:
    """The certificates in what was read from a file."""
    with in_memory(text) as name:
        try:
            return certificates(name)
        except TacitError as error:
            told = str(error).replace(name, str(path))
            raise FileError(told, source=str(path)) from None


def _check_new(new: Certificate, path: Path) -> None:
    if new.days is not None and new.days <= 0:
        raise FileError(f"{path} has expired; make a new one: tacit cert rotate", source=str(path))


def _peer(member: Member, number: int | None, what: str) -> Peer:
    numbers = ", ".join(f"{peer.number} ({peer.name})" for peer in member.others)
    if number is None or number not in [peer.number for peer in member.others]:
        raise TacitError(f"tacit cert {what}: say whose it is by --party: {numbers}")
    return member.parties[number]
