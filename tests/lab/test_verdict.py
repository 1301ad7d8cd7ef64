"""Planted predictors get the words that they deserve, and honest ones are rarely accused."""

from math import log

import numpy as np
import pytest

from clew.errors import DataError, ShapeError
from clew.lab.statistics import loss_excess
from clew.lab.verdict import (
    Contrast,
    OracleComparison,
    SeedResult,
    describe_cell,
    describe_contrast,
    find_leaks,
)

EPISODES, SEEDS, CUES = 1024, 3, 4
FAILED = SeedResult()
GUESSING, SOLVED, ABOVE, BELOW = (SeedResult(correct, EPISODES) for correct in (256, 1014, 500, 100))


def planted(kind: str, seed: int = 0) -> np.ndarray:
    """Correctness (episodes, seeds) on balanced cues of a predictor whose knowledge is known."""
    generator = np.random.default_rng(seed)
    cues = generator.permutation(np.arange(EPISODES) % CUES)[:, None]
    guesses = generator.integers(0, CUES, size=(EPISODES, SEEDS))
    answers = {
        "constant": np.zeros((EPISODES, SEEDS), dtype=int),
        "uniform": guesses,
        "partly informed": np.where(generator.random((EPISODES, SEEDS)) < 0.4, cues, guesses),
        "perfect": np.repeat(cues, SEEDS, axis=1),
        "contrary": (cues + 1 + guesses % 3) % CUES,
    }
    return answers[kind] == cues


def results(answers: np.ndarray) -> list[SeedResult]:
    return [SeedResult(right, len(answers)) for right in answers.sum(axis=0).tolist()]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("constant", "not distinguishable from chance"),
        ("uniform", "not distinguishable from chance"),
        ("partly informed", "above chance on 3/3 seeds, solved 0/3"),
        ("perfect", "solved 3/3"),
        ("contrary", "below chance on 3/3 seeds, solved 0/3"),
    ],
)
def test_planted_predictors_get_the_right_words(kind: str, words: str) -> None:
    assert describe_cell(results(planted(kind)), chance=0.25).words == words


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([SOLVED, SOLVED, ABOVE], "solved 2/3, 1 above chance"),
        ([SOLVED, ABOVE, GUESSING], "solved 1/3, 1 above chance, 1 not distinguishable from chance"),
        ([SOLVED, BELOW], "solved 1/2, 1 below chance"),
        ([ABOVE, GUESSING, ABOVE], "above chance on 2/3 seeds, solved 0/3"),
        ([ABOVE, BELOW, GUESSING], "above chance on 1/3 seeds, below chance on 1/3 seeds, solved 0/3"),
        ([SOLVED, FAILED, SOLVED], "solved 2/3; 1 of 3 runs failed"),
        ([GUESSING, FAILED, FAILED], "not distinguishable from chance; 2 of 3 runs failed"),
        ([FAILED, FAILED, FAILED], "no finished run; 3 of 3 runs failed"),
        ([FAILED], "no finished run; 1 of 1 run failed"),
        ([], "no finished run"),
        ([SeedResult(1024, 1024, leaked=True), SOLVED], "reported as a leak on 1/2 seeds; solved 1/2"),
        ([SeedResult(1024, 1024, leaked=True)] * 2, "reported as a leak on 2/2 seeds"),
    ],
)
def test_cells_are_worded_by_their_outcomes(runs: list[SeedResult], words: str) -> None:
    assert describe_cell(runs, chance=0.25).words == words


def test_cell_keeps_the_numbers_behind_the_words() -> None:
    verdict = describe_cell([SOLVED, FAILED, ABOVE, GUESSING], chance=0.25)
    assert (verdict.runs, verdict.finished, verdict.solved) == (4, 3, 1)
    assert verdict.outcomes == ("solved", "failed", "above", "unclear")
    assert verdict.p_values[1] is None and verdict.p_values[3] == 1.0
    assert verdict.p_values[0] is not None and verdict.p_values[0] < 1e-100


