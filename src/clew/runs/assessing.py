"""`assess`: what a score alone does not say of a trained model, with words that follow from the numbers by rule.

    classification, tagging   confusion matrix; of sequences, whether the order of steps was used at all
    next_token                how many tokens it says are those of the text when it reads its own
    forecasting               intervals of the error minus that of each reference, over rolling origins; whether the
                              best one on validation was beaten

Nothing here is selected or fitted; it looks at data that were scored already.
"""

from dataclasses import asdict
from typing import Any

import torch

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.errors import DataError
from clew.runs.free_running import free_running
from clew.runs.inputs import read_inputs, windows_of
from clew.runs.reference_choice import chosen_reference
from clew.runs.run import Run
from clew.tasks import Classification, Forecasting, NextToken, Tagging, order_control

MOST_SHUFFLED_STEPS = 5_000_000
SEED = 0
LEAST_ORIGINS = 8
LEAST_BLOCKS = 5
SHOWN_SERIES = 3
MODE_WORDS = {"one_step": "one step ahead", "rollout": "in rollouts"}


def assess(run: Run, data: Batch | SequenceData, chunk: int = 512) -> dict[str, Any]:
    """Look at a trained model on data that were scored.

    Returns:
        `confusion` (counts, true classes as rows, with a last row for classes that training lacks and a last column for
        steps without an answer) and `classes`; `order` with its words; `free_running`, see there;
        `intervals` of forecasts with `words`, and `notes`. What does not apply is missing.

    Raises:
        DataError: If the data have no targets.
    """
    task = run.task
    if isinstance(task, Forecasting):
        return _of_forecasts(run, task, data, chunk) | {"notes": denominator_words(task)}
    if isinstance(task, NextToken):
        return {"free_running": free_running(run.model, data)}
    if not isinstance(task, Classification | Tagging):
        return {}
    found: dict[str, Any] = {
        "classes": list(getattr(run.preparation, "classes", ())) or [str(number) for number in range(task.classes)],
        "confusion": task.confusion(run.model, data, chunk).tolist(),
    }
    is_sequences = data.select(torch.arange(1)).inputs.ndim != 4 and int(data.lengths.max()) > 1
    if isinstance(task, Classification) and is_sequences and int(data.lengths.sum()) <= MOST_SHUFFLED_STEPS:
        control = order_control(task, run.model, data, torch.Generator().manual_seed(SEED), chunk)
        found["order"] = asdict(control) | {"words": control.words}
    return found


def scored_data(run: Run, source: Any) -> Batch | SequenceData:
    """Give the sequences that `Run.evaluate` scores, from a file or whatever it takes."""
    read = read_inputs(source, run.task, run.preparation, is_scored=True)
    if isinstance(run.task, Forecasting) and read.table is not None and isinstance(read.data, SequenceData):
        return windows_of(read.data, run.task, run.config["window"])
    return read.data


def _of_forecasts(run: Run, task: Forecasting, data: Batch | SequenceData, chunk: int) -> dict[str, Any]:
    """Compare with each reference by blocks of origins; few origins show nothing."""
    if len(data) < LEAST_ORIGINS:
        return {"intervals": [], "words": [f"{len(data)} origins are too few to say more"]}
    try:
        intervals = task.compare_all(run.model, data, chunk=chunk)
    except DataError:  # an origin without any target
        return {"intervals": [], "words": ["an origin without targets or a finite forecast allows no interval"]}
    unit = "MAE" if task.scaling is None else "MASE"
    words = []
    for mode in MODE_WORDS:
        mine = [one for one in intervals if one["mode"] == mode]
        words.append(f"{MODE_WORDS[mode]}: {interval_words(mine, chosen_reference(run, mode), unit)}")
    return {"intervals": intervals, "words": words}


def denominator_words(task: Forecasting) -> list[str]:
    """Say what MASE divides by: the error of repeating the value of one season before, in the training part."""
    if task.scaling is None:
        return []
    season, errors = task.scaling.season, [f"{error:.4g}" for error in task.scaling.seasonal_error]
    shown = ", ".join(errors[:SHOWN_SERIES]) + (", ..." if len(errors) > SHOWN_SERIES else "")
    steps = "1 step" if season == 1 else f"a season of {season} steps"
    return [f"MASE divides by the mean absolute change over {steps} in the training part: {shown}"]


def interval_words(intervals: list[dict[str, Any]], chosen: str | None, unit: str) -> str:
    """Say whether a model is better than the reference that counts, by the interval of the difference.

    That is the one that was best on validation. Where that is not known, it is the best one on these data, which is
    no easier to beat.

    >>> one = {"reference": "drift", "mean": -0.2, "low": -0.3, "high": 0.1, "block": 3, "values": 30}
    >>> interval_words([one], "drift", "MASE")[:75]
    'no model beat the naive reference: the difference to drift, the best on vali'
    """
    if not intervals:
        return "no reference has a forecast to compare with"
    known = next((one for one in intervals if one["reference"] == chosen), None)
    one = known or max(intervals, key=lambda each: each["mean"])
    blocks = one["values"] / one["block"]
    if blocks < LEAST_BLOCKS:
        return f"{one['values']} origins in blocks of {one['block']} are too few for an interval"
    name = f"{one['reference'].replace('_', ' ')}, the best on {'validation' if known else 'these data'}"
    numbers = f"{one['mean']:+.3g} {unit} [{one['low']:.3g}, {one['high']:.3g}] over {one['values']} origins"
    if one["high"] < 0:
        return f"better than {name}: {numbers}"
    if one["low"] > 0:
        return f"no model beat the naive reference: worse than {name}: {numbers}"
    return f"no model beat the naive reference: the difference to {name}, includes 0: {numbers}"
