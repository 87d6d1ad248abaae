"""`tacit tables`: what papers print beside runs of ours."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from typing import Any

from rich import box
from rich.table import Table

from .. import _tacit, outputs, pages
from .._tacit import TacitError
from ..arguments import add_page, positive, real
from ..console import add_voice, out
from ..protocols import OPTIONS
from .bicoptor2 import NETWORKS, SIZES, bicoptor2
from .falcon import ACCURACY, CASES, LINKS, PHASES, SECURITY, accuracy, falcon, missing
from .sirnn import SIDE, SIRNN, TRANSFERS, sirnn


def add_tables(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The papers whose tables are printed."""
    made = command("tables", liu24, "print a paper's table beside runs of ours")
    papers = made.add_subparsers(dest="paper", required=True, metavar="PAPER")

    def paper(name: str, action: Callable[..., None], text: str) -> argparse.ArgumentParser:
        made = papers.add_parser(name, help=text, description=text)
        made.set_defaults(action=action)
        made.add_argument("--json", metavar="FILE", help="write the table here")
        add_page(made)
        add_voice(made)
        return made

    made = paper("bicoptor2", times, "Bicoptor 2.0: seconds of DReLU and ReLU")
    made.add_argument("--networks", nargs="+", choices=NETWORKS, default=[*NETWORKS])
    made.add_argument("--sizes", type=positive, nargs="+", default=[*SIZES], metavar="N")
    made.add_argument("--sharing", choices=OPTIONS["sharing"].choices, default="ubl")
    made.add_argument("--repeat", type=positive, default=3, metavar="K", help="median of K runs")
    made = paper("falcon", networks, "Falcon: seconds and MB of predictions and trainings")
    made.add_argument("--networks", nargs="+", choices=CASES)
    made.add_argument("--phases", nargs="+", choices=PHASES)
    made.add_argument("--security", nargs="+", choices=SECURITY)
    made.add_argument("--links", nargs="+", choices=LINKS)
    made.add_argument(
        "--limit",
        type=real,
        metavar="S",
        help="count, and do not run, what is expected to take more than S seconds (default: 60)",
    )
    made.add_argument(
        "--accuracy",
        type=positive,
        metavar="N",
        help="instead: predict N test images of $TACIT_DATA with the networks of $TACIT_MODELS",
    )
    made = paper("liu24", liu24, "Shamir between many parties: rounds and elements")
    made.add_argument(
        "--parties",
        type=positive,
        nargs="+",
        default=[3, 7, 31],
        metavar="N",
        help="to run between",
    )
    made.add_argument("--field", type=int, choices=(31, 61), default=31)
    made = paper("sirnn", traffic, "SiRnn between two parties: bytes of each operation")
    made.add_argument("--ops", nargs="+", choices=SIRNN, default=[*SIRNN])
    made.add_argument("--transfers", nargs="+", choices=TRANSFERS, default=[*TRANSFERS])
    made.add_argument("--n", type=positive, default=10_000, metavar="N", help="instances of each")


def liu24(args: argparse.Namespace) -> None:
    """`tacit tables liu24`: a paper's table beside what runs meter."""
    outputs.check([args.json, args.html])
    table = json.loads(_tacit.tables_liu24(args.parties, args.field))
    finish(args, table, "Shamir between many parties", [paper_table(table)], table["note"])


def finish(
    args: argparse.Namespace, content: Any, title: str, tables: list[Table], note: str
) -> None:
    """Writes the files that were asked for, and prints the tables."""
    page = pages.of_tables(title, note.splitlines(), tables)
    outputs.write([(args.json, json.dumps(content, indent=2)), (args.html, page.render)])
    for table in tables:
        out.print(table)
    if note:
        out.print(note)