def test_solved_begins_at_099() -> None:
    assert describe_cell([SeedResult(1014, 1024)], 0.25).solved == 1  # 0.9902
    assert describe_cell([SeedResult(1013, 1024)], 0.25).words == "above chance on 1/1 seeds, solved 0/1"  # 0.9893
    assert describe_cell([SeedResult(99, 100)], 0.25).words == "solved 1/1"


def test_two_right_answers_of_two_prove_nothing() -> None:
    assert describe_cell([SeedResult(2, 2)], chance=0.25).words == "not distinguishable from chance"


def test_chance_is_judged_over_all_seeds_of_the_cell() -> None:
    alone = SeedResult(288, 1024)  # p = 0.02 by itself, 0.06 as the best of three
    assert describe_cell([alone], 0.25).words == "above chance on 1/1 seeds, solved 0/1"
    assert describe_cell([alone, GUESSING, GUESSING], 0.25).words == "not distinguishable from chance"


def test_an_imperfect_oracle_sets_the_mark_and_cannot_be_beaten() -> None:
    runs = [SeedResult(512, 1024), SeedResult(507, 1024), SeedResult(500, 1024)]
    assert describe_cell(runs, 0.25, oracle_accuracy=0.5).words == "solved 2/3, 1 above chance"
    beaten = describe_cell([*runs, SeedResult(600, 1024)], 0.25, oracle_accuracy=0.5)
    assert beaten.words == "reported as a leak on 1/4 seeds; solved 2/4, 1 above chance"


def test_guessing_cells_are_rarely_given_another_name() -> None:
    right = np.random.default_rng(1).binomial(EPISODES, 0.25, size=(400, SEEDS)).tolist()
    named = [describe_cell([SeedResult(seed, EPISODES) for seed in cell], 0.25).words for cell in right]
    assert 1 - named.count("not distinguishable from chance") / 400 <= 0.075


def test_impossible_results_are_refused() -> None:
    with pytest.raises(
        DataError, match="SeedResult: correct of count must be two numbers or None twice, got 3 of None"
    ):
        SeedResult(3)
    with pytest.raises(DataError, match="got 5 of 4"):
        describe_cell([SeedResult(5, 4)], 0.25)


def honest(name: str, seed: int, moves: int = 8) -> OracleComparison:
    """A predictor without knowledge whose move probabilities wander about 1/4; all else it knows."""
    generator = np.random.default_rng(seed)
    logits = 0.1 * generator.normal(size=(256, moves, CUES))
    losses = np.log(np.exp(logits).sum(axis=2)) - logits[:, :, 0]  # target 0: all targets are alike
    excess = loss_excess(losses.mean(axis=1), log(4))
    right = int((logits.argmax(axis=2) == 0).sum())
    return OracleComparison(name, right, 256 * moves, log(4) + excess.mean, excess.standard_error, log(4))


def test_honest_runs_are_rarely_called_a_leak() -> None:
    accused = 0
    for comparison in range(400):
        runs = [honest(f"run {seed}", 3 * comparison + seed) for seed in range(3)]
        accused += any(verdict.is_leak for verdict in find_leaks(runs))
    assert accused / 400 <= 0.075


def test_accuracy_above_what_can_be_known_is_a_leak() -> None:
    runs = [OracleComparison(f"gru {seed}", 8192, 32768, 1.3, 0.001, 1.25) for seed in range(2)]
    runs.append(OracleComparison("gru 2", 8700, 32768, 1.3, 0.001, 1.25))
    verdicts = find_leaks(runs)
    assert [(verdict.name, verdict.is_leak) for verdict in verdicts] == [
        ("gru 0", False),
        ("gru 1", False),
        ("gru 2", True),
    ]
    assert verdicts[0].words == "no leak shown"
    assert verdicts[2].words == (
        "reported as a leak: accuracy 0.266 on 32,768 unpredictable targets, of which 0.25 can be known "
        "(p < 0.001, Holm over 3 runs)"
    )


