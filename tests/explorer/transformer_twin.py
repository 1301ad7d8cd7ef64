"""A Transformer of this package written again with torch.nn.functional alone, to hold edited models against."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from clew.models import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
    "sigmoid": torch.sigmoid,
}


class Twin(NamedTuple):
    """What the twin computed.

    Attributes:
        logits: Of every position.
        context: What the first block's attention gives, before its heads are joined.
        loss: Mean cross-entropy against the targets.
        gradients: Of the loss, by parameter.
    """

    logits: Float[Tensor, "batch time outputs"]
    context: Float[Tensor, "batch heads time dim"]
    loss: Float[Tensor, ""]
    gradients: Mapping[str, Tensor]


def run_twin(
    model: SequenceModel,
    ids: Int[Tensor, "batch time"],
    targets: Int[Tensor, "batch time"],
    visible: Bool[Tensor, "query source"],
    activation: str = "relu",
    norm: str = "pre",
    changed: Mapping[str, Tensor] | None = None,
) -> Twin:
    """Compute logits, loss and gradients from the weights of a model.

    Args:
        model: Gives weights and sizes.
        ids: What is read.
        targets: What every position is scored against.
        visible: True where a query may read a source; nothing else hides one.
        activation: Of the MLPs.
        norm: "pre" or "post".
        changed: Weights that take the place of the model's own.
    """
    own = {name: part.detach().clone() for name, part in model.named_parameters()} | dict(changed or {})
    weights = {name: part.clone().requires_grad_() for name, part in own.items()}
    encoder = model.encoder
    assert isinstance(encoder, TransformerEncoder)
    rows = weights["inputs.embedding.weight"][ids]
    if "encoder.positions.weight" in weights:
        rows = rows + weights["encoder.positions.weight"][: rows.shape[1]]
    elif encoder.positions is not None:
        rows = rows + encoder.positions(torch.zeros_like(rows))
    context: Tensor | None = None
    for index in range(len(encoder.blocks)):
        part = {
            name.removeprefix(f"encoder.blocks.{index}."): weight
            for name, weight in weights.items()
            if name.startswith(f"encoder.blocks.{index}.")
        }
        rows, inside = _block(rows, part, encoder, visible, ACTIVATIONS[activation], norm)
        context = inside if context is None else context
    if norm == "pre":
        rows = _normalized(rows, weights, "encoder.final_norm")
    logits = functional.linear(rows, weights["head.linear.weight"], weights["head.linear.bias"])
    loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    used = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    gradients = {name: found for name, found in zip(weights, used, strict=True) if found is not None}
    assert context is not None
    return Twin(logits.detach(), context.detach(), loss.detach(), gradients)


def _block(
    rows: Tensor,
    weights: Mapping[str, Tensor],
    encoder: TransformerEncoder,
    visible: Tensor,
    activation: Callable[[Tensor], Tensor],
    norm: str,
) -> tuple[Tensor, Tensor]:
    read = _normalized(rows, weights, "attention_norm") if norm == "pre" else rows
    mixed, context = _attention(read, weights, encoder, visible)
    rows = rows + mixed
    rows = _normalized(rows, weights, "attention_norm") if norm == "post" else rows
    read = _normalized(rows, weights, "mlp_norm") if norm == "pre" else rows
    hidden = activation(functional.linear(read, weights["mlp.hidden_map.weight"], weights["mlp.hidden_map.bias"]))
    rows = rows + functional.linear(hidden, weights["mlp.output_map.weight"], weights["mlp.output_map.bias"])
    return (_normalized(rows, weights, "mlp_norm") if norm == "post" else rows), context


def _attention(
    rows: Tensor, weights: Mapping[str, Tensor], encoder: TransformerEncoder, visible: Tensor
) -> tuple[Tensor, Tensor]:
    layer = encoder.get_submodule("blocks.0.attention")
    heads, head_dim, value_dim = (getattr(layer, name) for name in ("heads", "head_dim", "value_dim"))
    mapped = functional.linear(rows, weights["attention.input_map.weight"], weights["attention.input_map.bias"])
    parts = mapped.split([heads * head_dim, heads * head_dim, heads * value_dim], dim=-1)
    query, key, value = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
    context = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
    joined = context.transpose(1, 2).flatten(2)
    output = functional.linear(joined, weights["attention.output_map.weight"], weights["attention.output_map.bias"])
    return output, context


def _normalized(rows: Tensor, weights: Mapping[str, Tensor], name: str) -> Tensor:
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return functional.layer_norm(rows, weight.shape, weight, bias, 1e-5)
