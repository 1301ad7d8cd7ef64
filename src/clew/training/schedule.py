"""The learning rate of each optimizer step: a warm-up, then a decay to 0 or none."""

from math import cos, pi

from clew.training.config import TrainConfig


def learning_rate_at(step: int, total_steps: int, config: TrainConfig) -> float:
    """Give the learning rate of a step.

    The warm-up rises in equal parts to the whole rate at step `warmup_steps`; the decay would reach 0 one step after
    the last.

    Args:
        step: Optimizer steps that are over.
        total_steps: Steps of all epochs.
        config: The rules.

    >>> config = TrainConfig(learning_rate=0.4, warmup_steps=2, decay="linear")
    >>> [round(learning_rate_at(step, 6, config), 3) for step in range(6)]
    [0.2, 0.4, 0.4, 0.3, 0.2, 0.1]
    """
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    if config.decay == "none":
        return config.learning_rate
    done = (step - config.warmup_steps) / max(1, total_steps - config.warmup_steps)
    share = 1 - done if config.decay == "linear" else (1 + cos(pi * done)) / 2
    return config.learning_rate * max(0.0, share)