def test_loss_below_its_floor_is_a_leak_from_four_standard_errors() -> None:
    def verdict(loss: float, standard_error: float) -> str:
        return find_leaks([OracleComparison("rnn", 2048, 8192, loss, standard_error, 1.0)])[0].words

    assert verdict(0.99, 0.0026) == "no leak shown"
    assert verdict(0.99, 0.0024) == (
        "reported as a leak: loss 0.0100 nats below its floor of 1.0000 (4.2 standard errors, threshold 4)"
    )
    assert verdict(1.0 - 1e-6, 0.0) == "no leak shown"  # rounding
    assert verdict(0.9, 0.0).startswith("reported as a leak: loss 0.1000 nats below its floor")


def test_a_predictor_that_reads_its_targets_is_a_leak_on_both_counts() -> None:
    verdict = find_leaks([OracleComparison("rnn", 8192, 8192, 0.01, 0.001, 1.0)])[0]
    assert verdict.words == (
        "reported as a leak: accuracy 1.000 on 8,192 unpredictable targets, of which 0.25 can be known "
        "(p < 0.001, Holm over 1 run); loss 0.9900 nats below its floor of 1.0000 (990.0 standard errors, threshold 4)"
    )


def test_no_runs_give_no_leaks() -> None:
    assert find_leaks([]) == []


def ends(contrast: Contrast, turned: bool = False) -> str:
    """The interval as the words give it; its digits come from random draws, the rest of each sentence does not."""
    assert contrast.interval is not None
    low, high = contrast.interval
    return f"{-high:+.3f} to {-low:+.3f}" if turned else f"{low:+.3f} to {high:+.3f}"


def separated(lower_by: int) -> tuple[np.ndarray, np.ndarray]:
    """Two sides whose seeds all have equal accuracy; the second answers `lower_by` episodes less."""
    first = np.repeat(np.arange(EPISODES)[:, None] < 512, SEEDS, axis=1)
    second = first.copy()
    second[:lower_by] = False
    return first, second


def test_higher_on_every_seed_reads_the_same_from_both_sides() -> None:
    first, second = separated(200)
    contrast, turned = describe_contrast("gru", "rnn", first, second), describe_contrast("rnn", "gru", second, first)
    assert contrast.words == (
        "gru higher on every seed than rnn (p = 0.10 over seeds, the least that 3 against 3 can give; "
        f"difference +0.195, 95 % interval {ends(contrast)} over 1,024 paired episodes, p < 0.001), "
        "for this task, split, budget and selection rule"
    )
    assert turned.words == contrast.words.replace(ends(contrast), ends(turned, turned=True))
    assert (contrast.label, contrast.higher, turned.higher) == ("higher on every seed", "gru", "gru")
    assert contrast.difference == 200 / 1024 and turned.difference == -200 / 1024
    assert contrast.p_seeds == 0.1 and contrast.p_episodes == pytest.approx(2.0**-199)
    assert contrast.interval == pytest.approx((0.195 - 0.0243, 0.195 + 0.0243), abs=0.004)  # 1.96 standard errors


@pytest.mark.parametrize(
    ("first", "second", "higher"),
    [
        ("perfect", "partly informed", "first"),
        ("constant", "partly informed", "second"),
        ("contrary", "uniform", "second"),
        ("perfect", "perfect", None),
        ("constant", "uniform", None),
        ("constant", "constant", None),
    ],
)
def test_planted_predictors_are_told_apart_where_they_differ(first: str, second: str, higher: str | None) -> None:
    contrast = describe_contrast("first", "second", planted(first), planted(second))
    assert contrast.higher == higher
    assert contrast.label == ("higher on every seed" if higher else "no difference shown")


def test_two_perfect_recipes_show_no_difference() -> None:
    contrast = describe_contrast("gru", "rnn", planted("perfect"), planted("perfect"))
    assert contrast.words == (
        "no difference shown between gru and rnn (both solved on every seed; p = 1.00 over seeds; "
        "difference 0.000, 95 % interval 0.000 to 0.000 over 1,024 paired episodes, p = 1.00)"
    )
    assert contrast.higher is None


