"""What may be said about a comparison, in words that follow from its numbers by rule.

Three rules: `describe_cell` for the seeds of one recipe, `find_leaks` for runs that know more than can be known, and
`describe_contrast` for two recipes on the same test episodes. Equal numbers give equal words. No rule ranks recipes
beyond what was run, and none reads a model or a file; the tests behind them are in `clew.lab.statistics`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool

from clew.errors import DataError, complain
from clew.lab.statistics import (
    Interval,
    SeedTest,
    binomial_test,
    excess_of_mean,
    holm,
    paired_bootstrap_interval,
    paired_episode_test,
    seed_permutation_test,
)

SOLVED_AT = 0.99  # of the oracle's accuracy
LEVEL = 0.05  # how often a rule may err, over all runs that it looks at together
LEAK_STANDARD_ERRORS = 4.0  # a mean loss so far below its floor: 3 in 100,000 for one honest run
ROUNDING = 1e-9  # an end of an interval this near to 0 is 0
SCOPE = "for this task, split, budget and selection rule"
HIGHER = "higher on every seed"
NO_DIFFERENCE = "no difference shown"

Outcome = Literal["solved", "above", "below", "unclear", "leak", "failed"]
OUTCOME_WORDS: dict[Outcome, str] = {
    "above": "above chance",
    "below": "below chance",
    "unclear": "not distinguishable from chance",
}


@dataclass(frozen=True)
class SeedResult:
    """Test answers of one run; both numbers None for a run that failed.

    Attributes:
        correct: Scored queries answered correctly.
        count: Scored queries.
        leaked: `find_leaks` reported the run.
    """

    correct: int | None = None
    count: int | None = None
    leaked: bool = False

    def __post_init__(self) -> None:
        if (self.correct is None) != (self.count is None):
            got = f"{self.correct} of {self.count}"
            remedy = "Give both, or neither for a failed run."
            raise DataError(complain("SeedResult", "correct of count", "two numbers or None twice", got, remedy))

    @property
    def answers(self) -> tuple[int, int] | None:
        """(correct, count), or None for a failed run."""
        return None if self.correct is None or self.count is None else (self.correct, self.count)


@dataclass(frozen=True)
class CellVerdict:
    """What the runs of one recipe on one task setting show.

    Attributes:
        words: The verdict.
        runs: All runs, the failed ones too.
        finished: Runs with a test result.
        solved: Runs at or above 0.99 of the oracle's accuracy (and distinguishable from chance).
        outcomes: One per run, in the given order.
        p_values: Of each finished run against chance, two-sided, exact, after Holm over the cell; None if failed.
    """

    words: str
    runs: int
    finished: int
    solved: int
    outcomes: tuple[Outcome, ...]
    p_values: tuple[float | None, ...]


@dataclass(frozen=True)
class OracleComparison:
    """What one run achieved where nobody could know more than the oracle.

    Attributes:
        name: How the words call the run.
        move_correct: Right answers on targets that are independent of all that was visible.
        move_count: Number of such targets.
        loss_nats: Mean per-episode loss over all tokens.
        standard_error_nats: Of that mean, over episodes.
        floor_nats: Expected loss of the oracle.
    """

    name: str
    move_correct: int
    move_count: int
    loss_nats: float
    standard_error_nats: float
    floor_nats: float


@dataclass(frozen=True)
class LeakVerdict:
    """Whether one run beat the oracle by more than chance allows.

    Attributes:
        name: Of the run.
        is_leak: Either test says so.
        words: "no leak shown", or "reported as a leak" with the evidence.
        p_accuracy: One-sided exact p value of the accuracy above its ceiling, after Holm over all runs.
        z_loss: Mean loss above its floor in standard errors; negative below.
    """

    name: str
    is_leak: bool
    words: str
    p_accuracy: float
    z_loss: float


@dataclass(frozen=True)
class Contrast:
    """Two recipes on the same test episodes.

    Attributes:
        first: Name of the first recipe.
        second: Name of the second.
        label: "higher on every seed" (of `higher`) or "no difference shown".
        higher: The name that the label speaks of, or None.
        words: Label, reason and evidence; a positive one ends in what it holds for.
        difference: Mean accuracy of first minus second; None if one side has no finished run.
        interval: Of the difference, bootstrapped over paired episodes.
        p_episodes: Exact sign-flip test over episodes: about these trained models.
        p_seeds: Exact permutation test over seeds: about the recipes.
    """

    first: str
    second: str
    label: str
    higher: str | None
    words: str
    difference: float | None
    interval: Interval | None
    p_episodes: float | None
    p_seeds: float | None


def describe_cell(
    results: Sequence[SeedResult],
    chance: float,
    oracle_accuracy: float = 1.0,
    solved_at: float = SOLVED_AT,
    level: float = LEVEL,
) -> CellVerdict:
    """Say what all runs of one recipe on one task setting show.

    Failed and leaking runs stay in every denominator and never count as solved. A run differs from chance when its
    exact two-sided test does so after Holm's correction over the runs of the cell, so that a cell of guessing runs is
    given another name at most with probability `level`.

    >>> describe_cell([SeedResult(1024, 1024), SeedResult(1020, 1024), SeedResult(500, 1024)], chance=0.25).words
    'solved 2/3, 1 above chance'

    Raises:
        DataError: If a result is impossible.
        ConfigError: If chance is not inside (0, 1).
    """
    answers = [run.answers for run in results]
    p_values = _holm_over_finished([None if pair is None else binomial_test(*pair, chance) for pair in answers])
    if oracle_accuracy < 1:
        above_oracle = [None if pair is None else binomial_test(*pair, oracle_accuracy, "greater") for pair in answers]
        beat_oracle = [p is not None and p <= level for p in _holm_over_finished(above_oracle)]
    else:
        beat_oracle = [False] * len(results)  # an oracle that is always right cannot be beaten
    outcomes: tuple[Outcome, ...] = tuple(
        _outcome(run, chance, p_value, level, solved_at * oracle_accuracy, is_above)
        for run, p_value, is_above in zip(results, p_values, beat_oracle, strict=True)
    )
    counts = Counter(outcomes)
    finished = len(results) - counts["failed"]
    words = _cell_words(counts, len(results))
    return CellVerdict(words, len(results), finished, counts["solved"], outcomes, tuple(p_values))


def find_leaks(
    runs: Sequence[OracleComparison],
    ceiling: float = 0.25,
    level: float = LEVEL,
    standard_errors: float = LEAK_STANDARD_ERRORS,
) -> list[LeakVerdict]:
    """Report each run that beat the oracle by more than chance allows.

    The accuracy on unpredictable targets is binomial for any predictor that does not see them, so its test is exact;
    Holm's correction is over all given runs. The loss counts from four standard errors below its floor, since its test
    leans on a normal limit and runs are many. Give all finished runs of a comparison at once.

    Raises:
        DataError: If a result is impossible.
        ConfigError: If the ceiling is not inside (0, 1).
    """
    p_values = holm([binomial_test(run.move_correct, run.move_count, ceiling, "greater") for run in runs])
    verdicts: list[LeakVerdict] = []
    for run, p_value in zip(runs, p_values, strict=True):
        excess = excess_of_mean(run.loss_nats, run.standard_error_nats, run.floor_nats)
        evidence: list[str] = []
        if p_value <= level:
            accuracy = f"accuracy {run.move_correct / run.move_count:.3f} on {run.move_count:,} unpredictable targets"
            corrected = f"{_p_words(p_value)}, Holm over {_counted(len(runs), 'run')}"
            evidence.append(f"{accuracy}, of which {ceiling:.3g} can be known ({corrected})")
        if excess.z <= -standard_errors:
            distance = f"{-excess.z:.1f} standard errors, threshold {standard_errors:g}"
            evidence.append(f"loss {-excess.mean:.4f} nats below its floor of {run.floor_nats:.4f} ({distance})")
        words = f"reported as a leak: {'; '.join(evidence)}" if evidence else "no leak shown"
        verdicts.append(LeakVerdict(run.name, bool(evidence), words, p_value, excess.z))
    return verdicts


def describe_contrast(
    first_name: str,
    second_name: str,
    first: Bool[np.ndarray, "episodes first_seeds"],
    second: Bool[np.ndarray, "_ second_seeds"],
    failed: int = 0,
    leaked: int = 0,
    solved_at: float = SOLVED_AT,
) -> Contrast:
    """Say whether one recipe's accuracy was higher than another's.

    "Higher on every seed" takes all of: no failed or leaking run on either side, two seeds or more on each, not both
    solved on every seed, the lowest seed of one above the highest of the other (seeds are not paired), and a 95 %
    interval over paired episodes without 0. It stands with its p value over seeds: 0.10 at best for 3 against 3.

    Args:
        first_name: Name of the first recipe.
        second_name: Name of the second.
        first: Correctness of each test episode (rows) for each finished seed (columns).
        second: The same episodes in the same order.
        failed: Runs without a result, of both sides together.
        leaked: Runs that `find_leaks` reported, of both sides together.
        solved_at: Accuracy from which a seed counts as solved.

    Raises:
        ShapeError: If the episodes differ in number.
    """
    for name, answers in ((first_name, first), (second_name, second)):
        if answers.shape[1] == 0:
            words = f"{NO_DIFFERENCE} between {first_name} and {second_name} ({name} has no finished run)"
            return Contrast(first_name, second_name, NO_DIFFERENCE, None, words, None, None, None, None)
    interval = paired_bootstrap_interval(first, second)
    p_episodes = paired_episode_test(first, second)
    first_accuracies, second_accuracies = first.mean(axis=0).tolist(), second.mean(axis=0).tolist()
    seed_test = seed_permutation_test(first_accuracies, second_accuracies)
    difference = float(first.mean() - second.mean())
    reason = _unusable_runs(failed, leaked) or _reason_against(first_accuracies, second_accuracies, interval, solved_at)
    seeds = _seed_words(seed_test, first.shape[1], second.shape[1])
    if reason is None and difference < 0:  # the sentence counts from the lower to the higher
        evidence = f"{seeds}; {_episode_words(-difference, Interval(-interval.high, -interval.low), len(first))}"
    else:
        evidence = f"{seeds}; {_episode_words(difference, interval, len(first))}"
    evidence = f"{evidence}, {_p_words(p_episodes)}"
    if reason is None:
        label = HIGHER
        higher, lower = (first_name, second_name) if difference > 0 else (second_name, first_name)
        words = f"{higher} {label} than {lower} ({evidence}), {SCOPE}"
    else:
        label, higher = NO_DIFFERENCE, None
        words = f"{label} between {first_name} and {second_name} ({reason}; {evidence})"
    return Contrast(first_name, second_name, label, higher, words, difference, interval, p_episodes, seed_test.p)


def _holm_over_finished(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction over the runs that have a p value."""
    adjusted = iter(holm([p_value for p_value in p_values if p_value is not None]))
    return [None if p_value is None else next(adjusted) for p_value in p_values]


