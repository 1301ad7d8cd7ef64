"""The statistics against scipy, against hand counts, and by how often they err."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, sqrt

import numpy as np
import pytest

from clew.errors import ConfigError, DataError, ShapeError
from clew.lab import statistics
from clew.lab.statistics import (
    SeedTest,
    binomial_test,
    excess_of_mean,
    holm,
    least_seed_p,
    loss_excess,
    mean_and_deviation,
    paired_bootstrap_interval,
    paired_episode_test,
    seed_permutation_test,
    wilson_interval,
)


def correctness(seed: int, probability: float, episodes: int = 1024, seeds: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).random((episodes, seeds)) < probability


def test_deviation_has_divisor_n_minus_1_and_none_for_one_value() -> None:
    mean, deviation = mean_and_deviation([0.2, 0.4, 0.9])
    assert mean == pytest.approx(0.5)
    assert deviation == pytest.approx(sqrt((0.09 + 0.01 + 0.16) / 2))
    assert mean_and_deviation([0.1, 0.1, 0.1])[1] == 0.0
    assert mean_and_deviation([0.7]) == (0.7, None)


def test_deviation_refuses_nothing_and_nan() -> None:
    with pytest.raises(
        DataError, match=r"^mean_and_deviation: values must be at least one, got none\. Leave out empty"
    ):
        mean_and_deviation([])
    with pytest.raises(DataError, match=r"values must be finite, got nan at place 1\. Count failed runs apart\."):
        mean_and_deviation([0.5, float("nan")])


@pytest.mark.parametrize(("correct", "count"), [(0, 1), (1, 1), (0, 1024), (1024, 1024), (256, 1024), (7, 9)])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_wilson_interval_equals_scipy(correct: int, count: int, level: float) -> None:
    from scipy.stats import binomtest

    expected = binomtest(correct, count).proportion_ci(level, method="wilson")
    assert wilson_interval(correct, count, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("chance", [0.25, 0.44, 0.9])
def test_wilson_interval_covers_the_truth_as_often_as_it_says(chance: float) -> None:
    right = np.random.default_rng(1).binomial(1024, chance, size=4000).tolist()
    intervals = {correct: wilson_interval(correct, 1024) for correct in set(right)}
    covered = np.mean([intervals[correct].low <= chance <= intervals[correct].high for correct in right])
    assert 0.94 <= covered <= 0.965


@pytest.mark.parametrize(
    ("correct", "count", "chance"),
    [
        (0, 1, 0.25),
        (256, 1024, 0.25),
        (290, 1024, 0.25),
        (220, 1024, 0.25),
        (1024, 1024, 0.25),
        (3, 12, 0.5),
        (9, 9, 0.9),
    ],
)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_binomial_test_equals_scipy(correct: int, count: int, chance: float, alternative: str) -> None:
    from scipy.stats import binomtest

    expected = binomtest(correct, count, chance, alternative).pvalue
    assert binomial_test(correct, count, chance, alternative) == pytest.approx(expected, rel=1e-8)


def test_binomial_test_equals_exact_fractions() -> None:
    quarter = Fraction(1, 4)
    exact = sum(comb(40, right) * quarter**right * (1 - quarter) ** (40 - right) for right in range(17, 41))
    assert binomial_test(17, 40, 0.25, "greater") == pytest.approx(float(exact), rel=1e-12)


def test_impossible_counts_and_levels_are_refused() -> None:
    with pytest.raises(DataError, match="binomial_test: correct of count must be 0 to count of at least 1, got 5 of 4"):
        binomial_test(5, 4, 0.25)
    with pytest.raises(DataError, match="got 0 of 0"):
        wilson_interval(0, 0)
    with pytest.raises(
        ConfigError, match=r"level must be inside \(0, 1\), got 95.0. Give a fraction, not a percentage."
    ):
        wilson_interval(1, 4, level=95.0)
    with pytest.raises(ConfigError, match=r"chance must be inside \(0, 1\), got 1.0"):
        binomial_test(1, 4, 1.0)


def test_holm_equals_hand_count_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.001, 0.5, 0.9]) == pytest.approx([1.0, 0.004, 1.0, 1.0])
    assert holm([]) == []


def test_bootstrap_interval_has_equal_bits_for_equal_seeds_only() -> None:
    first, second = correctness(1, 0.8), correctness(2, 0.4, seeds=2)
    assert paired_bootstrap_interval(first, second) == paired_bootstrap_interval(first, second)
    assert paired_bootstrap_interval(first, second) != paired_bootstrap_interval(first, second, seed=1)


def test_bootstrap_interval_turns_with_its_sides() -> None:
    first, second = correctness(1, 0.8), correctness(2, 0.4)
    interval, turned = paired_bootstrap_interval(first, second), paired_bootstrap_interval(second, first)
    assert turned == pytest.approx((-interval.high, -interval.low), abs=1e-12)
    assert interval.low < first.mean() - second.mean() < interval.high


def test_bootstrap_interval_is_about_the_width_of_the_normal_one() -> None:
    losses = np.random.default_rng(3).normal(1.0, 0.5, size=(1024, 3)), np.random.default_rng(4).normal(size=(1024, 3))
    interval = paired_bootstrap_interval(*losses)
    differences = losses[0].mean(axis=1) - losses[1].mean(axis=1)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * differences.std(ddof=1) / 32, rel=0.08)


def test_bootstrap_pairs_episodes() -> None:
    difficulty = np.random.default_rng(5).random((1024, 1)) < 0.5
    second = difficulty & correctness(6, 0.98, seeds=1)
    paired, unpaired = (
        paired_bootstrap_interval(difficulty, second[order]) for order in (slice(None), slice(None, None, -1))
    )
    assert paired.high - paired.low < 0.3 * (unpaired.high - unpaired.low)


def test_bootstrap_interval_covers_the_truth_as_often_as_it_says() -> None:
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        known = generator.random((200, 1)) < 0.5
        first = known | (generator.random((200, 3)) < 0.3)
        second = known & (generator.random((200, 3)) < 0.9)
        low, high = paired_bootstrap_interval(first, second, resamples=400)
        covered += low <= 0.65 - 0.45 <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_bootstrap_in_blocks_keeps_one_row_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = correctness(1, 0.8, episodes=50), correctness(2, 0.4, episodes=50)
    monkeypatch.setattr(statistics, "DRAWS_AT_ONCE", 7)
    low, high = paired_bootstrap_interval(first, second, resamples=300)
    assert low < first.mean() - second.mean() < high


def test_unequal_episodes_are_refused() -> None:
    text = (
        r"^paired_bootstrap_interval: both sides must be \(episodes, seeds\) over the same episodes, none empty, "
        r"got \(4, 3\) and \(5, 3\)\. Score both on one test set\.$"
    )
    with pytest.raises(ShapeError, match=text):
        paired_bootstrap_interval(correctness(1, 0.5, 4), correctness(1, 0.5, 5))
    with pytest.raises(ShapeError, match="paired_episode_test: both sides"):
        paired_episode_test(correctness(1, 0.5, 4, 0), correctness(1, 0.5, 4))
    with pytest.raises(ConfigError, match="resamples must be at least 1, got 0"):
        paired_bootstrap_interval(correctness(1, 0.5), correctness(1, 0.5), resamples=0)


def test_episode_test_with_one_seed_is_mcnemar() -> None:
    first, second = correctness(1, 0.55, 300, 1), correctness(2, 0.5, 300, 1)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    expected = binomial_test(only_first, only_first + only_second, 0.5)
    assert 0.01 < expected < 0.99
    assert paired_episode_test(first, second) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("first_seeds", "second_seeds"), [(3, 3), (2, 3), (4, 2)])
def test_episode_test_counts_every_sign_pattern(first_seeds: int, second_seeds: int) -> None:
    first, second = correctness(3, 0.7, 9, first_seeds), correctness(4, 0.5, 9, second_seeds)
    scale = first_seeds * second_seeds
    differences = [
        Fraction(int(a), first_seeds) - Fraction(int(b), second_seeds)
        for a, b in zip(first.sum(axis=1), second.sum(axis=1), strict=True)
    ]
    seen = abs(sum(differences) * scale)
    patterns = list(product((-1, 1), repeat=9))
    far = sum(abs(sum(s * d for s, d in zip(signs, differences, strict=True)) * scale) >= seen for signs in patterns)
    assert paired_episode_test(first, second) == pytest.approx(far / len(patterns), rel=1e-12)


def test_episode_test_of_equal_answers_is_1() -> None:
    assert paired_episode_test(correctness(1, 0.5), correctness(1, 0.5)) == 1.0


def test_episode_test_errs_as_rarely_as_it_says_even_when_seeds_differ() -> None:
    generator = np.random.default_rng(8)
    rejected = 0
    for _ in range(400):  # equal means, very different seeds: 1, 1/4, 1/4 against three of 1/2
        first = generator.random((120, 3)) < np.array([1.0, 0.25, 0.25])
        second = generator.random((120, 3)) < 0.5
        rejected += paired_episode_test(first, second) <= 0.05
    assert rejected / 400 <= 0.08


def test_three_seeds_against_three_cannot_go_below_a_tenth() -> None:
    assert seed_permutation_test([0.9, 0.8, 0.7], [0.3, 0.2, 0.1]) == SeedTest(0.1, 0.1, True)
    assert seed_permutation_test([0.1, 0.2, 0.3], [0.9, 0.8, 0.7]).p == 0.1
    assert [least_seed_p(1, 1), least_seed_p(2, 2), least_seed_p(3, 2)] == pytest.approx([1.0, 1 / 3, 0.1])


def test_seed_test_equals_hand_count() -> None:
    # splits of {1, 2, 3, 10} in pairs: means differ by 5 (3 10 | 1 2), 4 (2 10 | 1 3), 3 (1 10 | 2 3), each seen twice
    assert seed_permutation_test([10, 2], [1, 3]).p == pytest.approx(4 / 6)
    assert seed_permutation_test([10, 3], [1, 2]).p == pytest.approx(2 / 6)
    assert seed_permutation_test([0.5, 0.5], [0.5, 0.5, 0.5]).p == 1.0
    # {6, 5 | 1, 2, 3}: |5.5 - 2| = 3.5 is the largest of ten, while the other end is |1.5 - 14/3| = 3.17
    assert seed_permutation_test([6, 5], [1, 2, 3]).p == pytest.approx(1 / 10)


def test_seed_test_counts_ties_despite_rounding() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    p = seed_permutation_test([values[0], values[2], values[5]], [values[1], values[3], values[4]]).p
    sums = [sum(chosen) for chosen in combinations(range(1, 7), 3)]
    assert p == sum(abs(2 * total - 21) >= 1 for total in sums) / 20


def test_seed_test_equals_scipy() -> None:
    from scipy.stats import permutation_test

    first, second = np.random.default_rng(9).random((2, 4))
    expected = permutation_test(
        (first, second), lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True, n_resamples=np.inf
    ).pvalue
    assert seed_permutation_test(first.tolist(), second.tolist()).p == pytest.approx(expected)


def test_many_seeds_are_sampled_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = np.random.default_rng(10).random((2, 5)) + np.array([[0.3], [0.0]])
    exact = seed_permutation_test(first.tolist(), second.tolist())
    monkeypatch.setattr(statistics, "MOST_SPLITS", 250)
    sampled = seed_permutation_test(first.tolist(), second.tolist())
    assert exact.exact and not sampled.exact
    assert sampled == seed_permutation_test(first.tolist(), second.tolist())
    assert sampled.p == pytest.approx(exact.p, abs=0.08)


def test_seed_test_refuses_empty_and_nan() -> None:
    with pytest.raises(DataError, match="each side must be at least one seed, got none"):
        seed_permutation_test([], [0.5])
    with pytest.raises(DataError, match="values must be finite"):
        seed_permutation_test([float("nan")], [0.5])


def test_loss_excess_has_the_standard_error_of_a_mean() -> None:
    excess = loss_excess(np.array([1.0, 1.2, 1.4, 1.6]), 1.2)
    assert excess.mean == pytest.approx(0.1)
    assert excess.standard_error == pytest.approx(sqrt(0.2 / 3) / 2)
    assert excess.z == pytest.approx(excess.mean / excess.standard_error)


def test_constant_loss_at_the_floor_is_no_excess() -> None:
    floor = float(np.log(4) * 9 / 12)
    assert loss_excess(np.full(1024, floor, dtype=np.float32), floor).z == 0.0
    assert excess_of_mean(floor - 0.01, 0.0, floor).z == -np.inf
    assert excess_of_mean(floor + 0.01, 0.0, floor).z == np.inf


def test_loss_excess_refuses_one_episode_and_nan() -> None:
    text = (
        "loss_excess: losses must be at least two finite numbers, got 2 losses, 1 not finite. Count failed runs apart."
    )
    with pytest.raises(DataError, match=text):
        loss_excess(np.array([1.0, np.nan]), 1.0)
    with pytest.raises(DataError, match="got 1 losses, 0 not finite"):
        loss_excess(np.array([1.0]), 1.0)
