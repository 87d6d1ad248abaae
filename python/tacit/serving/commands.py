"""The commands of a service: `tacit serve`, `tacit predict`, `tacit audit`."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shlex
from collections.abc import Callable
from pathlib import Path

from .. import outputs
from .._tacit import TacitError
from ..arguments import real
from ..connecting import connect
from ..console import Voice, out
from ..data import load_inputs
from ..errors import FileError
from ..operating.members import Source, place, secret
from .budgets import own
from .needs import need


def add_serving(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the commands of services to the `tacit` command."""
    made = command("serve", serve, "serve models with other organisations, until told to stop")
    made.add_argument("--config", required=True, metavar="SERVE.toml", help="see docs/operator.md")
    # Signals let it drain first.
    made.set_defaults(ends_soon=False)

    made = command("predict", predict, "ask a service, without being one of its parties")
    add = made.add_argument
    add("model", metavar="MODEL", help="the name of a model that is served")
    add("--party", action="append", required=True, metavar="URL", help="once for every party")
    add("--input", required=True, metavar="X.npy", help=".npy, .npz or .npz:NAME")
    add("--output", metavar="OUT.npy", help="write the answers here; .npz of several outputs")
    add("--version", metavar="V", dest="model_version", help="of the model")
    add("--digest", metavar="HEX", help="accept no other plan than this")
    for flag, metavar, kind, words in (
        (
            "--key-file",
            "FILE",
            str,
            "the API key; once for all parties, or for each in their order",
        ),
        ("--key-env", "NAME", of_variable, "instead: a variable of the environment that holds it"),
        ("--key-command", "COMMAND", of_command, "instead: what it writes to its standard output"),
    ):
        add(flag, type=kind, dest="keys", action="append", metavar=metavar, help=words)
    add(
        "--certificate",
        action="append",
        metavar="PEM",
        help="a certificate to trust beside this machine's, such as a party's own",
    )
    add("--client-certificate", metavar="PEM", help="that the parties know this client by")
    add("--client-key", metavar="PEM", help="of the client's certificate")
    add("--timeout", type=real, default=60.0, metavar="S", help="with all that is tried again")

    made = command("key", key, "make an API key for a client of a service")
    made.add_argument("file", metavar="FILE", help="that holds it then, for the client alone")
    made.add_argument(
        "--config", metavar="SERVE.toml", help="of this party, if it has service.key_salt"
    )

    made = command("audit", audit, "check the audit log of a service")
    made.add_argument("what", choices=("verify",), help="verify: find the first line that is false")
    made.add_argument("file", metavar="FILE")
    made.add_argument(
        "--certificate", action="append", metavar="PEM", help="of the party; of all that it had"
    )
    made.add_argument(
        "--kept", metavar="HASH", help="of a line that was there before, and must be there still"
    )


def serve(args: argparse.Namespace) -> None:
    """`tacit serve`: this organisation's party of a service."""
    need("serve", "tacit serve")
    from .serve import Party  # noqa: PLC0415
    from .serve import serve as run  # noqa: PLC0415

    level = "error" if Voice.quiet else "debug" if args.verbose else "info"
    asyncio.run(run(Party(str(Path(args.config).resolve()), level)))


def predict(args: argparse.Namespace) -> None:
    """`tacit predict`: shares inputs among the parties of a service, and shows the answers."""
    outputs.check([args.output], [args.input])
    x = load_inputs(args.input)
    keys = [read_key(source) for source in args.keys or ()]
    given = {"key": keys[0]} if len(keys) == 1 else {"keys": keys} if keys else {}
    if bool(args.client_certificate) != bool(args.client_key):
        raise TacitError("--client-certificate and --client-key belong together: give both")
    identity = (args.client_certificate, args.client_key) if args.client_key else None
    more = {"certificates": args.certificate, "timeout": args.timeout, "identity": identity}
    with connect(args.party, **more, **given) as service:  # type: ignore[arg-type]
        found = service.predict(args.model, x, args.model_version, digest=args.digest)
    try:
        if args.output:
            if len(found.outputs) > 1 and Path(args.output).suffix != ".npz":
                raise TacitError(f"{args.output}: the model has several outputs; name an .npz file")
            outputs.write([(args.output, outputs.arrays(args.output, found.outputs))])
    finally:
        out.print(found)


def key(args: argparse.Namespace) -> None:
    """`tacit key`: a key in a new file, and what the party's config has of it."""
    from .policy import key_hash, salt_of  # noqa: PLC0415
    from .service import read_config  # noqa: PLC0415

    salt = salt_of(read_config(args.config)["service"]) if args.config else None
    made = secrets.token_hex(32)
    with open(args.file, "x", encoding="ascii", opener=own) as file:
        file.write(made + "\n")
    out.print(f'key_sha256 = "{key_hash(made, salt).hex()}"', markup=False, soft_wrap=True)


def audit(args: argparse.Namespace) -> None:
    """`tacit audit verify`: whether an audit log holds, and how far it is signed."""
    from .audit_check import check, public_keys  # noqa: PLC0415

    keys = {}
    if args.certificate:
        need("serve", "checking signatures")
        keys = public_keys([Path(path) for path in args.certificate])
    held = check(Path(args.file), keys, args.kept)
    lines = [f"{args.file}: {held.lines} lines hold", f"  last hash  {held.last}"]
    if keys:
        open_lines = held.lines - held.signed
        lines.append(f"  signed     to line {held.signed}, by {held.signatures} signatures")
        if open_lines:
            lines.append(
                f"  not signed the last {open_lines}: who writes the file could alter them"
            )
    if held.unchecked:
        told = f"{held.unchecked} signatures of other keys were not checked; give --certificate"
        lines.append(f"  {told}")
    if held.seen is not None:
        lines.append(f"  kept       the hash that was kept is that of line {held.seen}")
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)


def of_variable(name: str) -> Source:
    """A secret that a variable of the environment holds."""
    return {"env": name}


def of_command(words: str) -> Source:
    """A secret that a command writes, whose words are as a shell reads them; no shell runs it."""
    try:
        return {"command": shlex.split(words)}
    except ValueError:
        raise argparse.ArgumentTypeError("a quotation in it has no end") from None


def read_key(source: Source) -> str:
    """The API key of a source: its only line."""
    if isinstance(source, str):
        text = Path(source).read_bytes()
    else:
        text = secret(source, "--key-env" if "env" in source else "--key-command")
    key = text.decode("latin-1").strip()
    if not key or any(not 0x21 <= ord(c) <= 0x7E for c in key):
        where = place(source)
        if isinstance(source, str):
            raise FileError(f"{where} is no file of one key", source=where)
        raise TacitError(f"{where} gives no single key")
    return key
