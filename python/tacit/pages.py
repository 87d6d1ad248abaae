"""What stands on the page of a prediction, a training, a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import answers, charts, page
from .alike import grouped
from .page import Page
from .report import cost_table, megabytes

if TYPE_CHECKING:
    from .report import Report
    from .session import Result
    from .training_report import TrainingReport

REHEARSAL = (
    "All parties were on one machine, over an emulated network ({}): a rehearsal, which computes "
    "and sends what parties apart would."
)
APART = "No party showed another its weights or its inputs."
OPEN = "This protocol protects nothing: every party sees everything. It is for comparison only."


def of_result(result: Result, *, model: str = "a model", labels: np.ndarray | None = None) -> Page:
    """The page of a prediction of all parties on this machine.

    `model` is what the model is called; with `labels`, the true classes `(n,)` by name or number,
    there is a confusion matrix.
    """
    report = result.report
    made = of_report(report, title=f"Private prediction by {model}")
    made.lead.append(REHEARSAL.format(report.network))
    headers, lines = answers.rows(result.outputs, result.readings)
    made.sections[:0] = [
        ("Answers", page.paragraph(f"{result.summary()}.") + page.table(headers, lines)),
        *_confusion(result, labels),
        *_who(report.data),
    ]
    return made


def of_report(report: Report, title: str | None = None) -> Page:
    """The page of what a prediction or a measured operation cost."""
    data = report.data
    measured = data.get("op") is not None
    made = Page(title or (f"Cost of {data['op']}" if measured else "Private prediction"))
    between = f"{data['protocol']} between {data['parties']} parties"
    if measured:
        made.lead = [f"{data['op']} of n = {data['n']:,} random numbers, {between}."]
    else:
        made.lead = [
            f"{_count(data['images'], 'input')} answered by {between} ({data['security']}). "
            + ("" if data["protocol"] == "clear" else APART)
        ]
    if measured:
        made.lead.append(REHEARSAL.format(data["network"]))
    made.figures = _figures(data, measured)
    made.warnings = _warnings(data)
    made.add("Where time and traffic go", _layers(data["layers"]))
    made.add("Phases", page.rich_table(cost_table(data), ""))
    kept = [(name, value) for name, value in report.facts() if name != "warning"]
    made.add("Settings", page.facts(kept))
    if data["layers"]:
        whole = page.rich_table(report.layer_table(), "")
        made.add("All layers", page.folded(f"{len(data['layers'])} layers, as a table", whole))
    return made


def of_training(report: TrainingReport) -> Page:
    """The page of a training."""
    data, epochs = report.data, report.epochs
    between = f"{data['protocol']} between {data['parties']} parties: {data['security']}"
    words = f"{data['parameters']:,} parameters, {_count(len(epochs), 'epoch')}, {between}."
    made = Page("Private training", [words, f"Over the network {data['network']}."])
    if data["protocol"] == "clear":
        made.warnings.append(OPEN)
    last = epochs[-1] if epochs else {}
    if last.get("accuracy") is not None:
        made.figures.append(("accuracy on the test data", f"{100 * last['accuracy']:.2f} %"))
    for name, words in (("loss", "cross-entropy"), ("error", "mean squared error")):
        if last.get(name) is not None:
            made.figures.append((words, f"{last[name]:.4g}"))
    made.figures += [
        ("mini-batches", f"{data['batches']:,}"),
        ("time", _seconds(data["offline"]["seconds"] + data["online"]["seconds"])),
        *_traffic("sent by the busiest party", data),
    ]
    made.add("How it became better", report.picture())
    made.add("Epochs", page.rich_table(report.epoch_table(), ""))
    made.add("Phases", page.rich_table(cost_table(data), ""))
    made.add("Settings", page.facts(report.facts()))
    return made


def of_tables(title: str, lead: Sequence[str], tables: Sequence[Any], *pictures: str) -> Page:
    """The page of tables of the screen."""
    made = Page(title, list(lead))
    made.add("Figures", *map(page.rich_table, tables))
    made.add("Picture", *pictures)
    return made


def _figures(data: Mapping[str, Any], measured: bool) -> list[tuple[str, str]]:
    """The few numbers that count."""
    found: list[tuple[str, str]] = []
    if data["accuracy"] is not None:
        found.append(("accuracy", f"{100 * data['accuracy']:.2f} %"))
    if data["agreement"] is not None:
        found.append(("same answer as in clear text", f"{100 * data['agreement']:.2f} %"))
    online = data["online"]
    found.append(("time online", _seconds(online["seconds"])))
    if not measured and data["images"] > 1:
        found.append(("time per input", _seconds(online["seconds"] / data["images"])))
    found += _traffic("sent by the busiest party", data)
    found.append(("rounds", f"{online['rounds']:,}"))
    if measured:
        found.append(("largest error", f"{data['max_abs_error']:.2e}"))
    return found


def _traffic(words: str, data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the busiest party sent in the phases that are there."""
    sent = filter(None, (data[phase]["bytes_sent"] for phase in ("offline", "online")))
    most = max((sum(each) for each in zip(*sent, strict=True)), default=0)
    return [(words, f"{megabytes(most)} MB")]


def _warnings(data: Mapping[str, Any]) -> list[str]:
    told = [OPEN] if data["protocol"] == "clear" else []
    told += grouped(data.get("warnings", []))
    return [*told, data["doubt"]] if data.get("doubt") else told


def _confusion(result: Result, labels: np.ndarray | None) -> list[tuple[str, str]]:
    """The section of the confusion matrix, where there are labels and classes."""
    found = result.classes()
    if labels is None or found is None or len(found) != len(labels):
        return []
    words = ""
    if result.report.accuracy is not None:
        words = f"{100 * result.report.accuracy:.2f} % of the answers are the true class."
    return [("Accuracy", page.paragraph(words) + charts.matrix(np.asarray(labels), found))]


def _who(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The section of the parties: what each brought and what it learned."""
    if data["protocol"] == "clear":
        return []
    owners = {party for entry in data.get("revealed", []) for party in entry["to"]}
    lines: list[list[str]] = []
    for party in range(data["parties"]):
        names = data.get("roles", [])
        name = f"party {party}" + (f" ({names[party]})" if names else "")
        brought = ["the model"] * (party == 0) + ["the inputs"] * (party in owners)
        learned = f"the {data['reveal']} of the answers" if party in owners else "no answer"
        lines.append([name, " and ".join(brought) or "no secret: it helps", learned])
    if len(lines) > 7:
        lines = [*lines[:3], [f"{len(lines) - 3} more", *lines[-1][1:]]]
    weights = "the weights were public" if data["public_model"] else "and no weights"
    plan = (
        "All parties know how many inputs there were and the plan of the model: its layers, their "
        f"shapes and scales, {weights}."
    )
    told = page.table(["party", "brought", "learned"], lines) + page.paragraph(plan)
    return [("Who brought and who learned what", told)]


def _layers(layers: Sequence[Mapping[str, Any]]) -> str:
    """Bars of the online phase layer by layer."""
    if len(layers) < 2:
        return ""
    seconds = [(each["name"], each["seconds"], _seconds(each["seconds"])) for each in layers]
    sent = [(each["name"], each["bytes"], f"{megabytes(each['bytes'])} MB") for each in layers]
    rounds = [(each["name"], each["rounds"], f"{each['rounds']:,}") for each in layers]
    return page.pair(
        charts.bars("Time online, by layer", seconds),
        charts.bars("Sent by the busiest party, by layer", sent),
        charts.bars("Rounds, by layer", rounds),
    )


def _seconds(seconds: float) -> str:
    """A time with a unit that fits it."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 300:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"
