"""What `tacit doctor` finds out about the other parties: whether each is reached, and as whom.

A party dials those of a lower number and hears those of a higher, and so do doctors: run at both
ends at once they measure what a run would have.
"""

from __future__ import annotations

import json
import random
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from queue import Empty, SimpleQueue

from .._tacit import TacitError, __version__
from .echo import Met, Unmet, answer, dial, greet
from .findings import Finding, error, ok, warning
from .members import Member, Peer
from .ports import listening

PAUSE = 0.3
CLOCK_S = 60.0
"""How far clocks may be apart: certificates are valid from an hour before they are made."""
HTTP_S = 5.0
"""Seconds to ask a service whether it lives."""
MOST_ANSWER = 1000
"""Bytes that a service answers when it is asked whether it lives."""
AT_ONCE = 64
"""Connections at once that have not shown whose they are; beyond it one of them is hung up."""
TOLD = 8
"""Connections that came to nothing of which is told."""
ADVICE = {
    "refused": "start `tacit doctor` (or the party) there now, and see that its firewall opens "
    "this port; a service that has met all parties listens no more",
    "silent": "a firewall in between drops it, or the machine is off: open the port there",
    "address": "correct the address in [[parties]], or this machine's DNS",
    "stranger": "compare `tacit cert show` at both ends, over the phone; it may be somebody else",
    "rejected": "that party needs this party's current certificate: compare `tacit cert show`",
    "closed": "something else may listen there; if it is the party, look at its log",
}


class Peers:
    """Meets the other parties, for some seconds.

    Parameters
    ----------
    member
        This party.
    key
        Its private key.
    wait
        Seconds for the others to come.
    """

    def __init__(self, member: Member, key: bytes, wait: float):
        self.member, self.key = member, key
        self.until = time.monotonic() + wait
        self.met: dict[int, Met] = {}
        self.unmet: dict[int, Unmet] = {}
        self.strays: list[str] = []
        self.changed = threading.Condition()
        self.unproven: list[socket.socket] = []
        self.proven: set[int] = set()

    def look(self) -> Iterator[Finding]:
        """What is found of every party."""
        hearing = threading.Thread(target=self._listen, daemon=True)
        if not self.member.is_last:
            hearing.start()
        lower = [peer for peer in self.member.others if peer.number < self.member.id]
        with ThreadPoolExecutor(max(1, len(lower))) as threads:
            list(threads.map(self._dial, lower))
        with self.changed:
            self.changed.wait_for(self._complete, max(0.0, self.until - time.monotonic()))
        self.until = 0.0
        if hearing.is_alive():
            # The port is free again when this is over.
            hearing.join()
        for peer in self.member.others:
            yield from self._found(peer)
        for words in self.strays:
            do = "if it is none of the parties, see who may reach this port"
            yield warning("peer", f"a connection was turned away: {words}", do)

    def _complete(self) -> bool:
        return len(self.met) == len(self.member.others)

    def _dial(self, peer: Peer) -> None:
        while True:
            try:
                met = dial(self.member, peer, self.key)
                with self.changed:
                    self.met[peer.number] = met
                    self.changed.notify_all()
                return
            except Unmet as error:
                self.unmet[peer.number] = error
                # Who proves to be another, or refuses this party, will go on to.
                if error.kind in ("stranger", "rejected") or time.monotonic() > self.until:
                    return
            except (OSError, TacitError) as error:
                # This party's own files; the others are still looked at.
                self.unmet[peer.number] = Unmet("closed", f"it cannot be met from here ({error})")
                return
            time.sleep(PAUSE)

    def _listen(self) -> None:
        try:
            listener = listening(self.member.listen)
        except OSError:
            return
        with listener:
            listener.settimeout(0.1)
            while time.monotonic() < self.until:
                try:
                    plain, _ = listener.accept()
                except TimeoutError:
                    continue
                threading.Thread(target=self._answer, args=(plain,), daemon=True).start()

    @contextmanager
    def _place(self, plain: socket.socket) -> Generator[None, None, None]:
        """A place for a connection; strangers that say nothing hold none against it."""
        # TLS takes the socket itself away.
        door = plain.dup()
        with self.changed:
            self.unproven.append(door)
            if len(self.unproven) > AT_ONCE:
                # Whichever: of many strangers and a party, most likely a stranger.
                with suppress(OSError):
                    self.unproven.pop(random.randrange(AT_ONCE)).shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            with self.changed:
                if door in self.unproven:
                    self.unproven.remove(door)
                door.close()

    def _answer(self, plain: socket.socket) -> None:
        source = "somebody"
        try:
            with plain:
                source = plain.getpeername()[0]
                with self._place(plain):
                    peer, tls = greet(self.member, plain, self.key)
                self._measure(peer, tls)
        except Unmet as error:
            self._turned_away(f"{source}: {error}")
        except (OSError, TacitError) as error:
            self._turned_away(f"{source}: {type(error).__name__}: {error}")

    def _measure(self, peer: Peer, tls: ssl.SSLSocket) -> None:
        """Meets a party that has proven who it is; it has one place, however often it comes."""
        with self.changed:
            again = peer.number in self.proven
            self.proven.add(peer.number)
        if again:
            tls.close()
            return
        try:
            met = answer(tls, peer)
            with self.changed:
                self.met[peer.number] = met
                self.changed.notify_all()
        finally:
            with self.changed:
                self.proven.discard(peer.number)

    def _turned_away(self, words: str) -> None:
        """Keeps why a connection came to nothing, of the first ones."""
        with self.changed:
            if len(self.strays) < TOLD:
                self.strays.append(words)

    def _found(self, peer: Peer) -> Iterator[Finding]:
        met, unmet = self.met.get(peer.number), self.unmet.get(peer.number)
        if met is not None:
            yield from told_of(peer, met)
            return
        by_http = over_http(peer.http) if peer.http else None
        if by_http is not None:
            yield from _by_http(peer, *by_http)
        elif unmet is not None:
            yield error("peer", f"{peer}: {unmet}", ADVICE[unmet.kind], party=peer.number)
        else:
            do = "run `tacit doctor` there at the same time; it shows why it cannot come"
            yield warning("peer", f"{peer} has not come in at {self.member.listen}", do)


