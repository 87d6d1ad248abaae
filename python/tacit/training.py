"""Trains networks privately, on the data of one owner or several."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from . import _tacit, speeds
from ._tacit import TacitError
from .given import array
from .model import check_module, export
from .module import Places, UnreadableError, read
from .notebook import Progress, shown
from .options import to_json
from .protocols import PROTOCOLS
from .report import count, facts_grid, html_facts, render
from .training_data import Owned, item_bytes, listed, parts, target_bytes
from .training_report import TrainingReport, brought


@dataclass(frozen=True, repr=False)
class Trained:
    """A trained network.

    Attributes
    ----------
    onnx : bytes or None
        The network as an ONNX file, for its owner.
    report : TrainingReport
        What the training cost, and how good the network was after each epoch.
    weights : numpy.ndarray or None
        The numbers of all parameters, layer by layer, for the network's owner where all parties
        were on this machine.
    """

    onnx: bytes | None
    report: TrainingReport
    weights: np.ndarray | None = None
    places: Places | None = None

    @property
    def finished(self) -> bool:
        """Whether the training had been finished before: nothing was left to train."""
        resumed = self.report.data.get("resumed")
        return bool(resumed) and resumed["after"] >= resumed["of"]

    def to_torch(self, module: Any) -> Any:
        """Gives a module, such as the one that the training started from, the trained weights.

        Returns the module.
        """
        module.load_state_dict(self.state_dict(module), strict=False)
        return module

    def state_dict(self, module: Any) -> dict[str, Any]:
        """The trained weights by the names of a module's `state_dict`, with its shapes and types.

        What the training does not know, such as the batches that a normalisation has counted, is
        not there.
        """
        if self.places is None or self.weights is None:
            raise TacitError(
                "the training did not start from a torch.nn.Module whose layers are known; "
                "save() writes the network as an ONNX file"
            )
        return self.places.state(self.weights, module.state_dict())

    def __repr__(self) -> str:
        return f"<Trained {self.brief()}>"

    def __str__(self) -> str:
        return f"{self.brief()}\n{render(self.report.epoch_table())}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.brief())}</p>{self.report._repr_html_()}"

    def brief(self) -> str:
        """What was trained for how long and how good it became, in a line."""
        data = self.report.data
        words = [
            count(data["parameters"], "parameter"),
            f"{count(len(data['epochs']), 'epoch')}, {count(data['batches'], 'mini-batch')}",
        ]
        if data["epochs"] and data["epochs"][-1]["accuracy"] is not None:
            words.append(f"accuracy {100 * data['epochs'][-1]['accuracy']:.2f} %")
        held = "not for this party" if self.onnx is None else f"ONNX of {len(self.onnx):,} bytes"
        return ", ".join([*words, held])

    def save(self, path: str | Path) -> None:
        """Writes the ONNX file."""
        if self.onnx is None:
            raise TacitError("this party does not learn the network; its owner does")
        Path(path).write_bytes(self.onnx)


class Trainer:
    """Trains a network between parties of which none sees the data or the weights of another.

    All parties are on this machine: a simulation, as :func:`tacit.local`.

    Parameters
    ----------
    model
        The path of an ONNX file, whose weights are where the training starts; or a mapping with
        `input` (the shape of an item) and either `network` (`network-a`, `network-b`, `network-c`,
        `lenet`, `alexnet`, `alexnet-bn` or `vgg16`) with `outputs`, or `layers`: a list of mappings
        with `type` and its numbers, which docs/training.md lists. Or a `torch.nn.Module`, for which
        `samples` is required; :meth:`Trained.to_torch` brings the weights back. The batch
        normalisations of a file become part of the layers before them: give the module instead.
    epochs, batch
        How often every item is seen, and the items of a mini-batch.
    loss
        `cross-entropy` (of softmax) or `mean-squared-error`.
    optimiser
        `sgd` or `adam`, as PyTorch's `SGD` and `Adam`.
    learning_rate, weight_decay
        Of the optimiser; a learning rate of 0.05 for `sgd` and 0.001 for `adam` if not given.
    momentum
        Of `sgd`.
    betas, epsilon
        Of `adam`: how much of the means of gradients and of their squares is kept, and the least
        that a gradient is divided by; (0.9, 0.999) and 1e-6 if not given.
    schedule
        How the learning rate changes: `{"type": "step", "every": 5, "factor": 0.1}` or
        `{"type": "cosine", "epochs": 20}`.
    seed
        The public seed of the items' order and of starting weights that no file gives.
    ring, fraction_bits
        Bits of the ring or field, and fraction bits of every number.
    sign_bits
        32: signs are taken in 32 bits, which costs half. Right as long as no value whose sign is
        taken reaches `2^(31 - fraction_bits)`, 2048 by default: nothing checks it.
    reveal_curve
        Whether every party learns how good the network is on the test data after every epoch.
    checkpoint
        `{"folder": ..., "keys": ..., "every": 50}`: where every party keeps its encrypted shares,
        and the keys, so that a training that was stopped goes on.
    material_mb
        The correlated randomness that all parties together hold at once, about; what a mini-batch
        needs beyond is made when it has come so far. 1610 when not given.
    samples
        A few items, to export a `torch.nn.Module` with.
    where
        All that :func:`tacit.local` takes except `processes`.
    """

    def __init__(
        self,
        model: str | Path | Mapping[str, Any] | Any,
        *,
        epochs: int = 1,
        batch: int = 128,
        loss: str = "cross-entropy",
        optimiser: str = "sgd",
        learning_rate: float | None = None,
        momentum: float | None = None,
        betas: tuple[float, float] | None = None,
        epsilon: float | None = None,
        weight_decay: float = 0.0,
        schedule: Mapping[str, Any] | None = None,
        seed: int = 1,
        ring: int | None = None,
        fraction_bits: int = 20,
        sign_bits: int | None = None,
        reveal_curve: bool = False,
        checkpoint: Mapping[str, Any] | None = None,
        material_mb: int | None = None,
        stop_after: int | None = None,
        samples: ArrayLike | None = None,
        **where: Any,
    ):
        self.places: Places | None = None
        if not isinstance(model, (str, os.PathLike, Mapping)):
            self._exported = tempfile.TemporaryDirectory(prefix="tacit-")
            model, self.places = _module(model, samples, Path(self._exported.name))
        if isinstance(model, (str, os.PathLike)):
            self.model: dict[str, Any] = {"file": os.fspath(cast(str, model))}
        else:
            self.model = dict(cast(Mapping[str, Any], model))
        both = {
            "learning_rate": learning_rate,
            "weight_decay": weight_decay,
            "schedule": dict(schedule or {"type": "constant"}),
        }
        own = {"momentum": momentum}, {"betas": betas, "epsilon": epsilon}
        chosen = _optimiser(optimiser, both, *own)
        self.options: dict[str, Any] = {
            "epochs": epochs,
            "batch": batch,
            "loss": loss,
            **chosen,
            "seed": seed,
            "ring": ring,
            "fraction_bits": fraction_bits,
            "sign_bits": sign_bits,
            "reveal_curve": reveal_curve,
            "checkpoint": None if checkpoint is None else _paths(checkpoint),
            "material_mb": material_mb,
            "stop_after": stop_after,
        }
        self.where = where

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Trainer:
        """The trainer of a config file, as the extension module reads it."""
        trainer = cls(config["model"], **config["run"])
        trainer.model = config["model"]
        trainer.options = config["training"]
        return trainer

    def fit(
        self,
        train: tuple[ArrayLike, ArrayLike] | Sequence[Owned],
        test: tuple[ArrayLike, ArrayLike] | Sequence[Owned] = (),
        *,
        progress: Progress | None = None,
    ) -> Trained:
        """Trains.

        Parameters
        ----------
        train
            Items and their classes (integers) or values: `(x, y)` of party 1, or a list of
            `(owner, x, y)`.
        test
            What the network is tried on after every epoch if the curve may be revealed.
        progress
            Called as `progress(phase, words, done, total)`.
        """
        with shown(progress) as told_to:
            file, weights, made = _tacit.train(
                model=to_json(self.model),
                options=to_json(self.options),
                run=to_json(self.where),
                train=self.sets(train),
                test=self.sets(test),
                progress=told_to,
            )
        numbers = np.frombuffer(weights, "<f4")
        report = TrainingReport(json.loads(made))
        report.data["brought"] = brought(listed(train), listed(test))
        return Trained(file, report, numbers, self.places)

    def reference(
        self,
        train: tuple[ArrayLike, ArrayLike] | Sequence[Owned],
        test: tuple[ArrayLike, ArrayLike] | Sequence[Owned] = (),
        *,
        every: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[bytes, list[dict[str, Any]]]:
        """Trains in the clear in float32, as :meth:`train` does: same start, same order.

        Returns the ONNX file and, if there are test data, how good the network is on them after
        every epoch, or after `every` so many mini-batches: `batches`, `accuracy` and `loss`
        (cross-entropy), or `error` (mean squared error).
        """
        with shown(progress) as told_to:
            file, moments = _tacit.train_reference(
                model=to_json(self.model),
                options=to_json(self.options),
                train=self.sets(train),
                test=self.sets(test),
                every=every,
                progress=told_to,
            )
        return file, json.loads(moments)

    def cost(
        self,
        items: int | Sequence[tuple[int, int]] | None = None,
        test: int | Sequence[tuple[int, int]] = 0,
        *,
        measure: bool = False,
        progress: Progress | None = None,
        **where: Any,
    ) -> dict[str, Any]:
        """What a training will cost, as its protocol declares, before any run.

        Parameters
        ----------
        items
            The items of an epoch: how many party 1 brings, or a list of `(owner, items)`; those of
            a mini-batch when not given.
        test
            The items that the network is tried on after every epoch if the curve may be revealed,
            likewise.
        measure
            Whether seconds of computing are told, as :meth:`Model.predict_cost` does.
        progress
            Called as `progress(phase, layer, done, total)` while this machine is measured.
        where
            Replaces what the trainer was made with, such as `network="wan"`.

        Returns
        -------
        dict
            `step` (a mini-batch), `epoch` (the mini-batches of the first), `evaluation` (trying the
            network once; None where it is not tried) and `whole` (the training: with `setup`, that
            is agreement, keys, sharing weights and data, and opening the weights), each with
            `offline`, `online` and `note`, with `measure` also `computing` and `expected`, as of
            :meth:`Model.predict_cost`; `memory`, as there; `batch`, `batches` (of an epoch) and
            `parameters`.
        """
        run = {**self.where, **where}
        fast = None
        if measure:
            settings = {**run, "protocol": run.get("protocol") or PROTOCOLS[0]}
            fast = speeds.known(settings, self.options["ring"], progress)
        cost = _tacit.train_cost(
            model=to_json(self.model),
            options=to_json(self.options),
            run=to_json(run),
            items=parts(self.options["batch"] if items is None else items),
            test=parts(test),
            speeds=fast,
        )
        return json.loads(cost)

    def facts(self) -> list[tuple[str, str]]:
        """What is trained and how, as (name, value)."""
        o = self.options
        name = "adam" if "adam" in o else "sgd"
        model = self.model
        kinds = (str(each["type"]) for each in model.get("layers") or ())
        listed = f"layers: {', '.join(kinds)}"
        file = model.get("file")
        network = Path(file).name if file else model.get("network") or listed
        given = {"learning_rate": "default", **o[name]}
        told = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in given.items())
        where = ", ".join(f"{key}={value}" for key, value in self.where.items() if value)
        return [
            ("network", network),
            (
                "training",
                f"{count(o['epochs'], 'epoch')} of mini-batches of {o['batch']}, {o['loss']}",
            ),
            ("optimiser", f"{name}, {told}"),
            ("runs on", where or PROTOCOLS[0]),
        ]

    def __repr__(self) -> str:
        return f"<Trainer {'; '.join(value for _, value in self.facts())}>"

    def __str__(self) -> str:
        return render(facts_grid(self.facts()))

    def _repr_html_(self) -> str:
        return html_facts(self.facts())

    def start(self) -> bytes:
        """The network with the weights that a training starts from, as an ONNX file."""
        return _tacit.train_start(model=to_json(self.model), options=to_json(self.options))

    def sets(self, data: Any) -> list[tuple[int, bytes, bytes]]:
        """The float32 bytes of all owners' data."""
        shape, outputs = _tacit.train_outputs(to_json(self.model))
        made: list[tuple[int, bytes, bytes]] = []
        for owner, x, y in listed(data):
            items, targets = array("the items", x), array("the targets", y)
            made.append(
                (int(owner), item_bytes(items, shape), target_bytes(targets, len(items), outputs))
            )
        return made


