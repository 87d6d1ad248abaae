"""Two doctors at both ends of a connection: times, versions, round trip, bandwidth.

The dialling end knocks as a party does, so that it reaches a party that waits, too; by ALPN both
know whether the other is a doctor. Each end accepts the certificate of the one party alone that it
expects there. A line of JSON each way, then bytes that are sent back, then a block each way; the
dialling end measures, and tells the other what it found.
"""

from __future__ import annotations

import hashlib
import json
import math
import socket
import ssl
import struct
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, cast

from .._tacit import __version__
from .members import Member, Peer, certificates, secret
from .rotation import load_key

ALPN, PARTY = "tacit-doctor/1", "tacit/1"
KNOCK = struct.Struct("<8sHH")
MAGIC = b"TACIT/1\n"
HELLO = struct.Struct("<8sHHH32s")
HELLO_MAGIC = b"tacit/hi"
TIMEOUT = 5.0
BROKEN = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What bytes of the other end may raise."""

MOST_LINE = 4096
ROUNDS = 8
BLOCK = 4 << 20
"""Bytes that are sent each way to measure the bandwidth."""


class Unmet(Exception):  # noqa: N818
    """A connection that shows that something is wrong.

    Attributes
    ----------
    kind : str
        `refused`, `silent`, `address`, `stranger`, `rejected`, `closed`.
    """

    def __init__(self, kind: str, words: str):
        super().__init__(words)
        self.kind = kind


@dataclass(frozen=True)
class Met:
    """What was measured with a peer.

    Attributes
    ----------
    what : str
        `doctor`, or `party` of one that waits to run, of which less is known.
    version : str or None
        Its version of the package.
    ahead_s : float or None
        How far its clock is ahead of this one's; right to within half a round trip.
    round_trip_s : float or None
        The least of several.
    up, down : float or None
        Bytes a second to it and from it.
    """

    what: str
    version: str | None = None
    ahead_s: float | None = None
    round_trip_s: float | None = None
    up: float | None = None
    down: float | None = None


def dial(member: Member, peer: Peer, key: bytes, timeout: float = TIMEOUT) -> Met:
    """Meets a party of a lower number at its address."""
    host, _, port = peer.address.rpartition(":")
    try:
        plain = socket.create_connection((host.strip("[]"), int(port)), timeout)
    except socket.gaierror as error:
        raise Unmet(
            "address", f"the name of {peer.address} is not known ({error.strerror})"
        ) from None
    except ConnectionRefusedError:
        raise Unmet("refused", f"nobody listens at {peer.address}") from None
    except OSError as error:
        told = "in time" if isinstance(error, TimeoutError) else f"({error.strerror or error})"
        raise Unmet("silent", f"{peer.address} does not answer {told}") from None
    with plain:
        plain.sendall(KNOCK.pack(MAGIC, member.id, peer.number))
        context = _context(ssl.PROTOCOL_TLS_CLIENT, member, peer, key)
        tls = _shaken(context, plain, peer, server=False)
        with tls:
            if tls.selected_alpn_protocol() == PARTY:
                return _of_party(tls, peer)
            return _measured(tls, peer)


def greet(member: Member, plain: socket.socket, key: bytes) -> tuple[Peer, ssl.SSLSocket]:
    """Lets a party of a higher number prove who it is."""
    plain.settimeout(TIMEOUT)
    try:
        magic, claimed, wanted = KNOCK.unpack(_exactly(plain, KNOCK.size))
    except OSError:
        raise Unmet("closed", "it said nothing") from None
    if magic != MAGIC or wanted != member.id or not member.id < claimed < len(member.parties):
        raise Unmet("closed", "it does not speak like a party above this one")
    peer = member.parties[int(claimed)]
    context = _context(ssl.PROTOCOL_TLS_SERVER, member, peer, key)
    return peer, _shaken(context, plain, peer, server=True)


def answer(tls: ssl.SSLSocket, peer: Peer) -> Met:
    """Answers a party that has proven who it is; what it measured."""
    with tls:
        return Met("party") if tls.selected_alpn_protocol() != ALPN else _echoed(tls, peer)


def _context(role: int, member: Member, peer: Peer, key: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(role)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cafile=str(peer.certificate))
    # A certificate of an authority, too, is trusted for itself.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    load_key(context, member.certificate.read_bytes(), key)
    context.set_alpn_protocols([ALPN, PARTY])
    return context


def _shaken(
    context: ssl.SSLContext, plain: socket.socket, peer: Peer, *, server: bool
) -> ssl.SSLSocket:
    """TLS with exactly the expected party."""
    try:
        tls = context.wrap_socket(plain, server_side=server)
    except ssl.SSLCertVerificationError as error:
        told = f"its certificate is not that of {peer} as given here ({error.verify_message})"
        raise Unmet("stranger", told) from None
    except ssl.SSLEOFError:
        # No verdict on a certificate: a full party hangs up on whichever connection it is.
        raise Unmet("closed", "it hung up in the middle of TLS") from None
    except ssl.SSLError as error:
        raise Unmet("rejected", f"TLS failed ({error.reason or error})") from None
    except OSError as error:
        told = f"it hung up, or took too long ({error.strerror or error})"
        raise Unmet("closed", told) from None
    shown = hashlib.sha256(cast(bytes, tls.getpeercert(binary_form=True))).hexdigest()
    if shown not in [each.fingerprint for each in certificates(peer.certificate)]:
        tls.close()
        raise Unmet("stranger", f"its certificate ({shown}) is not that of {peer} as given here")
    return tls


def _of_party(tls: ssl.SSLSocket, peer: Peer) -> Met:
    """A party that waits: its hello shows that it accepts this one; it is told nothing."""
    try:
        magic, _, number, *_ = HELLO.unpack(_exactly(tls, HELLO.size))
    except OSError as error:
        raise _rejected(error, peer) from None
    if magic != HELLO_MAGIC or number != peer.number:
        raise Unmet("stranger", f"it does not greet as {peer}")
    return Met("party")


def _measured(tls: ssl.SSLSocket, peer: Peer) -> Met:
    """The dialling end's part."""
    try:
        before = time.time()
        _say(tls, {"version": __version__, "time": before})
        told = _heard(tls)
        between = (before + time.time()) / 2
        trips: list[float] = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            tls.sendall(b"ping" * 2)
            _exactly(tls, 8)
            trips.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        tls.sendall(bytes(BLOCK))
        _exactly(tls, 1)
        up = BLOCK / (time.perf_counter() - begun)
        begun = time.perf_counter()
        tls.sendall(b"d")
        _exactly(tls, BLOCK, keep=False)
        down = BLOCK / (time.perf_counter() - begun)
        ahead = _number(told, "time") - between
        met = Met("doctor", str(told["version"])[:40], ahead, min(trips), up, down)
        _say(tls, asdict(met))
        _exactly(tls, 1)
        return met
    except BROKEN as error:
        raise _rejected(error, peer) from None


