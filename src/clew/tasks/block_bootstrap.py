"""An interval for a mean over rolling origins, whose neighbours are not independent: whole blocks are drawn again.

Blocks are runs of neighbouring origins of one sequence, whose last origin is followed by its first (circular), so that
each origin is drawn equally often and no block crosses from one sequence to the next. The interval is about these
origins and this trained model, not about another training run.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from clew.errors import ConfigError, DataError, complain

DRAWS_AT_ONCE = 2**21


class BlockInterval(NamedTuple):
    """A mean and an interval for it.

    Attributes:
        mean: Of all values.
        low, high: Percentile interval.
        block: Values of a block.
        values: Their number.
    """

    mean: float
    low: float
    high: float
    block: int
    values: int


def usual_block(count: int, overlap: int = 1) -> int:
    """Choose a block length: the cube root of a sequence's values, but at least the values that share targets."""
    return min(count, max(ceil(count ** (1 / 3)), overlap, 1))


def block_bootstrap_interval(
    values: Float[np.ndarray, " count"],
    *,
    sequences: Sequence[str | int] | None = None,
    block: int | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> BlockInterval:
    """Draw blocks with replacement until there are as many values as before, and take the mean, again and again.

    Args:
        values: One a rolling origin, in order of time within each sequence, such as differences of errors.
        sequences: Name of the sequence of each value; by default all are of one.
        block: Values of a block; by default the cube root of the values of the longest sequence, rounded up. In a
            sequence with fewer values a block goes round.
        resamples: How often the values are drawn again.
        level: Share of the means inside the interval.
        seed: Draws the blocks; equal seeds give equal intervals.

    Raises:
        ConfigError: If an argument is out of range.
        DataError: If there are fewer than 2 values, or one is not finite.

    Source:
        Politis and Romano 1992, circular block bootstrap.
    """
    where, count = "block_bootstrap_interval", len(values)
    if count < 2 or not np.isfinite(values).all():
        got = f"{count} values" if count < 2 else "one that is not finite"
        raise DataError(complain(where, "values", "at least 2, all finite", got, "Take more rolling origins."))
    if sequences is not None and len(sequences) != count:
        raise ConfigError(complain(where, "sequences", f"{count} names, one a value", len(sequences)))
    ordered, starts, sizes = _by_sequence(values, sequences)
    longest = int(sizes.max())
    block = usual_block(longest) if block is None else block
    if not 1 <= block <= longest:
        raise ConfigError(complain(where, "block", f"in [1, values of the longest sequence={longest}]", block))
    if resamples < 1 or not 0 < level < 1:
        raise ConfigError(complain(where, "resamples and level", "at least 1, in (0, 1)", f"{resamples}, {level}"))
    generator = np.random.default_rng(seed)
    blocks = ceil(count / block)
    means = []
    for done in range(0, resamples, max(1, DRAWS_AT_ONCE // count)):
        size = min(max(1, DRAWS_AT_ONCE // count), resamples - done)
        first = generator.integers(0, count, (size, blocks, 1))
        places = starts[first] + (first - starts[first] + np.arange(block)) % sizes[first]
        means.append(ordered[places.reshape(size, -1)[:, :count]].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return BlockInterval(float(values.mean()), float(low), float(high), block, count)


def _by_sequence(
    values: np.ndarray, sequences: Sequence[str | int] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put the values of each sequence side by side, with the first place and the size of its sequence for each."""
    if sequences is None:
        return values, np.zeros(len(values), np.int64), np.full(len(values), len(values))
    _, numbers, counts = np.unique(np.asarray(sequences), return_inverse=True, return_counts=True)
    order = np.argsort(numbers, kind="stable")
    starts = np.concatenate([[0], counts.cumsum()[:-1]])
    return values[order], starts[numbers[order]], counts[numbers[order]]
