"""Falcon's figures on paper, beside the same networks here, for `tacit tables falcon`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from .. import datasets
from ..data import INPUT_NAMES, load_array
from ..model import Model, compile
from ..session import local
from ..training import Trainer

LINKS = {"lan": "0.2ms,5000Mbps", "wan": "70ms,320Mbps"}
"""The paper's networks, as emulated: 625 and 40 MB/s."""
SECURITY = ("semi-honest", "malicious")
PHASES = ("prediction", "training")
BATCH = 128
"""Items of the paper's mini-batches."""
OPTIONS = {"sign_bits": 32}
"""The options of our trainings, beside the defaults."""
TIMEOUT = 3600.0
"""Seconds: on one machine parties wait for each other's arithmetic."""


class Case(NamedTuple):
    """A network on a data set, and how long the paper trains it."""

    network: str
    input: tuple[int, int, int]
    outputs: int
    items: int
    epochs: int

    def model(self) -> dict[str, Any]:
        """The network's options, as :class:`tacit.Trainer` takes them."""
        return {"input": list(self.input), "network": self.network, "outputs": self.outputs}

    def images(self, n: int) -> np.ndarray:
        """Random images, `n` of the network's input shape, with values in [0, 1)."""
        return np.random.default_rng(1).random((n, *self.input), np.float32)

    def steps(self) -> int:
        """The mini-batches of the paper's training."""
        return self.epochs * -(-self.items // BATCH)


MNIST, CIFAR, TINY = ((1, 28, 28), 10, 60_000), ((3, 32, 32), 10, 50_000), ((3, 64, 64), 200, 10**5)
CASES = {
    "network-a": Case("network-a", *MNIST, 15),
    "network-b": Case("network-b", *MNIST, 15),
    "network-c": Case("network-c", *MNIST, 15),
    "lenet": Case("lenet", *MNIST, 15),
    "alexnet-cifar": Case("alexnet-bn", *CIFAR, 90),
    "vgg16-cifar": Case("vgg16", *CIFAR, 25),
    "alexnet-tiny": Case("alexnet-bn", *TINY, 90),
    "vgg16-tiny": Case("vgg16", *TINY, 25),
}
#: Of each of `CASES`: Tables 2 and 3, seconds/MB of a prediction, and 4 and 5, hours/TB of a whole
#: training. Table 4 prints 56.14 TB for network B in a WAN; bytes do not depend on the link.
PAPER = {
    ("prediction", "semi-honest", "lan"): (
        "0.011/0.012 0.009/0.049 0.042/0.51 0.047/0.74 0.043/1.35 0.79/13.51 1.81/19.21 3.15/52.56"
    ),
    ("prediction", "malicious", "lan"): (
        "0.021/0.31 0.022/0.52 0.089/3.37 0.12/5.69 0.14/8.85 2.89/90.1 6.7/130 12.04/395.7"
    ),
    ("prediction", "semi-honest", "wan"): (
        "0.99/0.012 0.76/0.049 3.0/0.5 3.06/0.74 0.13/1.35 1.27/13.51 2.43/19.21 4.67/52.56"
    ),
    ("prediction", "malicious", "wan"): (
        "2.33/0.31 1.7/0.52 7.8/3.37 7.87/5.69 0.41/8.85 4.7/90.1 8.68/130 37.6/395.7"
    ),
    ("training", "semi-honest", "lan"): (
        "0.17/0.016 0.42/0.056 3.71/0.54 6.05/0.81 78.9/7.24 843/45.9 12300/222.9 5190/156"
    ),
    ("training", "malicious", "lan"): (
        "0.56/0.088 1.17/0.32 11.9/3.29 12.2/4.82 282/43.4 3050/185.3 46300/1598 19500/1012"
    ),
    ("training", "semi-honest", "wan"): (
        "3.76/0.016 3.4/0.056 14.8/0.54 18.5/0.81 233/7.24 2090/45.9 15400/222.9 6890/156"
    ),
    ("training", "malicious", "wan"): (
        "8.01/0.088 7.5/0.32 39.32/3.29 52/4.82 724/43.4 5260/185.3 57100/1598 24700/1012"
    ),
}
ACCURACY = {
    "network-a": (97.42, 97.42, 0.471),
    "network-b": (97.81, 97.81, 0.635),
    "network-c": (98.64, 98.64, 0.415),
    "lenet": (99.15, 96.85, 0.965),
}
"""Table 6: per cent of test images right in the clear and privately, and the relative error."""


def on_paper(name: str, phase: str, security: str, link: str) -> tuple[float, float]:
    """Seconds and MB of a prediction, or of a mini-batch: a training over its number of them."""
    cell = PAPER[phase, security, link].split()[[*CASES].index(name)]
    first, second = (float(value) for value in cell.split("/"))
    if phase == "prediction":
        return first, second
    return 3600 * first / CASES[name].steps(), 1e6 * second / CASES[name].steps()


def falcon(
    networks: Iterable[str] = tuple(CASES),
    phases: Iterable[str] = PHASES,
    security: Iterable[str] = SECURITY,
    links: Iterable[str] = tuple(LINKS),
    *,
    limit: float = 60.0,
    batch: int = BATCH,
    observe: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """Tables 2 to 5 of Falcon: predictions of one image, and steps on a mini-batch.

    Seconds and MB that the busiest party sends, offline and online, with random weights and images
    over the 64-bit ring, signs as in the paper, and all parties in this process. What is expected
    to take more than `limit` seconds does not run: its MB and hops are those that the protocol
    declares, its seconds those of the network alone. Expected are the network's seconds, and for
    every declared MB what a MB of 32 small predictions took on this machine (:func:`pace`); of a
    prediction, those of one.
    """
    rows: list[dict[str, Any]] = []
    kinds = {"prediction": _Prediction, "training": _Step}
    security, links = tuple(security), tuple(links)
    for phase, name in product(phases, networks):
        work = kinds[phase](CASES[name], batch)
        for secure, link in product(security, links):
            where = {"security": secure, "comparison": "falcon", "network": LINKS[link]}
            seconds, sent = on_paper(name, phase, secure, link)
            rows.append(
                {
                    "phase": phase,
                    "network": name,
                    "security": secure,
                    "link": link,
                    "paper_seconds": seconds,
                    "paper_mb": sent,
                    **_cost(work, where, limit),
                }
            )
            observe(rows[-1])
    return rows


class _Prediction:
    """Predictions of one image; seconds are medians of three in a row."""

    def __init__(self, case: Case, _batch: int):
        self.x = case.images(8)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(Trainer(case.model()).start())
            self.model = compile(path, samples=self.x)

    def cost(self, where: dict[str, Any]) -> dict[str, Any]:
        return self.model.predict_cost(1, **where)

    def run(self, where: dict[str, Any]) -> dict[str, Any]:
        report = local(**where, timeout=TIMEOUT).predict(self.model, self.x[:3], batch=1).report
        return {
            phase: {
                "seconds": median(batch[f"{phase}_seconds"] for batch in report.batches),
                "rounds": report.data[phase]["rounds"] // 3,
                "bytes_sent": [sent // 3 for sent in report.data[phase]["bytes_sent"]],
            }
            for phase in ("offline", "online")
        }


class _Step:
    """A training step on one mini-batch."""

    def __init__(self, case: Case, batch: int):
        self.case, self.batch = case, batch

    def cost(self, where: dict[str, Any]) -> dict[str, Any]:
        trainer = Trainer(self.case.model(), batch=self.batch, **OPTIONS, **where)
        return trainer.cost()["step"]

    def run(self, where: dict[str, Any]) -> dict[str, Any]:
        options = {"batch": self.batch, "timeout": TIMEOUT, **OPTIONS}
        classes = np.arange(self.batch) % self.case.outputs
        trainer = Trainer(self.case.model(), **options, **where)
        return trainer.fit((self.case.images(self.batch), classes)).report.data


def _cost(work: _Prediction | _Step, where: dict[str, Any], limit: float) -> dict[str, Any]:
    """What was metered, or what is declared where that is expected to take too long."""
    declared = work.cost(where)
    expected = sum(declared[phase]["seconds"] for phase in ("offline", "online"))
    if expected <= limit:
        expected += pace(where["security"]) * _megabytes(declared)
    measured = expected <= limit
    cost = work.run(where) if measured else declared
    columns = {"measured": measured}
    for phase in ("offline", "online"):
        columns[f"{phase}_seconds"] = cost[phase]["seconds"]
        columns[f"{phase}_mb"] = max(cost[phase]["bytes_sent"]) / 1e6
        columns[f"{phase}_hops"] = cost[phase]["rounds"]
    return columns


@cache
def pace(security: str) -> float:
    """Seconds for each MB of a party's that small predictions take here, without a network."""
    case = CASES["network-b"]
    session = local(security=security, comparison="falcon", timeout=TIMEOUT)
    report = session.predict(_Prediction(case, BATCH).model, case.images(32)).report.data
    seconds = sum(report[phase]["seconds"] for phase in ("offline", "online"))
    return seconds / _megabytes(report)


def _megabytes(cost: dict[str, Any]) -> float:
    """MB that the busiest party sends."""
    return sum(max(cost[phase]["bytes_sent"]) for phase in ("offline", "online")) / 1e6


def missing(name: str) -> str | None:
    """Why a network of the paper cannot be tried: what is not there."""
    if name not in ACCURACY:
        return f"the paper has no accuracy of it, but of {', '.join(ACCURACY)}"
    for variable, files in (
        ("TACIT_MODELS", (f"{name}.onnx", f"{name}.samples.npz")),
        ("TACIT_DATA", ("mnist",)),
    ):
        if not os.environ.get(variable):
            return f"{variable} must name a folder"
        for file in files:
            path = Path(os.environ[variable]) / file
            if not path.exists():
                return f"there is no {path}"
    return None


def accuracy(name: str, images: int, batch: int = BATCH) -> dict[str, Any]:
    """A line of Table 6: a trained network of `$TACIT_MODELS` on MNIST's test images.

    Per cent right in float32 and privately, and the relative error: the outputs' mean difference
    from float32 over their mean magnitude.
    """
    folder = Path(os.environ["TACIT_MODELS"])
    test = datasets.load(f"mnist:{Path(os.environ['TACIT_DATA']) / 'mnist'}", "test").head(images)
    samples = load_array(str(folder / f"{name}.samples.npz"), INPUT_NAMES)
    model: Model = compile(folder / f"{name}.onnx", samples=samples)
    x = test.x.reshape(len(test.x), *model.input_shape)
    clear = np.asarray(model.reference(x))
    private = local().predict(model, x, test.y, batch=batch)
    paper = dict(zip(("float", "private", "error"), ACCURACY[name], strict=True))
    ours = {
        "float": 100 * model.accuracy(clear, test.y),
        "private": 100 * private.report.accuracy,
        "error": 100 * float(np.abs(private.output - clear).mean() / np.abs(clear).mean()),
    }
    return {"network": name, "images": len(x), "paper": paper, "ours": ours}
