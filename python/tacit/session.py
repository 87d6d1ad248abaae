"""Where private predictions run."""

from __future__ import annotations

import asyncio
import html
import json
import sys
import threading
from collections.abc import AsyncIterable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Group
from rich.table import Table

from . import _tacit, answers, pages
from ._tacit import TacitError
from .answers import Outputs, Reading, readings
from .batches import is_batches, joined, split, total
from .errors import InputError, of_kind
from .given import array
from .inputs import Given
from .model import Model
from .notebook import Progress, shown
from .options import to_json
from .protocols import check_options, with_options
from .report import Report, html_table, render

COMMAND = [sys.executable, "-m", "tacit", "party", "--quiet", "--stay", "--config"]
"""Runs a party from the config file whose path follows, for as many predictions as there are."""


@dataclass(frozen=True, repr=False)
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
    def readings(self) -> dict[str, Reading]:
        """How the outputs are to be read, by their names: as classes, probabilities, values."""
        return self.outputs.readings if isinstance(self.outputs, Outputs) else {}

    @property
    def output(self) -> np.ndarray:
        """What was revealed of the output of a model that has one."""
        if len(self.outputs) > 1:
            names = ", ".join(map(repr, self.outputs))
            raise TacitError(f"the model has several outputs; take outputs[...] of {names}")
        if not self.outputs:
            raise TacitError("this party does not learn the answers; the data's owner does")
        return next(iter(self.outputs.values()))

    def classes(self) -> np.ndarray | None:
        """The class of each item, `(n,)`: its name in the model, or else its number.

        The first output that tells any, by its largest number; None where the model tells none.
        """
        return answers.classes(self.outputs, self.readings)

    def table(self) -> Table:
        """The first few answers as a table."""
        return answers.table(self.outputs, self.readings)

    def summary(self, *, shown: bool = True) -> str:
        """How many answers there are, and how good they are where that is known.

        `shown` says whether the first of them stand beside it.
        """
        items = self.report.images
        words = f"{items} input{'s' * (items != 1)}"
        if shown and items > answers.MOST:
            words += f", of which the first {answers.MOST} are shown"
        if self.report.accuracy is not None:
            words += f"; accuracy {100 * self.report.accuracy:.2f} %"
        return words

    def __rich__(self) -> Group:
        return Group(self.table(), self.summary(), self.report.brief())

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.outputs.items())
        return f"<Result {shapes}; {self.report.brief()}>"

    def to_html(self, *, model: str = "a model", labels: ArrayLike | None = None) -> str:
        """A page of the answers, of what was computed between whom, and of what it cost.

        Parameters
        ----------
        model
            What the model is called there.
        labels
            The true classes, `(n,)`, as numbers or as the names that the model has for them: then
            the page shows which were taken for which.
        """
        known = None if labels is None else array("the labels", labels)
        return pages.of_result(self, model=model, labels=known).render()

    def save_html(
        self, path: str | Path, *, model: str = "a model", labels: ArrayLike | None = None
    ) -> None:
        """Writes that page to `path`; it shows the first answers, so whoever may see them."""
        Path(path).write_text(self.to_html(model=model, labels=labels), encoding="utf-8")

    def _repr_html_(self) -> str:
        words = f"{self.summary()}. {self.report.brief()}"
        return f"{html_table(self.table())}<p>{html.escape(words)}</p>"


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

    def __repr__(self) -> str:
        parties = self.settings["parties"] or "the fewest"
        where = f"network {self.settings['network']}, {parties} parties"
        return f"<Session {self.settings['protocol']}, {where}>"

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
        if kept is not None:
            with suppress(TacitError):
                kept.close()

    def parties(self) -> _tacit.Session:
        """Parties that are not joined yet."""
        command = COMMAND if self.processes else None
        return _tacit.Session(to_json(self.settings), command)

    @contextmanager
    def together(self) -> Generator[_tacit.Session]:
        """The parties of this session, or some of their own that leave afterwards."""
        parties = self.kept or self.parties()
        with suppress(GeneratorExit):
            yield parties
        if parties is not self.kept:
            with suppress(TacitError):
                parties.close()

    def predict(
        self,
        model: Model,
        x: Given | Iterable[Any],
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
            Inputs, `(n, *model.input_shape)`, real numbers: an array, a torch tensor, a list, or a
            data frame of pandas or polars with the model's columns in their order. Of a model with
            several inputs a dict of these by their names, with the axes that the model's file has,
            or a data frame with a column named like each. Or an iterable of batches, as of
            :meth:`predict_batches`: then the result has the answers of all in their order, and the
            report is the sum of theirs.
        labels
            The true classes, `(n,)`; the report then has the accuracy.
        batch
            Items predicted at a time. When not given: up to 128, fewer where what they take
            would not fit a usual memory, in batches of about the same size.
        check
            Whether to compare with the clear-text model in float32: the report then has
            `agreement` and, where numbers are revealed, `max_abs_error`.
        progress
            Called as `progress(phase, layer, done, total)`. Without it a notebook draws a bar.
        """
        if not is_batches(x):
            given = cast(Given, x)
            with self.together() as parties:
                return self._run(
                    parties, model, given, labels, batch=batch, check=check, progress=progress
                )
        if labels is not None:
            raise InputError("batches bring their labels with them: give (x, labels) for each")
        batches = cast(Iterable[Any], x)
        given = self.predict_batches(model, batches, batch=batch, check=check, progress=progress)
        return _together(model, list(given))

    def predict_batches(
        self,
        model: Model,
        batches: Iterable[Any],
        *,
        batch: int | None = None,
        check: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[Result]:
        """Predicts one batch after the other, and gives each its result as soon as it is there.

        What is not asked for is not read, so `batches` may be longer than the memory. The parties
        stay together in between. Each batch is a run with its own rounds: batches of a hundred
        items cost far less than as many single ones.

        Parameters
        ----------
        batches
            A generator, a torch DataLoader or any other iterable of what :meth:`predict` takes as
            `x`, or of tuples `(x, labels)`; a list of one or two tensors counts as such a tuple.
        batch, check, progress
            As of :meth:`predict`.
        """
        with self.together() as parties:
            for x, labels in split(batches):
                yield self._run(
                    parties, model, x, labels, batch=batch, check=check, progress=progress
                )

    async def predict_async(
        self,
        model: Model,
        x: Given | Iterable[Any] | AsyncIterable[Any],
        labels: ArrayLike | None = None,
        *,
        batch: int | None = None,
        check: bool = False,
        progress: Progress | None = None,
    ) -> Result:
        """Predicts as :meth:`predict` does, on a thread, while other tasks go on.

        Batches may come from an asynchronous iterable, too: each is predicted when it is there. A
        task that is cancelled, as Ctrl-C does, ends its run at the run's next step. Predictions of
        one session follow each other. `progress` is called on other threads.
        """
        if isinstance(x, AsyncIterable):
            given = cast(AsyncIterable[Any], x)
            if labels is not None:
                raise InputError("batches bring their labels with them: give (x, labels) for each")
            results: list[Result] = []
            with Session(self.settings, self.processes) as session:
                async for part in given:
                    each = session.predict_async(
                        model, iter([part]), batch=batch, check=check, progress=progress
                    )
                    results.append(await each)
            return _together(model, results)
        cancelled = threading.Event()

        def run() -> Result:
            with shown(progress) as told:

                def listen(phase: str, layer: str, done: int, total: int) -> None:
                    if cancelled.is_set():
                        raise TacitError("the prediction was cancelled")
                    if told is not None:
                        told(phase, layer, done, total)

                return self.predict(model, x, labels, batch=batch, check=check, progress=listen)

        working = asyncio.get_running_loop().run_in_executor(None, run)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            cancelled.set()
            # Nobody may hear of another run's end, nor a session be used before it.
            with suppress(Exception):
                await working
            raise

    def _run(
        self,
        parties: _tacit.Session,
        model: Model,
        x: Given,
        labels: ArrayLike | None,
        *,
        batch: int | None,
        check: bool,
        progress: Progress | None,
    ) -> Result:
        """Runs a model once between these parties, on `x`."""
        _check_model(model)
        values, shape = model.encode(x)
        with shown(progress) as told_to, refusing():
            output, report = parties.predict(
                model=model.compiled,
                x=(values, shape),
                batch=batch,
                labels=None if labels is None else model.label_list(labels, shape[0]),
                check=check,
                progress=told_to,
            )
        model.ran(self.settings["protocol"])
        read = readings(model.plan["outputs"], model.plan["reveal"])
        outputs = Outputs(model.decode(output, shape[0]), read)
        return Result(outputs, Report(json.loads(report)))


def _together(model: Model, results: Sequence[Result]) -> Result:
    """The answers of all batches in their order, and the sum of what they cost."""
    if not results:
        raise InputError("there is no batch; an iterator that was used up gives none again")
    if len({result.report.accuracy is None for result in results}) > 1:
        told = "some batches have labels, others have none; give them for every batch or for none"
        raise InputError(told, input="labels")
    axes = {output["name"]: output["batch"] for output in model.plan["outputs"]}
    outputs = joined([result.outputs for result in results], axes)
    report = Report(total([result.report.data for result in results]))
    return Result(Outputs(outputs, results[0].readings), report)


@contextmanager
def refusing() -> Generator[None]:
    """Tells what the extension module refuses of an input or of labels as errors of these."""
    try:
        yield
    except TacitError as error:
        place: tuple[str | None, int | None, list[int] | None] | None
        place = getattr(error, "place", None)
        if place is None:
            raise
        name, item, axes = place
        position = None if axes is None else tuple(axes)
        raise of_kind(InputError, error, input=name, item=item, position=position) from None


def _check_model(model: object) -> None:
    """Refuses what is no compiled model."""
    if not isinstance(model, Model):
        kind = type(model).__name__
        raise TypeError(
            f"the model is a {kind}, not a compiled model: give what tacit.compile(...) returns"
        )


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

    A protocol that is not known, and a number of parties or an option that it does not have, are
    refused.

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
    settings = {**run, **options}
    _tacit.check_settings(to_json(settings))
    return Session(settings, processes)
