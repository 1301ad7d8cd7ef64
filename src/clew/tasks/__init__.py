"""Tasks: what a prediction may use, what it must say, how it is scored. `TASKS` holds them by name."""

from inspect import Parameter, signature
from typing import Any

from clew.errors import ConfigError, complain, did_you_mean
from clew.tasks.block_bootstrap import BlockInterval, block_bootstrap_interval
from clew.tasks.class_scores import balanced_weights
from clew.tasks.classification import Classification
from clew.tasks.cue_recall import CueRecall, EpisodeLosses
from clew.tasks.forecast_windows import ForecastParts, Scaling, chronological_windows
from clew.tasks.forecasting import Forecasting
from clew.tasks.memory_signal import memory_signal
from clew.tasks.next_token import NextToken, TokenScores
from clew.tasks.ngram import NGram
from clew.tasks.order_control import OrderControl, order_control, shuffled_order
from clew.tasks.recall_references import Reference, recall_references
from clew.tasks.regression import Regression
from clew.tasks.sequences import Sequences
from clew.tasks.tagging import Tagging
from clew.tasks.task import Aligned, Task, evaluation_mode

__all__ = [
    "TASKS",
    "Aligned",
    "BlockInterval",
    "Classification",
    "CueRecall",
    "EpisodeLosses",
    "ForecastParts",
    "Forecasting",
    "NGram",
    "NextToken",
    "OrderControl",
    "Reference",
    "Regression",
    "Scaling",
    "Sequences",
    "Tagging",
    "Task",
    "TokenScores",
    "balanced_weights",
    "block_bootstrap_interval",
    "chronological_windows",
    "evaluation_mode",
    "memory_signal",
    "order_control",
    "recall_references",
    "shuffled_order",
    "task_from_config",
]

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Classification, Tagging, NextToken, Forecasting, Regression, CueRecall)
}


def task_from_config(name: str, config: dict[str, Any]) -> Task:
    """Make a task from its name and the arguments that `Task.config` gave.

    Raises:
        ConfigError: If the name or a key is unknown, a key is missing, or a value is out of range.

    >>> task_from_config("cue_recall", {"delay": 8})
    CueRecall(delay=8, cue_position='fixed')
    """
    if name not in TASKS:
        raise ConfigError(complain("task_from_config", "task", "a known task", f"'{name}'", did_you_mean(name, TASKS)))
    arguments = signature(TASKS[name]).parameters
    problems = [f"unknown key '{key}': {did_you_mean(key, arguments)}" for key in config if key not in arguments]
    problems += [
        f"missing key '{key}'"
        for key, argument in arguments.items()
        if argument.default is Parameter.empty and key not in config
    ]
    if problems:
        rule = f"made of the keys {', '.join(arguments)}"
        raise ConfigError(complain(f"task_from_config('{name}')", "config", rule, "; ".join(problems)))
    return TASKS[name](**config)
