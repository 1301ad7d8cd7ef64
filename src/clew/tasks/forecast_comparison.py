"""By how much one forecast is better than another over rolling origins, with an interval by blocks of origins."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Shaped
from torch import Tensor

from clew.tasks.block_bootstrap import BlockInterval, block_bootstrap_interval, usual_block
from clew.tasks.sequences import Sequences

LOOKED_AT = 64  # windows, of which any two neighbours of one series lie equally far apart


def interval_of_difference(
    errors: Float[np.ndarray, " origins"],
    baseline: Float[np.ndarray, " origins"],
    *,
    sequences: Sequence[str] | None = None,
    overlap: int = 1,
    block: int | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> BlockInterval:
    """Give an interval for the mean of `errors` minus that of `baseline`; below 0, `errors` are the smaller ones.

    Args:
        errors: Error of a forecast from each rolling origin, in order of time within each sequence.
        baseline: Errors of another forecast from the same origins.
        sequences: Name of the sequence of each origin; by default all are of one. No block crosses sequences.
        overlap: Neighbouring origins that share targets.
        block: Origins of a block; by default the cube root of those of the longest sequence, at least `overlap`.
        resamples: How often origins are drawn again.
        seed: Draws them.

    Raises:
        ConfigError: If a number is out of range.
        DataError: If there are fewer than 2 origins, or one without a finite error.
    """
    if block is None:
        longest = len(errors) if sequences is None else max(Counter(sequences).values())
        block = usual_block(longest, overlap)
    return block_bootstrap_interval(errors - baseline, sequences=sequences, block=block, resamples=resamples, seed=seed)


def steps_between_origins(windows: Shaped[Tensor, "origins steps columns"], most: int) -> int:
    """Find how far neighbouring windows of one series lie apart, by the values that they share.

    Args:
        windows: One a rolling origin, in order of time.
        most: What is given where windows share nothing, or lie further apart.

    >>> import torch
    >>> series = torch.arange(20.0).reshape(-1, 1)
    >>> steps_between_origins(torch.stack([series[0:8], series[3:11], series[6:14]]), 5)
    3
    """
    known = windows.nan_to_num(nan=0.5)
    for apart in range(1, min(most, known.shape[1])):
        if any(bool((one[apart:] == other[:-apart]).all()) for one, other in pairwise(known[:LOOKED_AT])):
            return apart
    return most


def sequence_names(windows: Sequences) -> list[str] | None:
    """Say of which sequence each window is; None where names are only the numbers of the windows, or there are none."""
    names = [str(name) for name in getattr(windows, "ids", ())]
    are_numbers = len(set(names)) == len(names) and all(name.isdigit() for name in names)
    return None if are_numbers else names
