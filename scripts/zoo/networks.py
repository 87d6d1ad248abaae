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


def _made():
    """Names, networks, inputs, and which axes of these are the batch's."""
    from torch import nn

    from . import layers

    classes = partial(nn.Linear, 16)
    siren = nn.Sequential(nn.Linear(2, 32), layers.Sine(), nn.Linear(32, 32), layers.Sine(),
                          nn.Linear(32, 1))  # fmt: skip
    upscale = nn.Sequential(nn.Conv2d(1, 16, 5, 1, 2), nn.Tanh(), nn.Conv2d(16, 9, 3, 1, 1),
                            nn.PixelShuffle(3))  # fmt: skip
    draws = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 1, 0), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh())  # fmt: skip
    plain = partial(nn.LSTM, WIDTH, 16)
    return [
        ("LSTM, time first", layers.Last(plain(), classes(5), 0), _time_first, {"x": 1}),
        ("GRU, two ways", layers.Last(
            nn.GRU(WIDTH, 8, 2, batch_first=True, bidirectional=True), classes(5), 1),
         _normal(STEPS, WIDTH), {}),
        ("LSTM, lengths", layers.Packed(plain(batch_first=True), classes(3)), _with_lengths, {}),
        ("LSTMCell", layers.Cells(nn.LSTMCell(WIDTH, 16), classes(2)), _normal(5, WIDTH), {}),
        ("GRUCell", layers.Cells(nn.GRUCell(WIDTH, 16), classes(2)), _normal(5, WIDTH), {}),
        ("temporal convolutions", layers.Dilated(3, 16, 4), _normal(3, 40), {}),
        ("graph attention", layers.GraphAttention(5, 8, 3), _with_edges, {}),
        ("messages along edges", layers.Messages(5, 8, 3), _normal(7, 5), {}),
        ("tables of words and numbers", layers.Crossed(4, 20, 3), _columns, {}),
        ("sinusoidal network", siren, _normal(2), {}),
        ("super resolution", upscale, _normal(1, 16, 16), {}),
        ("image generator", draws, _normal(16, 1, 1), {}),
        ("Transformer", layers.Two(nn.Transformer(16, 2, 1, 1, 32, batch_first=True)),
         lambda rng, n: {"a": _normal(6, 16)(rng, n), "b": _normal(6, 16)(rng, n)}, {}),
        ("volumes", nn.Sequential(
            nn.Conv3d(1, 8, 3, padding=1), nn.InstanceNorm3d(8, affine=True), nn.LeakyReLU(),
            nn.MaxPool3d(2), nn.ConvTranspose3d(8, 2, 2, 2)), _normal(1, 8, 8, 8), {}),
    ]  # fmt: skip


def _write(at, path):
    import torch

    torch.manual_seed(0)
    _, network, make, axes = _made()[at]
    example = make(np.random.default_rng(1), 4)
    example = example if isinstance(example, dict) else {"x": example}
    given = tuple(torch.from_numpy(array) for array in example.values())
    network.train()(*given)
    export(network.eval(), given, path, [*example], axes=axes)


def networks():
    """Networks of random weights, by torch's first exporter."""
    return [
        Entry(name, partial(_write, at), make, {}, 16, axes)
        for at, (name, _, make, axes) in enumerate(_made())
    ]