def _module(module: Any, samples: Any, folder: Path) -> tuple[Any, Places | None]:
    """The layers of a `torch.nn.Module`, or else its ONNX file."""
    check_module(module, samples)
    try:
        return read(module, samples, folder / "start.f32")
    except UnreadableError as error:
        for part in module.modules():
            kind = type(part).__name__
            if any(name in kind for name in ("BatchNorm", "Dropout")):
                raise TacitError(
                    f"the module has a {kind}, which its file would not keep, and layers that are "
                    f"not known: {error}"
                ) from None
    return export(module, samples, folder / "model.onnx"), None


def _optimiser(
    name: str, both: dict[str, Any], sgd: dict[str, Any], adam: dict[str, Any]
) -> dict[str, Any]:
    """The options of the optimiser of a name, with those that were given."""
    if name not in ("sgd", "adam"):
        raise TacitError(f"the optimiser '{name}' is not known; choose one of sgd, adam")
    own, others = (sgd, adam) if name == "sgd" else (adam, sgd)
    for option, value in others.items():
        if value is not None:
            raise TacitError(f"{option} has no effect with {name}")
    given = {key: value for key, value in (both | own).items() if value is not None}
    if "betas" in given:
        given["beta1"], given["beta2"] = given.pop("betas")
    return {name: given}


def _paths(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """The options of checkpoints with paths as texts."""
    names = ("folder", "keys")
    return {k: os.fspath(v) if k in names and v else v for k, v in checkpoint.items()}
