"""More families of the package `transformers`, small and as they are exported by default."""

from functools import partial

import numpy as np

from . import inputs
from .entry import Entry
from .text import LENGTH, VOCABULARY, language, tokens

IMAGES, SOUND = 32, 2000
"""Pixels of a side, and samples of a voice."""
SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128}  # fmt: skip
TOKENS = {**SIZES, "vocab_size": VOCABULARY, "max_position_embeddings": 2 * LENGTH}
PATCHES = {**SIZES, "image_size": IMAGES, "patch_size": 8, "num_labels": 10}
WAVES = {**SIZES, "vocab_size": 32, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16,
         "num_conv_pos_embedding_groups": 4}  # fmt: skip
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
      "vocab_size": VOCABULARY}  # fmt: skip
PADDED, FACTORED = {**TOKENS, "pad_token_id": 1}, {**TOKENS, "embedding_size": 32}
LLAMA = {**TOKENS, "num_key_value_heads": 2, "use_cache": False}
ALL = ["input_ids", "attention_mask", "token_type_ids"]
TWO = ALL[:2]
ROWS = [
    ("BERT, as exported", "BertForSequenceClassification", "BertConfig", TOKENS, ALL),
    ("RoBERTa", "RobertaForSequenceClassification", "RobertaConfig", PADDED, TWO),
    ("MPNet", "MPNetForSequenceClassification", "MPNetConfig", PADDED, TWO),
    ("ELECTRA", "ElectraForTokenClassification", "ElectraConfig", TOKENS, ALL),
    ("ALBERT", "AlbertForSequenceClassification", "AlbertConfig", FACTORED, ALL),
    ("T5 encoder", "T5EncoderModel", "T5Config", T5, TWO),
    ("Llama", "LlamaForCausalLM", "LlamaConfig", LLAMA, TWO),
    ("Qwen2", "Qwen2ForCausalLM", "Qwen2Config", LLAMA, TWO),
    ("BEiT", "BeitForImageClassification", "BeitConfig", PATCHES, ["pixel_values"]),
    ("DINOv2", "Dinov2ForImageClassification", "Dinov2Config", PATCHES, ["pixel_values"]),
    ("CLIP, vision", "CLIPVisionModel", "CLIPVisionConfig", PATCHES, ["pixel_values"]),
    ("Wav2Vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", WAVES, ["input_values"]),
]
"""Names, classes of models and of their sizes, the sizes, and the names of inputs."""


def _voices(rng, n):
    return inputs.voices(rng, n, SOUND)


def families():
    """Models of tokens, of patches of images, and of sounds, by torch's first exporter."""
    found = []
    for name, kind, config, sizes, names in ROWS:
        given = {"pixel_values": partial(inputs.photos, size=IMAGES), "input_values": _voices}
        make = given.get(names[0], partial(tokens, names))
        example = partial(_example, make, names)
        build = partial(language, (kind, config), sizes, names, example)
        found.append(Entry(name, build, make))
    return found


def _example(make, names):
    made = make(np.random.default_rng(1), 2)
    return made if isinstance(made, dict) else {names[0]: made}
