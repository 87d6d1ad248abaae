"""The `tacit` command."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from . import _tacit
from ._tacit import TacitError, __version__
from .analysis import analyze_truncation, check_plot
from .arguments import dimension, numbers, positive
from .certificates import add_cert
from .console import err, notice, out, progress_bar
from .data import INPUT_NAMES, LABEL_NAMES, load_array
from .interrupt import CODE, ends_soon
from .model import Model, compile
from .report import Report, cost_table
from .session import bench, local
from .tables import add_tables
from .train import add_train

OPERATIONS = (
    *("mult", "matmul", "conv", "trunc", "drelu", "relu", "maxpool"),
    *("compare", "reciprocal", "exp", "sigmoid", "tanh", "rsqrt", "pow", "division", "batchnorm"),
)
TRANSFERS = ("softspoken", "softspoken2", "softspoken8", "iknp", "silent")
WHERE = (
    "protocol",
    "parties",
    "threshold",
    "comparison",
    "opening",
    "sharing",
    "ot",
    "security",
    "truncation",
    "network",
)
"""The arguments that say where a run takes place."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    The exit code is 0, 2 for an error that is explained on stderr, or 130 for Ctrl-C.
    """
    args = parser().parse_args(argv)
    try:
        with ends_soon():
            args.action(args)
    except TacitError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        err.print("interrupted")
        return CODE
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
            chunk=args.chunk,
            **where(args),
            ring=args.ring,
            field=args.field,
            fraction_bits=args.fraction_bits,
            precision=args.precision,
            key_bits=args.key_bits,
            as_printed_insecure=args.as_printed_insecure,
            paper_leakage=args.paper_leakage,
            timeout=args.timeout,
            repeat=args.repeat,
            progress=progress,
        )
    show(report, args.json)


def analyze(args: argparse.Namespace) -> None:
    """`tacit analyze truncation`: what probabilistic truncation does to a model's accuracy."""
    if args.plot:
        check_plot(args.plot)
    x, labels = load_array(args.input, INPUT_NAMES), load_array(args.labels, LABEL_NAMES)
    with progress_bar() as progress:
        analysis = analyze_truncation(
            args.model,
            x,
            labels,
            fraction_bits=args.fraction_bits,
            ring=args.ring,
            items=args.items,
            dims=dict(args.dim),
            progress=progress,
        )
    if args.json:
        analysis.save_json(args.json)
    if args.plot:
        analysis.save_plot(args.plot, Path(args.model).stem)
    out.print(analysis)


def party(args: argparse.Namespace) -> None:
    """`tacit party`: this organisation's part in a prediction."""
    with progress_bar() as progress:
        report = _tacit.party(args.config, notice, progress, args.reveal)
    out.print(Report(json.loads(report)))


def init(args: argparse.Namespace) -> None:
    """`tacit init`: keys, certificates and config files."""
    options = {
        "protocol": args.protocol,
        "parties": args.parties,
        "port": args.port,
        "model": args.model and str(Path(args.model).resolve()),
        "input": args.input and str(Path(args.input).resolve()),
        "reveal": args.reveal,
        "training": args.training,
    }
    for line in _tacit.init(args.dir, json.dumps(options)):
        out.print(line, soft_wrap=True, markup=False)


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
        precision=args.precision,
        order=args.order,
        public_model=args.public_model,
        input_range=args.input_range,
        key_bits=args.key_bits,
        key_bits_loss=args.key_bits_loss,
        reveal=args.reveal,
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
    add("--sharing", choices=("ubl", "rss"), default="ubl", help="how to share, in bicoptor")
    add("--ot", choices=TRANSFERS, default=TRANSFERS[0], help="how to make transfers, in sirnn")
    add(
        "--security",
        choices=("semi-honest", "malicious"),
        default="semi-honest",
        help="malicious, in falcon: a party that deviates is noticed before anything is given out",
    )
    add("--truncation", choices=("gap", "exact", "aby3", "secureml"), default="gap")
    numbers = command.add_mutually_exclusive_group()
    numbers.add_argument("--ring", type=int, choices=(32, 64), help="bits of the ring")
    numbers.add_argument("--field", type=int, choices=(31, 61), help="bits of the prime field")
    add("--fraction-bits", type=int, metavar="F", help="default: the planner's choice")
    add(
        "--precision",
        type=int,
        metavar="BITS",
        help="give every tensor a width of its own, up to so many bits; models in sirnn: 16 or as "
        "many as they need if neither --ring nor --fraction-bits is given",
    )
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
    add_reveal(command)
    add_dimensions(command)
    add("--batch", type=positive, metavar="B", help="items at a time")


