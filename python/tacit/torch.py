"""Modules of torch that predict privately, as modules of torch.

>>> from tacit.torch import private
>>> model = private(network, x[:16])
>>> model(x), model.report
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ._tacit import TacitError
from .errors import InputError, MissingPackageError
from .inputs import used_inputs
from .model import Model, compile, write_module
from .report import Report
from .session import Session, local

try:
    import torch
except ImportError:
    told = "tacit.torch needs `pip install tacit[torch]`"
    raise MissingPackageError(told, extra="torch") from None


Made = tuple[Model, tuple[list[str], list[str]], type]
Make = Callable[[tuple[torch.Tensor, ...]], Made]


class Private(torch.nn.Module):
    """A network that takes tensors and gives tensors, and shows them and its weights to nobody.

    Made by :func:`private`. It has no parameters and no gradients: it cannot be trained.

    Attributes
    ----------
    model : tacit.Model or None
        The network with its plan; None before the first call where that gives the example.
    session : tacit.Session
        Where it runs.
    report : tacit.Report or None
        What the last call cost.
    """

    def __init__(self, make: Make, session: Session, batch: int | None = None):
        super().__init__()
        self.make: Make | None = make
        self.model: Model | None = None
        self.session = session
        # The plan lists inputs in another order than `forward`, and outputs as were asked for.
        self.takes: list[str] = []
        self.names: list[str] = []
        self.gives: type = torch.Tensor
        self.batch = batch
        self.report: Report | None = None

    def plan(self, *example: torch.Tensor) -> Model:
        """The network with its plan, which is made of these typical inputs at the first call."""
        if self.model is None:
            make = cast(Make, self.make)
            self.model, (self.takes, self.names), self.gives = make(example)
            self.make = None  # it holds the weights
        return self.model

    def forward(self, *inputs: torch.Tensor) -> Any:
        """What is revealed of the outputs, on the device of the first input.

        A tensor, or a tuple or a dict of them, as the network gives.
        """
        model = self.plan(*inputs)
        if len(inputs) != len(self.takes):
            raise InputError(f"the network takes {len(self.takes)} tensors, not {len(inputs)}")
        used = model.input_names
        given = dict(zip(self.takes, inputs, strict=True))
        x = {name: tensor for name, tensor in given.items() if name in used}
        result = self.session.predict(model, x, batch=self.batch)
        self.report = result.report
        device = getattr(inputs[0], "device", None)
        found = {
            name: torch.from_numpy(np.ascontiguousarray(result.outputs[name])).to(device)
            for name in self.names
            if name in result.outputs
        }
        if self.gives is dict:
            return found
        return tuple(found.values()) if self.gives is tuple else next(iter(found.values()))

    def extra_repr(self) -> str:
        """The shapes of the input and the output and the protocol, as torch shows modules."""
        protocol = f"protocol={self.session.settings['protocol']!r}"
        if self.model is None:
            return f"planned at the first call, {protocol}"
        return f"{self.model.input_shape} -> {self.model.output_shape}, {protocol}"


def private(
    module: torch.nn.Module,
    example: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
    *,
    session: Session | None = None,
    batch: int | None = None,
    **options: Any,
) -> Private:
    """A network that computes what `module` does without showing its inputs or its weights.

    Parameters
    ----------
    module
        The network; it is exported as in `eval()` and left as it is.
    example
        Typical inputs, which need not be secret, with the batch first: the ranges of all layers are
        estimated from them. Of a network with several inputs a tuple. Without it the plan is made
        of the first call's inputs: between organisations the model's owner would learn their range.
    session
        Where it runs: what :func:`tacit.local` gives, Falcon between three parties if not given.
    batch
        Items predicted at a time, as of :meth:`tacit.Session.predict`.
    options
        Those of :func:`tacit.compile`, such as `reveal="class"`.
    """
    where = session or local()

    def make(given: tuple[torch.Tensor, ...]) -> Made:
        return _made(module, given, where, options)

    _check_network(module)
    network = Private(make, where, batch)
    if example is not None:
        network.plan(*(example if isinstance(example, tuple) else (example,)))
    return network


def _made(
    module: torch.nn.Module,
    given: tuple[torch.Tensor, ...],
    where: Session,
    options: dict[str, Any],
) -> Made:
    """A network with its plan, the names of its inputs and outputs, and what `forward` gives."""
    _check_tensors(given)
    modes = {part: part.training for part in module.modules()}
    try:
        with torch.no_grad():
            shown = module.eval()(*(each[:2] for each in given))
        names = _inputs(module, len(given))
        outputs, gives = _outputs(shown)
        folder = tempfile.TemporaryDirectory(prefix="tacit-")
        path = Path(folder.name) / "model.onnx"
        write_module(module, tuple(each[:2] for each in given), path, names, outputs)
    finally:
        for part, mode in modes.items():
            part.training = mode
    used = used_inputs(path)
    samples = {name: each for name, each in zip(names, given, strict=True) if name in used}
    protocol = where.settings["protocol"]
    planned: dict[str, Any] = {"samples": samples, "protocol": protocol, **options}
    model = compile(path, **planned)
    model.exported = folder  # processes read the file again
    return model, (names, outputs), gives


def _check_network(module: object) -> None:
    """Refuses what is no network."""
    if not isinstance(module, torch.nn.Module):
        raise TacitError(f"a network is a torch.nn.Module, not {type(module).__name__}")


def _check_tensors(given: tuple[object, ...]) -> None:
    """Refuses examples that are no tensors."""
    if not given or not all(isinstance(each, torch.Tensor) for each in given):
        raise TacitError("the example is a tensor of typical inputs, or a tuple of tensors")


def _inputs(module: torch.nn.Module, count: int) -> list[str]:
    """Names of the inputs: those that `forward` has for them."""
    names = list(inspect.signature(module.forward).parameters)
    known = len(names) >= count > 1
    return names[:count] if known else [f"input{i or ''}" for i in range(count)]


def _outputs(shown: Any) -> tuple[list[str], type]:
    """Names of the outputs, and whether they are a tensor, a tuple or a dict of some."""
    if isinstance(shown, torch.Tensor):
        return ["output"], torch.Tensor
    kind = type(shown).__name__
    if isinstance(shown, Mapping):
        named = cast(Mapping[str, Any], shown)
        if all(isinstance(each, torch.Tensor) for each in named.values()):
            return list(map(str, named)), dict
    if isinstance(shown, (tuple, list)):
        several = cast(Sequence[Any], shown)
        if all(isinstance(each, torch.Tensor) for each in several):
            return [f"output{i}" for i in range(len(several))], tuple
    raise TacitError(
        f"the network gives a {kind}; let it give a tensor, or a tuple or a dict of tensors"
    )
