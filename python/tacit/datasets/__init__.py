"""Data sets to train and test on, from files of the usual formats.

>>> from tacit import datasets
>>> train = datasets.load("mnist:data/mnist", "train")
>>> train.x.shape, train.classes
((60000, 1, 28, 28), 10)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .._tacit import TacitError
from ..errors import FileError, of_kind
from . import arrays, images, tables
from .dataset import Dataset
from .schema import Column, Schema
from .source import Source

__all__ = ["Column", "Dataset", "Schema", "load"]

KINDS = {**images.KINDS, **arrays.KINDS, **tables.KINDS}


def load(
    source: str, what: str, *, schema: Schema | None = None, folder: str | Path = ""
) -> Dataset:
    """Reads a data set.

    Parameters
    ----------
    source
        `KIND:PATH` or `KIND:PATH:key=value,...`; a relative PATH that is not there from `folder` is
        looked for in `$TACIT_DATA`. The kinds:

        - `mnist`: a folder of IDX files with the official names (or `test8k-...`), gzipped or not;
        - `idx:IMAGES,LABELS`: any two IDX files of bytes;
        - `cifar10`: a folder with the binary version, the pack `train50k-jpeg.npz` or IDX files;
        - `tiny-imagenet`: the folder of tiny-imagenet-200, or of the pack of ten classes;
        - `csv`, `parquet`: a table, of which `label=` names a column;
        - `npz`: a file of arrays `x` and `y`, or `x_train`, `y_train`, `x_test` and `y_test`.

        `docs/data.md` has the options of each.
    what
        `train` or `test`: which files of a folder or arrays of a file to read, and for a table
        whether to learn its columns or to encode it as the train file was.
    schema
        Of a test table: the `schema` of the data set that its train file gave.
    folder
        Where relative paths start; the working directory when not given.

    Raises
    ------
    FileError
        If a file is not there or is not what it should be: which one, where, and what to do.
    """
    if what not in ("train", "test"):
        raise TacitError(f"{what!r} is no part of a data set: train or test")
    try:
        return _load(source, what, schema, folder)
    except TacitError as error:
        if type(error) is not TacitError:
            raise  # it says more already
        raise of_kind(FileError, error, source=source) from None


def _load(source: str, what: str, schema: Schema | None, folder: str | Path) -> Dataset:
    kinds = {kind: options for kind, (_, options) in KINDS.items()}
    parsed = Source.parse(source, kinds, Path(folder))
    read: Callable[..., Dataset] = KINDS[parsed.kind][0]
    if parsed.kind in tables.KINDS:
        return read(parsed, what, schema)
    if schema is not None:
        raise TacitError(f"a schema is for tables ({', '.join(tables.KINDS)}), not {parsed.kind}")
    return read(parsed, what)
