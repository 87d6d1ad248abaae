"""`tacit cert`: certificates, as people compare them, and how a party takes a new one."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from .console import out
from .visible import visible


def add_cert(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds `tacit cert` to the `tacit` command."""
    made = command("cert", cert, "show certificates, and change a party's without stopping others")
    add = made.add_argument
    add(
        "what",
        choices=("show", "renew", "rotate", "accept", "switch", "drop"),
        help="show: name, fingerprint, validity of files; renew: a new certificate for the same "
        "key; rotate: a new key, too; accept: another party's new certificate beside its old one; "
        "switch: use the new one, once all others accept it; drop: another party's old one",
    )
    add("path", nargs="*", metavar="PATH", help="such as cert.pem; of show and accept")
    add("--config", metavar="PARTY.toml", help="of this party; for all but show")
    add("--party", type=int, metavar="N", help="whose certificate it is; of accept and drop")
    add("--fingerprint", metavar="HEX", help="accept no other, as its owner read it out")
    add("--days", type=int, default=365, metavar="N", help="how long a new one is valid")


def cert(args: argparse.Namespace) -> None:
    """`tacit cert`: what was asked for."""
    from .operating import rotation  # noqa: PLC0415

    for line in rotation.act(args):
        out.print(visible(line), markup=False, soft_wrap=True)
