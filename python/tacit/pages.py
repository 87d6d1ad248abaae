"""What stands on the page of a prediction, a training, a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import answers, charts, page
from ._tacit import __version__
from .alike import grouped
from .page import Page
from .report import PHASES, cost_table, count, duration, megabytes, scientific

if TYPE_CHECKING:
    from .report import Report
    from .session import Result
    from .training_report import TrainingReport

APART = "No party showed another its weights or its inputs."
OPEN = "This protocol protects nothing: every party sees everything. It is for comparison only."


def of_result(result: Result, *, model: str = "a model", labels: np.ndarray | None = None) -> Page:
    """The page of a prediction of all parties on this machine.

    `model` is what the model is called; with `labels`, the true classes `(n,)` by name or number,
    there is a confusion matrix.
    """
    report = result.report
    made = of_report(report, title=f"Private prediction by {model}")
    made.lead.append(_rehearsal(report.network))
    headers, lines = answers.rows(result.outputs, result.readings)
    made.sections[:0] = [
        ("Answers", page.paragraph(f"{result.summary()}.") + page.table(headers, lines)),
        *_confusion(result, labels),
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
            f"{count(data['images'], 'input')} answered by {between} ({data['security']}). "
            + ("" if data["protocol"] == "clear" else APART)
        ]
    if measured:
        made.lead.append(_rehearsal(data["network"]))
    made.figures = _figures(data, measured)
    made.warnings = _warnings(data)
    made.sections += _who(data)
    made.add("Where time and traffic go", _layers(data["layers"]))
    made.add("Phases", page.rich_table(cost_table(data), ""))
    kept = [(name, value) for name, value in report.facts() if name != "warning"]
    made.add("Settings", page.facts(kept))
    made.sections += _provenance(data)
    if data["layers"]:
        whole = page.rich_table(report.layer_table(), "")
        made.add(
            "All layers", page.folded(f"{count(len(data['layers']), 'layer')}, as a table", whole)
        )
    return made


def of_training(report: TrainingReport) -> Page:
    """The page of a training."""
    data, epochs = report.data, report.epochs
    between = f"{data['protocol']} between {data['parties']} parties: {data['security']}"
    size = f"{count(data['parameters'], 'parameter')}, {count(len(epochs), 'epoch')}"
    made = Page("Private training", [f"{size}, {between}."])
    if "brought" in data:
        made.lead.append(_rehearsal(data["network"]))
    elif data["network"] != "local":
        made.lead.append(f"Over an emulated network ({data['network']}).")
    if data["protocol"] == "clear":
        made.warnings.append(OPEN)
    made.figures = _training_figures(data, epochs)
    made.add("How it became better", page.pair(*report.curves()))
    made.sections += _owners(data)
    made.add("Where time and traffic go", _spent(data, epochs))
    made.add("Epochs", page.rich_table(report.epoch_table(), ""))
    made.add("Phases", page.rich_table(cost_table(data), ""))
    made.add("Settings", page.facts(report.facts()))
    made.sections += _provenance(data)
    return made


def _training_figures(
    data: Mapping[str, Any], epochs: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """The few numbers of a training that count."""
    last: Mapping[str, Any] = epochs[-1] if epochs else {}
    found: list[tuple[str, str]] = []
    if last.get("accuracy") is not None:
        found.append(("accuracy on the test data", f"{100 * last['accuracy']:.2f} %"))
    for name, words in (("loss", "cross-entropy"), ("error", "mean squared error")):
        if last.get(name) is not None:
            found.append((f"{words} on the test data", f"{last[name]:.4g}"))
    return [
        *found,
        ("mini-batches", f"{data['batches']:,}"),
        ("time", duration(data["offline"]["seconds"] + data["online"]["seconds"])),
        *_traffic("sent by the busiest party", data),
    ]


def of_tables(title: str, lead: Sequence[str], tables: Sequence[Any], *pictures: str) -> Page:
    """The page of tables of the screen, below pictures of them."""
    made = Page(title, list(lead))
    made.add("Curves", page.pair(*filter(None, pictures)))
    made.add("Figures", *map(page.rich_table, tables))
    return made


def _rehearsal(network: str) -> str:
    """Says that no party was apart, and whether messages waited as between parties that are."""
    over = (
        "and no network was emulated"
        if network == "local"
        else f"over an emulated network ({network})"
    )
    return (
        f"All parties were on one machine, {over}: a rehearsal, which computes and sends what "
        "parties apart would."
    )


def _figures(data: Mapping[str, Any], measured: bool) -> list[tuple[str, str]]:
    """The few numbers that count."""
    found: list[tuple[str, str]] = []
    if data["accuracy"] is not None:
        found.append(("accuracy", f"{100 * data['accuracy']:.2f} %"))
    if data["agreement"] is not None:
        found.append(("same answer as in clear text", f"{100 * data['agreement']:.2f} %"))
    online = data["online"]
    found.append(("time online", duration(online["seconds"])))
    if not measured and data["images"] > 1:
        found.append(("time per input", duration(online["seconds"] / data["images"])))
    found += _traffic("sent by the busiest party", data)
    found.append(("rounds", f"{online['rounds']:,}"))
    if measured:
        found.append(("largest error", scientific(data["max_abs_error"])))
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
    """The section of the parties of a prediction: what each brought and what it learned."""
    if data["protocol"] == "clear" or "model_owner" not in data:
        return []
    owners = {party for entry in data.get("revealed", []) for party in entry["to"]}
    lines: list[list[str]] = []
    for party in range(data["parties"]):
        name = _name(data, party)
        brought = ["the model"] * (party == data["model_owner"])
        brought += ["the inputs"] * (party == data["data_owner"])
        learned = f"the {data['reveal']} of the answers" if party in owners else "no answer"
        lines.append([name, " and ".join(brought) or "no secret: it helps", learned])
    weights = "the weights were public" if data["public_model"] else "and no weights"
    plan = (
        "All parties know how many inputs there were and the plan of the model: its layers, their "
        f"shapes and scales, {weights}."
    )
    headers = ["party", "brought", "learned"]
    told = page.table(headers, _few(lines), kinds={0: "whole"}) + page.paragraph(plan)
    return [("Who brought and who learned what", told)]


def _name(data: Mapping[str, Any], party: int) -> str:
    """A party's number, with its role and the name that a config has for it."""
    roles, met = data.get("roles", []), data.get("met", [])
    names = [roles[party]] if roles else []
    names += [met[party]["name"]] if met else []
    return f"party {party}" + (f" ({', '.join(names)})" if names else "")


