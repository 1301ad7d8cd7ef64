"""From run folders to rows, cells, contrasts and warnings: plain values for tables, JSON and reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from clew.lab.plan import RunPlan
from clew.lab.statistics import mean_and_deviation, wilson_interval
from clew.lab.verdict import OracleComparison, SeedResult, describe_cell, describe_contrast, find_leaks
from clew.runs import RunFolder
from clew.tasks import Task


@dataclass(frozen=True)
class RunResult:
    """One run of a comparison.

    Attributes:
        plan: What was to be run.
        folder: Where it stands.
        test: What `test.json` holds; None for a run that failed.
        reason: Why it failed.
    """

    plan: RunPlan
    folder: RunFolder
    test: dict[str, Any] | None
    reason: str | None

    @property
    def identity(self) -> str:
        return self.plan.identity

    @property
    def task(self) -> Task:
        return self.plan.make_task()

    @property
    def correct(self) -> str | None:
        """A "1" or "0" for each test sequence, where the task has a scored query."""
        return None if self.test is None else self.test["correct"]

    @property
    def accuracy(self) -> float | None:
        return None if not self.correct else self.correct.count("1") / len(self.correct)

    def to_row(self) -> dict[str, Any]:
        """Give the run's row; figures are None where the run failed or the task has none. No clock in it."""
        test = self.test or {}
        correct, count = (None, None) if not self.correct else (self.correct.count("1"), len(self.correct))
        interval = None if correct is None or count is None else list(wilson_interval(correct, count))
        row = {
            "recipe": self.plan.recipe.name,
            "seed": self.plan.seed,
            "status": "failed" if self.test is None else "finished",
            "reason": self.reason,
            "test_accuracy": self.accuracy,
            "test_correct": correct,
            "test_count": count,
            "test_interval": interval,
            f"validation_{self.task.selection}": test.get("selection", {}).get("value"),
        }
        measured = test.get("metrics", {})
        row |= {f"test_{name}": measured.get(name) for name in self.task.metrics}
        kept = ("selected_epoch", "parameters", "state_size", "multiply_adds", "tokens_seen")
        return row | {name: test.get(name) for name in kept} | {"run": self.identity}


def collect(plans: Sequence[RunPlan], root: Path, failures: dict[str, str]) -> list[RunResult]:
    """Read what the run folders hold, in the order of the plans."""
    results = []
    for plan in plans:
        folder = RunFolder(root / plan.identity)
        test = folder.test() if folder.is_scored else None
        reason = None if test is not None else failures.get(plan.identity, "not run")
        results.append(RunResult(plan, folder, test, reason))
    return results


def find_run_leaks(results: Sequence[RunResult]) -> dict[str, str]:
    """The runs that beat the oracle by more than chance allows, with the words for it, by identity."""
    judged = [result for result in results if result.test is not None and result.test["evidence"]]
    runs = [OracleComparison(name=result.identity, **result.test["evidence"]) for result in judged if result.test]
    return {verdict.name: verdict.words for verdict in find_leaks(runs) if verdict.is_leak} if runs else {}


def describe_cells(
    results: Sequence[RunResult], leaks: dict[str, str], chance: float | None, oracle: float | None
) -> list[dict[str, Any]]:
    """Say for each recipe what its seeds show together."""
    return [
        _describe_cell(name, [result for result in results if result.plan.recipe.name == name], leaks, chance, oracle)
        for name in _recipe_names(results)
    ]


def describe_contrasts(results: Sequence[RunResult], leaks: dict[str, str]) -> list[dict[str, Any]]:
    """Compare every pair of recipes on the same test sequences, where the task has a scored query."""
    answers = {name: _answers(results, name) for name in _recipe_names(results)}
    if all(matrix.shape[1] == 0 for matrix in answers.values()):
        return []
    contrasts = []
    for first, second in combinations(answers, 2):
        both = [result for result in results if result.plan.recipe.name in (first, second)]
        failed = sum(result.test is None for result in both)
        leaked = sum(result.identity in leaks for result in both)
        contrast = describe_contrast(first, second, answers[first], answers[second], failed, leaked)
        described = {name: getattr(contrast, name) for name in ("first", "second", "difference", "interval")}
        described |= {name: getattr(contrast, name) for name in ("p_episodes", "p_seeds", "label", "words")}
        described["interval"] = None if contrast.interval is None else list(contrast.interval)
        contrasts.append(described)
    return contrasts


def _describe_cell(
    name: str, results: Sequence[RunResult], leaks: dict[str, str], chance: float | None, oracle: float | None
) -> dict[str, Any]:
    finished = [result for result in results if result.test is not None]
    cell: dict[str, Any] = {"recipe": name, "runs": len(results), "finished": len(finished)}
    accuracies = [result.accuracy for result in finished if result.accuracy is not None]
    cell["mean_accuracy"], cell["sd_accuracy"] = mean_and_deviation(accuracies) if accuracies else (None, None)
    for metric in results[0].task.metrics:
        values = [result.test["metrics"][metric] for result in finished if result.test]
        cell[f"mean_{metric}"] = mean_and_deviation(values)[0] if values else None
    cell |= {"solved": None, "verdict": "no scored query, hence no verdict"}
    if chance is not None:
        seeds = [_seed_result(result, leaks) for result in results]
        verdict = describe_cell(seeds, chance, 1.0 if oracle is None else oracle)
        cell |= {"solved": verdict.solved, "verdict": verdict.words}
    for size in ("parameters", "state_size", "multiply_adds", "tokens_seen"):
        cell[size] = finished[0].test[size] if finished and finished[0].test else None
    return cell


def _seed_result(result: RunResult, leaks: dict[str, str]) -> SeedResult:
    if not result.correct:
        return SeedResult()
    return SeedResult(result.correct.count("1"), len(result.correct), leaked=result.identity in leaks)


def _answers(results: Sequence[RunResult], name: str) -> np.ndarray:
    """Correctness of each test sequence (rows) for each finished seed (columns)."""
    strings = [result.correct for result in results if result.plan.recipe.name == name and result.correct]
    if not strings:
        return np.zeros((0, 0), dtype=bool)
    return np.array([[character == "1" for character in text] for text in strings]).T


def _recipe_names(results: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(result.plan.recipe.name for result in results))
