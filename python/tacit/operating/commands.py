"""The commands of an operator: doctor, approve, quarantine, metrics."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from rich.markup import escape

from .. import outputs
from ..arguments import real
from ..console import out
from ..serving.commands import read_key
from ..serving.quarantine import events, lift, lines_of, quarantine_file
from ..serving.service import read_config
from ..visible import visible
from .approve import Offered
from .doctor import WAIT_S, examine
from .findings import COLOURS, Finding, worst
from .levels import Levels
from .scrape import scrape

CODE = 2
"""The exit code where something keeps the party from running."""


def add_operating(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the commands of operators to the `tacit` command."""
    made = command("doctor", doctor, "look whether this party can run with the others")
    add = made.add_argument
    add("--config", required=True, metavar="PARTY.toml", help="party.toml, train.toml, serve.toml")
    add("--wait", type=real, default=WAIT_S, metavar="S", help="for the other parties' doctors")
    add("--no-models", action="store_true", help="do not plan the models of a service")
    add("--json", metavar="FILE", help="write the findings here")

    made = command("approve", approve, "look at what a model's owner offers, and approve it")
    add = made.add_argument
    add("model", metavar="MODEL", help="its name in serve.toml")
    add("--config", required=True, metavar="SERVE.toml")
    add("--version", metavar="V", dest="model_version", help="of several that are served")
    add("--digest", metavar="HEX", help="approve it if the plan has this digest, and")
    add("--commitment", metavar="HEX", help="the owner has committed to this file")
    add("--yes", action="store_true", help="approve what is shown; without it or both: show it")
    add("--json", metavar="FILE", help="write what is offered and how it differs here")

    made = command("metrics", metrics, "show how a party of a service stands, by its metrics")
    add = made.add_argument
    add("party", metavar="URL", help="such as http://127.0.0.1:8100; http on its machine alone")
    add("--key-file", metavar="FILE", help="of a client with metrics = true, from another machine")
    add("--certificate", action="append", metavar="PEM", help="to trust beside this machine's")
    add("--json", metavar="FILE", help="write all of it here")
    made = command("quarantine", quarantine, "look at cheating that a service found, and lift it")
    add = made.add_argument
    add("what", choices=("show", "lift"), help="lift: the service may meet the others again")
    add("--config", required=True, metavar="SERVE.toml")
    add("--reason", metavar="TEXT", help="what was found out, for the audit log; to lift it")


def doctor(args: argparse.Namespace) -> int:
    """`tacit doctor`: all findings; its code is 2 if one is an error."""
    outputs.check([args.json], [args.config])
    found: list[Finding] = []
    path = str(Path(args.config).resolve())
    for each in examine(path, args.wait, models=not args.no_models):
        found.append(each)
        colour = COLOURS[each.level]
        out.print(f"[{colour}]{each.level:>7}[/]  {escape(visible(each.words))}", soft_wrap=True)
        if each.do:
            out.print(f"         do: {visible(each.do)}", markup=False, soft_wrap=True)
    told = {"worst": worst(found), "findings": [each.told() for each in found]}
    outputs.write([(args.json, json.dumps(told, indent=2) + "\n")])
    return CODE if worst(found) == "error" else 0


def approve(args: argparse.Namespace) -> None:
    """`tacit approve`: shows an offer, and how it differs from what was approved before."""
    outputs.check([args.json], [args.config])
    offered = Offered.of(str(Path(args.config).resolve()), args.model, args.model_version)
    for line in offered.shown():
        out.print(visible(line), markup=False, soft_wrap=True)
    outputs.write([(args.json, json.dumps(offered.told(), indent=2) + "\n")])
    for line in offered.approve(args.digest, args.commitment, yes=args.yes):
        out.print(visible(line), markup=False, soft_wrap=True)


def metrics(args: argparse.Namespace) -> None:
    """`tacit metrics`: one party's models, times, traffic, material and errors."""
    given = [args.key_file, *(args.certificate or ())]
    outputs.check([args.json], given)
    key = read_key(args.key_file) if args.key_file else None
    found = Levels.of(args.party, scrape(args.party, key, args.certificate or ()))
    outputs.write([(args.json, json.dumps(found.told(), indent=2) + "\n")])
    out.print(found)


def quarantine(args: argparse.Namespace) -> None:
    """`tacit quarantine`: what is known of cheating that was found, and its end by a person."""
    audit = Path(read_config(str(Path(args.config).resolve()))["service"]["audit"])
    if args.what == "lift":
        lift(audit, args.reason or "")
        lines = [
            "The quarantine is lifted. Start `tacit serve` anew, or send it SIGHUP if it runs:"
        ]
        lines.append("it meets the others again, and notes the reason in its audit log.")
    else:
        path = quarantine_file(audit)
        found = events(path)
        lines = ["this party is not quarantined"]
        if found is not None:
            lines = lines_of(path, found)
            lines.append(f'To lift it: tacit quarantine lift --config {args.config} --reason "..."')
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