def paper_table(data: dict[str, Any]) -> Table:
    """Building blocks with the paper's counts and the metered ones."""
    table = Table(title=data["title"], box=box.SIMPLE, padding=0, pad_edge=False)
    table.add_column("building block")
    table.add_column("rounds\npaper, ours", justify="center")
    for phase in ("online", "offline"):
        for column in ("paper", *(f"n={n}" for n in data["parties"])):
            table.add_column(f"{phase}\n{column}", justify="right", min_width=7)
    for block in data["blocks"]:
        columns = [block["paper"], *block["metered"]]
        rounds = [block["paper"]["rounds"], max(c["rounds"] for c in block["metered"])]
        elements = [f"{c[phase]:.1f}" for phase in ("online", "offline") for c in columns]
        table.add_row(block["name"], "{}, {}".format(*rounds), *elements)
    return table


def times(args: argparse.Namespace) -> None:
    """`tacit tables bicoptor2`: a paper's times beside ours."""
    outputs.check([args.json, args.html])
    out.print("Bicoptor 2.0, Tables 6 and 7: P-Falcon / Bicoptor 2.0 as printed, and here")
    rows = bicoptor2(
        args.networks,
        args.sizes,
        sharing=args.sharing,
        repeat=args.repeat,
        observe=lambda row: out.print(f"{row['op']}, {row['network']}, {row['n']:,}", style="dim"),
    )
    note = (
        "Seconds; ours are medians over 64 bits at 7 key bits, all parties on this machine, on "
        "emulated networks: online / with the offline phase, which the paper's Falcon lacks."
    )
    finish(args, rows, "Bicoptor 2.0: seconds of DReLU and ReLU", [times_table(rows)], note)


def times_table(rows: list[dict[str, Any]]) -> Table:
    """Seconds on paper and here, and how many times faster Bicoptor is than Falcon."""
    table = Table(box=box.SIMPLE, padding=0, pad_edge=False)
    for column in ("", "network", "n", "paper", "Falcon", "Bicoptor", "faster"):
        table.add_column(column, justify="left" if column in ("", "network") else "right")
    for row in rows:
        pairs = [("paper_falcon", "paper_bicoptor")]
        pairs += [(f"{name}_online", f"{name}_sum") for name in ("falcon", "bicoptor")]
        cells = [" / ".join(_figure(row[key]) for key in pair) for pair in pairs]
        faster = f"{row['online_ratio']:.1f} / {row['sum_ratio']:.1f}"
        table.add_row(row["op"], row["network"], f"{row['n']:,}", *cells, faster)
    return table


def networks(args: argparse.Namespace) -> None:
    """`tacit tables falcon`: a paper's predictions and trainings beside ours."""
    outputs.check([args.json, args.html])
    if args.accuracy:
        tried(args)
        return
    phases, securities = args.phases or PHASES, args.security or SECURITY
    rows = falcon(
        args.networks or CASES,
        phases,
        securities,
        args.links or LINKS,
        limit=60.0 if args.limit is None else args.limit,
        observe=lambda row: out.print(*_case(row), sep=", ", style="dim"),
    )
    tables: list[Table] = []
    for phase, security in product(phases, securities):
        wanted = [row for row in rows if (row["phase"], row["security"]) == (phase, security)]
        tables.append(networks_table(wanted, f"Falcon: {phase}, {security}"))
    finish(args, rows, "Falcon: predictions and trainings", tables, FALCON_NOTE)


FALCON_NOTE = (
    "Seconds, and MB that the busiest party sends; 64-bit ring, all parties on this machine, on "
    "emulated networks. The paper's ring has 32 bits; it does not say whether its figures have the "
    "offline phase, or whether MB are those of all parties.\n"
    "Prediction: one image. The paper's AlexNets and VGG16s are parts of batches, but not VGG16 on "
    "Tiny ImageNet under malicious security.\n"
    "Training: one step on 128 items. The paper's hours and TB of a training are divided by its "
    "steps: 15 epochs of MNIST's 60,000 items; 90 of AlexNet and 25 of VGG16, of CIFAR-10's 50,000 "
    "and Tiny ImageNet's 100,000.\n"
    "counted: not run. MB and hops are those declared, seconds those of the network alone."
)


