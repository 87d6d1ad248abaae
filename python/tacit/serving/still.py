"""How all models of a party stand still once cheating was found, and go on once that was lifted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from .. import _tacit
from .._tacit import TacitError
from .audit import Audit
from .log import Log
from .metrics import Metrics
from .quarantine import Event, Quarantine
from .runner import Key, Runner

AGAIN_S = 5.0
"""Seconds after which a quarantine is written again that could not be."""


class Still:
    """Ends all models of a party, and says so.

    Parameters
    ----------
    quarantine
        What the models ask before they meet anyone.
    audit, log, metrics
        Where it is told.
    runners
        Those of all models, of now.
    """

    def __init__(
        self,
        quarantine: Quarantine,
        audit: Audit,
        log: Log,
        metrics: Metrics,
        runners: Callable[[], Mapping[Key, Runner]],
    ):
        self.quarantine, self.audit, self.log, self.metrics = quarantine, audit, log, metrics
        self.runners = runners
        self.halts: list[threading.Thread] = []
        metrics.stands_still(quarantine.why)

    def begins(self) -> None:
        """Says at the start whether the party stands still, or was lifted from that."""
        if self.quarantine.words is not None:
            self._tell()
            self.audit.write("quarantined", why="the file of a quarantine is there")
        else:
            self._note_lifted()

    def halt(self, event: Event | None = None) -> None:
        """Meets nobody any more, in no model: cheating was found, or the file says that it was.

        What runs ends at once, with its keys and its material: a model that is drained would go on
        with the cheater for as long as that one likes.
        """
        if event is not None:
            self.quarantine.add(event)
        running = list(self.runners().values())
        for runner in running:
            runner.halt()
        _tacit.interrupt()
        tried = threading.Event()
        given = (running, tried)
        thread = threading.Thread(target=self._halted, args=given, name="halt", daemon=True)
        # Before it is written: whoever reads that nothing was going on may lift it.
        self.halts.append(thread)
        thread.start()
        self._write()
        tried.set()

    def look(self) -> bool:
        """Stands still if the file is there by now; whether it is not there any more."""
        there, before = self.quarantine.is_there(), self.quarantine.words is not None
        if there and not before:
            self.quarantine.read()
            self._tell()
            self.audit.write("quarantined", why="the file of a quarantine is there")
            self.halt()
        if there or not before:
            return False
        if not self.quarantine.written or any(thread.is_alive() for thread in self.halts):
            told = "what ran has not ended, or the quarantine is not written down yet"
            raise TacitError(f"{told}; try again in a moment")
        return True

    def ends(self) -> None:
        """The party meets the others again."""
        self._note_lifted()
        self.halts.clear()
        self.quarantine.end()

    def _halted(self, running: list[Runner], tried: threading.Event) -> None:
        """Waits until all has ended, and until the quarantine is written."""
        while not all(runner.is_over() for runner in running):
            time.sleep(0.02)
        _tacit.interrupt(raised=False)
        tried.wait()
        while not self.quarantine.written:
            time.sleep(AGAIN_S)
            self._write()

    def _write(self) -> None:
        if self.quarantine.written:
            return
        try:
            self.quarantine.write()
        except OSError as error:
            told = "the quarantine cannot be written down: do not restart this service"
            self.log.error(told, file=str(self.quarantine.path), why=str(error))
            self.metrics.errors.labels("-", "quarantine").inc()

    def _tell(self) -> None:
        quarantine = self.quarantine
        names = [party["name"] for event in quarantine.events for party in event["parties"]]
        facts = {"file": str(quarantine.path), "peers": sorted(set(names))}
        self.log.error(str(quarantine.words), **facts)

    def _note_lifted(self) -> None:
        """Has the audit log say that a quarantine was lifted, and why."""
        told = self.quarantine.was_lifted()
        if told is not None:
            self.log.info("the quarantine was lifted", reason=told["reason"])
            self.audit.write("lifted", **told).result()
            self.quarantine.noted()
