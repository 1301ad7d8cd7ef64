"""From a task and its data to the options of a model: what a user would have to repeat is filled in.

What is given is kept; what cannot be right, such as a model that reads ahead in a causal task, is refused with words.
"""

from collections.abc import Mapping
from typing import Any

import torch

from clew.errors import ConfigError, complain
from clew.models.presets import PRESETS, build_options
from clew.tasks import Forecasting, NextToken, Task
from clew.tasks.sequences import Sequences
from clew.training.config import check_keys

USUAL_POSITIONS = 512


def complete_options(
    options: Mapping[str, Any], task: Task, train: Sequences, validation: Sequences, preparation: Any = None
) -> dict[str, Any]:
    """Fill in inputs, outputs and head of a model.

    Args:
        options: Options of `clew.models.build`, with `preset` among them.
        task: Says what a prediction is.
        train: Says what inputs are.
        validation: Its longest sequence counts for a Transformer's positions too.
        preparation: What made the inputs of files; knows sizes of categories and vocabularies.

    Raises:
        ConfigError: If options are unknown, contradict the task, or cannot be filled in.
    """
    if "preset" not in options:
        raise ConfigError(complain("fit", "model", "a mapping with 'preset'", dict(options), "Name one, as 'gru'."))
    check_keys("fit: model", options, ["preset", *build_options()])
    found = {name: value for name, value in options.items() if value is not None}
    preset = found["preset"]
    _refuse_reading_ahead(found, task)
    found.setdefault("outputs", task.outputs)
    if "head" not in found and preset != "vit":
        found["head"] = "rows" if task.kind_of_head == "rows" else "last"
    if preset == "vit":
        _describe_images(found, train)
    else:
        _describe_sequences(found, task, train, preparation)
    if preset == "transformer":
        found.setdefault("causal", task.boundary == "causal")
        longest = max(int(train.lengths.max()), int(validation.lengths.max()))
        found.setdefault("max_positions", max(USUAL_POSITIONS, longest))
    return found


def _refuse_reading_ahead(options: dict[str, Any], task: Task) -> None:
    """Refuse a model that reads later steps, for a task that must not.

    Raises:
        ConfigError: If it does.
    """
    if task.boundary != "causal":
        return
    if options.get("bidirectional"):
        remedy = "A reader in both directions has seen what it is to predict; leave it out."
        raise ConfigError(complain("fit", f"bidirectional in {task.name}", "off, the task is causal", "on", remedy))
    if options["preset"] == "transformer" and options.get("causal") is False:
        remedy = "Without it each position reads the answer; leave it out."
        raise ConfigError(complain("fit", f"causal in {task.name}", "on, the task is causal", "off", remedy))
    if options["preset"] == "vit":
        remedy = "Its patches have no order in time; take another preset."
        raise ConfigError(complain("fit", f"model of {task.name}", "one that reads in order", "'vit'", remedy))


def _describe_images(options: dict[str, Any], train: Sequences) -> None:
    inputs = train.select(torch.arange(1)).inputs
    if inputs.ndim != 4:
        rule, got = "images (n, channels, height, width)", tuple(inputs.shape)
        raise ConfigError(complain("fit", "inputs of 'vit'", rule, got, "Take another preset for sequences."))
    options.setdefault("channels", inputs.shape[1])
    options.setdefault("image", list(inputs.shape[2:]))
    if "patch" not in options:
        sizes = [size for size in range(1, min(inputs.shape[2:]) + 1) if all(n % size == 0 for n in inputs.shape[2:])]
        rule = "given: its side or (height, width) in pixels"
        remedy = f"Square ones that divide these images: {', '.join(map(str, sizes))}."
        raise ConfigError(complain("fit", "patch of 'vit'", rule, "none", remedy))


def _describe_sequences(options: dict[str, Any], task: Task, train: Sequences, preparation: Any) -> None:
    """Say what a step is: an id, or numbers and categories."""
    if any(name in options for name in ("vocab", "features", "categories")):
        return
    inputs = train.select(torch.arange(1)).inputs
    if inputs.ndim == 4:
        remedy = "Take preset 'vit', or prepare them as rows."
        raise ConfigError(complain("fit", f"inputs of '{options['preset']}'", "sequences", "images", remedy))
    if isinstance(task, Forecasting):
        options["features"] = task.features
    elif inputs.ndim == 3:
        categories = tuple(getattr(preparation, "categories", ()))
        options["features"] = inputs.shape[2] - len(categories)
        if categories:
            options["categories"] = list(categories)
    elif isinstance(task, NextToken):
        options["vocab"] = task.vocab
    elif task.name == "cue_recall":
        options["vocab"] = task.outputs
    else:
        remedy = "Give vocab, the number of ids, among the options of the model."
        known = ", ".join(PRESETS[options["preset"]]) if options["preset"] in PRESETS else ""
        raise ConfigError(complain("fit", "model of inputs that are ids", f"with vocab ({known})", "none", remedy))
