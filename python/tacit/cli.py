"""The `tacit` command."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from . import _tacit, outputs
from ._tacit import TacitError, __version__
from .alike import grouped
from .arguments import (
    Parser,
    add_dimensions,
    add_page,
    numbers,
    positive,
)
from .certificates import add_cert
from .console import add_voice, err, notice, out, progress_bar, speak, warn
from .data import INPUT_NAMES, LABEL_NAMES, load_array, load_inputs, load_numbers
from .flags import (
    add_bench_options,
    add_execution_options,
    add_init_options,
    add_model_options,
    add_plan_options,
    add_run_options,
)
from .interrupt import CODE, ends_soon
from .measure.operations import bench
from .measure.tables import add_tables
from .measure.truncation import analyze_truncation, check_plot
from .model import Model, compile
from .operating.commands import add_operating
from .options import to_json
from .party import learned
from .planning import (
    AUTO,
    compare,
    counted,
    memory_words,
    named,
    of_any,
    planned_costs,
    quickest,
)
from .protocols import OPTIONS
from .report import Report
from .serving.commands import add_serving
from .session import local
from .train import add_train


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    The exit code is 0, 2 for an error that is explained on stderr or that `tacit doctor` found, or
    130 for Ctrl-C.
    """
    args = parser().parse_args(argv)
    speak(args)
    try:
        with ends_soon() if args.ends_soon else nullcontext():
            code = args.action(args)
    except TacitError as error:
        return fail(str(error), error.code)
    except OSError as error:
        words = error.strerror or str(error)
        return fail(f"{error.filename}: {words}" if error.filename else words)
    except MemoryError:
        return fail("there is not enough memory; use fewer items at a time (--batch, --items)")
    except KeyboardInterrupt:
        err.print("interrupted")
        return CODE
    return code or 0


def fail(message: str, code: str = TacitError.code) -> int:
    """Explains an error, with its code if it has one of its own, and gives the exit code."""
    named = "" if code == TacitError.code else f" [dim]{escape(f'[{code}]')}[/]"
    err.print(f"[bold red]error:[/] {escape(message)}{named}", soft_wrap=True)
    return 2


def run(args: argparse.Namespace) -> None:
    """`tacit run`: all parties on this machine predict a file of inputs."""
    given = (args.model, args.input, args.labels, args.samples)
    outputs.check([args.output, args.json, args.html], given)
    x = None if args.input.endswith(".npz") else load_inputs(args.input)
    labels = load_array(args.labels, LABEL_NAMES) if args.labels else None
    model = planned(args)
    x = load_inputs(args.input, model.input_names) if x is None else x
    outputs.check_holds(args.output, model)
    session = local(**where(args), processes=args.processes, timeout=args.timeout)
    with progress_bar() as progress:
        result = session.predict(
            model, x, labels, batch=args.batch, check=args.check, progress=progress
        )
    answers = outputs.arrays(args.output, result.outputs) if args.output else b""
    shown = [result.table(), result.summary(), "", result.report]
    report = result.report.to_json()
    page = partial(result.to_html, model=Path(args.model).name, labels=labels)
    finish(shown, (args.output, answers), (args.json, report), (args.html, page))


def plan(args: argparse.Namespace) -> None:
    """`tacit plan`: what a run would do and cost, without running it."""
    outputs.check([args.json], [args.model, args.samples])
    model = planned(args)
    batch, given = args.batch or 1, where(args)
    with progress_bar() as progress:
        measured = not args.no_measure
        if args.compare:
            asked = of_any(given)
            found = compare(model, batch, **asked, measure=measured, progress=progress)
            text = json.dumps({"rows": found.rows, "best": found.best}, indent=2) + "\n"
            return finish([found], (args.json, text))
        cost = model.predict_cost(batch, **given, measure=measured, progress=progress)
    text = json.dumps({**cost, "warnings": model.warnings}, indent=2) + "\n"
    table = planned_costs(cost, counted(batch))
    shown = [model.table(), table, memory_words(cost["memory"]), cost["note"]]
    return finish(shown, (args.json, text))


def measure(args: argparse.Namespace) -> None:
    """`tacit bench`: one operation on random data."""
    outputs.check([args.json, args.html])
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
            functions=args.functions,
            as_printed_insecure=args.as_printed_insecure,
            paper_leakage=args.paper_leakage,
            timeout=args.timeout,
            repeat=args.repeat,
            progress=progress,
        )
    finish([report], (args.json, report.to_json()), (args.html, report.to_html))


def analyze(args: argparse.Namespace) -> None:
    """`tacit analyze truncation`: what probabilistic truncation does to a model's accuracy."""
    if args.plot:
        check_plot(args.plot)
    outputs.check([args.json, args.plot, args.html], [args.model, args.input, args.labels])
    x, labels = load_numbers(args.input, INPUT_NAMES), load_array(args.labels, LABEL_NAMES)
    with progress_bar() as progress:
        analysis = analyze_truncation(
            args.model,
            x,
            labels,
            fraction_bits=args.fraction_bits,
            ring=args.ring,
            items=args.items,
            dims=args.dim,
            progress=progress,
        )
    picture = analysis.draw(Path(args.plot).suffix, Path(args.model).stem) if args.plot else b""
    written = (args.json, analysis.to_json()), (args.html, analysis.to_html)
    finish([analysis], *written, (args.plot, picture))


