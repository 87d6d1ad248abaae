"""Models that come and go while a party serves."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from .._tacit import TacitError
from .host import Served
from .runner import Key

Table = Mapping[str, Any]
"""What a config file has of a model."""


def key_of(table: Table) -> Key:
    """Name and version of a model."""
    return table["name"], table["version"]


def changes(models: Mapping[Key, Served], tables: Sequence[Table]) -> tuple[list[Table], list[Key]]:
    """The tables of models that come, and the models that go, by those of a config read anew.

    One that goes on must stand there as it did: under another port the parties would not meet
    again, and another plan is another version.
    """
    came: list[Table] = []
    for table in tables:
        served, words = models.get(key_of(table)), f"{table['name']} version {table['version']}"
        if served is None:
            came.append(table)
        elif served.is_leaving:
            raise TacitError(f"models: {words} has not ended yet; try again in a moment")
        elif table["place"] != served.table["place"]:
            raise TacitError(
                f"models: {words} would be met at other ports than now: give it "
                f"place = {served.table['place']} at all parties, or restart all"
            )
        elif table["whole"] != served.table["whole"]:
            told = "give what you changed another version, or restart the service"
            raise TacitError(
                f"models: {words} is served otherwise than it stands there now; {told}"
            )
    stay = [key_of(table) for table in tables]
    gone = [key for key, served in models.items() if key not in stay and not served.is_leaving]
    return came, gone


def in_order(models: Mapping[Key, Served], tables: Sequence[Table]) -> dict[Key, Served]:
    """Models as the config file has them, then those that are leaving."""
    order = [key_of(table) for table in tables]
    return {key: models[key] for key in [*order, *(key for key in models if key not in order)]}


def leave(served: Served, seconds: float) -> None:
    """Takes no more requests for a model, and waits so long for those that were taken."""
    served.runner.stop()
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (served.runner.is_over() and not served.desk.watched):
        time.sleep(0.02)
    served.desk.close()
