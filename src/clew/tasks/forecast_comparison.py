"""By how much one forecast is better than another over rolling origins, with an interval by blocks of origins."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from clew.tasks.block_bootstrap import BlockInterval, block_bootstrap_interval, usual_block
from clew.tasks.forecast_metrics import origin_errors
from clew.tasks.sequences import Sequences


def interval_of_difference(
    points: Float[np.ndarray, "origins horizon series"],
    baseline: Float[np.ndarray, "origins horizon series"],
    targets: Float[np.ndarray, "origins horizon series"],
    *,
    seasonal_error: Sequence[float] | None = None,
    sequences: Sequence[str] | None = None,
    overlap: int = 1,
    block: int | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> BlockInterval:
    """Give an interval for the error of `points` minus that of `baseline`; below 0, `points` is better.

    Args:
        points: Forecasts from rolling origins, in order of time within each sequence.
        baseline: Others from the same origins.
        targets: What came.
        seasonal_error: Divides the errors of each series, as in MASE; errors in the units of the series without it.
        sequences: Name of the sequence of each origin; by default all are of one. No block crosses sequences.
        overlap: Neighbouring origins that share targets.
        block: Origins of a block; by default the cube root of those of the longest sequence, at least `overlap`.
        resamples: How often origins are drawn again.
        seed: Draws them.

    Raises:
        ConfigError: If a number is out of range.
        DataError: If there are fewer than 2 origins, or one without a finite error.
    """
    errors = origin_errors(points, targets, seasonal_error) - origin_errors(baseline, targets, seasonal_error)
    if block is None:
        longest = len(errors) if sequences is None else max(Counter(sequences).values())
        block = usual_block(longest, overlap)
    return block_bootstrap_interval(errors, sequences=sequences, block=block, resamples=resamples, seed=seed)


def sequence_names(windows: Sequences) -> list[str] | None:
    """Say of which sequence each window is; None where names are only the numbers of the windows, or there are none."""
    names = [str(name) for name in getattr(windows, "ids", ())]
    are_numbers = len(set(names)) == len(names) and all(name.isdigit() for name in names)
    return None if are_numbers else names
