"""SiRnn's traffic on paper, beside the same operations here, for `tacit tables sirnn`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..report import Report
from .operations import bench

TRANSFERS = ("softspoken", "iknp", "silent")
RING = 32
PRECISION = 16
"""Bits of a function's argument and result, as in the paper."""
FUNCTIONS = ("exp", "sigmoid", "tanh", "reciprocal", "rsqrt")
TRUNCATED = 12
"""Bits that a shift drops; also the fraction bits of functions."""
SECURITY = 128
"""Bits that one of the paper's transfers takes beside its messages."""
SIDE = 16
"""Rows and columns of the matrices that are multiplied."""
CONVOLUTION = (50, 500, 64)
"""LeNet's second convolution of one image, as a product of matrices."""


def comparison(bits: int) -> int:
    """Bits sent to compare two numbers of so many bits: digits of 4 bits and a tree of ANDs."""
    digits = -(-bits // 4)
    levels = (digits - 1).bit_length()
    leaves = 2 * SECURITY * digits + 16 + 32 * (digits - 2) + 2 * 2 ** (bits - 4 * (digits - 1))
    return leaves + levels * (SECURITY + 20) + (digits - 1 - levels) * (2 * SECURITY + 22)


def relu() -> int:
    """A sign and a choice."""
    return comparison(RING - 1) + 2 * (SECURITY + RING)


def shift() -> int:
    """An arithmetic right shift.

    The wrap of the lower bits, wrap and equality of the upper ones, an AND, two conversions.
    """
    digits = (RING - TRUNCATED) // 4
    upper = digits * (2 * SECURITY + 32) + (digits - 1) * (2 * SECURITY + 22)
    conversions = 2 * SECURITY + RING + TRUNCATED
    return comparison(TRUNCATED) + upper + SECURITY + 20 + conversions


def product(rows: int, inner: int, columns: int) -> int:
    """A product of two shared matrices modulo the ring's size, and its shift.

    In each of two cross terms the bits of one factor choose: of that which makes it cheaper.
    """

    def cross(chosen: int, others: int) -> int:
        return inner * chosen * (RING * SECURITY + others * RING * (RING + 1) // 2)

    return 2 * min(cross(rows, columns), cross(columns, rows)) + rows * columns * shift()


SIRNN: dict[str, tuple[int | None, float | None]] = {
    "mult": (None, product(1, 1, 1) / 8),
    "matmul": (None, product(SIDE, SIDE, SIDE) / 8),
    "conv": (None, product(*CONVOLUTION) / 8),
    "trunc": (None, shift() / 8),
    "drelu": (None, comparison(RING - 1) / 8),
    "relu": (None, relu() / 8),
    "maxpool": (None, 3 * relu() / 8),
    "compare": (None, comparison(RING - 1) / 8),
    "exp": (2120, 1945),
    "sigmoid": (4880, 3975),
    "tanh": (None, None),
    "reciprocal": (None, None),
    "rsqrt": (None, None),
}
"""Bytes of an instance: those that the paper states (Tables I and II), and those by the formulas
of its building blocks (Table V), of `exp` and `sigmoid` at its 16 bits."""


def sirnn(
    ops: Iterable[str] = tuple(SIRNN),
    transfers: Iterable[str] = TRANSFERS,
    *,
    n: int = 10_000,
    repeat: int = 1,
    observe: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """Operations under SiRnn over the 32-bit ring, functions of 16 bits of which 12 are fraction.

    Bytes that both parties together send for an instance, as metered over `n` of them, beside the
    paper's; seconds of all instances, medians of `repeat` runs in this process. An instance of
    `matmul` is a product of two matrices of `SIDE` rows and columns, one of `conv` an image.
    """
    transfers = tuple(transfers)
    rows: list[dict[str, Any]] = []
    for op in ops:
        for ot in transfers:
            rows.append(_row(op, ot, n, repeat))
            observe(rows[-1])
    return rows


def measure(op: str, n: int, ot: str, repeat: int) -> Report:
    """An operation under SiRnn, whole, with numbers as wide as the paper's."""
    numbers: dict[str, Any] = {"ring": RING, "fraction_bits": TRUNCATED}
    if op in FUNCTIONS:
        numbers = {"precision": PRECISION, "fraction_bits": TRUNCATED}
    elif op in ("drelu", "relu", "maxpool", "compare"):
        numbers = {"ring": RING}
    return bench(op, n, chunk=n, protocol="sirnn", ot=ot, repeat=repeat, **numbers)


def _row(op: str, ot: str, n: int, repeat: int) -> dict[str, Any]:
    instances = {"matmul": 1, "conv": 1}.get(op, n)
    size = SIDE if op == "matmul" else instances
    report = measure(op, size, ot, repeat)
    paper, formula = SIRNN[op]
    phases = {"offline": report.offline, "online": report.online}
    bytes_each = {name: sum(phase["bytes_sent"]) / instances for name, phase in phases.items()}
    return {
        "op": op,
        "transfers": ot,
        "n": instances,
        "paper": paper,
        "formula": formula,
        **bytes_each,
        "sum": sum(bytes_each.values()),
        "rounds": sum(phase["rounds"] for phase in phases.values()),
        **{f"{name}_seconds": phase["seconds"] for name, phase in phases.items()},
    }