def _outcome(
    run: SeedResult, chance: float, p_value: float | None, level: float, solved_from: float, is_above_oracle: bool
) -> Outcome:
    """Name what one run of a cell did; `p_value` is the adjusted one against chance."""
    if run.answers is None or p_value is None:
        return "failed"
    correct, count = run.answers
    if run.leaked or is_above_oracle:
        return "leak"
    if p_value > level:
        return "unclear"
    if correct < chance * count:
        return "below"
    return "solved" if correct >= solved_from * count - ROUNDING else "above"


def _cell_words(counts: Counter[Outcome], runs: int) -> str:
    parts: list[str] = []
    if counts["leak"]:
        parts.append(f"reported as a leak on {counts['leak']}/{runs} seeds")
    if counts["solved"]:
        rest = [f"{counts[outcome]} {words}" for outcome, words in OUTCOME_WORDS.items() if counts[outcome]]
        parts.append(", ".join([f"solved {counts['solved']}/{runs}", *rest]))
    elif counts["above"] or counts["below"]:
        above = [f"above chance on {counts['above']}/{runs} seeds"] if counts["above"] else []
        below = [f"below chance on {counts['below']}/{runs} seeds"] if counts["below"] else []
        parts.append(", ".join([*above, *below, f"solved 0/{runs}"]))
    elif counts["unclear"]:
        parts.append(OUTCOME_WORDS["unclear"])
    if counts["failed"] == runs:
        parts.append("no finished run")
    if counts["failed"]:
        parts.append(f"{counts['failed']} of {_counted(runs, 'run')} failed")
    return "; ".join(parts)


