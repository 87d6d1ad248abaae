"""`tacit train`: a training as a config file describes it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

from . import _tacit
from ._tacit import TacitError
from .console import out, progress_bar
from .datasets import load
from .training import Owned, Trainer


def add_train(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command."""
    made = command("train", train, "train a network on the data of several owners")
    made.add_argument("config", metavar="CONFIG.toml", help="see docs/training.md")
    made.add_argument("--json", metavar="FILE", help="write the report here")
    made.add_argument("--html", metavar="FILE", help="write the report as a page here")


def train(args: argparse.Namespace) -> None:
    """Trains with all parties on this machine."""
    config = json.loads(_tacit.train_config(args.config))
    trainer = Trainer.of_config(config)
    sets = {what: owned(config["data"], what) for what in ("train", "test")}
    with progress_bar(remaining=True) as progress:
        trained = trainer.fit(sets["train"], sets["test"], progress=progress)
    output = config["output"]
    if output["model"]:
        trained.save(output["model"])
    for path in filter(None, (output["report"], args.json)):
        trained.report.save_json(path)
    for path in filter(None, (output["page"], args.html)):
        trained.report.save_html(path)
    out.print(trained.report)


def owned(tables: list[Mapping[str, Any]], what: str) -> list[Owned]:
    """The training or test data of all owners."""
    found = []
    for table in tables:
        if not table[what]:
            continue
        data = load(table[what], what)
        first, items = table["first"], table["items"]
        last = len(data.x) if items is None else first + items
        if not 0 <= first < last <= len(data.x):
            raise TacitError(
                f"{table[what]} has {len(data.x)} items, not the {first} to {last} asked for"
            )
        found.append((table["owner"], data.x[first:last], data.targets()[first:last]))
    return found
