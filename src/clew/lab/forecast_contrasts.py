"""What compared forecasts show: intervals over rolling origins, against the reference to beat and between recipes.

The error of a recipe at an origin is the mean over its seeds. The reference to beat is the forecast without learning
that was best on validation, in each mode apart. An interval is about these origins and these trained models.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from clew.data.batch import Batch
from clew.lab.results import RunResult
from clew.lab.splits import Splits
from clew.runs.assessing import LEAST_BLOCKS, LEAST_ORIGINS, MODE_WORDS
from clew.tasks import Forecasting
from clew.tasks.block_bootstrap import BlockInterval
from clew.tasks.forecast_arguments import MODES
from clew.tasks.forecast_references import best_reference

FIRST, SECOND = "first has the smaller error", "second has the smaller error"
NO_DIFFERENCE, TOO_FEW = "no difference shown", "too few origins"


def forecast_contrasts(
    results: Sequence[RunResult], leaks: Mapping[str, str], task: Forecasting, splits: Splits, test: Batch
) -> list[dict[str, Any]]:
    """Compare each recipe with the reference that was best on validation, and with each other recipe, in each mode.

    Args:
        results: Scored runs; those that failed are left out, and the words say how many seeds are in.
        leaks: Runs that cannot be trusted, by identity; no interval is given for their recipe.
        task: What was forecast.
        splits: Choose the reference.
        test: The windows that were scored.

    Returns:
        A mapping each: `first`, `second`, `mode`, `difference`, `interval`, `label`, `words`.
    """
    trusted = {result.plan.recipe.name for result in results} - {
        result.plan.recipe.name for result in results if result.identity in leaks
    }
    scores, found = task.references(splits.train, splits.validation), []
    for mode in MODES:
        errors = {name: values for name in sorted(trusted) if len(values := _errors(results, name, mode))}
        reference = best_reference(scores, mode)
        baseline = None if reference is None else task.reference_errors(test, reference, mode)
        against = []
        if reference is not None and baseline is not None:
            against = [_contrast(task, test, mode, (name, reference), errors[name], [baseline]) for name in errors]
            against += _none_is_better(mode, reference, against)
        pairs = combinations(errors, 2)
        found += [*against, *(_contrast(task, test, mode, pair, *(errors[name] for name in pair)) for pair in pairs)]
    return found


def _errors(results: Sequence[RunResult], recipe: str, mode: str) -> list[list[float]]:
    """Give the errors of each origin, a list a finished seed."""
    mine = [result.test for result in results if result.plan.recipe.name == recipe and result.test is not None]
    return [test["errors"][mode] for test in mine if test.get("errors")]


def _contrast(
    task: Forecasting,
    test: Batch,
    mode: str,
    names: tuple[str, str],
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
) -> dict[str, Any]:
    seeds = f"mean of {len(first)} {'seed' if len(first) == 1 else 'seeds'}"
    one, other = _mean(first), _mean(second)
    interval, label, words = None, TOO_FEW, f"{len(test)} origins with a finite error are too few to say more"
    if len(test) >= LEAST_ORIGINS and np.isfinite(one - other).all():
        interval = task.interval(one.tolist(), other.tolist(), test)
        label = _label(interval)
        words = _words(names, interval, label, "MAE" if task.scaling is None else "MASE")
    return {
        "first": names[0],
        "second": names[1],
        "mode": mode,
        "difference": None if interval is None else interval.mean,
        "interval": None if interval is None else [interval.low, interval.high],
        "label": label,
        "words": f"{MODE_WORDS[mode]}, {seeds}: {words}",
    }


def _mean(seeds: Sequence[Sequence[float]]) -> Float[np.ndarray, " origins"]:
    return np.asarray(seeds, np.float64).mean(axis=0)


def _label(interval: BlockInterval) -> str:
    if interval.values / interval.block < LEAST_BLOCKS:
        return TOO_FEW
    return FIRST if interval.high < 0 else SECOND if interval.low > 0 else NO_DIFFERENCE


def _words(names: tuple[str, str], interval: BlockInterval, label: str, unit: str) -> str:
    if label == TOO_FEW:
        return f"{interval.values} origins in blocks of {interval.block} are too few for an interval"
    numbers = f"{interval.mean:+.3g} {unit} [{interval.low:.3g}, {interval.high:.3g}] over {interval.values} origins"
    smaller = {FIRST: names[0], SECOND: names[1]}.get(label)
    shown = "no difference shown" if smaller is None else f"{smaller.replace('_', ' ')} has the smaller error"
    return f"{shown}: {numbers}"


def _none_is_better(mode: str, reference: str, contrasts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Say that no model beat the reference, unless an interval shows that one did."""
    if not contrasts or any(one["label"] == FIRST for one in contrasts):
        return []
    words = f"{MODE_WORDS[mode]}: no model beat the naive reference"
    described = {"first": "all", "second": reference, "mode": mode, "difference": None, "interval": None}
    return [described | {"label": NO_DIFFERENCE, "words": words}]