def test_two_solved_recipes_show_no_difference_even_where_one_is_perfect() -> None:
    nearly = planted("perfect")
    nearly[:10] = False
    contrast = describe_contrast("gru", "rnn", planted("perfect"), nearly)
    assert contrast.words == (
        "no difference shown between gru and rnn (both solved on every seed; p = 0.10 over seeds, the least that 3 "
        f"against 3 can give; difference +0.010, 95 % interval {ends(contrast)} over 1,024 paired episodes, p = 0.002)"
    )


def test_no_difference_is_shown_with_its_reason() -> None:
    first, second = separated(2)
    assert describe_contrast("gru", "rnn", first, second).words == (
        "no difference shown between gru and rnn (the interval over episodes includes 0; p = 0.10 over seeds, "
        "the least that 3 against 3 can give; "
        "difference +0.002, 95 % interval 0.000 to +0.005 over 1,024 paired episodes, p = 0.50)"
    )
    second[:, 1] = planted("perfect")[:, 1]
    contrast = describe_contrast("gru", "rnn", first, second)
    assert contrast.words == (
        "no difference shown between gru and rnn (the seeds overlap; p = 1.00 over seeds; "
        f"difference -0.165, 95 % interval {ends(contrast)} over 1,024 paired episodes, p < 0.001)"
    )
    first, second = separated(200)
    assert "every seed than" in describe_contrast("gru", "rnn", first, second).words
    assert "rnn (1 run failed; p" in describe_contrast("gru", "rnn", first, second, failed=1).words
    assert "rnn (2 runs failed; p" in describe_contrast("gru", "rnn", first, second, failed=2).words
    assert "rnn (1 run reported as a leak; p" in describe_contrast("gru", "rnn", first, second, leaked=1).words


def test_touching_seeds_are_not_higher_on_every_seed() -> None:
    first, second = separated(200)
    second[:, 0] = first[:, 0]
    assert "rnn (the seeds overlap; p = 0.40 over seeds;" in describe_contrast("gru", "rnn", first, second).words


def test_one_seed_shows_no_difference() -> None:
    first, second = separated(200)
    contrast = describe_contrast("gru", "rnn", first[:, :1], second[:, :1])
    assert contrast.words == (
        "no difference shown between gru and rnn (a single seed cannot show the spread over seeds; "
        "p = 1.00 over seeds, the least that 1 against 1 can give; "
        f"difference +0.195, 95 % interval {ends(contrast)} over 1,024 paired episodes, p < 0.001)"
    )


def test_a_recipe_without_a_finished_run_shows_no_difference() -> None:
    contrast = describe_contrast("gru", "rnn", planted("perfect"), planted("perfect")[:, :0], failed=3)
    assert contrast.words == "no difference shown between gru and rnn (rnn has no finished run)"
    assert (contrast.difference, contrast.interval, contrast.p_episodes, contrast.p_seeds) == (None, None, None, None)


def test_equal_recipes_are_rarely_told_apart() -> None:
    generator = np.random.default_rng(2)
    told_apart = 0
    for _ in range(200):  # each seed has an accuracy of its own, as trained models do
        first, second = (generator.random((200, SEEDS)) < generator.uniform(0.3, 0.9, SEEDS) for _ in range(2))
        told_apart += describe_contrast("gru", "rnn", first, second).higher is not None
    assert told_apart / 200 <= 0.15  # 0.10 is what three seeds against three can promise


def test_words_never_rank() -> None:
    pairs = [("perfect", "partly informed"), ("uniform", "constant"), ("contrary", "uniform")]
    for first, second in pairs:
        words = describe_contrast("a", "b", planted(first), planted(second)).words
        assert not any(word in words for word in ("better", "superior", "outperform", "beats", "worse", "significant"))


def test_contrast_refuses_other_episodes() -> None:
    with pytest.raises(ShapeError, match=r"got \(1024, 3\) and \(1000, 3\)"):
        describe_contrast("gru", "rnn", planted("perfect"), planted("perfect")[:1000])
