"""A random small model for every number, with inputs of every kind."""

import numpy as np

from .build import Graph
from .judge import Trial
from .operations import ENDS, GENERATORS, add

SHAPES = ((4,), (6,), (5,), (3, 4), (2, 5), (1, 6), (2, 4, 4), (3, 3, 5), (1, 6, 6), (4, 1, 3))

FIXED = (None, None, None, None, None, None, None, 1, 1, 2)
"""The batch sizes of files, mostly free; 2 divides the number of inputs."""


def random_model(seed, kinds=None, ends=ENDS, opsets=range(9, 25)):
    """The model of this number and its largest input, made of some kinds of nodes and ends."""
    rng = np.random.default_rng(seed)
    g = Graph(rng, int(rng.choice(list(opsets))), fixed=FIXED[rng.integers(len(FIXED))])
    limit = float(rng.choice([0.5, 1.0, 3.0, 10.0]))
    v = g.start(SHAPES[rng.integers(len(SHAPES))], limit)
    kinds = sorted(kinds or GENERATORS)
    wanted, tries = int(rng.integers(1, 7)), 0
    while wanted and tries < 60:
        tries += 1
        new = add(g, v, kinds[rng.integers(len(kinds))])
        if new is not None:
            v, wanted = new, wanted - 1
    if rng.random() < 0.25:
        new = ENDS[list(ends)[rng.integers(len(ends))]](g, v)
        v = v if new is None else new
    if v is g.input:
        v = GENERATORS["Relu"](g, v)
    g.output = v
    return g, limit


def trial(seed, setting, **made_of):
    """The model of this number with its inputs, under a setting; every fourth has no samples."""
    g, limit = random_model(seed, **made_of)
    samples, x = inputs(np.random.default_rng([seed, 1]), g.input.shape, limit)
    return Trial(g, limit, samples if seed % 4 else None, x, setting)


def inputs(rng, shape, limit):
    """Samples, and inputs unlike them that are inside the declared range.

    The inputs are zeros, more like the samples, their mirror images, quiet ones, the whole range
    evenly, and its ends.
    """
    spread = rng.choice([0.1, 0.5, 1.0]) * limit
    samples = np.clip(rng.normal(0, spread / 2, (16, *shape)), -limit, limit)
    kinds = [
        np.zeros((1, *shape)),
        np.clip(rng.normal(0, spread / 2, (3, *shape)), -limit, limit),
        -samples[:2],
        samples[:1] / 100,
        rng.uniform(-limit, limit, (3, *shape)),
        limit * rng.choice([-1.0, 1.0], (2, *shape)),
        np.full((1, *shape), limit),
        np.full((1, *shape), -limit),
    ]
    return samples.astype(np.float32), np.concatenate(kinds).astype(np.float32)
