"""Reads the rows of tables, some at a time."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import isnan
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from .._tacit import TacitError
from ..data import room
from .files import open_bytes, reading
from .schema import number
from .source import extra

CELLS = 1 << 20
"""How many cells are held at a time, or the characters of so many usual ones."""

LINE = 4 << 20
"""Characters of the longest line."""

Part = tuple[list[int], list[list[Any]]]
"""Numbers of some rows, and the cells of each column in them."""


@dataclass(frozen=True)
class Table:
    """A table in a file: the names of its columns, and its rows as often as asked for."""

    file: Path
    names: list[str]
    parts: Callable[[], Iterator[Part]]


def open_csv(file: Path, header: str) -> Table:
    """A CSV file, gzipped or not; `header` is `auto`, `yes` or `no`.

    Rows are numbered as a spreadsheet does, the header being row 1.
    """
    first = next(_records(file), None)
    if first is None:
        raise TacitError(f"{file} is empty: a table has rows")
    cells = first[1]
    if len(cells) == 1:
        raise TacitError(f"{file} has one column: separate cells by commas, items and label")
    texts = bool(np.isnan([*map(number, cells)]).all())
    named = header == "yes" or (header == "auto" and texts)
    names = [(cell if named else "") or str(i) for i, cell in enumerate(cells)]
    _check_names(file, names)
    return Table(file, names, lambda: _csv_parts(file, len(cells), named))


def _csv_parts(file: Path, width: int, named: bool) -> Iterator[Part]:
    records = islice(_records(file), int(named), None)
    for some in _batches(records):
        for row, cells in some:
            if len(cells) != width:
                raise TacitError(
                    f"{file}, row {row}: {len(cells)} cells instead of {width}; "
                    "put text that has commas in quotes"
                )
        columns = zip(*(cells for _, cells in some), strict=True)
        yield [row for row, _ in some], [list(column) for column in columns]


def _batches(records: Iterator[tuple[int, list[str]]]) -> Iterator[list[tuple[int, list[str]]]]:
    """Rows together, as many as are held at a time: few where texts are long."""
    some: list[tuple[int, list[str]]] = []
    size = 0
    for row, cells in records:
        some.append((row, cells))
        size += len(cells) + sum(map(len, cells)) // 16
        if size >= CELLS:
            yield some
            some, size = [], 0
    if some:
        yield some


def _records(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, with their numbers."""
    with reading(file, "a CSV table in UTF-8"), open_bytes(file) as stream:
        text = io.TextIOWrapper(cast(IO[bytes], stream), encoding="utf-8-sig", newline="")
        reader = csv.reader(_lines(file, text), skipinitialspace=True, strict=True)
        for row, cells in enumerate(reader, 1):
            if cells:
                yield row, [*map(str.strip, cells)]


def _lines(file: Path, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines, as many as the file may hold, none of which fills the memory."""
    left = room(file)
    while line := text.readline(LINE):
        left -= len(line)
        if len(line) == LINE or left < 0:
            raise TacitError(f"{file} is no table: it has a line of more than {LINE:,} characters, "
                             f"or unpacks to more than {room(file):,}")  # fmt: skip
        yield line


def open_parquet(file: Path) -> Table:
    """A Parquet file of numbers and texts; rows are numbered from 1."""
    parquet = extra("pyarrow.parquet", "reading Parquet files", "parquet")
    with reading(file, "a Parquet table"):
        held = parquet.ParquetFile(file)
    meta = held.metadata
    size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if max(size, meta.num_rows * meta.num_columns) > room(file):
        raise TacitError(f"{file} unpacks to {meta.num_rows:,} rows and {size:,} bytes: too many")
    names = held.schema_arrow.names
    _check_names(file, names)
    for field in held.schema_arrow:
        _check_type(file, field)
    return Table(file, names, lambda: _parquet_parts(file, held, len(names)))


def _parquet_parts(file: Path, held: Any, width: int) -> Iterator[Part]:
    first = 1
    with reading(file, "a Parquet table"):
        for batch in held.iter_batches(max(1, CELLS // width)):
            columns = [[*map(_cell, column.to_pylist())] for column in batch.columns]
            yield list(range(first, first + batch.num_rows)), columns
            first += batch.num_rows


def _cell(value: Any) -> Any:
    """A cell of a Parquet file as one of a CSV file: 0 and 1, and nothing for NaN."""
    if isinstance(value, bool):
        return int(value)
    return None if isinstance(value, float) and isnan(value) else value


def _check_type(file: Path, field: Any) -> None:
    """Refuses columns of dates, lists and other things that are no numbers or texts."""
    types = extra("pyarrow", "reading Parquet files", "parquet").types
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    checks = ("boolean", "integer", "floating", "string", "large_string", "null")
    if not any(getattr(types, f"is_{check}")(kind) for check in checks):
        raise TacitError(
            f"{file}: column {field.name!r} holds {field.type}; "
            "make it numbers or texts before, or leave it out of the file"
        )


def _check_names(file: Path, names: list[str]) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise TacitError(
            f"{file} has {times} columns {name!r}: give each a name of its own, "
            "or say header=no if the first row is no header"
        )
