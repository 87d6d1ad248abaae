"""What a service answered."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np
from rich.console import Group
from rich.table import Table

from .. import answers
from .._tacit import TacitError
from ..answers import Outputs, Reading
from ..report import html_table, render


@dataclass(frozen=True, repr=False)
class Prediction:
    """What the parties of a service answered.

    Attributes
    ----------
    outputs : dict of str to numpy.ndarray
        What was revealed of the model's outputs, by their names, as of :class:`tacit.Result`.
    model, version, digest : str
        What was run: the digest is that of its plan, the same at all parties.
    protocol, security : str
        By what, and against whom.
    seconds : float
        How long it took, from the input to the answer.
    served : dict of str to float
        How long each party had it, by their addresses; of several requests the longest.
    requests : tuple of str
        The ids of its requests, which the parties' logs have.
    redundant : bool
        Whether the parties' shares of the answer hold each other, so that false ones are refused.
    """

    outputs: Outputs
    model: str
    version: str
    digest: str
    protocol: str
    security: str
    seconds: float
    served: dict[str, float]
    requests: tuple[str, ...]
    redundant: bool = False

    @property
    def readings(self) -> dict[str, Reading]:
        """How the outputs are to be read, by their names."""
        return self.outputs.readings

    @property
    def output(self) -> np.ndarray:
        """What was revealed of the output of a model that has one."""
        if len(self.outputs) > 1:
            names = ", ".join(map(repr, self.outputs))
            raise TacitError(f"the model has several outputs; take outputs[...] of {names}")
        return next(iter(self.outputs.values()))

    def classes(self) -> np.ndarray | None:
        """The class of each item, its name or else its number; None where the model tells none."""
        return answers.classes(self.outputs, self.readings)

    def table(self) -> Table:
        """The first few answers as a table."""
        return answers.table(self.outputs, self.readings)

    @property
    def trust(self) -> str | None:
        """What the answer rests on where no proof does; None under malicious security."""
        if not self.security.startswith("semi-honest"):
            return None
        seen = "a false answer would not be seen"
        if self.redundant:
            seen = "false shares of the answer would be seen, a false computation would not"
        return f"It trusts the parties to compute as agreed: {seen}."

    def summary(self) -> str:
        """What was run, how long it took, and whom the answer trusts."""
        return "\n".join(filter(None, (self._ran(), self.trust)))

    def _ran(self) -> str:
        most = max(self.served.values(), default=0.0)
        return (
            f"{self.model} {self.version} by {self.protocol} ({self.security}): "
            f"{1e3 * self.seconds:.1f} ms, of which {1e3 * most:.1f} ms at the parties"
        )

    def __rich__(self) -> Group:
        return Group(self.table(), self.summary())

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.outputs.items())
        return f"<Prediction {shapes}; {self._ran()}>"

    def _repr_html_(self) -> str:
        return f"{html_table(self.table())}<p>{html.escape(self.summary())}</p>"
