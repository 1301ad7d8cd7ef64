"""Made-up content: other ids, other real values, and what may stand in padding.

Only content is ever made up. Every draw comes from an explicit generator, so that an audit can be repeated.
"""

import torch
from jaxtyping import Shaped
from torch import Tensor

from clew.checks.sample import Sample


def drawn_content(sample: Sample, generator: torch.Generator) -> Shaped[Tensor, "batch time *features"]:
    """Draw content for every step: legal ids, or normal values of the scale that the inputs have."""
    shape = sample.content.shape
    if sample.is_ids:
        legal = torch.tensor(sample.form.vocab, dtype=sample.content.dtype)
        return legal[torch.randint(len(legal), shape, generator=generator)].to(sample.content.device)
    values = torch.randn(shape, generator=generator, dtype=torch.float64) * content_scale(sample)
    return values.to(sample.content)


def other_content(sample: Sample, generator: torch.Generator) -> Shaped[Tensor, "batch time *features"]:
    """Draw content that differs from what stands there, at every step."""
    if not sample.is_ids:
        return sample.content.nan_to_num(0, 0, 0) + drawn_content(sample, generator)
    legal = torch.tensor(sample.form.vocab, dtype=torch.int64, device=sample.content.device)
    place = torch.searchsorted(legal, sample.content.long().contiguous()).clamp_(max=len(legal) - 1)
    step = torch.randint(1, len(legal), sample.content.shape, generator=generator).to(place.device)
    return legal[(place + step) % len(legal)].to(sample.content.dtype)


def content_scale(sample: Sample) -> float:
    """Size of the real values at real steps, 1 if they are all alike."""
    values = sample.content[sample.real].double()
    values = values[values.isfinite()]
    spread = float(values.std()) if values.numel() > 1 else 0.0
    return spread if spread > 0 else 1.0


def padding_fills(
    sample: Sample, generator: torch.Generator
) -> list[tuple[str, Shaped[Tensor, "batch time *features"]]]:
    """List what may stand in padding, with a name for each; the tame ones first."""
    fills = [("other content", other_content(sample, generator)), ("random content", drawn_content(sample, generator))]
    if sample.is_ids:
        return fills
    full = torch.ones_like(sample.content)
    return [
        *fills,
        ("values a thousand times as large", drawn_content(sample, generator) * 1000),
        ("NaN", full * torch.nan),
        ("infinity", full * torch.inf),
    ]


def quiet_fill(sample: Sample) -> Shaped[Tensor, "*features"]:
    """One step of the padding that the caller would use: the pad id, a legal id, or zeros."""
    if not sample.is_ids:
        return sample.content.new_zeros(sample.content.shape[2:])
    known = sample.form.vocab or (0,)
    chosen = sample.form.pad if sample.form.pad is not None else (0 if 0 in known else known[0])
    return torch.tensor(chosen, dtype=sample.content.dtype, device=sample.content.device)
