"""The few statistics that a comparison of models needs, exact where counting is possible.

Two kinds of chance are kept apart. *Episodes* are paired: every model answers the same test episodes, so differences
are taken episode by episode. *Seeds* are not: seed 1 of one recipe has nothing to do with seed 1 of another.
An interval or a test over episodes is about the trained models at hand; only a test over seeds is about the recipe.
Nothing here knows a task; `clew.lab.verdict` turns the numbers into words. Start at `paired_bootstrap_interval`.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb, gcd, inf, isfinite, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from clew.errors import ConfigError, DataError, ShapeError, complain

MOST_SPLITS = 200_000  # beyond this many splits of the seeds, as many random ones are drawn
DRAWS_AT_ONCE = 2**21  # bounds the memory of a bootstrap to some tens of megabytes
ROUNDING_NATS = 1e-5  # a mean loss in float32 is not known better than this


class Interval(NamedTuple):
    """Both ends belong to it."""

    low: float
    high: float


class SeedTest(NamedTuple):
    """A permutation test over seeds.

    Attributes:
        p: Two-sided p value.
        least_p: The smallest p value that so many seeds can give: 0.10 for 3 against 3.
        exact: All splits were counted; else a seeded sample of them.
    """

    p: float
    least_p: float
    exact: bool


class LossExcess(NamedTuple):
    """How far a mean loss lies above its floor, in nats.

    Attributes:
        mean: Mean loss minus floor; negative below the floor.
        standard_error: Of the mean, over episodes.
        z: Mean excess in standard errors; 0 where the excess is no larger than rounding, infinite without a spread.
    """

    mean: float
    standard_error: float
    z: float


def mean_and_deviation(values: Sequence[float | int]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (divisor n - 1); one value has no deviation, which is None and not 0.

    >>> mean_and_deviation([0.5, 1.0, 0.75])
    (0.75, 0.25)
    >>> mean_and_deviation([0.5])
    (0.5, None)

    Raises:
        DataError: If there is no value or one is not finite.
    """
    if not values:
        raise DataError(complain("mean_and_deviation", "values", "at least one", "none", "Leave out empty cells."))
    for place, value in enumerate(values):
        if not isfinite(value):
            remedy = "Count failed runs apart."
            raise DataError(complain("mean_and_deviation", "values", "finite", f"{value} at place {place}", remedy))
    return fmean(values), stdev(values) if len(values) > 1 else None


