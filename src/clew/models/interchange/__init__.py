"""Weights to and from torch.nn modules and published checkpoints: copied, never shared, the same numbers to rounding.

Checkpoints are safetensors and JSON; nothing here reads a pickle. Masks are converted by `clew.visibility`, once, where
a call crosses the border.
"""

from clew.models.interchange.attention import (
    attention_from_torch,
    attention_to_torch,
    block_from_torch,
    block_to_torch,
    encoder_from_torch,
    encoder_to_torch,
    layer_norm_from_torch,
    layer_norm_to_torch,
)
from clew.models.interchange.bert import bert_from_folder, bert_to_folder
from clew.models.interchange.recurrent import recurrent_from_torch, recurrent_to_torch
from clew.models.interchange.recurrent_weights import recurrent_layer_from_file

__all__ = [
    "attention_from_torch",
    "attention_to_torch",
    "bert_from_folder",
    "bert_to_folder",
    "block_from_torch",
    "block_to_torch",
    "encoder_from_torch",
    "encoder_to_torch",
    "layer_norm_from_torch",
    "layer_norm_to_torch",
    "recurrent_from_torch",
    "recurrent_layer_from_file",
    "recurrent_to_torch",
]
