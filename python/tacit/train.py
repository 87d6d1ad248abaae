"""`tacit train`: a training as a config file describes it, of all parties or of one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _tacit
from ._tacit import TacitError
from .console import notice, out, progress_bar
from .datasets import load
from .report import cost_table
from .session import Progress
from .training import Owned, Trained, Trainer
from .training_report import TrainingReport


def add_train(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command."""
    made = command("train", train, "train a network on the data of several owners")
    made.add_argument("config", metavar="CONFIG.toml", help="see docs/training.md")
    made.add_argument("--json", metavar="FILE", help="write the report here")
    made.add_argument("--html", metavar="FILE", help="write the report as a page here")
    made.add_argument(
        "--plan", action="store_true", help="show what it will cost, and do not train"
    )
    made.add_argument(
        "--network", metavar="NAME", help="with --plan: on this one, such as wan or 40ms,100Mbps"
    )


def train(args: argparse.Namespace) -> None:
    """Trains with all parties on this machine, or as one of several machines' parties."""
    try:
        config = json.loads(_tacit.train_config(args.config))
    except TacitError as error:
        if not args.plan:
            _tacit.train_refuse(args.config, str(error), notice)
        raise
    trainer = Trainer.of_config(config)
    apart = config["parties"] and not args.plan
    sets = None if apart else owned(config["data"])
    if args.plan:
        where = {"network": args.network} if args.network else {}
        items = sum(len(x) for _, x, _ in sets[0])
        plan(trainer.cost(items or None, **where), args.json)
        return
    with progress_bar(remaining=True) as progress:
        if apart:
            trained = join(args.config, lambda: supplies(trainer, config["data"]), progress)
        else:
            trained = trainer.fit(*sets, progress=progress)
    output = config["output"]
    if output["model"]:
        trained.save(output["model"])
    for path in filter(None, (output["report"], args.json)):
        trained.report.save_json(path)
    for path in filter(None, (output["page"], args.html)):
        trained.report.save_html(path)
    out.print(trained.report)


def join(config: str, load: Callable[[], Any], progress: Progress) -> Trained:
    """Takes this party's part in a training with those that its config names.

    `load` brings this party's data while it connects.
    """
    file, report = _tacit.train_party(config, load, notice, progress)
    return Trained(file, TrainingReport(json.loads(report)))


def supplies(trainer: Trainer, tables: list[Mapping[str, Any]]) -> tuple[Any, Any]:
    """The training and the test data of one party, as the extension module takes them."""
    train, test = owned(tables)
    return trainer.sets(train), trainer.sets(test)


def plan(cost: Mapping[str, Any], path: str | None) -> None:
    """Shows what a training will cost."""
    if path:
        Path(path).write_text(json.dumps(cost, indent=2) + "\n")
    out.print(cost_table(cost["step"], f"A mini-batch of {cost['batch']}"))
    out.print(cost_table(cost["epoch"], f"An epoch of {cost['batches']} mini-batches"))
    out.print(cost["epoch"]["note"])


def owned(tables: list[Mapping[str, Any]]) -> tuple[list[Owned], list[Owned]]:
    """The training and the test data of all owners."""
    train, test = [], []
    for table in tables:
        schema = None
        if table["train"]:
            data = load(table["train"], "train")
            schema = data.schema
            part = items(table["train"], len(data.x), table["first"], table["items"])
            train.append((table["owner"], data.x[part], data.targets()[part]))
        if table["test"]:
            data = load(table["test"], "test", schema=schema)
            test.append((table["owner"], data.x, data.targets()))
    return train, test


def items(source: str, count: int, first: int, items: int | None) -> slice:
    """Which of the items of a source are used."""
    last = count if items is None else first + items
    if not 0 <= first < last <= count:
        raise TacitError(f"{source} has {count} items, not the {first} to {last} asked for")
    return slice(first, last)
