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


def test_wrong_arguments_are_errors() -> None:
    values = np.arange(5.0)
    for wrong in ({"block": 6}, {"block": 0}, {"resamples": 0}, {"level": 1.0}):
        with pytest.raises(ConfigError):
            block_bootstrap_interval(values, **wrong)
    for few in (values[:1], np.array([1.0, np.nan])):
        with pytest.raises(DataError):
            block_bootstrap_interval(few)
