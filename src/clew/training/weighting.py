"""Class weights that follow from the training targets."""

import torch

from clew.errors import ConfigError, complain
from clew.tasks import Task, balanced_weights, task_from_config
from clew.tasks.sequences import Sequences, chunks
from clew.training.config import TrainConfig

COUNTED_AT_ONCE = 4096


def weighted(task: Task, train: Sequences, config: TrainConfig) -> Task:
    """Give the task with the class weights that the configuration asks for; reported figures are never weighted.

    Raises:
        ConfigError: If the task has no classes, or weights of its own.
    """
    if config.class_weights is None:
        return task
    arguments = task.config()
    if "class_weights" not in arguments:
        remedy = "Leave it out."
        got = f"'{config.class_weights}' for {task.name}"
        rule = "left out for a task without classes"
        raise ConfigError(complain("TrainConfig", "class_weights", rule, got, remedy))
    if arguments["class_weights"] is not None:
        got = f"weights in the task too ({arguments['class_weights']})"
        raise ConfigError(complain("TrainConfig", "class_weights", "given once", got, "Leave one of them out."))
    targets = []
    for _, batch in chunks(train, COUNTED_AT_ONCE):
        aligned = task.align(batch)
        kept = aligned.targets if aligned.scored is None else aligned.targets[aligned.scored]
        targets.append(kept.flatten())
    weights = balanced_weights(torch.cat(targets), arguments["classes"])
    return task_from_config(task.name, arguments | {"class_weights": list(weights)})
