"""From the rows of a sequence to one row: the last valid one, or the mean of the valid ones; and its unit vector.

Padding never enters: a sequence without any valid row pools to zeros, never to NaN.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


def last_valid_row(
    rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
) -> Float[Tensor, "batch width"]:
    """Take the row at the last valid position of each sequence, wherever padding stands."""
    if valid is None:
        return rows[:, -1]
    batch, time, _ = rows.shape
    steps = torch.arange(time, device=rows.device)
    last = torch.where(valid, steps, steps.new_full((), -1)).amax(dim=1)
    picked = rows[torch.arange(batch, device=rows.device), last.clamp_min(0)]
    return torch.where((last >= 0).unsqueeze(-1), picked, torch.zeros_like(picked))


def masked_mean(
    rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
) -> Float[Tensor, "batch width"]:
    """Average the valid rows: their sum divided by their number, not by the padded length."""
    if valid is None:
        return rows.mean(dim=1)
    kept = torch.where(valid.unsqueeze(-1), rows, torch.zeros_like(rows))
    return kept.sum(dim=1) / valid.sum(dim=1, keepdim=True).clamp_min(1)


def unit_vectors(vectors: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
    """Divide each vector by its Euclidean length, so that a dot product of two is their cosine; zeros stay zeros."""
    return functional.normalize(vectors, dim=-1)
