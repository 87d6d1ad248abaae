"""Keeps one model running: together with the other parties, or on the way there."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from typing import Any

from .log import Log
from .quarantine import named, quarantined
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
    halted
        Says why no model of this party meets the others; None if they do.
    """

    def __init__(
        self,
        key: Key,
        service: Service,
        parties: list[str],
        log: Log,
        changed: Changed,
        *,
        halted: Callable[[], str | None] = lambda: None,
    ):
        self.key, self.service, self.parties = key, service, parties
        self.facts = {"model": key[0], "version": key[1]}
        self.log, self.changed, self.halted = log, changed, halted
        self.stopping, self.woken = threading.Event(), threading.Event()
        self.lives = 0
        self.lost: int | None = None
        self.thread = threading.Thread(target=self._run, name=f"model {key[0]}", daemon=True)
        self.watcher = threading.Thread(target=self._watch, name=f"watch {key[0]}", daemon=True)

    def start(self) -> None:
        """Starts the threads that run the model and watch it."""
        self.thread.start()
        self.watcher.start()

    def stop(self) -> None:
        """Takes no more requests, and ends once those are answered that were taken."""
        self.stopping.set()
        self.halt()

    def halt(self) -> None:
        """Begins no life any more, and waits neither for the others nor for the next try."""
        self.woken.set()
        self.service.leave()

    def is_over(self) -> bool:
        """Whether the model's life has ended."""
        return not self.thread.is_alive()

    def standing(self) -> str:
        """The core's state and counters, as JSON; quarantined with all other models."""
        told = self.service.standing()
        if self.halted() is None:
            return told
        return json.dumps({**json.loads(told), "state": "quarantined"})

    def reason(self, *, whole: bool = False) -> str | None:
        """Why the model is not ready, in words for anyone; None if it is.

        `whole` adds what another party did that ended the last session: one that stands still is
        waited for in vain.
        """
        halted, told = self.halted(), standing(self.service)
        if halted is not None:
            return halted
        state = told["state"]
        if state == "ready" and not self.stopping.is_set():
            return None
        if state == "quarantined":
            return quarantined(self.named(told["suspects"]))
        if self.stopping.is_set():
            return "draining"
        before = told.get("before")
        return f"{state}: the session before ended: {before}" if whole and before else state

    def leaving(self) -> str | None:
        """Why this party itself ends the model, in words for anyone; None if it does not."""
        return self.halted() or ("draining" if self.stopping.is_set() else None)

    def was_ready(self) -> bool:
        """Whether the model has ever been ready."""
        return standing(self.service)["lives"] > 0

    def named(self, suspects: list[int]) -> str:
        """The names of parties, for a person."""
        known = [number for number in suspects if 0 <= number < len(self.parties)]
        return named([{"number": number, "name": self.parties[number]} for number in known])

    def peers(self, numbers: list[int]) -> list[str] | None:
        """The names of parties, for a program that reads the log; None if there is none."""
        return [self.parties[each] for each in numbers if 0 <= each < len(self.parties)] or None

    def _run(self) -> None:
        pause, lives = LEAST, 0
        while not self.stopping.is_set() and self.halted() is None:
            self.log.info("connects", **self.facts)
            ended, told = self._live(), standing(self.service)
            if told["state"] == "quarantined":
                # First of all: nothing may meet from now on.
                self.changed(self.key, "quarantined", told)
                words = quarantined(self.named(told["suspects"]))
                peers = self.peers(told["suspects"])
                self.log.error(words, **self.facts, peers=peers, why=told["why"])
                return
            if self.halted() is not None:
                break
            if ended:
                # Another party has ended it, to be restarted: it will be back.
                self.changed(self.key, "drained", told)
                pause = LEAST
                self.woken.wait(pause)
                continue
            self.changed(self.key, "failed", told)
            if told["lives"] > lives:
                pause, lives = LEAST, told["lives"]
            seconds = pause * random.uniform(0.75, 1.25)
            peers = self.peers([] if self.lost is None else [self.lost])
            facts = {**self.facts, "peers": peers, "why": told["why"]}
            self.log.warn("is not ready", **facts, again_in=seconds)
            self.woken.wait(seconds)
            pause = min(2 * pause, MOST)
        if self.halted() is not None:
            self.log.warn("stands still, as all models of this party", **self.facts)

    def _live(self) -> bool:
        """One life; whether it ended as it should. An error may say which party it is about."""
        self.lost = None
        try:
            self.service.run(lambda words: self.log.info(words, **self.facts))
        except BaseException as error:
            # A panic of the core is no Exception; it too ends this life alone.
            self.lost = getattr(error, "party", None)
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
