"""One organisation's party in a prediction between several, from Python."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import _tacit
from .answers import Outputs, readings
from .decoding import decoded
from .notebook import Progress, shown
from .report import Report
from .session import Result

LOG = logging.getLogger("tacit")


class Party:
    """One organisation's party, which computes a prediction with those of others.

    It is what `tacit party --config FILE` runs: a process of each organisation does, and their
    config files name the addresses, the certificates and who brings what.

    Attributes
    ----------
    config : pathlib.Path
        The config file, as `tacit init` writes one.
    reveal : str or None
        What is revealed of the outputs, if this party insists on it.
    """

    def __init__(self, config: str | os.PathLike[str], *, reveal: str | None = None):
        self.config = Path(config)
        self.reveal = reveal

    @classmethod
    def from_config(cls, path: str | os.PathLike[str], *, reveal: str | None = None) -> Party:
        """The party of a config file, which is read when the party runs."""
        return cls(path, reveal=reveal)

    def __repr__(self) -> str:
        return f"<Party {str(self.config)!r}>"

    def run(
        self,
        *,
        progress: Progress | None = None,
        notice: Callable[[str], None] = LOG.info,
    ) -> Result:
        """Connects to the others, computes one prediction with them and writes the config's files.

        Parameters
        ----------
        progress
            Called as `progress(phase, layer, done, total)`. Without it a notebook draws a bar.
        notice
            Called with words of whom it waits for; they go to the log `tacit` if it is not given.

        Returns
        -------
        Result
            The report, and the outputs at the party that learns them; at others there are none.

        Raises
        ------
        TacitError
            If the config or a file of it cannot be used, a party is not there or stops, or under
            malicious security one cheats.
        """
        with shown(progress) as told_to:
            ended = _tacit.party(str(self.config), notice, told_to, self.reveal)
        assert ended is not None
        return learned(*ended[:3])


def learned(report: str, outputs: str, numbers: bytes | None) -> Result:
    """What a party knows after a prediction, from what the extension module gives."""
    found, plan = Report(json.loads(report)), json.loads(outputs)
    if numbers is None:
        return Result({}, found)
    arrays = decoded(plan, np.frombuffer(numbers, "<f4").reshape(found.images, -1))
    return Result(Outputs(arrays, readings(plan, found.reveal)), found)
