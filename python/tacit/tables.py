"""`tacit tables`: what papers print beside runs of ours."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from . import _tacit
from .arguments import positive
from .console import out
from .paper_sirnn import SIDE, SIRNN, TRANSFERS, sirnn
from .papers import NETWORKS, SIZES, bicoptor2
from .report import paper_table


def add_tables(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The papers whose tables are printed."""
    made = command("tables", liu24, "print a paper's table beside runs of ours")
    papers = made.add_subparsers(dest="paper", required=True, metavar="PAPER")
    made = papers.add_parser("bicoptor2", help="Bicoptor 2.0: seconds of DReLU and ReLU")
    made.set_defaults(action=times)
    made.add_argument("--networks", nargs="+", choices=NETWORKS, default=[*NETWORKS])
    made.add_argument("--sizes", type=positive, nargs="+", default=[*SIZES], metavar="N")
    made.add_argument("--sharing", choices=("ubl", "rss"), default="ubl")
    made.add_argument("--repeat", type=positive, default=3, metavar="K", help="median of K runs")
    made.add_argument("--json", metavar="FILE", help="write the table here")
    made = papers.add_parser("liu24", help="Shamir between many parties: rounds and elements")
    made.set_defaults(action=liu24)
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
    made = papers.add_parser("sirnn", help="SiRnn between two parties: bytes of each operation")
    made.set_defaults(action=traffic)
    made.add_argument("--ops", nargs="+", choices=SIRNN, default=[*SIRNN])
    made.add_argument("--transfers", nargs="+", choices=TRANSFERS, default=[*TRANSFERS])
    made.add_argument("--n", type=positive, default=10_000, metavar="N", help="instances of each")
    made.add_argument("--json", metavar="FILE", help="write the table here")


def liu24(args: argparse.Namespace) -> None:
    """`tacit tables liu24`: a paper's table beside what runs meter."""
    table = json.loads(_tacit.tables_liu24(args.parties, args.field))
    if args.json:
        Path(args.json).write_text(json.dumps(table, indent=2))
    out.print(paper_table(table))
    out.print(table["note"])


def times(args: argparse.Namespace) -> None:
    """`tacit tables bicoptor2`: a paper's times beside ours."""
    out.print("Bicoptor 2.0, Tables 6 and 7: P-Falcon / Bicoptor 2.0 as printed, and here")
    rows = bicoptor2(
        args.networks,
        args.sizes,
        sharing=args.sharing,
        repeat=args.repeat,
        observe=lambda row: out.print(f"{row['op']}, {row['network']}, {row['n']:,}", style="dim"),
    )
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2))
    out.print(times_table(rows))
    out.print(
        "Seconds; ours are medians over 64 bits at 7 key bits, all parties on this machine, on "
        "emulated networks: online / with the offline phase, which the paper's Falcon lacks."
    )


def times_table(rows: list[dict[str, Any]]) -> Table:
    """Seconds on paper and here, and how many times faster Bicoptor is than Falcon."""
    table = Table(box=box.SIMPLE, padding=0, pad_edge=False)
    for column in ("", "network", "n", "paper", "Falcon", "Bicoptor", "faster"):
        table.add_column(column, justify="left" if column in ("", "network") else "right")
    for row in rows:
        pairs = [("paper_falcon", "paper_bicoptor")]
        pairs += [(f"{name}_online", f"{name}_sum") for name in ("falcon", "bicoptor")]
        cells = [" / ".join(_seconds(row[key]) for key in pair) for pair in pairs]
        faster = f"{row['online_ratio']:.1f} / {row['sum_ratio']:.1f}"
        table.add_row(row["op"], row["network"], f"{row['n']:,}", *cells, faster)
    return table


def traffic(args: argparse.Namespace) -> None:
    """`tacit tables sirnn`: a paper's bytes beside what runs meter."""
    rows = sirnn(
        args.ops,
        args.transfers,
        n=args.n,
        observe=lambda row: out.print(f"{row['op']}, {row['transfers']}", style="dim"),
    )
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2))
    out.print(traffic_table(rows))
    out.print(
        "Bytes that both parties together send for an instance, metered, over the 32-bit ring; "
        "functions of 16 bits, 12 of them fraction. The paper's are stated or by the formulas of "
        "its building blocks, with 128 bits a transfer as iknp has them; its functions have 16 "
        f"bits. matmul: two matrices of {SIDE} x {SIDE}; conv: an image. Of few transfers silent "
        "ones are softspoken's, which cost less."
    )


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


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
