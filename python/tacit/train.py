"""`tacit train`: a training as a config file describes it, of all parties or of one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _tacit, outputs
from ._tacit import TacitError
from .arguments import add_page
from .console import notice, out, progress_bar
from .data import check_finite
from .datasets import Dataset, load
from .notebook import Progress
from .planning import memory_words, planned_costs
from .report import count
from .training import Trained, Trainer
from .training_data import Owned
from .training_report import TrainingReport


def add_train(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds `tacit train` to the `tacit` command."""
    made = command("train", train, "train a network on the data of several owners")
    made.add_argument("config", metavar="CONFIG.toml", help="see docs/training.md")
    made.add_argument("--json", metavar="FILE", help="write the report here")
    add_page(made)
    made.add_argument(
        "--plan", action="store_true", help="show what it will cost, and do not train"
    )
    made.add_argument(
        "--network", metavar="NAME", help="with --plan: on this one, such as wan or 40ms,100Mbps"
    )
    made.add_argument(
        "--no-measure",
        action="store_true",
        help="with --plan: do not measure this machine: seconds are the network's alone",
    )


def train(args: argparse.Namespace) -> None:
    """Trains with all parties on this machine, or as one of several machines' parties."""
    for name, given, wants in (
        ("--network", args.network, True),
        ("--no-measure", args.no_measure, True),
        ("--html", args.html, False),
    ):
        if given and args.plan is not wants:
            raise TacitError(f"{name} has no effect {'without' if wants else 'with'} --plan")
    try:
        config = json.loads(_tacit.train_config(args.config))
        trainer = Trainer.of_config(config)
        output = config["output"]
        reports, pages = (output["report"], args.json), (output["page"], args.html)
        written = [args.json] if args.plan else [output["model"], *reports, *pages]
        outputs.check(written, [args.config, config["model"].get("file")])
    except TacitError as error:
        if not args.plan:
            _tacit.train_refuse(args.config, str(error), notice)
        raise
    folder = Path(args.config).parent
    apart = config["parties"] and not args.plan
    none: tuple[list[Owned], list[Owned]] = ([], [])
    sets = none if apart else owned(config["data"], folder)
    if args.plan:
        where = {"network": args.network} if args.network else {}
        items, test = ([(owner, len(np.asarray(x))) for owner, x, _ in each] for each in sets)
        with progress_bar() as progress:
            measure = not args.no_measure
            cost = trainer.cost(items or None, test, measure=measure, progress=progress, **where)
        plan(cost, args.json)
        return
    with progress_bar() as progress:
        if apart:
            trained = join(args.config, lambda: supplies(trainer, config["data"], folder), progress)
        else:
            trained = trainer.fit(*sets, progress=progress)
    report = trained.report
    files: list[tuple[Any, outputs.Content]] = [(output["model"], trained.onnx or b"")]
    files += [(path, report.to_json()) for path in reports]
    files += [(path, report.to_html) for path in pages]
    if trained.finished:
        done = report.data["resumed"]["of"]
        out.print(f"the training is finished: all {done} mini-batches were done before this run")
        if any(map(complete, reports)):
            kept = [path for path in (*reports, *pages) if path and Path(path).exists()]
            out.print(f"left as they are: {', '.join(kept)}", soft_wrap=True)
            files = [(path, content) for path, content in files if path not in kept]
    try:
        outputs.write(files)
    finally:
        out.print(report)


def complete(path: str | None) -> bool:
    """Whether a file is the report of a training that came to its end."""
    try:
        report = json.loads(Path(path or "").read_text())
        resumed = report.get("resumed") or {"after": 0}
        done = report["batches"] + resumed["after"]
        return "error" not in report and done >= resumed.get("of", 1)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def join(config: str, load: Callable[[], Any], progress: Progress | None) -> Trained:
    """Takes this party's part in a training with those that its config names.

    `load` brings this party's data while it connects.
    """
    file, report = _tacit.train_party(config, load, notice, progress)
    return Trained(file, TrainingReport(json.loads(report)))


def supplies(trainer: Trainer, tables: list[Mapping[str, Any]], folder: Path) -> tuple[Any, Any]:
    """The training and the test data of one party, as the extension module takes them."""
    train, test = owned(tables, folder)
    return trainer.sets(train), trainer.sets(test)


def plan(cost: Mapping[str, Any], path: str | None) -> None:
    """Shows what a training will cost."""
    outputs.write([(path, json.dumps(cost, indent=2) + "\n")])
    out.print(planned_costs(cost["step"], f"A mini-batch of {cost['batch']}"))
    out.print(planned_costs(cost["epoch"], f"An epoch of {count(cost['batches'], 'mini-batch')}"))
    if cost["evaluation"] is not None:
        out.print(planned_costs(cost["evaluation"], "Trying the network once"))
    out.print(planned_costs(cost["whole"], "The whole training", whole=True))
    out.print(memory_words(cost["memory"]))
    out.print(cost["epoch"]["note"])


def owned(tables: list[Mapping[str, Any]], folder: Path) -> tuple[list[Owned], list[Owned]]:
    """The training and the test data of all owners; relative paths start from the folder."""
    train: list[Owned] = []
    test: list[Owned] = []
    for table in tables:
        schema = None
        if table["train"]:
            data = load(table["train"], "train", folder=folder)
            schema = data.schema
            part = items(table["train"], len(data.x), table["first"], table["items"])
            train.append((table["owner"], *finite(table["train"], data, part)))
        if table["test"]:
            data = load(table["test"], "test", schema=schema, folder=folder)
            test.append((table["owner"], *finite(table["test"], data, slice(None))))
    return train, test


def finite(source: str, data: Dataset, part: slice) -> tuple[np.ndarray, np.ndarray]:
    """Items and targets of a part of a data set, if all are finite numbers."""
    targets = data.targets()
    check_finite(f"{source}, items", data.x)
    check_finite(f"{source}, targets", targets)
    return data.x[part], targets[part]


def items(source: str, count: int, first: int, items: int | None) -> slice:
    """Which of the items of a source are used."""
    last = count if items is None else first + items
    if not 0 <= first < last <= count:
        raise TacitError(f"{source} has {count} items, not the {first} to {last} asked for")
    return slice(first, last)
