"""Gradients of a random projection of the valid outputs, for the checks that look at gradients."""

from typing import Any

import torch
from torch import Tensor, nn

from clew.checks.engine import Engine
from clew.checks.examination import Examination
from clew.checks.preserving import modules_behind
from clew.checks.results import tensors_in
from clew.checks.sample import Sample
from clew.checks.settings import Setting


def parameters_of(model: Any) -> dict[str, nn.Parameter]:
    """Name the trainable parameters behind a model, each once."""
    if isinstance(model, nn.Module):
        return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    return {
        f"{type(module).__name__} {place}.{name}": parameter
        for place, module in enumerate(modules_behind(model))
        for name, parameter in module._parameters.items()
        if parameter is not None and parameter.requires_grad
    }


def parameter_gradients(
    exam: Examination, sample: Sample, setting: Setting, every_output: bool = False, engine: Engine | None = None
) -> dict[str, Tensor | None]:
    """Differentiate a fixed random projection of the valid outputs.

    Args:
        exam: The model.
        sample: Inputs.
        setting: Mode; must record gradients.
        every_output: Project all real-valued tensors of the result, not only the one that is judged.
        engine: What runs the model; by default in the precise number type.

    Raises:
        AuditError: If the model raises.
        RuntimeError: If the outputs have no gradient.
    """
    engine = engine or exam.precise
    result = engine.result(sample, setting)
    draws = torch.Generator().manual_seed(7)
    judged = engine.pick(result)
    arranged = engine.arranged(judged, sample.time)[exam.judged_in(sample)]
    objective = (arranged * torch.randn(arranged.shape, generator=draws, dtype=torch.float64)).sum()
    if every_output:
        for tensor in tensors_in(result):
            if tensor.is_floating_point() and tensor.requires_grad:
                noise = torch.randn(tensor.shape, generator=draws, dtype=torch.float64)
                objective = objective + (tensor * noise.to(tensor)).double().sum()
    named = parameters_of(engine.model)
    gradients = torch.autograd.grad(objective, list(named.values()), allow_unused=True)
    return dict(zip(named, gradients, strict=True))
