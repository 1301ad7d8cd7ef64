"""Leak or rounding: how far the outputs of this model move by rounding alone.

The floor is measured on the model itself: every parameter and real input is changed by about one unit in its last
place, and what moves then is rounding. In float64 that floor lies eight decades below float32's, so that a leak stays
where it is and rounding goes away. A model that computes in a narrower type inside, whatever it is given, shows that
type's floor: the operations of one pass are watched for it.
"""

from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.overrides import TorchFunctionMode

from clew.checks.engine import Engine
from clew.checks.preserving import modules_behind
from clew.checks.results import movement, tensors_in
from clew.checks.sample import Sample

MARGIN = 32
"""How often the measured floor a movement must be to count: jitter is a sample of rounding, not its bound."""
NARROW_MARGIN = 4
"""The same where the model computes in less than float32: there a unit in the last place is a leak's size already."""
DRAWS = 3
REPEATED = 1e4
"""How many units in the last place two equal calls may differ, where threads add up in another order."""


class NarrowestType(TorchFunctionMode):
    """Notes the coarsest real number type to which any operation narrows what it was given."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        coming, leaving = _epsilons((args, kwargs)), _epsilons(result)
        # A narrow constant that is made and widened, such as a mask, does no harm: only narrowing counts.
        if coming and leaving and max(leaving) > min(coming):
            self.epsilon = max(self.epsilon, *leaving)
        return result


def _epsilons(values: Any) -> list[float]:
    return [torch.finfo(tensor.dtype).eps for tensor in tensors_in(values) if tensor.is_floating_point()]


def inner_epsilon(engine: Engine, sample: Sample) -> float:
    """Give the relative spacing of the coarsest number type in which the engine computes."""
    found = engine.chosen(sample).dtype
    own = torch.finfo(found if found.is_floating_point else torch.float32).eps
    content = sample.content if sample.is_ids or engine.dtype is None else sample.content.to(engine.dtype)
    with NarrowestType(own) as watched:
        engine.chosen(sample.with_content(content))
    return watched.epsilon


def rounding_floor(
    engine: Engine, sample: Sample, judged: Bool[Tensor, "batch outputs"], generator: torch.Generator
) -> float:
    """Measure the movement of judged outputs above which it is no rounding, in units of the outputs."""
    epsilon = inner_epsilon(engine, sample)
    before = engine.outputs(sample)
    finite = before[judged]
    finite = finite[finite.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    largest = epsilon * scale
    again = movement(before, engine.outputs(sample))[judged]
    # What differs without any change is no rounding: a floor that covered it would hide everything.
    is_repeatable = bool((again <= REPEATED * epsilon * scale).all())
    for _ in range(DRAWS if is_repeatable else 0):
        with _Jitter(engine, epsilon, generator):
            moved = movement(before, engine.outputs(_jittered(engine, sample, epsilon, generator)))
        moved = moved[judged]
        moved = moved[moved.isfinite()]
        largest = max(largest, float(moved.max()) if moved.numel() else 0.0)
    return largest * (MARGIN if epsilon <= torch.finfo(torch.float32).eps else NARROW_MARGIN)


def _jittered(engine: Engine, sample: Sample, epsilon: float, generator: torch.Generator) -> Sample:
    if sample.is_ids:
        return sample
    return sample.with_content(_scaled(sample.content.to(engine.dtype or sample.content.dtype), epsilon, generator))


def _scaled(values: Tensor, epsilon: float, generator: torch.Generator) -> Tensor:
    noise = torch.randn(values.shape, generator=generator, dtype=torch.float64).to(values.device)
    return (values.double() * (1 + epsilon * noise)).to(values.dtype)


class _Jitter:
    """Changes the parameters of an engine's model in their last places, and puts them back."""

    def __init__(self, engine: Engine, epsilon: float, generator: torch.Generator) -> None:
        self._parameters = [p for module in modules_behind(engine.model) for p in module._parameters.values()]
        self._epsilon, self._generator = epsilon, generator

    def __enter__(self) -> None:
        self._kept = [None if p is None else p.detach().clone() for p in self._parameters]
        self._fill([None if k is None else self._changed(k) for k in self._kept])

    def _changed(self, kept: Tensor) -> Tensor:
        return _scaled(kept, self._epsilon, self._generator) if kept.is_floating_point() else kept

    def _fill(self, values: list[Tensor | None]) -> None:
        with torch.no_grad():
            for parameter, value in zip(self._parameters, values, strict=True):
                if parameter is not None and value is not None:
                    parameter.copy_(value)

    def __exit__(self, *_: object) -> None:
        self._fill(self._kept)
