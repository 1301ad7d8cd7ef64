"""Weights to and from torch.nn modules: copied, never shared, and the same numbers to rounding.

Masks are converted by `clew.visibility`, once, where a call crosses the border.
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
from clew.models.interchange.recurrent import recurrent_from_torch, recurrent_to_torch

__all__ = [
    "attention_from_torch",
    "attention_to_torch",
    "block_from_torch",
    "block_to_torch",
    "encoder_from_torch",
    "encoder_to_torch",
    "layer_norm_from_torch",
    "layer_norm_to_torch",
    "recurrent_from_torch",
    "recurrent_to_torch",
]