def _unusable_runs(failed: int, leaked: int) -> str | None:
    """Why "every seed" cannot be spoken of, or None."""
    if leaked:
        return f"{_counted(leaked, 'run')} reported as a leak"
    return f"{_counted(failed, 'run')} failed" if failed else None


def _reason_against(first: list[float], second: list[float], interval: Interval, solved_at: float) -> str | None:
    """The first reason for which "higher on every seed" may not be said of either side, or None."""
    if min(len(first), len(second)) < 2:
        return "a single seed cannot show the spread over seeds"
    if min(*first, *second) >= solved_at:
        return "both solved on every seed"
    if not (min(first) > max(second) or min(second) > max(first)):
        return "the seeds overlap"
    if interval.low <= ROUNDING and interval.high >= -ROUNDING:
        return "the interval over episodes includes 0"
    return None


def _seed_words(test: SeedTest, first_seeds: int, second_seeds: int) -> str:
    words = f"{_p_words(test.p)} over seeds"
    is_least = test.p <= test.least_p * (1 + ROUNDING)
    return f"{words}, the least that {first_seeds} against {second_seeds} can give" if is_least else words


def _episode_words(difference: float, interval: Interval, episodes: int) -> str:
    ends = f"{_signed(interval.low)} to {_signed(interval.high)}"
    return f"difference {_signed(difference)}, 95 % interval {ends} over {episodes:,} paired episodes"


def _p_words(p_value: float) -> str:
    if p_value < 0.001:
        return "p < 0.001"
    return f"p = {p_value:.2f}" if p_value >= 0.01 else f"p = {p_value:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
