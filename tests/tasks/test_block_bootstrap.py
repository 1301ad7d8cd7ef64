import numpy as np
import pytest

from clew.errors import ConfigError, DataError
from clew.tasks import block_bootstrap_interval


def test_equal_seeds_give_equal_intervals_around_the_mean() -> None:
    values = np.random.default_rng(0).normal(1.0, 1.0, 50)
    first, again = (block_bootstrap_interval(values, seed=3) for _ in range(2))
    assert first == again != block_bootstrap_interval(values, seed=4)
    assert first.mean == pytest.approx(values.mean()) and first.low < first.mean < first.high
    assert (first.block, first.values) == (4, 50)


def test_independent_values_have_the_interval_of_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(0.0, 1.0, 400)
    interval = block_bootstrap_interval(values, block=1, resamples=4000)
    half = 1.96 * values.std() / 20
    assert interval.high - interval.mean == pytest.approx(half, rel=0.1)
    assert interval.mean - interval.low == pytest.approx(half, rel=0.1)


def test_blocks_keep_what_neighbours_share() -> None:
    """Runs of 10 equal values are worth 40 values and not 400."""
    values = np.repeat(np.random.default_rng(2).normal(0.0, 1.0, 40), 10)
    alone, blocks = (block_bootstrap_interval(values, block=block) for block in (1, 20))
    assert (blocks.high - blocks.low) / (alone.high - alone.low) == pytest.approx(10**0.5, rel=0.3)


def test_the_last_value_is_followed_by_the_first() -> None:
    values = np.array([1.0, 0.0, 0.0, 0.0])
    interval = block_bootstrap_interval(values, block=4, resamples=100)
    assert interval.low == interval.high == interval.mean == 0.25


def test_no_block_crosses_from_one_sequence_to_the_next() -> None:
    """Whole sequences are drawn: a mean lies between theirs by halves, never by quarters."""
    values, names = np.repeat([1.0, 5.0], 4), list("aaaabbbb")
    drawn = {block_bootstrap_interval(values, sequences=names, block=4, resamples=1, seed=s).low for s in range(40)}
    assert drawn == {1.0, 3.0, 5.0}
    crossing = {block_bootstrap_interval(values, block=4, resamples=1, seed=s).low for s in range(40)}
    assert 2.0 in crossing


def test_sequences_may_be_of_any_size_and_in_any_order() -> None:
    values = np.random.default_rng(3).normal(size=9)
    names, order = list("aabbbbbbc"), np.array([8, 2, 0, 3, 4, 1, 5, 6, 7])
    first = block_bootstrap_interval(values, sequences=names, seed=1)
    moved = block_bootstrap_interval(values[order], sequences=[names[place] for place in order], seed=1)
    assert (first.low, first.high) == pytest.approx((moved.low, moved.high))
    assert first.block == 2  # of the longest, which has 6
    one = block_bootstrap_interval(values, sequences=["a"] * 9, seed=1)
    assert one == block_bootstrap_interval(values, seed=1)


def test_wrong_arguments_are_errors() -> None:
    values = np.arange(5.0)
    for wrong in ({"block": 6}, {"block": 0}, {"resamples": 0}, {"level": 1.0}):
        with pytest.raises(ConfigError):
            block_bootstrap_interval(values, **wrong)
    with pytest.raises(ConfigError, match=r"block must be in \[1, values of the longest sequence=3\], got 4"):
        block_bootstrap_interval(values, sequences=list("aaabb"), block=4)
    with pytest.raises(ConfigError, match="sequences must be 5 names"):
        block_bootstrap_interval(values, sequences=["a"])
    for few in (values[:1], np.array([1.0, np.nan])):
        with pytest.raises(DataError):
            block_bootstrap_interval(few)