def wilson_interval(correct: int, count: int, level: float = 0.95) -> Interval:
    """Interval for a proportion of independent episodes; sensible at 0 and at 1, where the usual one has no width.

    Solves |correct/count - p| = z sqrt(p (1 - p) / count) for p.

    Raises:
        DataError: Unless 0 <= correct <= count and count >= 1.
        ConfigError: If the level is not inside (0, 1).

    Source:
        Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    _check_proportion("wilson_interval", correct, count)
    _check_fraction("wilson_interval", "level", level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = correct / count
    centre = p + z * z / (2 * count)
    half = z * sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    low = 0.0 if correct == 0 else (centre - half) / scale
    high = 1.0 if correct == count else (centre + half) / scale
    return Interval(low, high)


def binomial_test(
    correct: int, count: int, chance: float, alternative: Literal["two-sided", "greater", "less"] = "two-sided"
) -> float:
    """Exact p value of `correct` right answers out of `count` for a predictor that is right with probability `chance`.

    Two-sided: the probability of all outcomes that are no likelier than the one seen.

    On a test set with exactly balanced answers, an answer that ignores them is right by chance as often and, for a
    constant or lopsided predictor, with less spread, so that the test errs on the careful side.

    Raises:
        DataError: Unless 0 <= correct <= count and count >= 1.
        ConfigError: If chance is not inside (0, 1).
    """
    _check_proportion("binomial_test", correct, count)
    _check_fraction("binomial_test", "chance", chance)
    probabilities = _binomial_probabilities(count, chance)
    if alternative == "greater":
        counted = probabilities[correct:]
    elif alternative == "less":
        counted = probabilities[: correct + 1]
    else:
        counted = probabilities[probabilities <= probabilities[correct] * (1 + 1e-7)]  # equal ones differ by rounding
    return min(1.0, float(counted.sum()))


def holm(p_values: Sequence[float | int]) -> list[float]:
    """Adjust p values so that rejecting those <= a level errs anywhere among them at most so often.

    Valid whatever the dependence between the tests. The order stays.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]

    Source:
        Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    adjusted = [1.0] * len(p_values)
    largest_so_far = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest_so_far = max(largest_so_far, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest_so_far
    return adjusted


def paired_bootstrap_interval(
    first: Bool[np.ndarray, "episodes first_seeds"] | Float[np.ndarray, "episodes first_seeds"],
    second: Bool[np.ndarray, "_ second_seeds"] | Float[np.ndarray, "_ second_seeds"],
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Percentile interval for mean(first) - mean(second) over the same episodes, drawn again with replacement.

    An episode is drawn with the answers of all models to it. The trained models stay as they are: the interval tells
    what other episodes would have changed, not what other seeds would have.

    Args:
        first: Correctness or loss of each episode (rows) for each seed (columns).
        second: The same episodes in the same order; the number of seeds may differ.
        level: Fraction of the resampled differences inside the interval.
        resamples: How often the episodes are drawn again.
        seed: Of the numpy generator; equal arguments give equal bits.

    Raises:
        ShapeError: If the episodes differ in number or one side is empty.
        ConfigError: If the level is not inside (0, 1) or there is no resample.
    """
    _check_fraction("paired_bootstrap_interval", "level", level)
    if resamples < 1:
        raise ConfigError(complain("paired_bootstrap_interval", "resamples", "at least 1", resamples, "Use 2000."))
    _check_paired("paired_bootstrap_interval", first, second)
    differences = first.mean(axis=1, dtype=np.float64) - second.mean(axis=1, dtype=np.float64)
    episodes = len(differences)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    block = max(1, DRAWS_AT_ONCE // episodes)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, episodes, size=(rows, episodes), dtype=np.int32)
        means[start : start + rows] = differences.take(drawn).mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def paired_episode_test(
    first: Bool[np.ndarray, "episodes first_seeds"], second: Bool[np.ndarray, "_ second_seeds"]
) -> float:
    """Exact two-sided sign-flip test of equal mean accuracy on the same episodes.

    The statistic is the sum over episodes of (mean correctness of first - mean correctness of second). Were the two
    sides alike, each episode's difference could as well have had the other sign; all sign patterns are counted. With
    one seed on each side this is McNemar's exact test. The mean is tested rather than the number of episodes won, since
    seeds that differ much (one solves, two guess) make the two disagree.

    Raises:
        ShapeError: If the episodes differ in number or one side is empty.
    """
    _check_paired("paired_episode_test", first, second)
    first_seeds, second_seeds = first.shape[1], second.shape[1]
    divisor = gcd(first_seeds, second_seeds)
    first_right, second_right = first.sum(axis=1, dtype=np.int64), second.sum(axis=1, dtype=np.int64)
    steps = (first_right * second_seeds - second_right * first_seeds) // divisor  # whole numbers: no tie is missed
    return _sign_flip_p(steps)


def seed_permutation_test(first: Sequence[float | int], second: Sequence[float | int], seed: int = 0) -> SeedTest:
    """Two-sided permutation test of the difference of means over seeds that are not paired.

    Every split of all values into two groups of these sizes is counted, and those at least as far apart as what was
    seen. Beyond 200,000 splits, as many random ones (from `seed`) stand for all; what was seen counts as one of them.

    >>> seed_permutation_test([0.9, 0.8, 0.7], [0.3, 0.2, 0.1])
    SeedTest(p=0.1, least_p=0.1, exact=True)

    Raises:
        DataError: If one side has no value or a value is not finite.
    """
    if not first or not second:
        raise DataError(complain("seed_permutation_test", "each side", "at least one seed", "none", "Leave it out."))
    values = np.array([*first, *second], dtype=np.float64)
    if not np.isfinite(values).all():
        remedy = "Count failed runs apart."
        raise DataError(complain("seed_permutation_test", "values", "finite", values.tolist(), remedy))
    chosen = len(first)
    splits = comb(len(values), chosen)
    exact = splits <= MOST_SPLITS
    everyone = range(len(values))
    groups = np.array(list(combinations(everyone, chosen))) if exact else _random_groups(len(values), chosen, seed)
    apart = _distance_of_means(values, groups)
    seen = _distance_of_means(values, np.arange(chosen)[None])[0]
    far = int((apart >= seen - 1e-9 * np.ptp(values)).sum())  # equal distances differ by rounding
    p = far / splits if exact else (far + 1) / (len(groups) + 1)
    return SeedTest(p, least_seed_p(len(first), len(second)), exact)


def least_seed_p(first_seeds: int, second_seeds: int) -> float:
    """The smallest two-sided p value that a permutation test over so many seeds can give.

    With equal numbers the mirrored split is as far apart, so that two splits always count.

    >>> least_seed_p(3, 3)
    0.1
    """
    return (2 if first_seeds == second_seeds else 1) / comb(first_seeds + second_seeds, first_seeds)


def loss_excess(losses_nats: Float[np.ndarray, "episodes"], floor_nats: float) -> LossExcess:
    """Mean per-episode loss above a known floor, with its standard error over episodes.

    Raises:
        DataError: If there are fewer than two episodes or a loss is not finite.
    """
    if len(losses_nats) < 2 or not np.isfinite(losses_nats).all():
        got = f"{len(losses_nats)} losses, {int((~np.isfinite(losses_nats)).sum())} not finite"
        remedy = "Count failed runs apart."
        raise DataError(complain("loss_excess", "losses", "at least two finite numbers", got, remedy))
    losses = losses_nats.astype(np.float64)
    standard_error = float(losses.std(ddof=1)) / sqrt(len(losses))
    return excess_of_mean(float(losses.mean()), standard_error, floor_nats)


def excess_of_mean(mean_nats: float, standard_error_nats: float, floor_nats: float) -> LossExcess:
    """The same from a mean and its standard error."""
    excess = mean_nats - floor_nats
    if abs(excess) <= ROUNDING_NATS:
        z = 0.0
    elif standard_error_nats > 0:
        z = excess / standard_error_nats
    else:
        z = inf if excess > 0 else -inf
    return LossExcess(excess, standard_error_nats, z)


def _binomial_probabilities(count: int, chance: float) -> Float[np.ndarray, "outcomes"]:
    """Probability of 0, 1, ... `count` right answers."""
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    right = np.arange(count + 1)
    log_choices = log_factorials[count] - log_factorials - log_factorials[::-1]
    return np.exp(log_choices + right * np.log(chance) + (count - right) * np.log1p(-chance))


def _sign_flip_p(steps: Int[np.ndarray, "episodes"]) -> float:
    """Fraction of all sign patterns whose |sum| is at least that of `steps`.

    The sum under random signs is 2 T - sum |steps|, where T adds |step| for each positive sign. T is a sum of one
    scaled binomial number for each size of step, so that their distributions are convolved.
    """
    sizes, occurrences = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    distribution = np.ones(1)
    for size, occurrence in zip(sizes.tolist(), occurrences.tolist(), strict=True):
        spaced = np.zeros(size * occurrence + 1)
        spaced[::size] = _binomial_probabilities(occurrence, 0.5)
        distribution = np.convolve(distribution, spaced)
    total = len(distribution) - 1
    sums = 2 * np.arange(total + 1) - total
    return min(1.0, float(distribution[np.abs(sums) >= abs(int(steps.sum()))].sum()))


def _random_groups(members: int, chosen: int, seed: int) -> Int[np.ndarray, "splits chosen"]:
    everyone = np.tile(np.arange(members), (MOST_SPLITS, 1))
    return np.random.default_rng(seed).permuted(everyone, axis=1)[:, :chosen]


def _distance_of_means(
    values: Float[np.ndarray, "members"], groups: Int[np.ndarray, "splits chosen"]
) -> Float[np.ndarray, "splits"]:
    """|mean of the group - mean of the others| for each group of members."""
    chosen, others = groups.shape[1], len(values) - groups.shape[1]
    inside = values[groups].sum(axis=1)
    return np.abs(inside / chosen - (values.sum() - inside) / others)


def _check_proportion(where: str, correct: int, count: int) -> None:
    if count < 1 or not 0 <= correct <= count:
        got = f"{correct} of {count}"
        raise DataError(
            complain(where, "correct of count", "0 to count of at least 1", got, "Count the episodes again.")
        )


def _check_fraction(where: str, what: str, value: float) -> None:
    if not 0 < value < 1:
        raise ConfigError(complain(where, what, "inside (0, 1)", value, "Give a fraction, not a percentage."))


def _check_paired(where: str, first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second) or 0 in first.shape or 0 in second.shape:
        got = f"{first.shape} and {second.shape}"
        rule = "(episodes, seeds) over the same episodes, none empty"
        raise ShapeError(complain(where, "both sides", rule, got, "Score both on one test set."))
