"""Transformers of the package `transformers` and of torch, of random weights, exported by torch."""

from functools import partial

import numpy as np

from . import inputs
from .entry import Entry
from .vision import export

LENGTH, VOCABULARY = 32, 1000
SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
"""The sizes of BERT-tiny."""


def tokens(names, rng, n):
    """Sentences as inputs of these names."""
    ids, mask = inputs.sentences(rng, n, LENGTH, VOCABULARY)
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return {name: given[name] for name in names}


def _wrapped(model, names):
    """A model that takes its inputs in an order, and gives its first output."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *given):
            inputs_by_name = dict(zip(names, given, strict=True))
            return self.model(**inputs_by_name, return_dict=False)[0]

    return Wrapped().eval()


def language(classes, options, names, example, path, *, dynamo=False):
    """Writes a model of such classes and sizes with weights that are not nearly 0."""
    import torch
    import transformers

    torch.manual_seed(0)
    kind, config = (getattr(transformers, name) for name in classes)
    model = kind(config(**options))
    for name, parameter in model.named_parameters():
        if "norm" not in name.lower() and name.endswith("weight") and parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.05)
    given = tuple(torch.from_numpy(array) for array in example().values())
    export(_wrapped(model, names), given, path, names, dynamo=dynamo)


def _eager(classes, options, names, dynamo, path):
    plain = {**options, "attn_implementation": "eager"}
    example = partial(tokens, names, np.random.default_rng(1), 2)
    language(classes, plain, names, example, path, dynamo=dynamo)


def _vit(dynamo, path):
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.ViTConfig(
        **SMALL, intermediate_size=256, image_size=32, patch_size=8, num_labels=10,
        attn_implementation="eager",
    )  # fmt: skip
    model = transformers.ViTForImageClassification(config)
    for name, parameter in model.named_parameters():
        if "layernorm" not in name and parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.05)
    x = torch.from_numpy(inputs.photos(np.random.default_rng(1), 2, 32))
    export(_wrapped(model, ["pixel_values"]), (x,), path, ["pixel_values"], dynamo=dynamo)


def _encoder(dynamo, path):
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    network = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(64 * 20, 5))
    # Without gradients its fast path would be taken, which is no operation of ONNX.
    export(
        network.train(False).requires_grad_(), (torch.randn(2, 20, 64),), path, ["x"], dynamo=dynamo
    )


def _normal(shape, rng, n):
    return rng.normal(size=(n, *shape)).astype("f4")


def text():
    """Models of tokens, of patches of images, and of vectors."""
    bert = {**SMALL, "intermediate_size": 512, "vocab_size": VOCABULARY}
    base = {"vocab_size": VOCABULARY}
    distil = {"dim": 128, "n_layers": 2, "n_heads": 2, "hidden_dim": 512, "vocab_size": VOCABULARY}
    gpt = {"n_embd": 128, "n_layer": 2, "n_head": 2, "n_positions": 64, "vocab_size": VOCABULARY,
           "use_cache": False}  # fmt: skip
    three = ["input_ids", "attention_mask", "token_type_ids"]
    two = three[:2]
    rows = [
        ("BERT-tiny", "BertForSequenceClassification", "BertConfig", bert, three),
        ("BERT-base", "BertForSequenceClassification", "BertConfig", base, three),
        ("DistilBERT", "DistilBertForSequenceClassification", "DistilBertConfig", distil, two),
        ("GPT-2", "GPT2LMHeadModel", "GPT2Config", gpt, two),
    ]
    found = []
    for dynamo in (False, True):
        tail = ", torch.export" if dynamo else ""
        for name, kind, config, options, names in rows:
            build = partial(_eager, (kind, config), options, names, dynamo)
            make = partial(tokens, names)
            found.append(Entry(name + tail, build, make, counted=name == "BERT-base"))
        photos = partial(inputs.photos, size=32)
        found.append(Entry("ViT" + tail, partial(_vit, dynamo), photos))
        normal = partial(_normal, (20, 64))
        found.append(Entry("TransformerEncoder" + tail, partial(_encoder, dynamo), normal))
    return found