def told_of(peer: Peer, met: Met) -> Iterator[Finding]:
    """What was measured with a peer."""
    facts = {"party": peer.number}
    if met.what == "party":
        words = f"{peer} waits to run; both certificates are accepted"
        yield ok("peer", words, **facts)
        do = "run `tacit doctor` there at the same time to measure clock, round trip and bandwidth"
        yield warning("clock", f"the clock of {peer} is not checked: its party runs", do, **facts)
        return
    yield ok("peer", f"{peer} is reached; both certificates are accepted", **facts)
    if met.version != __version__:
        do = "install the same version at all parties"
        yield error("version", f"{peer} has {met.version}, this party {__version__}", do, **facts)
    else:
        yield ok("version", f"{peer} has {met.version}, as this party has", **facts)
    ahead, trip, up, down = (met.ahead_s or 0.0, met.round_trip_s or 0.0, met.up, met.down)
    yield clock(peer, ahead, trip, **facts)
    speeds = " and ".join(
        f"{(each or 0) * 8 / 1e6:.0f} Mbit/s {where}"
        for each, where in ((up, "to it"), (down, "from it"))
    )
    words = f"{peer}: a round trip takes {trip * 1e3:.2f} ms, with {speeds}"
    yield ok("network", words, **facts, round_trip_s=trip, up=up, down=down)


def clock(peer: Peer, ahead: float, within: float, **facts: int) -> Finding:
    """How a peer's clock stands to this one's."""
    words = f"the clock of {peer} is {abs(ahead):.1f} s {'ahead' if ahead >= 0 else 'behind'}"
    words += f", within {within:.2g} s"
    if abs(ahead) - within <= CLOCK_S:
        return ok("clock", words, ahead_s=ahead, **facts)
    do = "set the clock that is wrong (NTP): certificates, hours and keys of clients go by it"
    return warning("clock", words, do, ahead_s=ahead, **facts)


def over_http(http: str, seconds: float = HTTP_S) -> tuple[float, float | None] | None:
    """Seconds of a round trip to a service, and how far its clock is ahead; None if none is there.

    None as well if it takes too long: what drips never runs into the time that one read has.
    """
    found: SimpleQueue[tuple[float, float | None] | None] = SimpleQueue()
    threading.Thread(target=lambda: found.put(_asked(http, seconds)), daemon=True).start()
    try:
        return found.get(timeout=seconds)
    except Empty:
        return None


def _asked(http: str, seconds: float) -> tuple[float, float | None] | None:
    """Asks a service whether it lives; nobody else, wherever it sends whom it answers.

    Its certificate is not checked, since nothing is told or believed but its time.
    """
    url = http if "://" in http else f"https://{http}"
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.HTTPHandler())
    opener.add_handler(urllib.request.HTTPSHandler(context=unchecked))
    opener.add_handler(urllib.request.UnknownHandler())
    before = time.time()
    try:
        with opener.open(f"{url.rstrip('/')}/v2/health/live", timeout=seconds) as answered:
            after, date = time.time(), answered.headers.get("date")
            told = json.loads(answered.read(MOST_ANSWER))
            if answered.status != 200 or told != {"live": True}:
                return None
    except (OSError, ValueError, RecursionError, HTTPException):
        return None
    try:
        # HTTP tells whole seconds.
        ahead = parsedate_to_datetime(date).timestamp() + 0.5 - (before + after) / 2
    except (TypeError, ValueError):
        ahead = None
    return after - before, ahead


def _by_http(peer: Peer, seconds: float, ahead: float | None) -> Iterator[Finding]:
    words = f"{peer} answers clients at {peer.http}, in {seconds * 1e3:.0f} ms with its handshake"
    yield ok("peer", words, party=peer.number)
    do = "run `tacit doctor` at both ends while the services are stopped to check them"
    told = f"{peer}: its certificate between parties and the bandwidth are not checked"
    yield warning("network", told, do, party=peer.number)
    if ahead is None:
        yield warning("clock", f"{peer} does not tell its time", do, party=peer.number)
    else:
        yield clock(peer, ahead, seconds + 1.0, party=peer.number)
