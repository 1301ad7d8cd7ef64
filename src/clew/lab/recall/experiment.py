"""`run_recall`: the controlled cue-recall comparison, one comparison a delay over one pool of workers.

Recipes, delays and seeds share data, order and budget; selection is the lowest validation cue loss; the sealed test is
scored once a run, and interventions ask the selected weights whether they use the cue.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clew import __version__
from clew.data.recall_episodes import describe_disjointness, sample_recall_splits
from clew.files import dump_json, write_atomically
from clew.lab.before_training import Audits, audit_before_training
from clew.lab.comparison import Comparison, open_comparison_folder, summarize
from clew.lab.plan import RunPlan, plan_runs
from clew.lab.pool import Work, carry_out
from clew.lab.progress import Progress, SilentProgress
from clew.lab.recall.config import RecallConfig
from clew.lab.recall.inside import gather_curves, gather_view
from clew.lab.recall.recipes import PUBLISHED, recall_recipe
from clew.lab.recipe import Recipe
from clew.lab.results import RunResult, collect, find_run_leaks
from clew.lab.splits import Splits
from clew.runs import lock_folder
from clew.tasks import CueRecall

EXAMINATION = "recall_interventions"


@dataclass(frozen=True)
class RecallOutcome:
    """What the experiment gave, all in plain values.

    Attributes:
        results: Rows, cells, contrasts, references, interventions, protocol, warnings and timings; `results.json`.
        curves: Lines of each run's `metrics.jsonl`, by run identity.
        view: One test episode seen from inside the models, for the report.
    """

    results: dict[str, Any]
    curves: dict[str, list[dict[str, Any]]]
    view: dict[str, Any]


def run_recall(
    config: RecallConfig,
    out: Path,
    workers: int | None = None,
    progress: Progress | None = None,
    audit: str = "refuse",
) -> RecallOutcome:
    """Run what is not finished yet, then gather everything and write `results.json`.

    Args:
        config: The experiment.
        out: Folder for runs, results and report.
        workers: Worker processes; None: one a core; 0: this process.
        progress: Told of what happens.
        audit: What a fault does that the audit finds before the first step, as in `clew.compare`.

    Raises:
        AuditError: If `audit` is "refuse" and a fault was found.
        RunError: If `out` holds something else, is in use or cannot be written.
    """
    started = time.perf_counter()
    folder = open_comparison_folder(out)
    with lock_folder(folder, wait_seconds=0.5):
        tasks = {delay: CueRecall(delay, config.cue_position) for delay in config.delays}
        splits = {delay: _sample(config, delay) for delay in config.delays}
        recipes = [recall_recipe(name, config.training()) for name in config.recipes]
        audits = _audit(recipes, tasks, splits, config.seeds[0], audit)
        progress = progress or SilentProgress()
        whole = sum(audits.values(), start=Audits())
        if whole.all:
            progress.note(whole.words())
        plans = {
            delay: plan_runs(recipes, tasks[delay], splits[delay], config.seeds, config.order_seed)
            for delay in config.delays
        }
        # The longest runs first, so that no core waits for a long last one.
        work = [Work(plan, splits[d], EXAMINATION) for d in sorted(plans, reverse=True) for plan in plans[d]]
        failures = carry_out(work, folder / "runs", workers, progress)
        results = {delay: collect(plans[delay], folder / "runs", failures) for delay in plans}
        gathered = _gather(config, results, tasks, splits, audits)
        gathered["timings"]["total_seconds"] = round(time.perf_counter() - started, 3)
        write_atomically(folder / "results.json", dump_json(gathered) + "\n")
    everything = [result for delay in results for result in results[delay]]
    shown = config.delays[len(config.delays) // 2]
    view = gather_view(results[shown], splits[shown], tasks[shown])
    return RecallOutcome(gathered, gather_curves(everything), view)


def _sample(config: RecallConfig, delay: int) -> Splits:
    return Splits(*sample_recall_splits(delay, config.sizes, cue_position=config.cue_position))


def _audit(
    recipes: list[Recipe], tasks: dict[int, CueRecall], splits: dict[int, Splits], seed: int, rule: str
) -> dict[int, Audits]:
    """Audit the data of every delay, and each model once, at the longest: a model is the same at all of them."""
    longest = max(tasks)
    return {
        delay: audit_before_training(recipes if delay == longest else [], task, splits[delay], seed, rule)
        for delay, task in tasks.items()
    }


def _gather(
    config: RecallConfig,
    results: dict[int, list[RunResult]],
    tasks: dict[int, CueRecall],
    splits: dict[int, Splits],
    audits: dict[int, Audits],
) -> dict[str, Any]:
    everything = [result for delay in results for result in results[delay]]
    leaks = find_run_leaks(everything) | sum(audits.values(), start=Audits()).leaks(everything)
    parts = {d: summarize(results[d], tasks[d], splits[d], leaks, audits[d]) for d in results}
    return {
        "quick": config.quick,
        "protocol": _protocol(config, splits),
        "rows": _with_delay(parts, "rows"),
        "cells": [_complete_cell(cell, results[cell["delay"]]) for cell in _with_delay(parts, "cells")],
        "references": _with_delay(parts, "references"),
        "contrasts": _with_delay(parts, "contrasts"),
        "interventions": [record for result in everything for record in _interventions(result)],
        "audits": [row for part in parts.values() for row in part.audits],
        "warnings": [warning for part in parts.values() for warning in part.warnings],
        "timings": _merge_timings(parts),
    }


def _with_delay(parts: dict[int, Comparison], name: str) -> list[dict[str, Any]]:
    """Join one list of every delay's comparison, the delay written into each entry after its name."""
    joined = []
    for delay, part in parts.items():
        for entry in getattr(part, name):
            first = next(iter(entry.items()))
            joined.append(dict([first]) | {"delay": delay} | entry)
    return joined


