"""The `tacit` command."""

from __future__ import annotations

import argparse
import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from . import _tacit
from ._tacit import TacitError, __version__
from .console import err, out, progress_bar
from .data import INPUT_NAMES, LABEL_NAMES, load_array
from .model import Model, compile
from .report import Report, cost_table, paper_table
from .session import bench, local

OPERATIONS = (
    *("mult", "matmul", "conv", "trunc", "drelu", "relu", "maxpool"),
    *("compare", "reciprocal", "exp", "sigmoid", "tanh", "rsqrt"),
)
WHERE = ("protocol", "parties", "threshold", "comparison", "opening", "truncation", "network")
"""The arguments that say where a run takes place."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    The exit code is 0, 2 for an error that is explained on stderr, or 130 for Ctrl-C.
    """
    args = parser().parse_args(argv)
    try:
        args.action(args)
    except TacitError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        err.print("interrupted")
        return 130
    return 0


def fail(message: str) -> int:
    """Explains an error and gives the exit code."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    return 2


def run(args: argparse.Namespace) -> None:
    """`tacit run`: all parties on this machine predict a file of inputs."""
    x = load_array(args.input, INPUT_NAMES)
    labels = load_array(args.labels, LABEL_NAMES) if args.labels else None
    model = planned(args)
    session = local(**where(args), processes=args.processes, timeout=args.timeout)
    with progress_bar() as progress:
        result = session.predict(
            model, x, labels, batch=args.batch, check=args.check, progress=progress
        )
    if args.output:
        save_output(args.output, result.output)
    show(result.report, args.json)


def plan(args: argparse.Namespace) -> None:
    """`tacit plan`: what a run would do and cost, without running it."""
    model = planned(args)
    cost = model.predict_cost(args.batch or 1, **where(args))
    if args.json:
        Path(args.json).write_text(json.dumps(cost, indent=2) + "\n")
    out.print(model.table(args.protocol))
    out.print(cost_table(cost))
    out.print(cost["note"])


def measure(args: argparse.Namespace) -> None:
    """`tacit bench`: one operation on random data."""
    with progress_bar() as progress:
        report = bench(
            args.op,
            args.n,
            **where(args),
            ring=args.ring,
            field=args.field,
            fraction_bits=args.fraction_bits,
            key_bits=args.key_bits,
            timeout=args.timeout,
            repeat=args.repeat,
            progress=progress,
        )
    show(report, args.json)


def tables(args: argparse.Namespace) -> None:
    """`tacit tables`: a paper's table beside what runs meter."""
    table = json.loads(_tacit.tables_liu24(args.parties, args.field))
    if args.json:
        Path(args.json).write_text(json.dumps(table, indent=2))
    out.print(paper_table(table))
    out.print(table["note"])


def party(args: argparse.Namespace) -> None:
    """`tacit party`: this organisation's part in a prediction."""
    # Waiting for peers runs no Python code that could notice Ctrl-C: let it end the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with progress_bar() as progress:
        report = _tacit.party(args.config, notice, progress)
    out.print(Report(json.loads(report)))


def init(args: argparse.Namespace) -> None:
    """`tacit init`: keys, certificates and config files."""
    options = {
        "protocol": args.protocol,
        "parties": args.parties,
        "port": args.port,
        "model": args.model and str(Path(args.model).resolve()),
        "input": args.input and str(Path(args.input).resolve()),
    }
    for line in _tacit.init(args.dir, json.dumps(options)):
        out.print(line, soft_wrap=True, markup=False)


def notice(text: str) -> None:
    """Shows what a party waits for."""
    err.print(text, markup=False, soft_wrap=True)


def where(args: argparse.Namespace) -> dict[str, Any]:
    """The protocol of the arguments, its parties and its options."""
    return {name: getattr(args, name) for name in WHERE}


def planned(args: argparse.Namespace) -> Model:
    """The model of the arguments, its warnings shown."""
    model = compile(
        args.model,
        samples=load_array(args.samples, INPUT_NAMES) if args.samples else None,
        ring=args.ring,
        field=args.field,
        fraction_bits=args.fraction_bits,
        order=args.order,
        public_model=args.public_model,
        input_range=args.input_range,
        key_bits=args.key_bits,
        key_bits_loss=args.key_bits_loss,
        dims=dict(args.dim),
    )
    for warning in model.plan_for(args.protocol)["warnings"]:
        err.print(f"[yellow]warning:[/] {escape(warning)}", soft_wrap=True)
    return model


def save_output(path: str, output: np.ndarray) -> None:
    """Writes the outputs exactly to `path`, whose name numpy would otherwise extend."""
    with Path(path).open("wb") as file:
        np.save(file, output)


def show(report: Report, path: str | None) -> None:
    """Prints a report and writes it where asked."""
    if path:
        report.save_json(path)
    out.print(report)


