"""Scaled dot-product attention, three ways that agree to rounding.

`attention_step` holds the equations and names every quantity; it explains, and it runs where dropout needs the weights.
`fused_context` is torch's fused kernel. `DerivedAttention` is the same forward with its backward written out, which is
faster than the fused kernel on a CPU for narrow heads. The last two need a source for every query; the layer in
`clew.layers.attention` sees to that.
"""

from math import sqrt
from typing import Any, NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

from clew.visibility import to_additive, to_scaled_dot_product_attention


class AttentionStep(NamedTuple):
    """Named quantities of the heads: from products of queries and keys to mixed values."""

    scores: Float[Tensor, "batch heads query source"]
    scaled_scores: Float[Tensor, "batch heads query source"]
    weights: Float[Tensor, "batch heads query source"]
    context: Float[Tensor, "batch heads query value_dim"]


def attention_step(
    q: Float[Tensor, "batch heads query head_dim"],
    k: Float[Tensor, "batch heads source head_dim"],
    v: Float[Tensor, "batch heads source value_dim"],
    visible: Bool[Tensor, "*batch query source"] | None = None,
    factor: Float[Tensor, "batch heads query source"] | None = None,
) -> AttentionStep:
    """Let each query mix the values of the sources that it may read.

        R = q k'
        S = R / sqrt(head_dim)
        A = exp(S) / sum over visible sources of exp(S); 0 at hidden sources
        C = A v

    A query without any visible source has weights of 0, a context of 0 and no gradient.

    Args:
        q, k, v: Queries, keys and values of every head.
        visible: True where a query may read a source; None if nothing is hidden.
        factor: A drawn dropout mask, multiplied into the weights before they mix the values; the weights returned are
            those before it.

    Source:
        Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
    """
    scores = q @ k.transpose(-1, -2)
    scaled_scores = scores / sqrt(q.shape[-1])
    weights = visible_softmax(scaled_scores, visible)
    mixing = weights if factor is None else weights * factor
    return AttentionStep(scores, scaled_scores, weights, mixing @ v)


def visible_softmax(
    scores: Float[Tensor, "batch heads query source"], visible: Bool[Tensor, "*batch query source"] | None
) -> Float[Tensor, "batch heads query source"]:
    """Normalize each row of scores over its visible sources; a row without any becomes zeros.

    Such a row is computed as if it saw everything and then zeroed: a softmax over nothing would be NaN, and so would
    its gradient, even behind a zero.
    """
    if visible is None:
        return torch.softmax(scores, dim=-1)
    mask = to_scaled_dot_product_attention(visible)
    reads = mask.any(dim=-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~mask & reads, -torch.inf), dim=-1).masked_fill(~mask, 0)


def fused_context(
    query: Float[Tensor, "batch heads query head_dim"],
    key: Float[Tensor, "batch heads source head_dim"],
    value: Float[Tensor, "batch heads source value_dim"],
    visible: Bool[Tensor, "*batch query source"] | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Mix values with torch's fused kernel for the device; every query must have a source."""
    mask = None if visible is None else to_scaled_dot_product_attention(visible)
    return scaled_dot_product_attention(query, key, value, attn_mask=mask)


def derived_context(
    query: Float[Tensor, "batch heads query head_dim"],
    key: Float[Tensor, "batch heads source head_dim"],
    value: Float[Tensor, "batch heads source value_dim"],
    visible: Bool[Tensor, "*batch query source"] | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Mix values with the backward written out below; every query must have a source."""
    bias = None if visible is None else to_additive(to_scaled_dot_product_attention(visible), query.dtype)
    return DerivedAttention.apply(query, key, value, bias)  # pyright: ignore[reportReturnType]


class DerivedAttention(torch.autograd.Function):
    """Attention with its backward derived by hand.

    With g^X = dL/dX, and the softmax's sum over sources of g^A A written as g^C C (they are equal, C is smaller):

        g^V = A' g^C
        g^A = g^C V'
        g^S = A * (g^A - sum over value features of g^C * C)
        g^Q = g^S K / sqrt(head_dim)
        g^K = g^S' Q / sqrt(head_dim)

    All products are computed feature by position, as transposes of the ones above: for heads a few features wide, a
    product whose long axis is last takes a third of the time. The big (query, source) arrays are overwritten in place.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        batch, heads, queries, head_dim = query.shape
        scale = 1 / sqrt(head_dim)
        q, k, v = (_features_first(part) for part in (query * scale, key, value))
        weights = torch.bmm(q.transpose(1, 2), k)
        if bias is not None:
            weights.view(batch, heads, queries, -1).add_(bias)
        torch.softmax(weights, dim=-1, out=weights)
        context = torch.bmm(v, weights.transpose(1, 2))
        ctx.save_for_backward(q, k, v, weights, context)
        ctx.batch, ctx.scale = batch, scale
        return _positions_first(context, batch)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *sensitivities: Tensor
    ) -> tuple[Tensor | None, ...]:
        q, k, v, weights, context = ctx.saved_tensors
        g_context = _features_first(sensitivities[0])
        g_value = torch.bmm(g_context, weights)
        g_scores = torch.bmm(g_context.transpose(1, 2), v)
        g_scores.sub_((g_context * context).sum(dim=1).unsqueeze(-1)).mul_(weights)
        g_query = torch.bmm(k, g_scores.transpose(1, 2)).mul_(ctx.scale)
        g_key = torch.bmm(q, g_scores)  # q was scaled on the way in
        return *(_positions_first(part, ctx.batch) for part in (g_query, g_key, g_value)), None


def _features_first(rows: Tensor) -> Tensor:
    return rearrange(rows, "batch heads time features -> (batch heads) features time").contiguous()


def _positions_first(columns: Tensor, batch: int) -> Tensor:
    return rearrange(columns, "(batch heads) features time -> batch heads time features", batch=batch)