def party(args: argparse.Namespace) -> None:
    """`tacit party`: this organisation's part in a prediction."""

    def show(report: str) -> None:
        out.print(Report(json.loads(report)))

    def refused(why: str) -> None:
        fail(f"{why}; name another file of inputs")

    with progress_bar() as progress:
        answered = (show, refused) if args.stay else None
        ended = _tacit.party(args.config, notice, progress, args.reveal, answered)
    if ended is None:
        return
    result, path = learned(*ended[:3]), ended[3]
    if result.outputs:
        # What is no terminal may be a log, which others read.
        if out.is_terminal:
            out.print(result.table())
        out.print(result.summary(shown=out.is_terminal))
        if path is not None:
            out.print(f"all answers are in {path}", markup=False, soft_wrap=True)
        out.print()
    out.print(result.report)


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
        "service": args.service,
    }
    for line in _tacit.init(args.dir, to_json(options)):
        out.print(line, soft_wrap=True, markup=False)


def where(args: argparse.Namespace) -> dict[str, Any]:
    """The protocol of the arguments, its parties and its options, as far as they are given."""
    given = {name: getattr(args, name) for name in ("protocol", "parties", "network", *OPTIONS)}
    return {name: value for name, value in given.items() if value is not None}


def planned(args: argparse.Namespace) -> Model:
    """The model of the arguments, its warnings shown; `auto` becomes the protocol that it takes."""
    is_open = args.protocol == AUTO or getattr(args, "compare", False)
    model = _compiled(args, None if is_open else args.protocol)
    if args.protocol == AUTO and not getattr(args, "compare", False):
        with progress_bar() as progress:
            best = quickest(model, args.batch or 1, progress=progress, **of_any(where(args)))
        vars(args).update(best)
        notice(f"takes {named(best)}, the quickest that can run this model as asked")
        model = _compiled(args, args.protocol)
    for warning in grouped(model.warnings):
        warn(warning)
    return model


def _compiled(args: argparse.Namespace, protocol: str | None) -> Model:
    return compile(
        args.model,
        protocol=protocol,
        samples=load_inputs(args.samples) if args.samples else None,
        ring=args.ring,
        field=args.field,
        fraction_bits=args.fraction_bits,
        precision=args.precision,
        order=args.order,
        functions=args.functions,
        public_model=args.public_model,
        input_range=args.input_range,
        key_bits=args.key_bits,
        key_bits_loss=args.key_bits_loss,
        reveal=args.reveal,
        dims=args.dim,
        outputs=args.outputs,
        fix=args.fix,
    )


def finish(shown: Iterable[RenderableType], *files: tuple[str | None, outputs.Content]) -> None:
    """Writes files where asked, and prints the result whether or not they could be."""
    try:
        outputs.write(files)
    finally:
        for item in shown:
            out.print(item)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = Parser(prog="tacit", description="Private machine learning.")
    top.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, action: Callable[[argparse.Namespace], int | None], text: str
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(action=action, ends_soon=True)
        add_voice(made)
        return made

    made = command("run", run, "predict a file of inputs, all parties on this machine")
    add_model_options(made)
    made.add_argument("--input", required=True, metavar="X.npy", help=".npy, .npz or .npz:NAME")
    made.add_argument("--labels", metavar="Y.npy", help="true classes, for the accuracy")
    made.add_argument("--check", action="store_true", help="compare with clear-text float32")
    made.add_argument(
        "--processes", action="store_true", help="one process per party, joined by TLS"
    )
    made.add_argument(
        "--output", metavar="OUT.npy", help="write the model's outputs here; .npz of several"
    )
    add_page(made)
    add_run_options(made, auto=True)
    add_execution_options(made)

    made = command("plan", plan, "show what a run would do and cost, without running it")
    add_model_options(made)
    add_run_options(made, auto=True)
    add_plan_options(made)

    add_bench_options(command("bench", measure, "measure one operation on random data"))

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
    add_page(made)

    add_train(command)

    add_tables(command)

    made = command("party", party, "run this organisation's party from its config file")
    made.add_argument("--config", required=True, metavar="PARTY.toml")
    made.add_argument(
        "--reveal", metavar="WHAT", help="insist on this, whatever [plan] of the config says"
    )
    made.add_argument(
        "--stay",
        action="store_true",
        help="stay for more predictions, as all parties must: every line of the data owner's "
        "standard input names a file of inputs, whose answers go beside the first's with their "
        "number; its end is theirs",
    )

    add_serving(command)

    add_operating(command)

    add_cert(command)

    made = command("init", init, "make keys, certificates and config files")
    add_init_options(made)
    return top
