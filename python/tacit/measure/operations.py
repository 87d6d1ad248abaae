"""Single operations, measured on random values."""

from __future__ import annotations

import json
from typing import Any

from .. import _tacit
from ..notebook import Progress, shown
from ..options import to_json
from ..report import Report


def bench(
    op: str,
    n: int,
    *,
    chunk: int | None = None,
    ring: int | None = None,
    field: int | None = None,
    fraction_bits: int | None = None,
    precision: int | None = None,
    key_bits: str | None = None,
    functions: str = "accurate",
    as_printed_insecure: bool = False,
    paper_leakage: bool = False,
    repeat: int = 5,
    progress: Progress | None = None,
    **where: Any,
) -> Report:
    """Measures one operation on random data, all parties in this process.

    A large operation is prepared, run and checked in chunks, so that its memory is theirs; it
    costs what they cost one after the other. The figures are medians; a wrong result is an error.
    Sharing the operands and opening the result are not counted.

    Parameters
    ----------
    op
        `mult`, `trunc`, `drelu`, `relu`, `compare`, `reciprocal`, `exp`, `sigmoid`, `tanh`,
        `rsqrt` (inverse square root), `pow` (the `e` of `2^e <= x < 2^(e+1)`), `division`: `n`
        elements; `matmul`: two `n` x `n` matrices; `conv`: `n` images through LeNet's second
        convolution; `maxpool`: `n` windows of 2 x 2; `batchnorm`: `n` channels of 8 x 8.
    n
        The operation's size.
    chunk
        As much of `n` as runs at a time: when not given, as much as all parties together hold in
        about 256 MiB. `matmul` is never cut.
    ring, field
        As for :func:`tacit.compile`.
    fraction_bits
        Bits truncated, or fraction bits of a function or of the operands that key bits are of:
        12 of at most 32 bits and 18 of more when not given.
    precision
        Of a function: the bits of its arguments and results, where they are not the ring's.
    key_bits
        Of `drelu`, `relu` and `maxpool`: the bits before and after the point that signs are taken
        from (`5.2`); all of them when not given.
    functions
        How near functions are, `accurate` or `fast`, as for :func:`tacit.compile`.
    as_printed_insecure
        Of `bicoptor`: whether signs are taken as its paper prints it, which errs and leaks. For
        comparing the cost only; models never run so.
    paper_leakage
        Of `pow`, `reciprocal` and `rsqrt` in `falcon`: whether every party learns the magnitude of
        every operand, as in its paper. For comparing the cost only; models never run so.
    repeat
        The number of runs.
    progress
        As for :meth:`tacit.Session.predict`.
    where
        All that :func:`tacit.local` takes except `processes`.
    """
    with shown(progress) as told_to:
        report = _tacit.bench(
            op=op,
            n=n,
            chunk=chunk,
            ring=ring,
            field=field,
            fraction_bits=fraction_bits,
            precision=precision,
            key_bits=key_bits,
            functions=functions,
            as_printed_insecure=as_printed_insecure,
            paper_leakage=paper_leakage,
            repeat=repeat,
            run=to_json(where),
            progress=told_to,
        )
    return Report(json.loads(report))
