"""How small a leak the audit of this very model can see: one of known size is injected and looked for.

The model under audit, with its own rounding, gets an addition to one output: 1e-4 of the outputs' size as soon as a
source that this output must not read is another than in the sample. The trials that judge the model must report it.
"""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.report import Power
from clew.checks.sample import Sample
from clew.checks.trials import run_trials

INJECTED = 1e-4


def measure_power(exam: Examination) -> Power:
    """Inject a leak into the outputs and let a trial look for it."""
    pair = _forbidden_pair(exam)
    if pair is None:
        return Power(None, None, "nothing was injected: the boundary forbids no source")
    output, source = pair
    scale = float(exam.base[exam.judged].square().mean().sqrt())
    exam.precise.leak = partial(_leaking, reference=exam.sample, pair=pair, size=INJECTED * scale)
    try:
        (trial,) = run_trials(exam, exam.sample, [(source,)])
    finally:
        exam.precise.leak = None
    seen = (trial.moved > exam.floor) & trial.forbidden(exam.allowed) & exam.judged
    was_seen = bool(seen[:, output].any())
    size = "was seen" if was_seen else "was NOT seen: this model's rounding hides leaks of that size"
    injected = f"a leak of {INJECTED:g} of the outputs' size, injected from step {source} to output {output},"
    return Power(INJECTED, was_seen, f"{injected} {size}")


def _forbidden_pair(exam: Examination) -> tuple[int, int] | None:
    forbidden = ~exam.allowed & exam.sample.real.unsqueeze(1) & exam.judged.unsqueeze(2)
    places = forbidden.any(dim=0).nonzero()
    return None if len(places) == 0 else (int(places[len(places) // 2][0]), int(places[len(places) // 2][1]))


def _leaking(
    sample: Sample,
    outputs: Float[Tensor, "batch outputs coordinates"],
    reference: Sample,
    pair: tuple[int, int],
    size: float,
) -> Float[Tensor, "batch outputs coordinates"]:
    """Add the leak wherever the forbidden source is not what the sample has there."""
    output, source = pair
    rows = torch.arange(sample.batch, device=sample.content.device) % reference.batch
    differs = sample.content[:, source] != reference.content[rows, source]
    leaking = outputs.clone()
    leaking[:, output] += size * differs.reshape(sample.batch, -1).any(dim=1, keepdim=True).to(outputs.dtype)
    return leaking
