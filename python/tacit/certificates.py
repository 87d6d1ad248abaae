"""`tacit cert`: certificates, as people compare them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import _tacit
from .console import out


def add_cert(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command."""
    made = command("cert", show, "show what tells a party's certificate from any other")
    made.add_argument("what", choices=("show",), help="show: name, fingerprint, validity")
    made.add_argument("path", nargs="+", metavar="PATH", help="such as cert.pem")


def show(args: argparse.Namespace) -> None:
    """Prints the name, the fingerprint and the validity of certificates."""
    for path in args.path:
        name, fingerprint, period = _tacit.certificate(path)
        lines = [path, f"  name         {name or '(none)'}", f"  fingerprint  {fingerprint}"]
        if period:
            lines.append(f"  valid        {period[0]} to {period[1]}")
        for line in lines:
            out.print(line, markup=False, soft_wrap=True)