def _complete_cell(cell: dict[str, Any], results: list[RunResult]) -> dict[str, Any]:
    published = PUBLISHED.get((cell["recipe"], cell["delay"]), (None, None))
    seconds = sum(result.folder.seconds() for result in results if result.plan.recipe.name == cell["recipe"])
    return cell | {"published_accuracy": published[0], "published_sd": published[1], "seconds": round(seconds, 2)}


def _interventions(result: RunResult) -> list[dict[str, Any]]:
    if result.test is None:
        return []
    named = {"recipe": result.plan.recipe.name, "delay": _delay(result.plan), "seed": result.plan.seed}
    return [named | record for record in result.test["examination"]]


def _delay(plan: RunPlan) -> int:
    return plan.task["config"]["delay"]


def _merge_timings(parts: dict[int, Comparison]) -> dict[str, Any]:
    names = ("runs", "test_scored_at")
    return {name: {run: at for part in parts.values() for run, at in part.timings[name].items()} for name in names}


def _protocol(config: RecallConfig, splits: dict[int, Splits]) -> dict[str, Any]:
    return {
        "task": "cue recall: predict the move after RECALL",
        "delays": list(config.delays),
        "seeds": list(config.seeds),
        "recipes": list(config.recipes),
        "epochs": config.epochs,
        "batch_size": config.batch_size,
        "learning_rate": config.learning_rate,
        "clip_norm": config.clip_norm,
        "optimizer": "Adam",
        "selection": "the epoch with the lowest validation cue-recall cross-entropy",
        "episodes": config.sizes._asdict(),
        "cue_position": config.cue_position,
        "disjointness": [describe_disjointness(delay, config.sizes, config.cue_position) for delay in config.delays],
        "data": {str(delay): part.fingerprints() for delay, part in splits.items()},
        "device": "cpu",
        "threads": 1,
        "torch": torch.__version__,
        "clew": __version__,
    }