def networks_table(rows: list[dict[str, Any]], title: str) -> Table:
    """Seconds and MB on paper and here."""
    table = Table(title=title, box=box.SIMPLE, padding=0, pad_edge=False)
    for column in ("network", "link"):
        table.add_column(column)
    pairs = [(phase, unit) for unit in ("s", "MB") for phase in ("paper", "offline", "online")]
    for phase, unit in pairs:
        table.add_column(f"{phase}\n{unit}", justify="right", min_width=6)
    table.add_column("hops", justify="right")
    table.add_column("")
    units = {"s": "seconds", "MB": "mb"}
    for row in rows:
        figures = (_figure(row[f"{phase}_{units[unit]}"]) for phase, unit in pairs)
        hops = f"{row['offline_hops'] + row['online_hops']:,}"
        how = "" if row["measured"] else "counted"
        table.add_row(row["network"], row["link"], *figures, hops, how)
    return table


def _case(row: dict[str, Any]) -> list[str]:
    how = "measured" if row["measured"] else "counted"
    return [*(row[name] for name in ("phase", "network", "security", "link")), how]


def tried(args: argparse.Namespace) -> None:
    """`tacit tables falcon --accuracy`: a paper's accuracies beside ours."""
    for name in ("phases", "security", "links", "limit"):
        if getattr(args, name) is not None:
            raise TacitError(f"--{name} has no effect with --accuracy; leave it out")
    asked = args.networks or [name for name in ACCURACY if not missing(name)]
    for name in asked or ACCURACY:
        if why := missing(name):
            raise TacitError(
                f"{name} cannot be tried: {why}. Set TACIT_MODELS to the folder of NAME.onnx and "
                "NAME.samples.npz, and TACIT_DATA to that of mnist/"
            )
    rows = [accuracy(name, args.accuracy) for name in asked]
    others = [name for name in ACCURACY if args.networks is None and name not in asked]
    note = "\n".join(f"not tried: {name}, since {missing(name)}" for name in others)
    finish(args, rows, "Falcon: accuracy", [accuracy_table(rows)], note)


def accuracy_table(rows: list[dict[str, Any]]) -> Table:
    """Per cent of images right and the relative error, on paper and here."""
    table = Table(title="Falcon: accuracy, %", box=box.SIMPLE, padding=0, pad_edge=False)
    table.add_column("network")
    names = ("float", "private", "error")
    for column in (f"{name}\n{whose}" for name in names for whose in ("paper", "ours")):
        table.add_column(column, justify="right", min_width=7)
    table.add_column("images", justify="right", min_width=7)
    for row in rows:
        pairs = ((row[whose][name], name) for name in names for whose in ("paper", "ours"))
        cells = (f"{value:.3f}" if name == "error" else f"{value:.2f}" for value, name in pairs)
        table.add_row(row["network"], *cells, str(row["images"]))
    return table


def traffic(args: argparse.Namespace) -> None:
    """`tacit tables sirnn`: a paper's bytes beside what runs meter."""
    outputs.check([args.json, args.html])
    rows = sirnn(
        args.ops,
        args.transfers,
        n=args.n,
        observe=lambda row: out.print(f"{row['op']}, {row['transfers']}", style="dim"),
    )
    note = (
        "Bytes that both parties together send for an instance, metered, over the 32-bit ring; "
        "functions of 16 bits, 12 of them fraction. The paper's are stated or by the formulas of "
        "its building blocks, with 128 bits a transfer as iknp has them; its functions have 16 "
        f"bits. matmul: two matrices of {SIDE} x {SIDE}; conv: an image. Of few transfers silent "
        "ones are softspoken's, which cost less."
    )
    finish(args, rows, "SiRnn: bytes of each operation", [traffic_table(rows)], note)


def traffic_table(rows: list[dict[str, Any]]) -> Table:
    """Bytes on paper and as metered."""
    table = Table(title="SiRnn: bytes of an instance", box=box.SIMPLE, padding=0, pad_edge=False)
    words = ("operation", "transfers")
    figures = ("paper", "formula", "offline", "online", "sum", "rounds")
    for column in (*words, *figures):
        justify, width = ("left", 10) if column in words else ("right", 7)
        table.add_column(column, justify=justify, min_width=width)
    for row in rows:
        cells = ("-" if row[name] is None else f"{row[name]:,.0f}" for name in figures)
        table.add_row(row["op"], row["transfers"], *cells)
    return table


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
