"""The modes in which a model is run: evaluation or training without dropout, with gradients or without, weights asked.

`applied` sets a model to one of them. Dropout is switched off wherever a module keeps its rate; layers that normalize
by statistics of the batch can be held in evaluation, where they use their running statistics.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from clew.checks.preserving import modules_behind

WEIGHT_KEYWORDS = ("output_attentions", "need_weights", "return_weights", "return_attention", "return_attn")
DROPOUT_WORDS = ("dropout", "drop_prob", "drop_rate", "drop_path")


@dataclass(frozen=True)
class Setting:
    """One mode.

    Attributes:
        training: Training mode, dropout 0; else evaluation.
        gradients: Whether gradients are recorded.
        keyword: A keyword that asks for attention weights; "" to ask for none.
        holds_statistics: Keep layers with running statistics in evaluation, whatever the mode of the rest.
        has_dropout: Leave dropout as it is.
    """

    training: bool = False
    gradients: bool = False
    keyword: str = ""
    holds_statistics: bool = False
    has_dropout: bool = False

    @property
    def label(self) -> str:
        """The mode in words."""
        training = "training" if self.has_dropout else "training without dropout"
        mode = training if self.training else "evaluation"
        recorded = "" if self.training else (" with gradients" if self.gradients else " without gradients")
        return mode + recorded + (f", {self.keyword}=True" if self.keyword else "")


EVALUATION = Setting()
EVALUATION_WITH_GRADIENTS = Setting(gradients=True)
TRAINING = Setting(training=True, gradients=True)
TRAINING_WITH_DROPOUT = Setting(training=True, gradients=True, holds_statistics=True, has_dropout=True)
TRAINING_HELD = Setting(training=True, gradients=True, holds_statistics=True)


@contextmanager
def applied(model: Any, setting: Setting) -> Iterator[None]:
    """Put every module behind a model into a setting, and back."""
    modules = modules_behind(model)
    modes = [(module, module.training) for module in modules]
    rates = [] if setting.has_dropout or not setting.training else [_silenced(module) for module in modules]
    for module in modules:
        is_held = setting.holds_statistics and isinstance(module, _NormBase)
        module.training = setting.training and not is_held
    try:
        with torch.set_grad_enabled(setting.gradients):
            yield
    finally:
        for module, is_training in modes:
            module.training = is_training
        for module, kept in zip(modules, rates, strict=False):
            vars(module).update(kept)


def _silenced(module: nn.Module) -> dict[str, Any]:
    """Set every dropout rate of one module to 0 and give the old ones."""
    is_dropout = isinstance(module, _DropoutNd) or "drop" in type(module).__name__.lower()
    names = [name for name in ("p", "rate", "fraction", "probability") if is_dropout]
    names += [name for name in vars(module) if any(word in name for word in DROPOUT_WORDS)]
    kept = {name: vars(module)[name] for name in names if type(vars(module).get(name)) in (float, int)}
    vars(module).update(dict.fromkeys(kept, 0.0))
    return kept


def has_statistics(model: Any) -> bool:
    """Say whether a model holds layers that normalize by statistics of the batch while training."""
    return any(isinstance(module, _NormBase) for module in modules_behind(model))


def weight_keywords(model: Any) -> list[str]:
    """Name the keywords with which this model can be asked for attention weights."""
    function = model.forward if isinstance(model, nn.Module) else model
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return []
    return [word for word in WEIGHT_KEYWORDS if word in known]
