"""Tasks: what a prediction may use, what it must say, how it is scored. `TASKS` holds them by name."""

from inspect import Parameter, signature
from typing import Any

from clew.errors import ConfigError, complain, did_you_mean
from clew.tasks.cue_recall import CueRecall, EpisodeLosses
from clew.tasks.memory_signal import memory_signal
from clew.tasks.next_token import NextToken, TokenScores
from clew.tasks.recall_references import Reference, recall_references
from clew.tasks.task import Aligned, Task, evaluation_mode

__all__ = [
    "TASKS",
    "Aligned",
    "CueRecall",
    "EpisodeLosses",
    "NextToken",
    "Reference",
    "Task",
    "TokenScores",
    "evaluation_mode",
    "memory_signal",
    "recall_references",
    "task_from_config",
]

TASKS: dict[str, type[Task]] = {task.name: task for task in (NextToken, CueRecall)}


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