def dimension(text: str) -> tuple[str, int]:
    """Parses `name=value`."""
    name, _, value = text.partition("=")
    if not name or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value, such as seq=48")
    return name, int(value)


def positive(text: str) -> int:
    """Parses a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def add_protocol_options(command: argparse.ArgumentParser) -> None:
    """Which protocol between how many parties."""
    known = _tacit.protocols()
    command.add_argument("--protocol", choices=known, default=known[0])
    command.add_argument(
        "--parties", type=positive, metavar="N", help="default: the protocol's fewest"
    )


def add_run_options(command: argparse.ArgumentParser) -> None:
    """The options of whatever runs or predicts a run."""
    add = command.add_argument
    add_protocol_options(command)
    add("--threshold", type=positive, metavar="T", help="how many of them may be corrupt")
    add("--comparison", choices=("auto", "tree", "rot"), default="auto", help="how to take signs")
    add("--opening", choices=("auto", "king", "direct"), default="auto", help="how to open values")
    add("--truncation", choices=("gap", "exact", "aby3"), default="gap")
    numbers = command.add_mutually_exclusive_group()
    numbers.add_argument("--ring", type=int, choices=(32, 64), help="bits of the ring")
    numbers.add_argument("--field", type=int, choices=(31, 61), help="bits of the prime field")
    add("--fraction-bits", type=int, metavar="F", help="default: the planner's choice")
    add(
        "--key-bits",
        metavar="I.F",
        help="bits before and after the point that signs are taken from; full (the default), or "
        "auto for a model: found on the samples",
    )
    add(
        "--network",
        default="local",
        metavar="NAME",
        help="local, lan, wan or RTTms,Mbps (such as 40ms,100Mbps), emulated",
    )
    add("--json", metavar="FILE", help="write the report here")


def add_execution_options(command: argparse.ArgumentParser) -> None:
    """The options of whatever runs."""
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="give up a silent party after S seconds",
    )


def add_model_options(command: argparse.ArgumentParser) -> None:
    """The options of whatever plans a model."""
    add = command.add_argument
    add("model", metavar="MODEL.onnx")
    add("--samples", metavar="S.npy", help="typical inputs, not secret, to estimate ranges from")
    add(
        "--order",
        choices=("multiply-then-truncate", "truncate-then-multiply"),
        default="multiply-then-truncate",
    )
    add("--public-model", action="store_true", help="every party may know the weights")
    add(
        "--key-bits-loss",
        type=float,
        metavar="L",
        help="the share of samples whose class --key-bits auto may change (default: 0.005)",
    )
    add("--input-range", type=float, metavar="R", help="refuse inputs beyond +-R")
    add(
        "--dim",
        type=dimension,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a symbolic dimension",
    )
    add("--batch", type=positive, metavar="B", help="items at a time")


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="tacit", description="Private machine learning.")
    top.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name, action, text):
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(action=action)
        return made

    made = command("run", run, "predict a file of inputs, all parties on this machine")
    add_model_options(made)
    made.add_argument("--input", required=True, metavar="X.npy", help=".npy, .npz or .npz:NAME")
    made.add_argument("--labels", metavar="Y.npy", help="true classes, for the accuracy")
    made.add_argument("--check", action="store_true", help="compare with clear-text float32")
    made.add_argument(
        "--processes", action="store_true", help="one process per party, joined by TLS"
    )
    made.add_argument("--output", metavar="OUT.npy", help="write the model's outputs here")
    add_run_options(made)
    add_execution_options(made)

    made = command("plan", plan, "show what a run would do and cost, without running it")
    add_model_options(made)
    add_run_options(made)

    made = command("bench", measure, "measure one operation on random data")
    made.add_argument("op", choices=OPERATIONS)
    made.add_argument("--n", type=positive, required=True, help="size of the operation")
    made.add_argument("--repeat", type=positive, default=5, metavar="K", help="median of K runs")
    add_run_options(made)
    add_execution_options(made)

    made = command("tables", tables, "print a paper's table beside what runs of ours meter")
    made.add_argument("paper", choices=("liu24",), help="liu24: Shamir between many parties")
    made.add_argument(
        "--parties",
        type=positive,
        nargs="+",
        default=[3, 7, 31],
        metavar="N",
        help="to run between",
    )
    made.add_argument("--field", type=int, choices=(31, 61), default=31)
    made.add_argument("--json", metavar="FILE", help="write the table here")

    made = command("party", party, "run this organisation's party from its config file")
    made.add_argument("--config", required=True, metavar="PARTY.toml")

    made = command("init", init, "make keys, certificates and config files")
    made.add_argument("dir", metavar="DIR")
    add_protocol_options(made)
    made.add_argument("--port", type=positive, default=7100, help="party i listens on PORT + i")
    made.add_argument("--model", metavar="MODEL.onnx", help="the model owner's file")
    made.add_argument("--input", metavar="X.npy", help="the data owner's file")
    return top
