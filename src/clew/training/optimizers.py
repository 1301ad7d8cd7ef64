"""The optimizer of a run, and what mixed precision needs beside it."""

import torch
from torch import nn

from clew.errors import ConfigError, complain
from clew.training.config import TrainConfig

SHORT_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Make Adam, or AdamW where weights decay: those with two axes or more, so that biases and gains do not."""
    if config.weight_decay == 0:
        return torch.optim.Adam(model.parameters(), lr=config.learning_rate, fused=True)
    parameters = list(model.parameters())
    groups = [
        {"params": [one for one in parameters if one.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [one for one in parameters if one.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=config.learning_rate, fused=True)


def make_scaler(device: torch.device, config: TrainConfig) -> torch.amp.GradScaler:
    """Make what keeps small gradients of float16 from vanishing; it does nothing for other types.

    Raises:
        ConfigError: If mixed precision is asked for on a CPU.
    """
    if config.precision != "float32" and device.type == "cpu":
        remedy = "Mixed precision needs a GPU."
        raise ConfigError(complain("TrainConfig", "precision", "'float32' on a CPU", repr(config.precision), remedy))
    return torch.amp.GradScaler(device.type, enabled=config.precision == "float16")


def mixed_precision(device: torch.device, config: TrainConfig) -> torch.autocast:
    """Make the context in which a loss is computed."""
    kind = SHORT_TYPES.get(config.precision, torch.bfloat16)
    return torch.autocast(device.type, dtype=kind, enabled=config.precision != "float32")
