"""Weights to and from torch.nn: outputs and gradients stay, masks are converted, what cannot be said is refused."""

from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from clew import visibility
from clew.errors import ConfigError
from clew.layers.attention import MultiHeadAttention
from clew.layers.normalization import LayerNorm
from clew.models.blocks import PostNormBlock, PreNormBlock
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
from clew.models.transformer_encoder import TransformerEncoder
from reference.weights import draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)
VALID = torch.tensor([[True, True, False, False], [True] * 4, [True, True, True, False]])


def torch_layer(norm_first: bool, activation: str = "relu", **options) -> nn.TransformerEncoderLayer:
    options = {"dropout": 0.0, "batch_first": True} | options
    return randomized(nn.TransformerEncoderLayer(6, 2, 8, activation=activation, norm_first=norm_first, **options))


def input_gradient(output: Tensor, rows: Tensor) -> Tensor:
    sensitivity = draw(*output.shape, seed=9).masked_fill(~VALID.unsqueeze(-1), 0)
    (gradient,) = torch.autograd.grad(output, [rows], sensitivity, retain_graph=True)
    return gradient


def assert_same(ours: Tensor, theirs: Tensor, rows: Tensor) -> None:
    """Outputs at real steps, and what they send back to the inputs."""
    close(ours[VALID], theirs[VALID])
    close(input_gradient(ours, rows), input_gradient(theirs, rows))


@pytest.mark.parametrize("bias", [True, False])
def test_attention_from_torch_and_back(bias: bool) -> None:
    module = randomized(nn.MultiheadAttention(6, 2, bias=bias, batch_first=True))
    layer, rows = attention_from_torch(module), draw(3, 4, 6).requires_grad_()
    padding = visibility.to_key_padding_mask(VALID)
    expected, _ = module(rows, rows, rows, key_padding_mask=padding)
    assert_same(layer(rows, visibility.from_valid(VALID)), expected, rows)
    back = attention_to_torch(layer)
    assert_same(back(rows, rows, rows, key_padding_mask=padding)[0], expected, rows)


def test_weights_are_copied_not_shared() -> None:
    module = randomized(nn.MultiheadAttention(6, 2))
    layer = attention_from_torch(module)
    kept = layer.input_map.weight.detach().clone()
    with torch.no_grad():
        module.in_proj_weight.zero_()
    assert torch.equal(layer.input_map.weight, kept)


def test_layer_norm_from_torch_and_back() -> None:
    module = randomized(nn.LayerNorm(6, eps=0.2))
    rows = draw(3, 4, 6)
    close(layer_norm_from_torch(module)(rows), module(rows))
    close(layer_norm_to_torch(layer_norm_from_torch(module))(rows), module(rows))
    without_shift = randomized(nn.LayerNorm(6, bias=False))
    close(layer_norm_from_torch(without_shift)(rows), without_shift(rows))


@pytest.mark.parametrize(("norm_first", "activation"), [*product([True, False], ["relu", "gelu"])])
def test_a_block_from_torch_and_back(norm_first: bool, activation: str) -> None:
    module, rows = torch_layer(norm_first, activation), draw(3, 4, 6).requires_grad_()
    block = block_from_torch(module)
    assert isinstance(block, PreNormBlock if norm_first else PostNormBlock)
    visible = visibility.from_valid(VALID) & visibility.causal(4)
    mask = visibility.to_multihead_attention(visible, heads=2)
    expected = module(rows, src_mask=mask)
    assert_same(block(rows, visible), expected, rows)
    assert_same(block_to_torch(block)(rows, src_mask=mask), expected, rows)


def test_gradients_of_all_weights_equal_torch() -> None:
    module, rows, sensitivity = torch_layer(norm_first=True), draw(3, 4, 6), draw(3, 4, 6, seed=9)
    block = block_from_torch(module)
    mask = visibility.to_multihead_attention(visibility.causal(4))
    theirs = torch.autograd.grad(module(rows, src_mask=mask), [*module.parameters()], sensitivity)
    ours = torch.autograd.grad(block(rows, visibility.causal(4)), [*block.parameters()], sensitivity)
    by_size = partial(sorted, key=lambda gradient: (gradient.shape, gradient.norm().item()))
    for first, second in zip(by_size(ours), by_size(theirs), strict=True):
        close(first, second)