def add_init_options(command: argparse.ArgumentParser) -> None:
    """The options of what makes the parties' folders."""
    add = command.add_argument
    add("dir", metavar="DIR")
    add_protocol_options(command)
    add("--port", type=positive, default=7100, help="party i listens on PORT + i")
    add("--model", metavar="MODEL.onnx", help="the model owner's file")
    add("--input", metavar="X.npy", help="the data owner's file")
    add_reveal(command)
    add("--training", action="store_true", help="for a training, instead of a prediction")


def add_reveal(command: argparse.ArgumentParser) -> None:
    """The option of what the data owner learns."""
    command.add_argument(
        "--reveal",
        metavar="WHAT",
        help="all that the data owner learns of the outputs: logits, probabilities, top-K (such as "
        "top-3) or class (default: the model's last operation decides, ArgMax means class)",
    )


def add_dimensions(command: argparse.ArgumentParser) -> None:
    """The option of a model that has symbolic dimensions."""
    command.add_argument(
        "--dim",
        type=dimension,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a symbolic dimension",
    )


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
    made.add_argument(
        "--chunk",
        type=positive,
        metavar="N",
        help="run so much of it at a time (default: as much as takes about 256 MiB)",
    )
    made.add_argument("--repeat", type=positive, default=5, metavar="K", help="median of K runs")
    made.add_argument(
        "--as-printed-insecure",
        action="store_true",
        help="bicoptor's signs as in its paper, which errs and leaks: for the cost only",
    )
    made.add_argument(
        "--paper-leakage",
        action="store_true",
        help="falcon's pow, reciprocal and rsqrt as in its paper, which opens magnitudes: for the "
        "cost only",
    )
    add_run_options(made)
    add_execution_options(made)

    made = command("analyze", analyze, "measure what a choice does to a model's accuracy")
    made.add_argument("what", choices=("truncation",), help="truncation: ABY3's, by fraction bits")
    made.add_argument("model", metavar="MODEL.onnx")
    made.add_argument("--input", required=True, metavar="X.npy", help=".npy, .npz or .npz:NAME")
    made.add_argument("--labels", required=True, metavar="Y.npy", help="true classes")
    made.add_argument(
        "--fraction-bits",
        type=numbers,
        metavar="F",
        help="such as 13, 4..30, 4..30:2 (in steps) or 8,13,26; default: 4 to 30 where they fit",
    )
    made.add_argument("--ring", type=int, choices=(32, 64), default=64, help="bits of the ring")
    made.add_argument("--items", type=positive, metavar="N", help="use the first N inputs only")
    add_dimensions(made)
    made.add_argument("--json", metavar="FILE", help="write the analysis here")
    made.add_argument("--plot", metavar="FILE.svg", help="draw it here, as .svg or .png")

    add_train(command)

    add_tables(command)

    made = command("party", party, "run this organisation's party from its config file")
    made.add_argument("--config", required=True, metavar="PARTY.toml")
    made.add_argument(
        "--reveal", metavar="WHAT", help="insist on this, whatever [plan] of the config says"
    )

    add_cert(command)

    made = command("init", init, "make keys, certificates and config files")
    add_init_options(made)
    return top
