"""Attention, normalization, Transformer blocks and encoders to and from torch.nn, weights copied, nothing shared.

The results compute the same to rounding. torch.nn's modules take masks the other way round, see `clew.visibility`, and
may take rows time-first, which the weights do not know: here rows are always (batch, time, width), and what is given
back is batch-first. What cannot be said in the other module is an error, never left out.
"""

from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.errors import ConfigError, complain
from clew.layers.attention import MultiHeadAttention
from clew.layers.dropout import share_dropout_generator
from clew.layers.linear import Linear
from clew.layers.normalization import LayerNorm
from clew.models.blocks import BLOCKS, PostNormBlock, PreNormBlock, TransformerBlock
from clew.models.transformer_encoder import TransformerEncoder

Module = TypeVar("Module", bound=nn.Module)


def attention_from_torch(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """Make the layer that computes what a self-attention of torch.nn does.

    Raises:
        ConfigError: If the module has keys or values of another width, or added keys.
    """
    _require("nn.MultiheadAttention", module._qkv_same_embed_dim, "kdim and vdim", "embed_dim, for self-attention")
    _require("nn.MultiheadAttention", module.bias_k is None, "add_bias_kv", "False")
    _require("nn.MultiheadAttention", not module.add_zero_attn, "add_zero_attn", "False")
    layer = MultiHeadAttention(module.embed_dim, module.num_heads, dropout=module.dropout)
    layer = _like(layer, module.out_proj.weight, module.training)
    assert module.in_proj_weight is not None
    _copy_linear(layer.input_map, module.in_proj_weight, module.in_proj_bias)
    _copy_linear(layer.output_map, module.out_proj.weight, module.out_proj.bias)
    return layer


def attention_to_torch(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    """Make the torch.nn.MultiheadAttention, batch-first, that computes what a layer does.

    Raises:
        ConfigError: If heads * head_dim or heads * value_dim is not the width.
    """
    _require_equal_parts(layer)
    module = nn.MultiheadAttention(layer.width, layer.heads, layer.weights_dropout.fraction, batch_first=True)
    module = _like(module, layer.output_map.weight, layer.training)
    _fill_attention(module, layer)
    return module


def layer_norm_from_torch(module: nn.LayerNorm) -> LayerNorm:
    """Make the layer that computes what a torch.nn.LayerNorm over the last axis does.

    Raises:
        ConfigError: If it normalizes over several axes or has no scale.
    """
    _require("nn.LayerNorm", len(module.normalized_shape) == 1, "normalized_shape", "one axis")
    _require("nn.LayerNorm", module.weight is not None, "elementwise_affine", "True")
    layer = _like(LayerNorm(module.normalized_shape[0], module.eps), module.weight, module.training)
    _copy_norm(layer, module)
    return layer


def layer_norm_to_torch(layer: LayerNorm) -> nn.LayerNorm:
    """Make the torch.nn.LayerNorm that computes what a layer does."""
    module = _like(nn.LayerNorm(layer.width, layer.epsilon), layer.weight, layer.training)
    _copy_norm(module, layer)
    return module


def block_from_torch(module: nn.TransformerEncoderLayer) -> PreNormBlock | PostNormBlock:
    """Make the block that computes what a torch.nn.TransformerEncoderLayer does, of the class that its norm asks for.

    Raises:
        ConfigError: If its activation is neither ReLU nor exact GELU.
    """
    attention = module.self_attn
    block = BLOCKS["pre" if module.norm_first else "post"](
        attention.embed_dim,
        attention.num_heads,
        module.linear1.out_features,
        activation=_activation_name(module.activation),
        dropout=module.dropout.p,
    )
    block = _like(block, module.linear1.weight, module.training)
    block.attention = attention_from_torch(attention)
    block.attention_norm, block.mlp_norm = layer_norm_from_torch(module.norm1), layer_norm_from_torch(module.norm2)
    _copy_linear(block.mlp.hidden_map, module.linear1.weight, module.linear1.bias)
    _copy_linear(block.mlp.output_map, module.linear2.weight, module.linear2.bias)
    share_dropout_generator(block, torch.Generator().manual_seed(0))
    assert isinstance(block, PreNormBlock | PostNormBlock)
    return block


def block_to_torch(block: TransformerBlock) -> nn.TransformerEncoderLayer:
    """Make the torch.nn.TransformerEncoderLayer, batch-first, that computes what a block does.

    Raises:
        ConfigError: If its heads do not share out the width, or its activation is neither ReLU nor GELU.
    """
    attention, activation = block.attention, block.mlp.activation.name
    _require_equal_parts(attention)
    _require("TransformerBlock", activation in ("relu", "gelu"), "activation", "'relu' or 'gelu'")
    module = nn.TransformerEncoderLayer(
        attention.width,
        attention.heads,
        block.mlp.hidden_map.weight.shape[0],
        block.mlp_dropout.fraction,
        activation,
        layer_norm_eps=block.mlp_norm.epsilon,
        batch_first=True,
        norm_first=isinstance(block, PreNormBlock),
    )
    module = _like(module, attention.output_map.weight, block.training)
    _fill_attention(module.self_attn, attention)
    _copy_norm(module.norm1, block.attention_norm)
    _copy_norm(module.norm2, block.mlp_norm)
    _copy_linear(module.linear1, block.mlp.hidden_map.weight, block.mlp.hidden_map.bias)
    _copy_linear(module.linear2, block.mlp.output_map.weight, block.mlp.output_map.bias)
    return module


def encoder_from_torch(module: nn.TransformerEncoder, causal: bool = False) -> TransformerEncoder:
    """Make the encoder that computes what a torch.nn.TransformerEncoder does: without positions, as that one.

    Args:
        module: With a final LayerNorm if its layers are pre-norm, without one if they are post-norm.
        causal: Whether the encoder is to hide later positions; torch.nn gets that with each call.

    Raises:
        ConfigError: If the final normalization does not go with the layers.
    """
    blocks = [block_from_torch(layer) for layer in module.layers]  # pyright: ignore[reportArgumentType]
    is_pre_norm = isinstance(blocks[0], PreNormBlock)
    rule = "an nn.LayerNorm after pre-norm layers, None after post-norm ones"
    _require("nn.TransformerEncoder", isinstance(module.norm, nn.LayerNorm) == is_pre_norm, "norm", rule)
    attention, mlp = blocks[0].attention, blocks[0].mlp
    encoder = TransformerEncoder(
        attention.width,
        attention.heads,
        mlp.hidden_map.weight.shape[0],
        len(blocks),
        causal,
        "pre" if is_pre_norm else "post",
        positions=None,
        activation=mlp.activation.name,
        dropout=blocks[0].mlp_dropout.fraction,
    )
    encoder.blocks = nn.ModuleList(blocks)
    if isinstance(module.norm, nn.LayerNorm):
        encoder.final_norm = layer_norm_from_torch(module.norm)
    share_dropout_generator(encoder, torch.Generator().manual_seed(0))
    return encoder.train(module.training)


def encoder_to_torch(encoder: TransformerEncoder) -> nn.TransformerEncoder:
    """Make the torch.nn.TransformerEncoder that computes what an encoder without positions does.

    A causal encoder needs `mask=to_multihead_attention(causal(time))` in every call of the result, and padding
    `src_key_padding_mask=to_key_padding_mask(valid)`.

    Raises:
        ConfigError: If the encoder has positions or an entry normalization, which torch.nn.TransformerEncoder has not.
    """
    remedy = "Add the positions to the inputs yourself, and convert an encoder whose `positions` is None."
    _require("TransformerEncoder", encoder.positions is None, "positions", "None", remedy)
    _require("TransformerEncoder", encoder.entry_norm is None, "entry_norm", "None")
    layers = [block_to_torch(block) for block in encoder.blocks]  # pyright: ignore[reportArgumentType]
    norm = None if encoder.final_norm is None else layer_norm_to_torch(encoder.final_norm)
    module = nn.TransformerEncoder(layers[0], len(layers), norm, enable_nested_tensor=False)
    module.layers = nn.ModuleList(layers)
    return module.train(encoder.training)


def _require(where: str, is_met: bool, what: str, constraint: str, remedy: str = "") -> None:
    if not is_met:
        raise ConfigError(complain(where, what, constraint, "something else", remedy))


def _require_equal_parts(layer: MultiHeadAttention) -> None:
    parts = (layer.heads * layer.head_dim, layer.heads * layer.value_dim)
    rule = f"width / heads = {layer.width / layer.heads:g} for torch.nn"
    _require("MultiHeadAttention", parts == (layer.width, layer.width), "head_dim and value_dim", rule)


def _like(module: Module, weight: Tensor, training: bool) -> Module:
    return module.to(weight.device, weight.dtype).train(training)


@torch.no_grad()
def _copy_linear(target: Linear | nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    target.weight.copy_(weight)
    assert target.bias is not None
    target.bias.copy_(torch.zeros_like(target.bias) if bias is None else bias)


@torch.no_grad()
def _copy_norm(target: LayerNorm | nn.LayerNorm, source: LayerNorm | nn.LayerNorm) -> None:
    target.weight.copy_(source.weight)
    target.bias.copy_(torch.zeros_like(target.bias) if source.bias is None else source.bias)


@torch.no_grad()
def _fill_attention(module: nn.MultiheadAttention, layer: MultiHeadAttention) -> None:
    assert module.in_proj_weight is not None and layer.input_map.bias is not None
    module.in_proj_weight.copy_(layer.input_map.weight)
    module.in_proj_bias.copy_(layer.input_map.bias)
    _copy_linear(module.out_proj, layer.output_map.weight, layer.output_map.bias)


def _activation_name(activation: object) -> str:
    if activation is functional.relu or isinstance(activation, nn.ReLU):
        return "relu"
    is_exact_gelu = isinstance(activation, nn.GELU) and activation.approximate == "none"
    _require("nn.TransformerEncoderLayer", activation is functional.gelu or is_exact_gelu, "activation", "relu or gelu")
    return "gelu"
