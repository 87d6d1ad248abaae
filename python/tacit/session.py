"""Where private predictions run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _tacit
from ._tacit import TacitError
from .model import Model
from .report import Report

Progress = Callable[[str, str, int, int], None]
"""Called as `progress(phase, layer, done, total)` while a run goes on."""


@dataclass(frozen=True)
class Result:
    """What a prediction gave.

    Attributes
    ----------
    output : numpy.ndarray
        The model's outputs, `(n, *output_shape)`, float32.
    report : Report
        What it cost.
    """

    output: np.ndarray
    report: Report


class Session:
    """All parties of a protocol on this machine; made by :func:`local`.

    A simulation: whoever runs it sees every party's secrets. It computes and sends exactly what
    parties apart would.
    """

    def __init__(self, settings: dict[str, Any]):
        self.settings = settings

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def predict(
        self,
        model: Model,
        x: ArrayLike,
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
            Inputs, `(n, *model.input_shape)`, real numbers.
        labels
            The true classes, `(n,)`; the report then has the accuracy.
        batch
            Items predicted at a time; all of them when not given.
        check
            Whether to compare with the clear-text model in float32: the report then has
            `agreement` and `max_abs_error`.
        progress
            Called as `progress(phase, layer, done, total)`.
        """
        values, n = model.encode(x)
        truth = None if labels is None else _labels(labels, n)
        settings = {**self.settings, "batch": batch}
        output, report = _tacit.run(model.compiled, json.dumps(settings), values, progress)
        result = Result(model.decode(output, n), Report(json.loads(report)))
        expected = model.reference(x) if check else None
        result.report.data.update(score(result.output, truth, expected))
        return result


def score(
    output: np.ndarray, labels: np.ndarray | None, expected: np.ndarray | None
) -> dict[str, float | None]:
    """Accuracy against `labels`; agreement and largest difference against `expected`."""
    found = classes(output)
    return {
        "accuracy": None if labels is None else float((found == labels).mean()),
        "agreement": None if expected is None else float((found == classes(expected)).mean()),
        "max_abs_error": None if expected is None else float(np.abs(output - expected).max()),
    }


def classes(output: np.ndarray) -> np.ndarray:
    """The predicted class of each item: the largest output, or the sign of a single one."""
    flat = output.reshape(len(output), -1)
    return (flat[:, 0] > 0).astype(np.int64) if flat.shape[1] == 1 else flat.argmax(1)


def _labels(labels: ArrayLike, n: int) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iub":
        raise TacitError(
            f"the labels are {array.dtype} of shape {array.shape}; "
            f"they must be {n} integers, one for each input"
        )
    return array


def local(
    protocol: str = "falcon",
    *,
    truncation: str = "gap",
    network: str = "local",
    processes: bool = False,
    timeout: float = 120.0,
) -> Session:
    """All parties on this machine.

    Parameters
    ----------
    protocol
        `falcon` (three parties, at most one of them curious), or `clear` (no privacy: the same
        fixed-point arithmetic by one party, as a reference).
    truncation
        `gap` (the default: rounds down or up, never a large error), `exact` (rounds down) or
        `aby3` (the paper's, whose large error has probability |x| / 2^ring).
    network
        An emulated network: `local`, `lan`, `wan` or `RTTms,Mbps` such as `40ms,100Mbps`.
    processes
        Whether each party is a process of its own, joined by TLS on this machine's loopback,
        rather than a thread.
    timeout
        Seconds after which a party that does not answer is given up.
    """
    return Session(
        {
            "protocol": protocol,
            "truncation": truncation,
            "network": network,
            "processes": processes,
            "timeout": timeout,
            "command": [sys.executable, "-m", "tacit", "party"],
        }
    )


def bench(
    op: str,
    n: int,
    *,
    ring: int = 64,
    fraction_bits: int | None = None,
    repeat: int = 5,
    progress: Progress | None = None,
    **where: Any,
) -> Report:
    """Measures one operation on random data; the report is the run of median online time.

    Parameters
    ----------
    op
        `mult`, `trunc`, `drelu`, `relu` of `n` elements; `matmul` of two `n` x `n` matrices;
        `conv` of a 3 x 3 kernel from 16 to 16 channels of `n` x `n`; `maxpool` of `n` windows
        of 2 x 2.
    n
        The operation's size.
    ring, fraction_bits
        As for :func:`tacit.compile`.
    repeat
        The number of runs.
    progress
        As for :meth:`Session.predict`.
    where
        As for :func:`local`.
    """
    settings = {**local(**where).settings, "ring": ring, "fraction_bits": fraction_bits}
    return Report(json.loads(_tacit.bench(op, n, repeat, json.dumps(settings), progress)))
