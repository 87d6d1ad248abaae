"""A model planned for secure evaluation."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table
from rich.text import Text

from . import speeds
from ._tacit import Compiled, TacitError
from .alike import grouped
from .data import label_list
from .decoding import decoded, numbered
from .errors import CompileError, of_kind
from .given import array
from .inputs import Given, floats, names, rows, without
from .inputs import named as named_arrays
from .options import to_json
from .planning import Comparison, compare
from .protocols import PROTOCOLS
from .report import count, html_table, render
from .texts import hold_texts, known

SHOWN = 20
"""Layers that a notebook shows of a model."""


class Model:
    """An ONNX model with its plan: shapes, fixed-point scales, order of work.

    Made by :func:`compile`.

    Attributes
    ----------
    plan : dict
        What every party will know of the model: layers with their names, operations, shapes,
        ranges, fixed-point scales and key bits, and what of the outputs is opened (`reveal`, in
        words `opened`); never its weights. Made for the protocol that was asked for; where none
        was, for the default one until a run, then for the run's.
    input_shape : tuple of int or dict
        Of one item, without the batch axis; of several inputs by their names.
    output_shape : tuple of int or dict
        Of one item, without the batch axis; of several outputs by their names.
    warnings : list of str
        What the planner could not rule out: those of `plan`, and of the report of a run.
    """

    def __init__(self, compiled: Compiled, protocol: str | None = None, path: str | None = None):
        self.compiled = compiled
        self._path = path
        self.protocol = protocol
        self.plan: dict[str, Any] = json.loads(compiled.plan())
        given = {each["name"]: tuple(each["shape"]) for each in self.plan["inputs"]}
        self.input_shape: tuple[int, ...] | dict[str, tuple[int, ...]] = one_of(given)
        shapes = {output["name"]: tuple(output["shape"]) for output in self.plan["outputs"]}
        self.output_shape: tuple[int, ...] | dict[str, tuple[int, ...]] = one_of(shapes)
        self.exported: tempfile.TemporaryDirectory[str] | None = None

    @cached_property
    def _unread(self) -> set[str]:
        """The inputs that the file declares and nothing in it reads."""
        return _unread(self._path)

    @property
    def warnings(self) -> list[str]:
        """The warnings of `plan`."""
        return self.plan["warnings"]

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [each["name"] for each in self.plan["inputs"]]

    def ran(self, protocol: str) -> None:
        """Shows the plan of a run, where the model was compiled for no protocol."""
        if self.protocol is None:
            self.plan = self.plan_for(protocol)

    def encode(self, x: Given) -> tuple[bytes, list[int]]:
        """The float32 bytes of a batch and its shape: of several inputs each item is one row.

        Refuses what is not a batch of this model's inputs, and never rounds a number silently
        to another type than float32.
        """
        more = set(names(x)) - set(self.input_names)
        single = rows(self.plan["inputs"], without(x, more & self._unread if more else set()))
        return single.tobytes(), list(single.shape)

    def decode(self, output: bytes, n: int) -> dict[str, np.ndarray]:
        """The outputs of `n` items, by their names, from the bytes of the extension module."""
        return decoded(self.plan["outputs"], np.frombuffer(output, "<f4").reshape(n, -1))

    def reference(self, x: Given) -> np.ndarray | dict[str, np.ndarray]:
        """What a run reveals of the outputs, from those in clear-text float32, for comparison.

        An array; of several outputs one each, by their names.
        """
        values, shape = self.encode(x)
        return one_of(self.decode(self.compiled.reference(values), shape[0]))

    def accuracy(self, output: ArrayLike | dict[str, np.ndarray], labels: ArrayLike) -> float:
        """The share of outputs, as :meth:`reference` gives them, whose class is the label."""
        given = output if isinstance(output, dict) else {self.plan["outputs"][0]["name"]: output}
        parts: list[np.ndarray[Any, Any]] = []
        for each in self.plan["outputs"]:
            numbers = np.asarray(numbered(each, np.asarray(given[each["name"]])), dtype="<f4")
            parts.append(numbers.reshape(len(numbers), -1))
        rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return self.compiled.accuracy(rows.tobytes(), self.label_list(labels, len(rows)))

    def label_list(self, labels: ArrayLike, n: int) -> list[int]:
        """The numbers of the classes of `n` items."""
        of = [each for each in self.plan["outputs"] if each["classes"]]
        given = array("the labels", labels)
        return label_list(numbered(of[0], given) if of else given, n)

    def plan_for(self, protocol: str) -> dict[str, Any]:
        """The plan that a run of `protocol` follows.

        Where no ring or field was asked for it is over the protocol's own; one that was asked for
        and that the protocol does not have is an error, and so is another protocol than the one
        that the model was compiled for.
        """
        return json.loads(self.compiled.plan(to_json({"protocol": protocol})))

    def predict_cost(
        self,
        batch: int = 1,
        *,
        measure: bool = False,
        progress: Callable[[str, str, int, int], None] | None = None,
        **where: Any,
    ) -> dict[str, Any]:
        """Rounds, bytes and seconds of one batch as the protocol declares them, before any run.

        A run of more items than one batch takes, 128 at most unless `batch` is given, has the
        rounds of `offline` and `online` for every batch; `setup` comes once: agreement, keys and
        the sharing of weights, but neither starting the processes nor connecting them. `memory`
        tells the most bytes of each party's process (`parties`) and of one process with all of
        them (`together`).

        `where` is what :func:`tacit.local` takes except `processes`, so any number of parties on
        any network can be counted. The seconds of a phase are the network's: latency and bandwidth.

        Parameters
        ----------
        batch
            Items at a time.
        measure
            Whether `computing` tells the seconds that each phase computes, all parties on this
            machine, and `expected` what it takes with the network. Predictions of made-up inputs
            tell it, by all parties on this machine; where one takes long, calls of every kind that
            the protocol has. What was measured is kept.
        progress
            Called as `progress(phase, layer, done, total)` while it is measured.
        """
        run = to_json(where)
        if not measure:
            return json.loads(self.compiled.predict_cost(run, batch))
        settings = {**where, "protocol": where.get("protocol") or PROTOCOLS[0]}
        took = speeds.rehearsed(self.compiled, settings, batch, progress)
        fast = None
        if took is None or took["items"] != batch:
            plan = self.plan_for(settings["protocol"])
            fast = speeds.known(settings, plan["ring"], progress)
        rehearsed = None if took is None else json.dumps(took)
        return json.loads(self.compiled.predict_cost(run, batch, fast, rehearsed))

    def compare(self, batch: int = 1, **given: Any) -> Comparison:
        """What one batch costs on every protocol: see :func:`tacit.planning.compare`."""
        return compare(self, batch, **given)

    def table(self, protocol: str | None = None) -> Table:
        """The plan as a table: `plan`, or that for a protocol."""
        p = self.plan if protocol is None else self.plan_for(protocol)
        owner = "public" if p["public_model"] else "secret"
        own = p["input_bits"] is not None
        numbers = f"{p['numbers']}, {p['fraction_bits']} fraction bits"
        if own:
            numbers = f"every tensor of its own width, the input of {p['input_bits']} bits"
        table = Table(
            title=f"{numbers}, {p['parameters']:,} {owner} parameters",
            caption=Text(
                f"the data owner learns {p['opened']}; {known(p['inputs'])}"
                f"outputs err by at most {p['error']:.2g} in trials, with room to spare"
            ),
        )
        for name in ("layer", "operation", "output"):
            table.add_column(name)
        # Only of a protocol that has any.
        keys = any(layer["key_bits"] for layer in p["layers"])
        columns = ("range up to", *["bits", "fraction bits"] * own, "weight bits", "bits truncated")
        for name in (*columns, *["key bits"] * keys):
            table.add_column(name, justify="right")
        for layer in p["layers"]:
            table.add_row(
                Text(layer["name"]),
                layer["op"],
                " x ".join(map(str, layer["shape"])),
                f"{layer['range']:.4g}",
                *[str(layer["bits"]), str(layer["fraction_bits"])] * own,
                str(layer["weight_bits"] or "-"),
                str(layer["trunc"] or "-"),
                *[layer["key_bits"] or "-"] * keys,
            )
        return table

    def __rich__(self) -> Table:
        return self.table()

    def __str__(self) -> str:
        return render(self.table())

    def __repr__(self) -> str:
        shapes = f"{self.input_shape} -> {self.output_shape}"
        return f"<Model {shapes}, {count(len(self.plan['layers']), 'layer')}>"

    def _repr_html_(self) -> str:
        table = self.table()
        more = max(len(table.rows) - SHOWN, 0)
        words = [f"and {more} more layers; print(model) shows all"] * (more > 0)
        words += [str(table.caption), *grouped(self.warnings)]
        told = "".join(f"<p>{html.escape(text)}</p>" for text in words)
        return html_table(table, SHOWN) + told


def one_of(outputs: dict[str, Any]) -> Any:
    """The only one of several things by their names, or all of them."""
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


def compile(
    model: str | Path | Any,
    *,
    protocol: str | None = None,
    samples: Given | None = None,
    ring: int | None = None,
    field: int | None = None,
    fraction_bits: int | None = None,
    precision: int | None = None,
    order: str = "multiply-then-truncate",
    functions: str = "accurate",
    public_model: bool = False,
    input_range: float | None = None,
    key_bits: str | None = None,
    key_bits_loss: float | None = None,
    reveal: str | None = None,
    dims: Mapping[str, int] | None = None,
    outputs: Sequence[str] | None = None,
    fix: Mapping[str, float | Sequence[float] | np.ndarray] | None = None,
) -> Model:
    """Imports a model and plans its secure evaluation.

    Parameters
    ----------
    model
        The path of an ONNX file (opset 7 to 28), or a `torch.nn.Module`, for which `samples`
        is required and `torch` with its ONNX exporter must be installed.
    samples
        Typical inputs, `(n, *input_shape)`, that need not be secret: each layer's range is
        estimated from them. Without them the ranges come from the weights alone. Of a model with
        several inputs a dict of arrays by their names.
    ring, field
        Bits of the ring, 32 or 64, or of the prime field, 31 or 61, to insist on. When neither is
        given each run computes in what its protocol has, the larger one.
    fraction_bits
        Fraction bits of the fixed-point numbers; chosen by the planner when not given.
    precision
        Gives every tensor a width and a scale of its own: up to so many bits, 8 to 32, for the
        values that share a scale. SiRnn does so unasked when neither `ring` nor `fraction_bits` is
        given, with 16 bits or as many more as the ranges need, but for models that only compare
        their inputs, as trees do: these are compared exactly. Asked for, every protocol with a
        64-bit ring computes that program.
    order
        `multiply-then-truncate` or `truncate-then-multiply`.
    functions
        How near exponentials, sigmoids, roots and the like are: `accurate`, to a few units of the
        last place, or `fast`, to about 2^-10 (of reciprocals and all roots: relatively), by
        fewer products. SiRnn, which has tables for them, is accurate in either case.
    public_model
        Whether every party may know the weights.
    input_range
        The largest absolute value of an input; larger ones are refused at run time. Taken
        from the samples when not given.
    key_bits
        The bits that signs are taken from, for a protocol that gains by fewer: `full` (the
        default), so many before and after the point for every layer (`5.2`), or `auto`, for each
        layer the fewest that the samples need. Every party learns them.
    key_bits_loss
        The share of classes that `auto` may change on data like the samples: the bound holds
        with a confidence of 95 %; 0.005 when not given.
    reveal
        All that the data owner learns of the outputs. `class`: the class of the largest, which is
        found on shares; `top-3`: the classes of the 3 (up to 32) largest in their order, found so
        too; `probabilities`: those that the file ends in, which tell the logits up to a constant;
        `logits`: the numbers before any function that ends the file. When not given the file's
        last operation decides: ArgMax means `class`, Softmax, LogSoftmax and Sigmoid mean
        `probabilities`, anything else `logits`. Of equal outputs the first class comes first.
    dims
        Values of the symbolic dimensions other than the batch axis. Inputs with one of 0 hold
        nothing, as a cache before the first token, and are left out.
    outputs
        The names of the outputs to compute, in this order; all that the file has when not given.
        Of several each is revealed as the file ends it, and what is revealed of values that outputs
        share is opened once; `class` and `top-K` are for one output.
    fix
        Inputs that every party knows and nobody gives, by name: one number everywhere, or an
        array of the numbers of every item, such as the places of a text's tokens.
    protocol
        What the model will run on: it is planned for that, `Model.warnings` are those of such a
        run, and a run on another is refused. When not given it may run on any.

    Raises
    ------
    CompileError
        If the file or an operation is not supported, values would leave the ring or field, or what
        is to be revealed does not fit the model.
    """
    options = {
        "ring": ring,
        "field": field,
        "fraction_bits": fraction_bits,
        "precision": precision,
        "order": order,
        "functions": functions,
        "public_model": public_model,
        "input_range": input_range,
        "key_bits": key_bits,
        "key_bits_loss": key_bits_loss,
        "reveal": reveal,
        "dims": dict(dims or {}),
        "outputs": _names(outputs),
        "fix": {name: _fixed(value) for name, value in (fix or {}).items()},
    }
    text = to_json(options)
    if isinstance(model, (str, os.PathLike)):
        with _compiling(os.fspath(cast(str, model))):
            given = set(names(samples))
            path = os.fspath(cast(str, model))
            samples = without(samples, given & _unread(path) if given else given)
    if hold_texts(samples) and isinstance(model, (str, os.PathLike)):
        with _compiling(os.fspath(cast(str, model))):
            inputs = json.loads(Compiled.inputs(os.fspath(cast(str, model)), text))
        samples = rows(inputs, samples)
    if isinstance(samples, Mapping):
        values, by_name = None, named_arrays(cast(Mapping[str, Any], samples))
    else:
        values, by_name = None if samples is None else floats("the samples", samples), None
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(cast(str, model))
        with _compiling(path):
            return Model(Compiled(path, text, values, protocol, by_name), protocol, path)
    folder = tempfile.TemporaryDirectory(prefix="tacit-")
    file = export(model, samples, Path(folder.name) / "model.onnx")
    with _compiling(None):
        made = Model(Compiled(str(file), text, values, protocol, by_name), protocol, str(file))
    made.exported = folder  # processes read the file again
    return made


def _unread(path: str | None) -> set[str]:
    """The inputs that a file declares and nothing in it reads; none of a file that is not there."""
    there = path is not None and Path(path).exists()
    return set(Compiled.unread(cast(str, path))) if there else set()


@contextmanager
def _compiling(model: str | None) -> Generator[None]:
    """Tells what the extension module refuses as errors of this model."""
    try:
        yield
    except TacitError as error:
        raise of_kind(CompileError, error, model=model) from None


def _fixed(value: float | Sequence[float] | np.ndarray) -> float | list[float]:
    """One number, or those of an item in their order."""
    numbers = np.asarray(value)
    if not np.isfinite(numbers).all():
        raise TacitError("an input is fixed to a number that is not finite")
    return numbers.item() if numbers.ndim == 0 else numbers.ravel().tolist()


def _names(outputs: Sequence[str] | None) -> list[str]:
    """The names of outputs that are asked for."""
    if isinstance(outputs, str):
        raise TacitError(f"outputs is a list of names, such as [{outputs!r}]")
    return list(outputs or ())


def check_module(module: Any, samples: Any) -> None:
    """Refuses what is no `torch.nn.Module`, or one without samples."""
    refused = (
        f"a model is the path of an ONNX file or a torch.nn.Module, not {type(module).__name__}"
    )
    if importlib.util.find_spec("torch") is None:
        raise CompileError(refused)
    import torch  # noqa: PLC0415

    if not isinstance(module, torch.nn.Module):
        raise CompileError(refused)
    if samples is None:
        raise CompileError("exporting a torch.nn.Module needs samples=, a batch of typical inputs")


def export(module: Any, samples: Any, path: Path) -> Path:
    """Writes a `torch.nn.Module` as ONNX with a free batch axis."""
    check_module(module, samples)
    import torch  # noqa: PLC0415

    example = torch.as_tensor(array("the samples", samples)[:2], dtype=torch.float32)
    return write_module(module.eval(), (example,), path, ["input"], ["output"])


def write_module(
    module: Any, example: tuple[Any, ...], path: Path, inputs: list[str], outputs: list[str]
) -> Path:
    """Writes a `torch.nn.Module` with these names, the first axis of each a free batch."""
    import torch  # noqa: PLC0415

    torch.onnx.export(
        module,
        example,
        path,
        input_names=inputs,
        output_names=outputs,
        dynamic_axes={name: {0: "N"} for name in (*inputs, *outputs)},
        opset_version=17,
        dynamo=False,
    )
    return path
