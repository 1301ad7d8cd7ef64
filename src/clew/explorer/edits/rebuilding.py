"""A model with another activation or other places of its normalizations: layers anew, weights kept where they fit.

The layers of a model are classes of their own for each variant, so that a variant is built and not switched on. Each
weight whose name and shape exist in both is kept; `changed_weights` says which are new and which are gone.
"""

from collections.abc import Sequence

import torch
from torch import nn

from clew.layers.bidirectional import BidirectionalLayer
from clew.layers.rnn import RNNLayer
from clew.models.blocks import TransformerBlock
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder

UNDRAWN = 0.0
"""Dropout of a rebuilt encoder: it is only run in evaluation, where nothing is dropped."""


def rebuilt_transformer(
    encoder: TransformerEncoder, norm: str | None = None, activation: str | None = None
) -> TransformerEncoder:
    """Build an encoder of the same sizes with another norm placement or activation, and the weights that fit."""
    block = encoder.blocks[0]
    assert isinstance(block, TransformerBlock)
    attention = block.attention
    made = TransformerEncoder(
        encoder.width,
        attention.heads,
        block.mlp.hidden_map.weight.shape[0],
        layers=len(encoder.blocks),
        causal=encoder.causal,
        norm=norm or encoder.norm,
        positions=None,
        head_dim=attention.head_dim,
        value_dim=attention.value_dim,
        activation=activation or block.mlp.activation.name,
        dropout=UNDRAWN,
        normalize_entry=encoder.entry_norm is not None,
        epsilon=block.attention_norm.epsilon,
    )
    made.positions = encoder.positions
    _give_weights(encoder, made)
    return made


def rebuilt_recurrence(encoder: RecurrentEncoder, activation: str) -> RecurrentEncoder:
    """Build a simple recurrent encoder of the same sizes with another activation, and the same weights."""
    made = RecurrentEncoder(
        encoder.cell,
        encoder.features,
        encoder.hidden,
        layers=len(encoder.recurrent),
        bidirectional=encoder.bidirectional,
        activation=activation,
    )
    _give_weights(encoder, made)
    return made


def _give_weights(earlier: nn.Module, made: nn.Module) -> None:
    """Copy the weights that fit, in the precision and mode of the earlier encoder."""
    like = next(earlier.parameters())
    made.to(device=like.device, dtype=like.dtype).train(earlier.training)
    kept = dict(earlier.named_parameters())
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name in kept and kept[name].shape == parameter.shape:
                parameter.copy_(kept[name])
                parameter.requires_grad_(kept[name].requires_grad)


def changed_weights(earlier: nn.Module, later: nn.Module) -> tuple[Sequence[str], Sequence[str]]:
    """Name the parameters that only the later model has, and those that only the earlier one has."""
    before, after = (dict(model.named_parameters()) for model in (earlier, later))
    fits = {name for name in before.keys() & after.keys() if before[name].shape == after[name].shape}
    return [name for name in after if name not in fits], [name for name in before if name not in fits]


def activation_of(encoder: nn.Module) -> str | None:
    """Name the activation that can be chosen; None where the cell has its own."""
    if isinstance(encoder, TransformerEncoder):
        block = encoder.blocks[0]
        return block.mlp.activation.name if isinstance(block, TransformerBlock) else None
    layer = encoder.recurrent[0] if isinstance(encoder, RecurrentEncoder) else None
    layer = layer.forward_layer if isinstance(layer, BidirectionalLayer) else layer
    return layer.activation.name if isinstance(layer, RNNLayer) else None
