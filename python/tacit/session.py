"""Where private predictions run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _tacit
from ._tacit import TacitError
from .inputs import Given
from .model import Model
from .options import to_json
from .protocols import check_options, with_options
from .report import Report

COMMAND = [sys.executable, "-m", "tacit", "party", "--quiet", "--stay", "--config"]
"""Runs a party from the config file whose path follows, for as many predictions as there are."""

Progress = Callable[[str, str, int, int], None]
"""Called as `progress(phase, layer, done, total)` while a run goes on."""


@dataclass(frozen=True)
class Result:
    """What a prediction gave.

    Attributes
    ----------
    outputs : dict of str to numpy.ndarray
        What was revealed of the model's outputs, by their names, `(n, *shape)`, float32: numbers
        or, where `report.reveal` is `class` or `top-K`, classes and nothing else. Classes that have
        names in the model are given by these, as integers or strings.
    report : Report
        What it cost.
    """

    outputs: dict[str, np.ndarray]
    report: Report

    @property
    def output(self) -> np.ndarray:
        """What was revealed of the output of a model that has one."""
        if len(self.outputs) > 1:
            names = ", ".join(map(repr, self.outputs))
            raise TacitError(f"the model has several outputs; take outputs[...] of {names}")
        return next(iter(self.outputs.values()))


class Session:
    """All parties of a protocol on this machine; made by :func:`local`.

    A simulation: whoever runs it sees every party's secrets. It computes and sends exactly what
    parties apart would. Within `with` the parties stay up: the second prediction of a model pays no
    set-up and shares no weights. Elsewhere they come together for every prediction.
    """

    def __init__(self, settings: dict[str, Any], processes: bool):
        self.settings = settings
        self.processes = processes
        self.kept: _tacit.Session | None = None

    def __enter__(self) -> Session:
        if self.kept is not None:
            raise TacitError(
                "these parties are within `with` already; use parties of their own for another"
            )
        self.kept = self.parties()
        return self

    def __exit__(self, *_: object) -> None:
        kept, self.kept = self.kept, None
        # The answers are there, however processes end.
        with suppress(TacitError):
            kept.close()

    def parties(self) -> _tacit.Session:
        """Parties that are not joined yet."""
        command = COMMAND if self.processes else None
        return _tacit.Session(to_json(self.settings), command)

    def predict(
        self,
        model: Model,
        x: Given,
        labels: ArrayLike | None = None,
        *,
        batch: int | None = None,
        check: bool = False,
        progress: Progress | None = None,
    ) -> Result:
        """Predicts a batch without any party seeing the weights or the inputs of another.

        Parameters
        ----------
        model
            A model from :func:`tacit.compile`.
        x
            Inputs, `(n, *model.input_shape)`, real numbers; of a model with several inputs a dict
            of arrays by their names, with the axes that the model's file has.
        labels
            The true classes, `(n,)`; the report then has the accuracy.
        batch
            Items predicted at a time. When not given: up to 128, fewer where what they take
            would not fit a usual memory, in batches of about the same size.
        check
            Whether to compare with the clear-text model in float32: the report then has
            `agreement` and, where numbers are revealed, `max_abs_error`.
        progress
            Called as `progress(phase, layer, done, total)`.
        """
        values, shape = model.encode(x)
        parties = self.kept or self.parties()
        output, report = parties.predict(
            model=model.compiled,
            x=(values, shape),
            batch=batch,
            labels=None if labels is None else model.label_list(labels, shape[0]),
            check=check,
            progress=progress,
        )
        if parties is not self.kept:
            with suppress(TacitError):
                parties.close()
        model.ran(self.settings["protocol"])
        return Result(model.decode(output, shape[0]), Report(json.loads(report)))


@with_options
def local(
    protocol: str = "falcon",
    *,
    parties: int | None = None,
    network: str = "local",
    processes: bool = False,
    timeout: float = 120.0,
    **options: Any,
) -> Session:
    """All parties on this machine.

    An option that the protocol does not have is refused, not ignored.

    Parameters
    ----------
    protocol
        `falcon` (three parties, at most one of them curious), `bicoptor` (the same in fewer
        rounds), `shamir` (3 to 63 parties, fewer than half of them curious), `sirnn` (two
        parties and nobody else), or `clear` (no privacy: the same fixed-point arithmetic by every
        party, as a reference).
    parties
        The number of parties; the fewest that the protocol runs between when not given.
    network
        An emulated network: `local`, `lan`, `wan` or `RTTms,Mbps` such as `40ms,100Mbps`.
    processes
        Whether each party is a process of its own, joined by TLS on this machine's loopback,
        rather than a thread.
    timeout
        Seconds after which a party that does not answer is given up.
    """
    check_options("local", options)
    run = {"protocol": protocol, "parties": parties, "network": network, "timeout": timeout}
    return Session({**run, **options}, processes)
