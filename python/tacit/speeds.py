"""How fast this machine runs a protocol, and what predictions took: measured once, and kept."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from . import _tacit
from .notebook import shown
from .options import to_json

FORMAT = 4
"""The format of what is kept; raised when measurements or kernels change."""

# What is of a network or of one run only; the measurement is between threads, without a network.
_NOT_OF_IT = ("network", "timeout", "processes")

MOST = 256
"""Rehearsals that are kept, the latest."""


def folder() -> Path:
    """Where measurements are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tacit"


def known(settings: dict[str, Any], width: int | None, progress: Any = None) -> str:
    """The speeds of a protocol with its options, as JSON: those kept of this machine, or new ones.

    Parameters
    ----------
    settings
        Those of a run, as :func:`tacit.local` takes them.
    width
        Bits of the ring or field; what the protocol computes in by default when not given.
    progress
        Called as `progress(phase, layer, done, total)` while it is measured, which takes seconds.
    """
    told = {key: value for key, value in settings.items() if key not in _NOT_OF_IT}
    key = _key(width, told)
    path = folder() / "speeds.json"
    kept = _read(path)
    if key not in kept:
        run = {**told, "network": "local", "timeout": 600.0}
        with shown(progress) as told_to:
            kept[key] = json.loads(_tacit.speeds(to_json(run), width, told_to))
        _write(path, kept)
    return json.dumps(kept[key])


def rehearsed(
    compiled: _tacit.Compiled, settings: dict[str, Any], items: int, progress: Any = None
) -> dict[str, Any] | None:
    """What predictions of a model took here: `items` of a batch, and the `seconds` of each phase.

    Of fewer items where so many take long, and None where one alone does.

    Parameters
    ----------
    compiled
        The model.
    settings
        Those of a run, as :func:`tacit.local` takes them: a protocol chooses by the network, too.
    items
        Items of a batch.
    progress
        Called as `progress(phase, layer, done, total)` while it is rehearsed, which takes seconds.
    """
    run = to_json(settings)
    told = {key: value for key, value in settings.items() if key not in ("timeout", "processes")}
    plan = hashlib.sha256(compiled.plan(run).encode()).hexdigest()
    key = _key(plan, items, told)
    path = folder() / "rehearsals.json"
    kept = _read(path)
    if kept.get(key) is None:
        with shown(progress) as told_to:
            took = json.loads(compiled.rehearse(run, items, told_to))
        # What took too long may have met a busy machine.
        if took is None:
            return None
        kept[key] = took
        _write(path, dict(list(kept.items())[-MOST:]))
    return kept[key]


def forget() -> None:
    """Drops what was measured, so that it is measured anew."""
    for name in ("speeds.json", "rehearsals.json"):
        with suppress(FileNotFoundError):
            (folder() / name).unlink()


def _key(*of: Any) -> str:
    """What a measurement is kept by."""
    known = [FORMAT, _tacit.__version__, _machine(), *of]
    return json.dumps(known, sort_keys=True, default=str)


def _machine() -> list[Any]:
    """What a measurement is true of."""
    model = platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line for line in lines if line.startswith("model name")), model)
    of_process = getattr(os, "sched_getaffinity", None)
    cores = len(of_process(0)) if of_process else os.cpu_count()
    return [platform.node(), model, cores, os.environ.get("RAYON_NUM_THREADS")]


def _read(path: Path) -> dict[str, Any]:
    """What is kept; nothing where the file is no such file."""
    with suppress(OSError, ValueError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(kept, dict):
            return cast("dict[str, Any]", kept)
    return {}


def _write(path: Path, kept: dict[str, Any]) -> None:
    """Keeps it; a folder that cannot be written costs a measurement each time, and no more."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(kept), encoding="utf-8")
        new.replace(path)
