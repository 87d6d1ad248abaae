"""Says where a data set lies and how to read it: `KIND:PATH[:key=value,...]`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._tacit import TacitError
from ..errors import MissingPackageError


@dataclass(frozen=True)
class Source:
    """A data set's kind, where it lies, and options by name."""

    kind: str
    path: str
    options: dict[str, str]
    base: Path = Path()
    """The folder that relative paths start from."""

    @staticmethod
    def parse(text: str, kinds: Mapping[str, tuple[str, ...]], base: Path = Path()) -> Source:
        """Takes a source apart; `kinds` has the names of each kind's options."""
        kind, _, path = text.partition(":")
        if kind not in kinds:
            raise TacitError(f"{kind!r} is no kind of data: {', '.join(kinds)}, as in csv:FILE")
        before, _, after = path.rpartition(":")
        options: dict[str, str] = {}
        if before and "=" in after:
            path = before
            for option in after.split(","):
                key, _, value = option.partition("=")
                _check_option(kind, key, value, kinds[kind])
                options[key] = value
        if not path:
            raise TacitError(f"{text!r} names no file or folder: write {kind}:PATH")
        return Source(kind, path, options, base)

    def choice(self, key: str, *values: str) -> str:
        """The option `key`, which is one of `values`, the first when not given."""
        chosen = self.options.get(key, values[0])
        if chosen not in values:
            raise TacitError(f"{key}={chosen}: one of {', '.join(values)}")
        return chosen

    def listed(self, key: str) -> list[str]:
        """The option `key` of several values, written `ONE+TWO`."""
        return self.options[key].split("+") if key in self.options else []

    def count(self, key: str, most: int) -> int | None:
        """The option `key`, a whole number from 1 to `most`; None when not given."""
        if key not in self.options:
            return None
        text = self.options[key]
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise TacitError(f"{key}={text}: a whole number from 1 to {most}")
        return int(text)

    def file(self) -> Path:
        """The file that the source names."""
        return self.another(self.path)

    def another(self, path: str) -> Path:
        """Where a file lies that the source names by this path."""
        return find_file(path, self.base)

    def folder(self) -> Path:
        """The folder that the source names."""
        found = find(self.path, self.base)
        if not found.is_dir():
            raise TacitError(
                f"{found} is no folder: {self.kind}:PATH names the folder of the files"
            )
        return found


def _check_option(kind: str, key: str, value: str, known: tuple[str, ...]) -> None:
    if key not in known:
        can = ", ".join(known)
        raise TacitError(f"{key!r} is no option of {kind}: {can or 'it has none'}")
    if not value:
        raise TacitError(f"the option {key!r} has no value: write {key}=VALUE")


def find(path: str, base: Path = Path()) -> Path:
    """Where a path lies: seen from `base`, else in `$TACIT_DATA`."""
    given = Path(path).expanduser()
    here = base / given
    data = os.environ.get("TACIT_DATA")
    places = [here, Path(data) / given] if data and not given.is_absolute() else [here]
    for place in places:
        try:
            if place.exists():
                return place
        except OSError as error:
            raise TacitError(f"{place}: {error.strerror}") from None
    looked = " nor ".join(map(str, places))
    hint = "" if data else "; $TACIT_DATA can name the folder of your data sets"
    raise TacitError(f"no such file or folder: {looked}{hint}")


def find_file(path: str, base: Path = Path()) -> Path:
    """Where a file lies: seen from `base`, else in `$TACIT_DATA`."""
    found = find(path, base)
    if not found.is_file():
        raise TacitError(f"{found} is no file: name the file itself")
    return found


def extra(module: str, wanted_for: str, name: str) -> Any:
    """Imports what only the optional extra `name` installs."""
    try:
        return importlib.import_module(module)
    except ImportError:
        told = f"{wanted_for} needs `pip install tacit[{name}]`"
        raise MissingPackageError(told, extra=name) from None
