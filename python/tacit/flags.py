"""The options of the command line that several commands have."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_dimensions, add_fixed, add_page, names, positive, real, whole
from .planning import AUTO
from .protocols import OPTIONS, PROTOCOLS

OPERATIONS = (
    *("mult", "matmul", "conv", "trunc", "drelu", "relu", "maxpool"),
    *("compare", "reciprocal", "exp", "sigmoid", "tanh", "rsqrt", "pow", "division", "batchnorm"),
)


def add_protocol_options(command: argparse.ArgumentParser, *, auto: bool = False) -> None:
    """Which protocol between how many parties; `auto` where one can be chosen by a model's cost."""
    command.add_argument(
        "--protocol",
        choices=[*PROTOCOLS, *[AUTO] * auto],
        default=PROTOCOLS[0],
        help="auto: the quickest for this model, batch and network" if auto else None,
    )
    command.add_argument(
        "--parties", type=positive, metavar="N", help="default: the protocol's fewest"
    )


def add_run_options(command: argparse.ArgumentParser, *, auto: bool = False) -> dict[str, Any]:
    """The options of whatever runs or predicts a run; the groups of the protocols' own."""
    add = command.add_argument
    add_protocol_options(command, auto=auto)
    numbers = command.add_mutually_exclusive_group()
    numbers.add_argument("--ring", type=int, choices=(32, 64), help="bits of the ring")
    numbers.add_argument("--field", type=int, choices=(31, 61), help="bits of the prime field")
    add("--fraction-bits", type=whole, metavar="F", help="default: the planner's choice")
    add(
        "--precision",
        type=whole,
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
        "--functions",
        choices=("accurate", "fast"),
        default="accurate",
        help="how near exponentials, sigmoids, roots and the like are: to a few units of the last "
        "place (the default), or to about 2^-10 by fewer products",
    )
    add(
        "--network",
        default="local",
        metavar="NAME",
        help="local, lan, wan or RTTms,Mbps (such as 40ms,100Mbps), emulated",
    )
    add("--json", metavar="FILE", help="write the report here")
    return add_own_options(command)


def add_own_options(command: argparse.ArgumentParser) -> dict[str, Any]:
    """Adds a group of options for every protocol, and gives these by their titles."""
    groups: dict[str, Any] = {}
    for option in OPTIONS.values():
        title = option.protocols
        group = groups.get(title) or groups.setdefault(title, command.add_argument_group(title))
        kind = {"choices": option.choices} if option.choices else {"type": positive, "metavar": "N"}
        text = option.help.replace("%", "%%")
        group.add_argument(f"--{option.key.replace('_', '-')}", help=text, **kind)
    return groups


def add_execution_options(command: argparse.ArgumentParser) -> None:
    """The options of whatever runs."""
    command.add_argument(
        "--timeout",
        type=real,
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
        type=real,
        metavar="L",
        help="the share of samples whose class --key-bits auto may change (default: 0.005)",
    )
    add("--input-range", type=real, metavar="R", help="refuse inputs beyond +-R")
    add_reveal(command)
    add(
        "--outputs",
        type=names,
        metavar="NAME,NAME",
        help="the outputs to compute (default: all of the file)",
    )
    add_dimensions(command)
    add_fixed(command)
    add("--batch", type=positive, metavar="B", help="items at a time (default: up to 128)")


def add_bench_options(command: argparse.ArgumentParser) -> None:
    """The options of what measures an operation."""
    command.add_argument("op", choices=OPERATIONS)
    command.add_argument("--n", type=positive, required=True, help="size of the operation")
    command.add_argument(
        "--chunk",
        type=positive,
        metavar="N",
        help="run so much of it at a time (default: as much as takes about 256 MiB)",
    )
    command.add_argument("--repeat", type=positive, default=5, metavar="K", help="median of K runs")
    add_page(command)
    groups = add_run_options(command)
    groups["bicoptor"].add_argument(
        "--as-printed-insecure",
        action="store_true",
        help="signs as in the paper, which errs and leaks: for the cost only",
    )
    groups["falcon"].add_argument(
        "--paper-leakage",
        action="store_true",
        help="pow, reciprocal and rsqrt as in the paper, which opens magnitudes: for the cost only",
    )
    add_execution_options(command)


def add_init_options(command: argparse.ArgumentParser) -> None:
    """The options of what makes the parties' folders."""
    add = command.add_argument
    add("dir", metavar="DIR")
    add_protocol_options(command)
    add("--port", type=positive, default=7100, help="party i listens on PORT + i")
    add("--model", metavar="MODEL.onnx", help="the model owner's file")
    add("--input", metavar="X.npy", help="the data owner's file")
    add_reveal(command)
    kind = command.add_mutually_exclusive_group()
    kind.add_argument(
        "--training", action="store_true", help="for a training, instead of a prediction"
    )
    kind.add_argument(
        "--service", action="store_true", help="for `tacit serve`, instead of one prediction"
    )


def add_reveal(command: argparse.ArgumentParser) -> None:
    """The option of what the data owner learns."""
    command.add_argument(
        "--reveal",
        metavar="WHAT",
        help="all that the data owner learns of the outputs: logits, probabilities, top-K (such as "
        "top-3) or class (default: the model's last operation decides, ArgMax means class)",
    )


def add_plan_options(command: argparse.ArgumentParser) -> None:
    """The options of what only plans."""
    command.add_argument(
        "--compare",
        action="store_true",
        help="every protocol and security side by side, and which to take",
    )
    command.add_argument(
        "--no-measure",
        action="store_true",
        help="tell the network's seconds alone: do not measure how fast this machine is, which "
        "takes some seconds once",
    )
