"""Kinds of errors, each with its parts as fields beside the words.

All are a :class:`tacit.TacitError`, whose words say what is wrong and what to do next. What the
parties find out in a run is a plain one.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ._tacit import TacitError

__all__ = [
    "CompileError",
    "FileError",
    "InputError",
    "MissingPackageError",
    "ServiceError",
    "TacitError",
]


Kind = TypeVar("Kind", bound=TacitError)

PARTS = ("party", "step", "layer")
"""Attributes of every error beside its code and its words."""


def of_kind(kind: type[Kind], error: TacitError, **parts: Any) -> Kind:
    """An error of this kind with the words and parts of another, and its code if it has one."""
    made = kind(str(error), **parts)
    if error.code != TacitError.code:
        made.code = error.code
    for part in PARTS:
        setattr(made, part, getattr(error, part))
    return made


class InputError(TacitError):
    """What was given to predict or to train with cannot be used. No value of it is told.

    Attributes
    ----------
    input : str or None
        The name of the model's input, or `labels`, `samples`, `items`, `targets`; None where the
        model has one input, or what is wrong is of no single one.
    column : str or None
        The column of a data frame.
    item : int or None
        The number of the item, or of the batch of an iterable, from 0 on.
    position : tuple of int or None
        The place within the item.
    """

    code = "input-error"

    def __init__(
        self,
        words: str,
        *,
        input: str | None = None,
        column: str | None = None,
        item: int | None = None,
        position: tuple[int, ...] | None = None,
    ):
        super().__init__(words)
        self.input = input
        self.column = column
        self.item = item
        self.position = position


class CompileError(TacitError):
    """A model cannot be imported or planned as it was asked for.

    Attributes
    ----------
    model : str or None
        The path of its file; None of one that was no file.
    """

    code = "compile-error"

    def __init__(self, words: str, *, model: str | None = None):
        super().__init__(words)
        self.model = model


class FileError(TacitError):
    """A file of data is not there, or is not what it should be.

    Attributes
    ----------
    source : str or None
        What was to be read, as it was given.
    """

    code = "file-error"

    def __init__(self, words: str, *, source: str | None = None):
        super().__init__(words)
        self.source = source


class MissingPackageError(TacitError, ImportError):
    """A package that only some need is not installed.

    Attributes
    ----------
    extra : str or None
        Installed by `pip install tacit[EXTRA]`.
    """

    code = "missing-package"

    def __init__(self, words: str, *, extra: str | None = None):
        super().__init__(words)
        self.extra = extra


class ServiceError(TacitError):
    """A service does not answer, or its parties' answers do not fit together.

    Attributes
    ----------
    address : str or None
        That of the party that it is about.
    code : str
        Why in a word, such as `busy`, `budget`, `unknown-client`, `inconsistent`, `mixed`.
    """

    def __init__(self, words: str, *, address: str | None = None, code: str = "service"):
        super().__init__(words)
        self.address = address
        self.code = code
