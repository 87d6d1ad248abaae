"""Data sets of tables: CSV and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._tacit import TacitError
from .dataset import MOST_CLASSES, Dataset
from .rows import Table, open_csv, open_parquet
from .schema import Column, Schema, Seen, number, numbers
from .source import Source

SIZE = 1 << 30
"""Bytes of the numbers of the largest table: categories make many of a short file."""


def load(source: Source, what: str, schema: Schema | None) -> Dataset:
    """A table, encoded as its own columns teach, or as `schema` or the file of `train=` says."""
    table = _open(source, source.file())
    if what == "train" and "train" in source.options:
        raise TacitError(
            f"{table.file}: train= says how a test file is encoded, and this is to train"
        )
    if schema is None:
        schema = learn(table if what == "train" else _train_table(source), source)
    _check_columns(table, schema)
    if _named(table, source.options.get("label", schema.label.name)) != schema.label.name:
        raise TacitError(f"{table.file}: the schema's label is {schema.label.name!r}")
    x, y = encode(table, schema)
    names = schema.label.categories
    if names is None:
        return Dataset(x, y, schema=schema)
    return Dataset(x, y, len(names), list(names), schema)


def _open(source: Source, file: Path) -> Table:
    if source.kind == "parquet":
        return open_parquet(file)
    return open_csv(file, source.choice("header", "auto", "yes", "no"))


def _train_table(source: Source) -> Table:
    """The table whose schema a test table is to have."""
    if "train" not in source.options:
        raise TacitError(
            f"{source.path} must be encoded as the train file is: give "
            "schema=train_set.schema, or name that file with the option train=FILE"
        )
    return _open(source, source.another(source.options["train"]))


def learn(table: Table, source: Source) -> Schema:
    """What the columns hold: numbers, or which texts."""
    if "label" not in source.options:
        raise TacitError(f"{table.file}: say which column to learn with label=NAME or its number")
    label = _named(table, source.options["label"])
    texts = {_named(table, name) for name in source.listed("text")}
    dropped = {_named(table, name) for name in source.listed("drop")}
    used = [name for name in table.names if name not in dropped]
    if label in dropped or used == [label]:
        raise TacitError(f"{table.file}: drop= leaves no label, or nothing to learn it from")
    seen = _look(table, used)
    normalise = source.choice("normalise", "no", "yes") == "yes"
    regression = source.choice("task", "classes", "regression") == "regression"
    target = _label(table.file, seen[label], regression)
    columns = [
        _column(table.file, seen[name], name in texts, normalise) for name in used if name != label
    ]
    return Schema(tuple(columns), target, tuple(name for name in table.names if name in dropped))


def _named(table: Table, name: str) -> str:
    """The column of a name, or of a number from 0, or from -1 backwards."""
    if name in table.names:
        return name
    try:
        return table.names[int(name)]
    except (ValueError, IndexError):
        raise TacitError(
            f"{table.file} has no column {name!r}; it has {_some(table.names)}; "
            "without a header they are numbered from 0"
        ) from None


def _some(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown


def _look(table: Table, used: list[str]) -> dict[str, Seen]:
    """What the columns of a table show."""
    seen = {name: Seen(name, MOST_CLASSES) for name in used}
    empty = True
    for rows, columns in table.parts():
        empty = False
        for name, cells in zip(table.names, columns, strict=True):
            if name in seen:
                _check_missing(table.file, name, rows, cells)
                seen[name].add(rows, cells)
    if empty:
        raise TacitError(f"{table.file} has a header and no rows")
    return seen


def _column(file: Path, seen: Seen, text: bool, normalise: bool) -> Column:
    """A column of items: numbers if most cells are and `text` does not say otherwise."""
    if not text and seen.numbers > seen.others:
        _check_numbers(file, seen)
        return Column(seen.name, None, *((seen.mean, seen.std) if normalise else ()))
    if len(seen.texts) > MOST_CLASSES:
        raise TacitError(
            f"{file}: column {seen.name!r} has more than {MOST_CLASSES} different texts; "
            f"leave it out with drop={seen.name}, or make numbers of it"
        )
    return Column(seen.name, tuple(sorted(seen.texts)))


def _label(file: Path, seen: Seen, regression: bool) -> Column:
    """The label: its categories are numbers in order where all cells are numbers."""
    if regression:
        _check_numbers(file, seen)
        return Column(seen.name)
    fractions = not seen.others and any(number(text) % 1 for text in seen.texts)
    if len(seen.texts) > MOST_CLASSES or fractions:
        raise TacitError(
            f"{file}: the label {seen.name!r} has fractions, or more than {MOST_CLASSES} "
            "different values; values instead of classes need task=regression"
        )
    if seen.others:
        return Column(seen.name, tuple(sorted(seen.texts)))
    values = sorted({int(float(text)) for text in seen.texts})
    return Column(seen.name, tuple(map(str, values)))


def _check_numbers(file: Path, seen: Seen) -> None:
    if seen.other:
        row, cell = seen.other
        raise TacitError(
            f"{file}, row {row}, column {seen.name!r}: {_shown(cell)} is no number, as most of "
            f"the column are; fill it in, or say text={seen.name} to take all of it as texts"
        )


def _check_missing(file: Path, name: str, rows: list[int], cells: list[Any]) -> None:
    at = min((cells.index(empty) for empty in (None, "") if empty in cells), default=None)
    if at is not None:
        raise TacitError(
            f"{file}, row {rows[at]}, column {name!r}: the cell is empty; "
            f"fill it in, delete the row, or leave the column out with drop={name}"
        )


def _shown(cell: Any) -> str:
    text = str(cell)
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _check_columns(table: Table, schema: Schema) -> None:
    """Refuses a table whose columns are not those that the schema was learnt from."""
    known = {column.name for column in (*schema.columns, schema.label)}
    lacking = known - set(table.names)
    more = [name for name in table.names if name not in known | {*schema.dropped}]
    for names, what in ((sorted(lacking), "lacks"), (more, "has more than the train file:")):
        if names:
            raise TacitError(
                f"{table.file} {what} column {_some(names)}; both files need the same columns, "
                "with a header (header=yes) or without (header=no)"
            )


def encode(table: Table, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """The items and labels of a table."""
    columns = {column.name: column for column in (*schema.columns, schema.label)}
    items: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    size = 0
    for rows, cells in table.parts():
        held = dict(zip(table.names, cells, strict=True))
        for name in columns:
            _check_missing(table.file, name, rows, held[name])
        size += 4 * schema.width * len(rows)
        if size > SIZE:
            raise TacitError(f"{table.file} is too large: {schema.width:,} numbers for each row, "
                             "more than 1 GiB in all; drop= leaves columns out")  # fmt: skip
        items.append(_items(table.file, schema, rows, held))
        label = held[schema.label.name]
        if schema.label.categories is None:
            labels.append(_numbers(table.file, schema.label, rows, label))
        else:
            labels.append(_codes(table.file, schema.label, rows, label))
    if not items:
        raise TacitError(f"{table.file} has a header and no rows")
    return np.concatenate(items), np.concatenate(labels)


def _items(file: Path, schema: Schema, rows: list[int], held: dict[str, list[Any]]) -> np.ndarray:
    x = np.zeros((len(rows), schema.width), np.float32)
    start = 0
    for column in schema.columns:
        cells = held[column.name]
        if column.categories is None:
            x[:, start] = _numbers(file, column, rows, cells)
        else:
            x[np.arange(len(rows)), start + _codes(file, column, rows, cells)] = 1
        start += column.width
    return x


def _numbers(file: Path, column: Column, rows: list[int], cells: list[Any]) -> np.ndarray:
    """The numbers of a column, normalised, as float32."""
    with np.errstate(over="ignore"):
        single = ((numbers(cells) - column.mean) / column.std).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(single))
    if len(wrong):
        raise TacitError(
            f"{file}, row {rows[wrong[0]]}, column {column.name!r}: {_shown(cells[wrong[0]])} "
            "is no number that float32 can hold"
        )
    return single


def _codes(file: Path, column: Column, rows: list[int], cells: list[Any]) -> np.ndarray:
    """Which category each cell of a column is."""
    known = column.categories or ()
    codes = {category: i for i, category in enumerate(known)}
    found = [codes.get(str(cell)) for cell in cells]
    if None in found:
        found = [
            _code_of_number(codes, cell) if code is None else code
            for cell, code in zip(cells, found, strict=True)
        ]
    if None in found:
        at = found.index(None)
        raise TacitError(
            f"{file}, row {rows[at]}, column {column.name!r}: {_shown(cells[at])} is not in the "
            f"train file, which has {_some(known)}; write it as there, or add it there"
        )
    return np.array(found, np.int64)


def _code_of_number(codes: dict[str, int], cell: Any) -> int | None:
    """The class 1 may be written 1.0."""
    value = number(cell)
    return codes.get(str(int(value))) if value.is_integer() else None


OPTIONS = ("label", "task", "normalise", "text", "drop", "train")
KINDS = {"csv": (load, (*OPTIONS, "header")), "parquet": (load, OPTIONS)}
