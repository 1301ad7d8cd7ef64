"""What `clew.audit` is told of a model of the project and its task: steps that can be varied, targets and the loss.

An audit varies steps. Of token ids and numbers these are the inputs themselves. A step with categories is varied as a
whole, by its number among steps that were seen, because a category between two others is none; an image is varied patch
by patch.
"""

from collections.abc import Callable
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ConfigError
from clew.models.decoding import Cache, require_stepwise
from clew.models.heads import RowsHead
from clew.models.mixed_input import MixedInput
from clew.models.patch_input import PatchInput
from clew.models.sequence_model import ModelOutput, SequenceModel
from clew.tasks import Classification, CueRecall, Forecasting, NextToken, Regression, Tagging, Task

IGNORED = -100
UNSCORED = -1
FIRST = 1_000_000
"""Numbers of steps begin here, so that no class of a target is taken for the number of a step."""


def call_model(model: nn.Module, inputs: Tensor, valid: Tensor | None) -> Any:
    """Call a model of clew as the tasks do."""
    return model(inputs) if valid is None else model(inputs, valid=valid)


def input_arguments(model: nn.Module, inputs: Tensor, valid: Tensor | None) -> dict[str, Any]:
    """Give the arguments of an audit that say what is read and how the model is called, whole or from a cache."""
    if not isinstance(model, SequenceModel):
        return {"inputs": inputs, "valid": valid, "call": call_model}
    if isinstance(model.inputs, PatchInput):
        return _patches(model.inputs, inputs)
    if isinstance(model.inputs, MixedInput):
        return _numbered_steps(model, inputs, valid)
    vocab = None if model.config is None else model.config.get("vocab")
    step = {"step": _step} if _has_cache(model) else {}
    return {"inputs": inputs, "valid": valid, "call": call_model, "vocab": vocab} | step


def _has_cache(model: SequenceModel) -> bool:
    """Say whether a model predicts at every step and reads in one direction."""
    try:
        require_stepwise(model.encoder)
    except ConfigError:
        return False
    return isinstance(model.head, RowsHead)


def _step(model: SequenceModel, inputs: Tensor, cache: Cache | None) -> tuple[ModelOutput, Cache]:
    return model.step(inputs, cache)


def loss_arguments(task: Task, batch: Batch) -> dict[str, Any]:
    """Give targets and the training loss of a task as a function of outputs and targets; nothing where it has no words.

    A loss with weights of classes is left out, because its targets do not count alike; and one of differences, because
    each of its targets is also what another is compared with.
    """
    predictor = task.next_token if isinstance(task, CueRecall) else task
    has_weights = isinstance(task, Classification | Tagging) and task.class_weights is not None
    if has_weights or (isinstance(task, Forecasting) and task.difference is not None):
        return {}
    if not isinstance(predictor, NextToken | Classification | Tagging | Forecasting | Regression):
        return {}
    aligned = predictor.align(batch)
    marker = torch.nan if aligned.targets.is_floating_point() else IGNORED
    targets = aligned.targets.clone()
    if aligned.scored is not None:
        targets[~aligned.scored] = marker
    return {"targets": targets, "loss": _loss_of(predictor)}


def _loss_of(task: Task) -> Callable[[Tensor, Tensor], Tensor]:
    """Give the loss that training uses, on outputs that are there already."""

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        if isinstance(task, NextToken):
            return task.loss_of(outputs, targets, targets != IGNORED)
        rows, steps = len(outputs), outputs.shape[1] if task.kind_of_head == "rows" else 1
        if isinstance(task, Forecasting):
            series = outputs.new_zeros(rows, task.lead + 1 + steps, task.series + task.past + task.known)
            series[:, task.lead + 1 :, : task.series] = targets.to(outputs.dtype)
            return task.loss(_Said(outputs), Batch(series))
        if not targets.is_floating_point():
            targets = torch.where(targets == IGNORED, UNSCORED, targets)
        return task.loss(_Said(outputs), Batch(outputs.new_zeros(rows, steps, 1), None, targets))

    return loss


class _Said(nn.Module):
    """A model that says what it was given to say."""

    def __init__(self, outputs: Tensor) -> None:
        super().__init__()
        self.outputs = outputs

    def forward(self, inputs: Tensor, valid: Tensor | None = None) -> ModelOutput:
        return ModelOutput(self.outputs, self.outputs if self.outputs.ndim == 3 else self.outputs.unsqueeze(1))


def _numbered_steps(
    model: SequenceModel, inputs: Float[Tensor, "batch time columns"], valid: Tensor | None
) -> dict[str, Any]:
    seen = inputs.flatten(0, 1) if valid is None else inputs[valid]
    steps = torch.cat([torch.zeros_like(seen[:1]), seen]).unique(dim=0)
    numbers = (inputs.unsqueeze(2) == steps).all(dim=3).to(torch.uint8).argmax(dim=2) + FIRST

    def meant(model: nn.Module, numbers: Tensor) -> Tensor:
        return steps.to(next(model.parameters()))[numbers - FIRST]

    def call(model: nn.Module, numbers: Tensor, valid: Tensor | None) -> Any:
        return call_model(model, meant(model, numbers), valid)

    def step(model: SequenceModel, numbers: Tensor, cache: Cache | None) -> tuple[ModelOutput, Cache]:
        return model.step(meant(model, numbers), cache)

    found = {"inputs": numbers, "valid": valid, "call": call}
    return found | ({"step": step} if _has_cache(model) else {})


def _patches(reader: PatchInput, images: Float[Tensor, "batch channels height width"]) -> dict[str, Any]:
    down, along = reader.grid
    height, width = reader.patches.patch

    def call(model: nn.Module, steps: Tensor, valid: Tensor | None) -> Any:
        pattern = "batch (down along) (channels row column) -> batch channels (down row) (along column)"
        return model(rearrange(steps, pattern, down=down, along=along, row=height, column=width))

    return {"inputs": reader.patches.flatten(images), "call": call}
