"""Keeps one model running: together with the other parties, or on the way there."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from .log import Log
from .service import Service, standing

LEAST = 0.2
MOST = 5.0
"""Seconds between two tries to meet the other parties, and what they double up to."""

Key = tuple[str, str]
"""Name and version of a model."""
Changed = Callable[[Key, str, dict[str, Any]], None]
"""Called as `changed(key, state, standing)`, from any thread."""


class Runner:
    """Runs a model on a thread, life after life, until it is drained or a party cheats.

    Parameters
    ----------
    key
        The model's.
    service
        The core.
    parties
        The names of the parties, by their numbers.
    log
        Where it says what happens.
    changed
        Hears of `ready`, `failed`, `quarantined` and `drained`.
    """

    def __init__(self, key: Key, service: Service, parties: list[str], log: Log, changed: Changed):
        self.key, self.service, self.parties = key, service, parties
        self.facts = {"model": key[0], "version": key[1]}
        self.log, self.changed = log, changed
        self.stopping = threading.Event()
        self.lives = 0
        self.thread = threading.Thread(target=self._run, name=f"model {key[0]}", daemon=True)
        self.watcher = threading.Thread(target=self._watch, name=f"watch {key[0]}", daemon=True)

    def start(self) -> None:
        """Starts the threads that run the model and watch it."""
        self.thread.start()
        self.watcher.start()

    def stop(self) -> None:
        """Takes no more requests, and ends once those are answered that were taken."""
        self.stopping.set()
        self.service.leave()

    def is_over(self) -> bool:
        """Whether the model's life has ended."""
        return not self.thread.is_alive()

    def reason(self, *, whole: bool = False) -> str | None:
        """Why the model is not ready, in words for anyone; None if it is.

        `whole` adds what another party did that ended the last session: one that stands still is
        waited for in vain.
        """
        told = standing(self.service)
        state = told["state"]
        if state == "ready" and not self.stopping.is_set():
            return None
        if state == "quarantined":
            return quarantine(self.named(told["suspects"]))
        if self.stopping.is_set():
            return "draining"
        before = told.get("before")
        return f"{state}: the session before ended: {before}" if whole and before else state

    def was_ready(self) -> bool:
        """Whether the model has ever been ready."""
        return standing(self.service)["lives"] > 0

    def named(self, suspects: list[int]) -> str:
        """The names of parties."""
        names = [
            f"party {number} ({self.parties[number]})"
            for number in suspects
            if 0 <= number < len(self.parties)
        ]
        return " or ".join(names) or "a party"

    def _run(self) -> None:
        pause, lives = LEAST, 0
        while not self.stopping.is_set():
            self.log.info("connects", **self.facts)
            if self._live():
                # Another party has ended it, to be restarted: it will be back.
                self.changed(self.key, "drained", standing(self.service))
                pause = LEAST
                self.stopping.wait(pause)
                continue
            told = standing(self.service)
            if told["state"] == "quarantined":
                words = quarantine(self.named(told["suspects"]))
                self.log.error(words, **self.facts, why=told["why"])
                self.changed(self.key, "quarantined", told)
                return
            self.changed(self.key, "failed", told)
            if told["lives"] > lives:
                pause, lives = LEAST, told["lives"]
            seconds = pause * random.uniform(0.75, 1.25)
            self.log.warn("is not ready", **self.facts, why=told["why"], again_in=seconds)
            self.stopping.wait(seconds)
            pause = min(2 * pause, MOST)

    def _live(self) -> bool:
        """One life; whether it ended as it should."""
        try:
            self.service.run(lambda words: self.log.info(words, **self.facts))
        except BaseException as error:
            # A panic of the core is no Exception; it too ends this life alone.
            if not isinstance(error, Exception):
                self.log.error("the core failed", **self.facts, exception=type(error).__name__)
            return False
        return True

    def _watch(self) -> None:
        """Notices that the model has become ready."""
        while self.thread.is_alive():
            told = standing(self.service)
            if told["state"] == "ready" and told["lives"] > self.lives:
                self.lives = told["lives"]
                committed = told.get("commitment")
                self.log.info("is ready", **self.facts, digest=told["digest"], commitment=committed)
                self.changed(self.key, "ready", told)
            self.thread.join(0.1)


def quarantine(who: str) -> str:
    """What a quarantine means, and what to do."""
    return (
        f"quarantined: {who} broke the protocol; nothing connects again by itself. Find out with "
        "its operator what happened (the audit log has the time), then restart this service"
    )
