"""Going on step by step: what a model keeps of the steps that it has read, and what a further step gives.

A recurrent model keeps its state; a causal Transformer keeps the keys and values of all steps. Chunks of any size
together give what one pass over all steps gives, to rounding.

The rule at the context limit: a Transformer with a table of P positions predicts from the last P steps, read anew with
positions from 0. Up to P steps that is the full pass; behind them every step costs a pass over P steps. Decoding
without a cache keeps the same rule (`last_steps`), so that both give the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from clew.errors import ConfigError, ShapeError, complain
from clew.models.encoded import PastSteps
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder

Embed = Callable[[Tensor, Tensor | None], Tensor]


@dataclass(frozen=True, eq=False)
class Cache:
    """What a model keeps of the steps that it has read; empty before the first.

    Attributes:
        final: States of a recurrent model's layers.
        past: Keys and values of a Transformer's blocks; None too once a row is full.
        counts: Real steps that each row has had, (batch,).
        recent: The last inputs of each row, as many as a Transformer has positions, the newest last.
        recent_valid: True where these are real, (batch, recent); None if all are.
    """

    final: list[tuple[Tensor, ...]] | None = None
    past: PastSteps | None = None
    counts: Int[Tensor, " batch"] | None = None
    recent: Shaped[Tensor, "batch recent *features"] | None = None
    recent_valid: Bool[Tensor, "batch recent"] | None = None


def require_stepwise(encoder: RecurrentEncoder | TransformerEncoder) -> None:
    """Refuse an encoder in which a later step changes what earlier ones gave.

    Raises:
        ConfigError: If it reads in both directions.
    """
    if isinstance(encoder, RecurrentEncoder) and encoder.bidirectional:
        remedy = (
            "Its backward direction reads from the end, so that each new step changes all earlier rows, and a next "
            "step would be predicted from itself. Build it with bidirectional=False."
        )
        raise ConfigError(complain("step", "model", "one that reads in one direction", "a bidirectional one", remedy))
    if isinstance(encoder, TransformerEncoder) and not encoder.causal:
        remedy = "Each position reads later ones too, so that a new step changes all earlier rows. Use causal=True."
        raise ConfigError(complain("step", "model", "causal", "a Transformer with causal=False", remedy))


def context_limit(encoder: RecurrentEncoder | TransformerEncoder) -> int | None:
    """Give how many steps a prediction can read; None if there is no limit."""
    if isinstance(encoder, TransformerEncoder) and encoder.positions is not None:
        return encoder.positions.max_positions
    return None


def last_steps(
    inputs: Shaped[Tensor, "batch time *features"], valid: Bool[Tensor, "batch time"] | None, limit: int
) -> tuple[Shaped[Tensor, "batch kept *features"], Bool[Tensor, "batch kept"] | None]:
    """Keep the last real steps of each row, at most `limit`, in order and with the newest last.

    >>> last_steps(torch.tensor([[1, 2, 3, 0]]), torch.tensor([[True, True, True, False]]), 2)[0]
    tensor([[2, 3]])
    """
    if valid is None:
        return inputs[:, -limit:], None
    longest = max(1, min(limit, int(valid.sum(dim=1).max())))
    order = valid.to(torch.uint8).argsort(dim=1, stable=True)[:, -longest:]
    rows = torch.arange(len(inputs), device=inputs.device).unsqueeze(1)
    return inputs[rows, order], valid[rows, order]


def advance(
    embed: Embed,
    encoder: RecurrentEncoder | TransformerEncoder,
    inputs: Shaped[Tensor, "batch time *features"],
    valid: Bool[Tensor, "batch time"] | None,
    cache: Cache,
) -> tuple[Float[Tensor, "batch time width"], Cache]:
    """Encode new steps behind those that the cache knows.

    Args:
        embed: Makes the encoder's rows of raw inputs.
        encoder: Reads them.
        inputs: The new steps.
        valid: True at real ones; None if all are.
        cache: What is kept of the earlier ones.

    Raises:
        ConfigError: If the encoder reads in both directions.
        ShapeError: If there is no new step, or the cache belongs to another number of rows.
    """
    require_stepwise(encoder)
    batch, time = inputs.shape[:2]
    if time == 0:
        raise ShapeError(complain("step", "inputs", "at least one step", "none"))
    if cache.counts is not None and len(cache.counts) != batch:
        remedy = "Start a new cache for other rows."
        raise ShapeError(complain("step", "inputs", f"{len(cache.counts)} rows, as the cache", batch, remedy))
    counts = torch.zeros(batch, dtype=torch.long, device=inputs.device) if cache.counts is None else cache.counts
    steps = torch.arange(1, time + 1, device=inputs.device).expand(batch, time) if valid is None else valid.cumsum(1)
    read = counts.unsqueeze(1) + steps
    if isinstance(encoder, RecurrentEncoder):
        found = encoder(embed(inputs, valid), valid=valid, initial=cache.final)
        return found.rows, Cache(final=found.final, counts=read[:, -1])
    limit = context_limit(encoder)
    if limit is None:
        rows, past = encoder.extend(embed(inputs, valid), cache.past, valid)
        return rows, Cache(past=past, counts=read[:, -1])
    fitting = int((read <= limit).all(dim=0).sum())
    parts = []
    if fitting:
        first, first_valid = inputs[:, :fitting], None if valid is None else valid[:, :fitting]
        rows, past = encoder.extend(embed(first, first_valid), cache.past, first_valid)
        parts.append(rows)
        cache = replace(_remember(cache, first, first_valid, limit), past=past)
    for step in range(fitting, time):
        new, new_valid = inputs[:, step : step + 1], None if valid is None else valid[:, step : step + 1]
        cache = replace(_remember(cache, new, new_valid, limit), past=None)
        assert cache.recent is not None
        window = embed(cache.recent, cache.recent_valid)
        rows = encoder(window, valid=cache.recent_valid).rows[:, -1:]
        parts.append(rows if new_valid is None else torch.where(new_valid.unsqueeze(-1), rows, 0.0))
    return torch.cat(parts, dim=1), replace(cache, counts=read[:, -1])


def _remember(cache: Cache, new: Tensor, new_valid: Tensor | None, limit: int) -> Cache:
    """Put new inputs behind the recent ones and forget what no window reads any more."""
    recent, valid = new, new_valid
    if cache.recent is not None:
        recent = torch.cat([cache.recent, new], dim=1)
        if new_valid is not None or cache.recent_valid is not None:
            both = ((cache.recent, cache.recent_valid), (new, new_valid))
            valid = torch.cat([_all_real(part) if known is None else known for part, known in both], dim=1)
    recent, valid = last_steps(recent, valid, limit)
    return replace(cache, recent=recent, recent_valid=valid)


def _all_real(inputs: Tensor) -> Tensor:
    return torch.ones(inputs.shape[:2], dtype=torch.bool, device=inputs.device)