def _provenance(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The section of when, where and by whom a report was made."""
    date = [data["date"]] if "date" in data else []
    rows = [("made", ", ".join([*date, f"by Tacit {data.get('tacit', __version__)}"]))]
    rows += [(key, data[key]) for key in ("run", "plan") if key in data]
    met = data.get("met", [])
    rows += [(f"certificate of {each['name']}", each["certificate"]) for each in met]
    words = ""
    if "run" in data:
        words = "All parties have the same name for the run, the same plan, and these certificates."
    return [("Where this comes from", page.facts(rows) + (page.paragraph(words) if words else ""))]


def _owners(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The section of the parties of a training: what each brought and what it learned."""
    if data["protocol"] == "clear":
        return []
    opened, brought = data.get("revealed", []), data.get("brought")
    owners = {party for entry in opened if entry["what"] == "weights" for party in entry["to"]}
    lines: list[list[str]] = []
    for party in range(data["parties"]):
        learned = [_learned(entry) for entry in reversed(opened) if party in entry["to"]]
        line = [_name(data, party), "; ".join(learned) or "nothing"]
        if brought is not None:
            own = ["the network"] * (party in owners) + _items(brought, party)
            line.insert(1, ", ".join(own) or "no secret: it helps")
        lines.append(line)
    headers = ["party", "learned"] if brought is None else ["party", "brought", "learned"]
    words = (
        "All parties know the layers of the network, how it is trained and how many items each "
        "brought. No party showed another its items or labels, and only the owner of the network "
        "learns the weights."
    )
    return [
        (
            "Who learned what" if brought is None else "Who brought and who learned what",
            page.table(headers, _few(lines), kinds={0: "whole"}) + page.paragraph(words),
        )
    ]


def _learned(entry: Mapping[str, Any]) -> str:
    """What was opened in a training, in words."""
    if entry["what"] == "weights":
        return "the trained weights"
    if entry["what"] == "scores of the test data":
        return f"how good it is on the test data ({count(entry['openings'], 'time')})"
    return f"{entry['what']}, {entry['count']:,} of them"


def _items(brought: Sequence[Mapping[str, Any]], party: int) -> list[str]:
    """The data that a party brought, in words."""
    kinds = ("training", "test")
    own = [(each[kind], kind) for each in brought if each["party"] == party for kind in kinds]
    return [count(number, f"{kind} item") for number, kind in own if number]


def _few(lines: list[list[str]]) -> list[list[str]]:
    """The lines of the first parties, and one for those from the fourth on that are all alike."""
    alike = len({tuple(line[1:]) for line in lines[3:]}) == 1
    if len(lines) <= 7 or not alike:
        return lines
    return [*lines[:3], [f"{len(lines) - 3} more", *lines[-1][1:]]]


def _layers(layers: Sequence[Mapping[str, Any]]) -> str:
    """Bars of the online phase layer by layer."""
    if len(layers) < 2:
        return ""
    each = [(one["name"], one["seconds"], one["bytes"], one["rounds"]) for one in layers]
    return page.pair(*_bars(each, "Time online", "layer"))


def _spent(data: Mapping[str, Any], epochs: Sequence[Mapping[str, Any]]) -> str:
    """Bars of a training phase by phase, and of the time of its epochs."""
    phases = [(name, data[name]) for name in PHASES if data[name]["bytes_sent"]]
    each = [
        (name, phase["seconds"], max(phase["bytes_sent"]), phase["rounds"])
        for name, phase in phases
    ]
    parts = _bars(each, "Time", "phase")
    if len(epochs) > 1:
        times = [(f"epoch {e['epoch']}", e["seconds"], duration(e["seconds"])) for e in epochs]
        parts.append(charts.bars("Time, by epoch", times, "epochs"))
    return page.pair(*parts)


def _bars(parts: Sequence[tuple[str, float, int, int]], time: str, kind: str) -> list[str]:
    """Bars of the seconds, the busiest party's bytes and the rounds of named parts of a kind."""
    seconds = [(name, took, duration(took)) for name, took, _, _ in parts]
    sent = [(name, most, f"{megabytes(most)} MB") for name, _, most, _ in parts]
    rounds = [(name, hops, f"{hops:,}") for name, _, _, hops in parts]
    return [
        charts.bars(f"{time}, by {kind}", seconds, f"{kind}s"),
        charts.bars(f"Sent by the busiest party, by {kind}", sent, f"{kind}s"),
        charts.bars(f"Rounds, by {kind}", rounds, f"{kind}s"),
    ]