@pytest.mark.parametrize(("norm_first", "causal"), [*product([True, False], [True, False])])
def test_an_encoder_from_torch_and_back(norm_first: bool, causal: bool) -> None:
    norm = randomized(nn.LayerNorm(6), seed=4) if norm_first else None
    module = nn.TransformerEncoder(torch_layer(norm_first), 2, norm, enable_nested_tensor=False)
    randomized(module)
    encoder, rows = encoder_from_torch(module, causal), draw(3, 4, 6).requires_grad_()
    mask = visibility.to_multihead_attention(visibility.causal(4)) if causal else None
    padding = visibility.to_key_padding_mask(VALID)
    expected = module(rows, mask=mask, src_key_padding_mask=padding)
    assert_same(encoder(rows, valid=VALID).rows, expected, rows)
    assert_same(encoder_to_torch(encoder)(rows, mask=mask, src_key_padding_mask=padding), expected, rows)


def test_mode_type_and_dropout_come_along() -> None:
    module = torch_layer(norm_first=True, dropout=0.25).float().eval()
    block = block_from_torch(module)
    assert not block.training and not block.attention.training and not block.mlp.hidden_map.training
    dropouts = (block.attention.weights_dropout, block.attention_dropout, block.mlp.hidden_dropout, block.mlp_dropout)
    assert [layer.fraction for layer in dropouts] == [0.25] * 4
    assert len({layer.generator for layer in dropouts}) == 1
    assert {parameter.dtype for parameter in block.parameters()} == {torch.float32}
    back = block_to_torch(block)
    assert not back.training and back.dropout.p == back.dropout2.p == back.self_attn.dropout == 0.25


REFUSALS = [
    (
        lambda: attention_from_torch(nn.MultiheadAttention(6, 2, kdim=4, vdim=4)),
        "nn.MultiheadAttention: kdim and vdim must be embed_dim, for self-attention, got something else.",
    ),
    (
        lambda: attention_from_torch(nn.MultiheadAttention(6, 2, add_bias_kv=True)),
        "nn.MultiheadAttention: add_bias_kv must be False, got something else.",
    ),
    (
        lambda: attention_from_torch(nn.MultiheadAttention(6, 2, add_zero_attn=True)),
        "nn.MultiheadAttention: add_zero_attn must be False, got something else.",
    ),
    (
        lambda: attention_to_torch(MultiHeadAttention(6, 2, value_dim=4)),
        "MultiHeadAttention: head_dim and value_dim must be width / heads = 3 for torch.nn, got something else.",
    ),
    (
        lambda: layer_norm_from_torch(nn.LayerNorm((4, 6))),
        "nn.LayerNorm: normalized_shape must be one axis, got something else.",
    ),
    (
        lambda: layer_norm_from_torch(nn.LayerNorm(6, elementwise_affine=False)),
        "nn.LayerNorm: elementwise_affine must be True, got something else.",
    ),
    (
        lambda: block_from_torch(nn.TransformerEncoderLayer(6, 2, 8, activation=torch.tanh)),
        "nn.TransformerEncoderLayer: activation must be relu or gelu, got something else.",
    ),
    (
        lambda: block_to_torch(PreNormBlock(6, 2, 8, activation="tanh")),
        "TransformerBlock: activation must be 'relu' or 'gelu', got something else.",
    ),
    (
        lambda: encoder_from_torch(nn.TransformerEncoder(torch_layer(True), 2, enable_nested_tensor=False)),
        "nn.TransformerEncoder: norm must be an nn.LayerNorm after pre-norm layers, None after post-norm ones, "
        "got something else.",
    ),
    (
        lambda: encoder_to_torch(TransformerEncoder(6, 2, 8)),
        "TransformerEncoder: positions must be None, got something else. "
        "Add the positions to the inputs yourself, and convert an encoder whose `positions` is None.",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSALS)
def test_what_the_other_side_cannot_say_is_refused(call, text: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        call()
    assert str(refusal.value) == text


def test_an_epsilon_of_its_own_survives() -> None:
    layer = LayerNorm(6, epsilon=1e-3)
    assert layer_norm_to_torch(layer).eps == 1e-3
    assert block_from_torch(torch_layer(True, layer_norm_eps=1e-3)).mlp_norm.epsilon == 1e-3
