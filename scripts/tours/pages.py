"""The pages of the tour: who reads each, what that reader has, and the blocks that are run."""

import re
from dataclasses import dataclass, field

from tours import stages

ROOT = stages.ROOT
FENCE = re.compile(r"^```(?P<kind>[a-z]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = ("console", "python", "sh", "toml")
SHOWN = ("json", "text")
"""Blocks that are run, and those that only show something."""

ARRAYS = """\
import numpy as np
import tacit
samples, x, y = np.load("typical.npy"), np.load("x.npy"), np.load("y.npy")
model = tacit.compile("model.onnx", samples=samples)
"""
NETWORK = """\
import torch
model = torch.nn.Sequential(
    torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
)
example = torch.rand(1, 1, 8, 8)
"""


@dataclass(frozen=True)
class Page:
    """A page and its reader.

    `before` has, by words of a block, the code that the page leaves to the reader; a block of TOML
    that stands there by its words is a config, and `tacit train` is asked what it costs.
    """

    path: str
    role: str
    stage: object
    before: dict = field(default_factory=dict)

    @property
    def text(self):
        return (ROOT / self.path).read_text(encoding="utf-8")


PAGES = [
    Page("README.md", "newcomer", stages.nothing),
    Page("docs/ml-engineer.md", "ML engineer", stages.nothing),
    Page("docs/protocols/README.md", "ML engineer", stages.nothing),
    Page("docs/data-owner.md", "data owner", stages.digits),
    Page(
        "docs/model-owner.md",
        "model owner",
        stages.a_model,
        {"torch.onnx.export": NETWORK},
    ),
    Page("docs/operator.md", "operator", stages.three_parties),
    Page(
        "docs/researcher.md",
        "researcher",
        stages.a_model,
        {"model.reference": ARRAYS, "analyze_truncation": ARRAYS},
    ),
    Page("docs/training.md", "owner of a network", stages.a_training, {'network = "lenet"': ""}),
    Page(
        "docs/data.md",
        "data owner",
        stages.data_sets,
        {"datasets.load": "from tacit import datasets\n"},
    ),
]

PACKAGES = {
    "houses.parquet": "pyarrow",
    "tiny-imagenet": "PIL",
    "torch": "torch",
    "sklearn": "skl2onnx",
    "to_dataframe": "pandas",
    "plot": "matplotlib",
}
"""What a block needs beside Tacit, by a word of it."""


def blocks(page):
    """The fenced blocks of a page, each with its kind."""
    found = [(match["kind"], match["text"]) for match in FENCE.finditer(page.text)]
    strange = sorted({kind for kind, _ in found} - {*RUN, *SHOWN})
    if strange:
        raise SystemExit(f"{page.path}: blocks of {strange or 'no language'}; say sh or text")
    return [(kind, text) for kind, text in found if kind in RUN]


def lines(text):
    """The commands of a block, without comments; a backslash joins lines."""
    joined = re.sub(r"\\\n\s*", "", text)
    found = [re.sub(r"\s+#.*$", "", line).strip() for line in joined.splitlines()]
    return [line for line in found if line and not line.startswith("#")]
