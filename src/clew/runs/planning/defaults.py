"""Models and budgets for people who say none: small enough for two processor cores, and never a recommendation."""

from collections.abc import Mapping
from typing import Any

from clew.runs.inputs import AnyPreparation
from clew.runs.planning.pictures import usual_patch
from clew.tasks import Task

IMAGES_PRESET = "vit"
PRESETS_OF = {
    "classification": "gru",
    "tagging": "lstm",
    "next_token": "lstm",
    "forecasting": "gru",
    "regression": "gru",
}
RECURRENT = ("rnn", "gru", "lstm")
USUAL_STEPS = 2000
FEWEST_EPOCHS, MOST_EPOCHS = 10, 100
STEPS_AN_EPOCH = 20
SMALLEST_BATCH, LARGEST_BATCH = 8, 64
PATIENCE_SHARE = 5


def usual_model(
    task: Task, preparation: AnyPreparation, preset: str | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Fill in what a person may leave out of a model, besides what follows from the data.

    Without a bidirectional state or attention in both directions, the last step is what a sequence is judged by;
    with it the mean of all.
    """
    is_images = getattr(preparation, "layout", None) == "images"
    preset = preset or (IMAGES_PRESET if is_images else PRESETS_OF[task.name])
    usual: dict[str, Any] = {"preset": preset, "hidden": 128 if task.name == "next_token" else 64}
    is_full = task.boundary == "full"
    if preset in RECURRENT and is_full:
        usual["bidirectional"] = True
    if preset == "transformer":
        usual |= {"layers": 2, "causal": not is_full, "dropout": 0.1}
    if preset == "vit":
        usual |= {"layers": 2, "dropout": 0.1, "patch": usual_patch(preparation.shape)} if is_images else {}  # pyright: ignore[reportAttributeAccessIssue]
    found = usual | {name: value for name, value in given.items() if value is not None}
    if "width" in found:
        found.pop("hidden" if "hidden" not in given else "width")
    reads_both_ways = found.get("bidirectional") or (preset == "transformer" and not found.get("causal"))
    if task.kind_of_head == "sequence" and reads_both_ways:
        found.setdefault("head", "mean")
    return found


def usual_training(task: Task, preset: str, sequences: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose batches so that an epoch has about twenty steps, and epochs so that training has some thousand.

    >>> from clew.tasks import Classification
    >>> usual_training(Classification(2), "gru", 400, {})["batch_size"]
    16
    """
    size = given.get("batch_size")
    if size is None:
        size = SMALLEST_BATCH
        while size < LARGEST_BATCH and 2 * size * STEPS_AN_EPOCH <= sequences:
            size *= 2
    steps = max(1, -(-sequences // size))
    epochs = given.get("epochs") or min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(USUAL_STEPS / steps)))
    usual: dict[str, Any] = {"batch_size": size, "epochs": epochs, "learning_rate": 0.003}
    if "max_minutes" not in given:
        usual["patience"] = max(5, epochs // PATIENCE_SHARE)
    if preset in ("transformer", "vit"):
        usual |= {"learning_rate": 0.001, "warmup_steps": min(100, steps * 5)}
    return usual | dict(given)
