"""The options that only some protocols have, as the protocols themselves declare them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from typing import Any

from . import _tacit


@dataclass(frozen=True)
class Option:
    """An option that some protocols have.

    Attributes
    ----------
    key : str
        Its name in Python and in config files; its flag is named alike.
    does : str
        What it does.
    of : dict of str to list of str
        The names of its values by protocol, the default first; none if it is a whole number.
    """

    key: str
    does: str
    of: dict[str, list[str]]

    @property
    def protocols(self) -> str:
        """The protocols that have it, in words."""
        return " and ".join(self.of)

    @property
    def choices(self) -> list[str] | None:
        """The names that any protocol has for its values."""
        return list(dict.fromkeys(name for names in self.of.values() for name in names)) or None

    @property
    def help(self) -> str:
        """What the option does, its default, and each protocol's values if they differ."""
        if not self.choices:
            return self.does
        told = [f"default: {self.choices[0]}"]
        if any(names != self.choices for names in self.of.values()):
            told = [f"{protocol}: {', '.join(names)}" for protocol, names in self.of.items()] + told
        return f"{self.does} ({'; '.join(told)})"


def _options(protocols: dict[str, list[dict[str, Any]]]) -> dict[str, Option]:
    """The options of all protocols by their keys."""
    found: dict[str, Option] = {}
    for protocol, options in protocols.items():
        for option in options:
            known = found.setdefault(option["key"], Option(option["key"], option["help"], {}))
            known.of[protocol] = option["choices"]
    return found


_ALL = dict(json.loads(_tacit.protocols()))

PROTOCOLS = list(_ALL)
"""The names of the protocols; the first is the default."""

OPTIONS = _options(_ALL)
"""The options by their keys."""


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Tells of the options in the signature and the documentation of a function that takes them."""
    plain, told = signature(function), [getdoc(function) or ""]
    parameters = list(plain.parameters.values())[:-1]
    for option in OPTIONS.values():
        kind = "str | None" if option.choices else "int | None"
        own = Parameter(option.key, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        parameters.append(own)
        values = f", one of {', '.join(option.choices)}" if option.choices else ""
        text = textwrap.wrap(f"Of {option.protocols}{values}: {option.help}.", 92)
        told += [option.key, *(f"    {line}" for line in text)]
    function.__signature__ = plain.replace(parameters=parameters)
    function.__doc__ = "\n".join(told)
    return function


def check_options(function: str, given: dict[str, Any]) -> None:
    """Refuses what is no protocol's option, as Python refuses an argument that is not there."""
    for name in given:
        if name not in OPTIONS:
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}; the protocols' options "
                f"are {', '.join(OPTIONS)}"
            )
