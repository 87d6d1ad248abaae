"""Types of the command line's arguments."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any, NoReturn

from rich.markup import escape

from . import console

MISSING = "the following arguments are required: "


class Parser(argparse.ArgumentParser):
    """A parser whose errors begin with what is wrong and say what to do."""

    def error(self, message: str) -> NoReturn:
        """Ends the program with exit code 2."""
        absent = message.removeprefix(MISSING)
        if absent != message:
            message = f"{self._named(absent)} is missing"
        console.err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
        console.err.print(f"usage: {self.prog} --help says what it takes", soft_wrap=True)
        raise SystemExit(2)

    def _named(self, absent: str) -> str:
        """What is absent, with what could stand there where that is a word of a few."""
        for action in self._actions:
            if action.metavar == absent and action.choices:
                return f"{absent} ({', '.join(action.choices)})"
        return absent


def dimension(text: str) -> tuple[str, int]:
    """Parses `name=value`."""
    name, _, value = text.partition("=")
    if not name or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value, such as seq=48")
    return name, int(value)


MOST_COUNTED = 1 << 20
"""The most numbers that `first:end` may stand for."""


def constant(text: str) -> tuple[str, float | list[float]]:
    """Parses `name=number`, `name=number,number...` and `name=first:end`."""
    name, _, value = text.partition("=")
    first, counts, end = value.partition(":")
    try:
        if counts and int(end) - int(first) <= MOST_COUNTED:
            numbers = [float(number) for number in range(int(first), int(end))]
        else:
            numbers = [float(number) for number in value.split(",")]
    except ValueError:
        numbers = []
    if not name or not numbers or not all(map(math.isfinite, numbers)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not name=number, such as sr=16000, or several, as at=0,1,2 or at=0:3"
        )
    return name, numbers if counts or len(numbers) > 1 else numbers[0]


class Dimensions(argparse.Action):
    """Collects `name=value`; a name has one value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Adds one to those so far."""
        name, value = values
        known = dict(getattr(namespace, self.dest))
        if known.setdefault(name, value) != value:
            raise argparse.ArgumentError(
                self, f"{name!r} is to be {known[name]} and {value}; give it once"
            )
        setattr(namespace, self.dest, known)


def names(text: str) -> list[str]:
    """Parses `first,second`."""
    found = text.split(",")
    if "" in found:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME,NAME with a name at every place")
    return found


def numbers(text: str) -> list[int]:
    """Parses `8,12,16..30` or, in steps, `4..30:2`; both ends of a range belong to it."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,4})(?:\.\.(\d{1,4})(?::(\d{1,4}))?)?", part.strip())
        if not match:
            raise argparse.ArgumentTypeError(
                f"{part!r} is no number or range of numbers; write 13, 4..30, 4..30:2 or 8,13,26"
            )
        low = int(match[1])
        high, step = int(match[2] or low), int(match[3] or 1)
        if high < low or step == 0:
            raise argparse.ArgumentTypeError(f"{part!r} is an empty range; write the smaller first")
        found.extend(range(low, high + 1, step))
    return found


def whole(text: str) -> int:
    """Parses a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def real(text: str) -> float:
    """Parses a number; it is judged where it is used."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def positive(text: str) -> int:
    """Parses a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def add_dimensions(command: argparse.ArgumentParser) -> None:
    """The option of a model that has symbolic dimensions."""
    command.add_argument(
        "--dim",
        type=dimension,
        action=Dimensions,
        default={},
        metavar="NAME=VALUE",
        help="the value of a symbolic dimension; 0 leaves out the inputs that have it",
    )


def add_page(command: argparse.ArgumentParser) -> None:
    """The option of whatever can show its result as a page."""
    command.add_argument(
        "--html", metavar="FILE", help="write a page to show here: one file, nothing else needed"
    )


def add_fixed(command: argparse.ArgumentParser) -> None:
    """The option of a model that has inputs which every party knows."""
    command.add_argument(
        "--fix",
        type=constant,
        action=Dimensions,
        default={},
        metavar="NAME=NUMBER",
        help="an input that every party knows: this number everywhere, or 0,1,2 or 0:3 in an item",
    )
