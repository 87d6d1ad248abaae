"""What a model of the zoo is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Entry:
    """A model, and how to make what it is given.

    Attributes
    ----------
    name : what rows call it
    build : writes the ONNX file to a path, where it is not there yet
    make : from a generator of random numbers and a number of items to an array, or to arrays by the
        names of the inputs
    options : of :func:`tacit.compile`
    axes : which axis of an input is that of the items, where it is not the first
    whole : whether the file gives every size, so that items have an axis more than its inputs
    counted : whether private runs are too long for a small machine, so that they are counted only
    """

    name: str
    build: Callable
    make: Callable
    options: dict = field(default_factory=dict)
    axes: dict = field(default_factory=dict)
    whole: bool = False
    counted: bool = False

    def file(self, folder):
        """The ONNX file, made now if it was not before."""
        stem = "".join(c if c.isalnum() else "-" for c in self.name).strip("-")
        path = Path(folder) / f"{stem}.onnx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            self.build(part)
            part.rename(path)
        return path
