"""Small networks as people write them with torch: over time, of sets, graphs, tables and images."""

from functools import partial

import numpy as np

from .entry import Entry
from .vision import export

STEPS, WIDTH = 12, 8


def _normal(*shape):
    return lambda rng, n: rng.normal(size=(n, *shape)).astype("f4")


def _time_first(rng, n):
    return {"x": rng.normal(size=(STEPS, n, WIDTH)).astype("f4")}


def _with_lengths(rng, n):
    lengths = rng.integers(STEPS // 3, STEPS + 1, n)
    return {"x": _normal(STEPS, WIDTH)(rng, n), "lengths": np.sort(lengths)[::-1].copy()}


def _with_edges(rng, n):
    near = np.maximum(rng.random((n, 10, 10)) > 0.7, np.eye(10))
    return {"x": _normal(10, 5)(rng, n), "near": near.astype("f4")}


def _columns(rng, n):
    return {"x": _normal(4)(rng, n), "words": rng.integers(0, 20, (n, 3))}


def _pairs(rng, n):
    return {"a": _normal(6, 16)(rng, n), "b": _normal(6, 16)(rng, n)}


def _siren(nn, layers):
    inside = [nn.Linear(2, 32), layers.Sine(), nn.Linear(32, 32), layers.Sine()]
    return nn.Sequential(*inside, nn.Linear(32, 1))


def _upscale(nn, _):
    inside = [nn.Conv2d(1, 16, 5, 1, 2), nn.Tanh(), nn.Conv2d(16, 9, 3, 1, 1)]
    return nn.Sequential(*inside, nn.PixelShuffle(3))


def _draws(nn, _):
    inside = [nn.ConvTranspose2d(16, 32, 4, 1, 0), nn.BatchNorm2d(32), nn.ReLU()]
    return nn.Sequential(*inside, nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh())


def _volumes(nn, _):
    inside = [nn.Conv3d(1, 8, 3, padding=1), nn.InstanceNorm3d(8, affine=True), nn.LeakyReLU()]
    return nn.Sequential(*inside, nn.MaxPool3d(2), nn.ConvTranspose3d(8, 2, 2, 2))


ROWS = [
    ("LSTM, time first",
     lambda nn, layers: layers.Last(nn.LSTM(WIDTH, 16), nn.Linear(16, 5), 0),
     _time_first, {"x": 1}),
    ("GRU, two ways",
     lambda nn, layers: layers.Last(
         nn.GRU(WIDTH, 8, 2, batch_first=True, bidirectional=True), nn.Linear(16, 5), 1),
     _normal(STEPS, WIDTH), {}),
    ("LSTM, lengths",
     lambda nn, layers: layers.Packed(nn.LSTM(WIDTH, 16, batch_first=True), nn.Linear(16, 3)),
     _with_lengths, {}),
    ("LSTMCell", lambda nn, layers: layers.Cells(nn.LSTMCell(WIDTH, 16), nn.Linear(16, 2)),
     _normal(5, WIDTH), {}),
    ("GRUCell", lambda nn, layers: layers.Cells(nn.GRUCell(WIDTH, 16), nn.Linear(16, 2)),
     _normal(5, WIDTH), {}),
    ("temporal convolutions", lambda _, layers: layers.Dilated(3, 16, 4), _normal(3, 40), {}),
    ("graph attention", lambda _, layers: layers.GraphAttention(5, 8, 3), _with_edges, {}),
    ("messages along edges", lambda _, layers: layers.Messages(5, 8, 3), _normal(7, 5), {}),
    ("table of words and numbers", lambda _, layers: layers.Crossed(4, 20, 3), _columns, {}),
    ("sinusoidal network", _siren, _normal(2), {}),
    ("super resolution", _upscale, _normal(1, 16, 16), {}),
    ("image generator", _draws, _normal(16, 1, 1), {}),
    ("Transformer",
     lambda nn, layers: layers.Two(nn.Transformer(16, 2, 1, 1, 32, batch_first=True)), _pairs, {}),
    ("volumes", _volumes, _normal(1, 8, 8, 8), {}),
]  # fmt: skip
"""Names, functions that make networks, inputs, and which axes of these are the batch's."""


def _write(build, make, axes, path):
    import torch

    from . import layers

    torch.manual_seed(0)
    network = build(torch.nn, layers)
    example = make(np.random.default_rng(1), 4)
    example = example if isinstance(example, dict) else {"x": example}
    given = tuple(torch.from_numpy(array) for array in example.values())
    network.train()(*given)
    export(network.eval(), given, path, [*example], axes=axes)


def networks():
    """Networks of random weights, by torch's first exporter."""
    return [
        Entry(name, partial(_write, build, make, axes), make, {}, axes)
        for name, build, make, axes in ROWS
    ]