def _echoed(tls: ssl.SSLSocket, peer: Peer) -> Met:
    """The listening end's part; the other's numbers are seen from its side."""
    try:
        told = _heard(tls)
        _say(tls, {"version": __version__, "time": time.time()})
        for _ in range(ROUNDS):
            tls.sendall(_exactly(tls, 8))
        _exactly(tls, BLOCK, keep=False)
        tls.sendall(b"u")
        _exactly(tls, 1)
        tls.sendall(bytes(BLOCK))
        seen = _heard(tls)
        tls.sendall(b"e")
        numbers = {key: _number(seen, key) for key in ("ahead_s", "round_trip_s", "up", "down")}
        return Met(
            "doctor",
            str(told["version"])[:40],
            -numbers["ahead_s"],
            numbers["round_trip_s"],
            numbers["down"],
            numbers["up"],
        )
    except BROKEN as error:
        raise _rejected(error, peer) from None


def _number(told: dict[str, Any], key: str) -> float:
    """A number that the other end tells; no infinity, which JSON would not have."""
    number = float(told[key])
    if not math.isfinite(number):
        raise ValueError(f"{key} is no number")
    return number


def _rejected(error: Exception, peer: Peer) -> Unmet:
    """The finding for a connection that ends after this end has accepted the other."""
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLError) and "ALERT" in reason:
        return Unmet("rejected", f"{peer} does not accept this party's certificate ({reason})")
    return Unmet("closed", f"{peer} hung up, or took too long ({type(error).__name__})")


def _say(tls: ssl.SSLSocket, told: dict[str, Any]) -> None:
    tls.sendall(json.dumps(told).encode() + b"\n")


def _heard(tls: ssl.SSLSocket) -> dict[str, Any]:
    """A line of JSON; it is short."""
    line, until = bytearray(), time.monotonic() + 4 * TIMEOUT
    while not line.endswith(b"\n"):
        if len(line) > MOST_LINE:
            raise ValueError("the line is too long")
        line += _exactly(tls, 1, until=until)
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("the line is no object")
    return cast("dict[str, Any]", found)


def _exactly(
    from_: socket.socket, size: int, *, keep: bool = True, until: float | None = None
) -> bytes:
    """`size` bytes, or an error if they do not come in time: until then, or within the timeout."""
    until = time.monotonic() + 4 * TIMEOUT if until is None else until
    kept, got = bytearray(), 0
    while got < size:
        chunk = from_.recv(min(size - got, 1 << 16))
        if not chunk:
            raise ConnectionResetError("it hung up")
        if time.monotonic() > until:
            raise TimeoutError("it takes too long")
        got += len(chunk)
        if keep:
            kept += chunk
    return bytes(kept)


def key_of(member: Member) -> bytes | None:
    """The key of this party; None where it cannot be had, which is found elsewhere."""
    with suppress(Exception):
        return secret(member.key, "party.key")
    return None
