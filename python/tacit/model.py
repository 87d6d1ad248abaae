"""A model planned for secure evaluation."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from ._tacit import Compiled, TacitError
from .data import check_finite, label_list
from .options import to_json
from .report import render


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
    input_shape, output_shape : tuple of int
        Of one item, without the batch axis.
    warnings : list of str
        What the planner could not rule out: those of `plan`, and of the report of a run.
    """

    def __init__(self, compiled: Compiled, protocol: str | None = None):
        self.compiled = compiled
        self.protocol = protocol
        self.plan: dict[str, Any] = json.loads(compiled.plan())
        self.input_shape = tuple(self.plan["input_shape"])
        self.output_shape = tuple(self.plan["output_shape"])
        self.exported: tempfile.TemporaryDirectory | None = None

    @property
    def warnings(self) -> list[str]:
        """The warnings of `plan`."""
        return self.plan["warnings"]

    def ran(self, protocol: str) -> None:
        """Shows the plan of a run, where the model was compiled for no protocol."""
        if self.protocol is None:
            self.plan = self.plan_for(protocol)

    def encode(self, x: ArrayLike) -> tuple[bytes, list[int]]:
        """The float32 bytes of a batch and its shape.

        Refuses what is not a batch of this model's inputs, and never rounds a number silently
        to another type than float32.
        """
        array = np.asarray(x)
        if array.dtype.kind not in "fiub":
            raise TacitError(
                f"the input holds {array.dtype} values; give real numbers, such as float32"
            )
        if array.shape[1:] != self.input_shape or array.ndim == 0 or len(array) == 0:
            wanted = ", ".join(map(str, ("n", *self.input_shape)))
            raise TacitError(
                f"the input has shape {array.shape}, the model takes ({wanted}) with n >= 1; "
                "reshape the array, first axis = items"
            )
        check_finite("the input", array)
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(array, dtype="<f4")
        if array.dtype.kind in "iu" and not np.array_equal(single.astype(array.dtype), array):
            raise TacitError(
                "the input holds integers that float32 cannot represent; scale them first"
            )
        return single.tobytes(), list(single.shape)

    def decode(self, output: bytes, n: int) -> np.ndarray:
        """The outputs of `n` items from the bytes of the extension module."""
        return np.frombuffer(output, "<f4").reshape(n, *self.output_shape).copy()

    def reference(self, x: ArrayLike) -> np.ndarray:
        """What a run reveals of the outputs, from those in clear-text float32, for comparison."""
        values, shape = self.encode(x)
        return self.decode(self.compiled.reference(values), shape[0])

    def accuracy(self, output: ArrayLike, labels: ArrayLike) -> float:
        """The share of outputs, as :meth:`reference` gives them, whose class is the label."""
        values = np.ascontiguousarray(output, dtype="<f4")
        return self.compiled.accuracy(values.tobytes(), label_list(labels, len(values)))

    def plan_for(self, protocol: str) -> dict[str, Any]:
        """The plan that a run of `protocol` follows.

        Where no ring or field was asked for it is over the protocol's own; one that was asked for
        and that the protocol does not have is an error, and so is another protocol than the one
        that the model was compiled for.
        """
        return json.loads(self.compiled.plan(to_json({"protocol": protocol})))

    def predict_cost(self, batch: int = 1, **where: Any) -> dict[str, Any]:
        """Rounds, bytes and seconds of one batch as the protocol declares them, before any run.

        `where` is what :func:`tacit.local` takes except `processes`, so any number of parties on
        any network can be counted. The seconds are the network's alone: latency and bandwidth, no
        computation.
        """
        return json.loads(self.compiled.predict_cost(to_json(where), batch))

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
            caption=f"the data owner learns {p['opened']}; "
            f"outputs err by at most {p['error']:.2g} in trials, with room to spare",
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
                layer["name"],
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
        return f"<Model {shapes}, {len(self.plan['layers'])} layers>"


def compile(
    model: str | Path | Any,
    *,
    protocol: str | None = None,
    samples: ArrayLike | None = None,
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
) -> Model:
    """Imports a model and plans its secure evaluation.

    Parameters
    ----------
    model
        The path of an ONNX file (opset 7 to 28), or a `torch.nn.Module`, for which `samples`
        is required and `torch` with its ONNX exporter must be installed.
    samples
        Typical inputs, `(n, *input_shape)`, that need not be secret: each layer's range is
        estimated from them. Without them the ranges come from the weights alone.
    ring, field
        Bits of the ring, 32 or 64, or of the prime field, 31 or 61, to insist on. When neither is
        given each run computes in what its protocol has, the larger one.
    fraction_bits
        Fraction bits of the fixed-point numbers; chosen by the planner when not given.
    precision
        Gives every tensor a width and a scale of its own: up to so many bits, 8 to 32, for the
        values that share a scale. SiRnn does so unasked when neither `ring` nor `fraction_bits` is
        given, with 16 bits or as many more as the ranges need. Asked for, every protocol with a
        64-bit ring computes that program.
    order
        `multiply-then-truncate` or `truncate-then-multiply`.
    functions
        How near exponentials, sigmoids, roots and the like are: `accurate`, to a few units of the
        last place, or `fast`, to about 2^-10 (of reciprocals and inverse roots: relatively), by
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
        Values of the symbolic dimensions other than the batch axis.
    protocol
        What the model will run on: it is planned for that, `Model.warnings` are those of such a
        run, and a run on another is refused. When not given it may run on any.

    Raises
    ------
    TacitError
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
    }
    values = None if samples is None else _floats(samples)
    text = to_json(options)
    if isinstance(model, (str, os.PathLike)):
        return Model(Compiled(os.fspath(model), text, values, protocol), protocol)
    folder = tempfile.TemporaryDirectory(prefix="tacit-")
    path = export(model, samples, Path(folder.name) / "model.onnx")
    made = Model(Compiled(str(path), text, values, protocol), protocol)
    made.exported = folder  # processes read the file again
    return made


def _floats(samples: ArrayLike) -> tuple[bytes, list[int]]:
    """The float32 bytes and the shape of sample inputs."""
    array = np.ascontiguousarray(samples, dtype="<f4")
    if array.ndim:
        check_finite("the samples", array)
    return array.tobytes(), list(array.shape)


def export(module: Any, samples: ArrayLike | None, path: Path) -> Path:
    """Writes a `torch.nn.Module` as ONNX with a free batch axis."""
    if importlib.util.find_spec("torch") is None:
        raise TacitError(
            f"a model is the path of an ONNX file or a torch.nn.Module, not {type(module).__name__}"
        )
    import torch  # noqa: PLC0415

    if not isinstance(module, torch.nn.Module):
        raise TacitError(
            f"a model is the path of an ONNX file or a torch.nn.Module, not {type(module).__name__}"
        )
    if samples is None:
        raise TacitError("exporting a torch.nn.Module needs samples=, a batch of typical inputs")
    example = torch.as_tensor(np.asarray(samples, dtype=np.float32)[:2])
    torch.onnx.export(
        module.eval(),
        (example,),
        path,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": {0: "N"}, "output": {0: "N"}},
        opset_version=17,
        dynamo=False,
    )
    return path
