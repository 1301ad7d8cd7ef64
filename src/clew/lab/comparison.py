"""`compare`: recipes x seeds on the same data in the same order, under one protocol.

The test split is sealed until a run has selected its weights on validation; it is scored once. Every seed is kept, a
failed run is a row with its reason, and what is said of the results follows from them by the rules of
`clew.lab.verdict`. `clew.lab.recall` is one user of this room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.errors import RunError, complain
from clew.files import cannot_write, dump_json, write_atomically
from clew.lab.before_training import Audits, audit_before_training
from clew.lab.forecast_contrasts import forecast_contrasts
from clew.lab.plan import plan_runs
from clew.lab.pool import Work, carry_out
from clew.lab.progress import Progress, SilentProgress
from clew.lab.recipe import Recipe
from clew.lab.results import RunResult, collect, describe_cells, describe_contrasts, find_run_leaks
from clew.lab.splits import Splits
from clew.runs import lock_folder, read_json
from clew.tasks import Forecasting, Task

MARKER = "comparison.json"
MARK = {"format": 1, "kind": "clew comparison"}


@dataclass(frozen=True)
class Comparison:
    """What a comparison gave, as plain values.

    Attributes:
        rows: One a run: recipe, seed, status, test and validation figures, size and cost; nothing that depends on the
            clock.
        cells: One a recipe: mean, sample standard deviation, seeds solved, verdict in words.
        contrasts: One a pair of recipes; of forecasts also one a recipe and the reference to beat.
        references: Predictors with known or simple answers on the same test sequences, chance and oracle among them.
        warnings: Failed runs, suspected leaks and failed audits.
        timings: Seconds a run, and when each test was scored.
        audits: What the audit before training said of the data and of each recipe.
    """

    rows: list[dict[str, Any]]
    cells: list[dict[str, Any]]
    contrasts: list[dict[str, Any]]
    references: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    timings: dict[str, Any] = field(default_factory=dict)
    audits: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> str:
        """Give strict JSON; NaN and the infinities are strings."""
        return dump_json(vars(self))

    def _repr_html_(self) -> str:
        """Show a page of the results in a notebook."""
        from clew.lab.page import TITLE, comparison_page
        from clew.rendering.notebook import framed

        page = comparison_page(self.rows, self.cells, self.contrasts, self.references, self.warnings)
        return framed(page, TITLE)


def compare(
    recipes: Sequence[Recipe | Mapping[str, Any]],
    task: Task,
    splits: Splits,
    *,
    seeds: Sequence[int],
    out: Path | str = "runs/compare",
    workers: int | None = None,
    order_seed: int = 0,
    progress: Progress | None = None,
    audit: str = "refuse",
) -> Comparison:
    """Train every recipe with every seed, select on validation, score the sealed test once, and say what follows.

    Finished runs in `out` are not run again; a killed comparison goes on where it was and ends in the same bits.

    Args:
        recipes: What to compare; a mapping is read by `Recipe.from_mapping`.
        task: Loss, metrics and selection rule.
        splits: Training, validation and sealed test sequences.
        seeds: Draw the initial weights, the same for every recipe.
        out: Folder for the run folders; a new one, an empty one or that of an earlier comparison.
        workers: Worker processes of one thread each; None: one a core; 0: this process, also for tasks that are not
            part of the package.
        order_seed: Draws the order of the batches, the same for every run.
        progress: Told of what happens.
        audit: What a fault does that the quick audit finds before the first step, in a recipe's model or between the
            splits: "refuse" to train, "warn" and count its runs as leaking, or "skip" the audit.

    Raises:
        AuditError: If `audit` is "refuse" and a fault was found; nothing is written.
        ConfigError: If recipes or seeds are missing or stand twice, or a key is unknown.
        RunError: If `out` holds something else, is in use or cannot be written.
    """
    known = [recipe if isinstance(recipe, Recipe) else Recipe.from_mapping(recipe) for recipe in recipes]
    plans = plan_runs(known, task, splits, seeds, order_seed)
    audits = audit_before_training(known, task, splits, seeds[0], audit)
    progress = progress or SilentProgress()
    if audits.all:
        progress.note(audits.words())
    work = [Work(plan, splits) for plan in plans]
    folder = open_comparison_folder(Path(out))
    with lock_folder(folder, wait_seconds=0.5):
        failures = carry_out(work, folder / "runs", workers, progress)
    results = collect(plans, folder / "runs", failures)
    comparison = summarize(results, task, splits, find_run_leaks(results) | audits.leaks(results), audits)
    write_atomically(folder / "results.json", comparison.to_json() + "\n")
    return comparison


def summarize(
    results: Sequence[RunResult], task: Task, splits: Splits, leaks: dict[str, str], audits: Audits
) -> Comparison:
    """Say what the runs of one task on one set of splits show; `leaks` comes from `find_run_leaks` and the audits."""
    references, contrasts = [], describe_contrasts(results, leaks)
    if finished := [result for result in results if result.test is not None]:
        test = splits.test.open_after(finished[0].folder.best)
        references = task.references(splits.train, test)
        if isinstance(task, Forecasting):
            contrasts += forecast_contrasts(results, leaks, task, splits, test)
    return Comparison(
        rows=[result.to_row() for result in results],
        cells=describe_cells(results, leaks, task.chance_accuracy, task.oracle_accuracy),
        contrasts=contrasts,
        references=references,
        warnings=[*warnings_of(results, leaks), *audits.warnings()],
        timings=timings_of(results),
        audits=audits.to_rows(),
    )


def warnings_of(results: Sequence[RunResult], leaks: dict[str, str]) -> list[str]:
    """One line a failed run and a line a suspected leak."""
    failed = [f"{result.plan.label}: failed. {result.reason}" for result in results if result.test is None]
    leaked = [f"{result.plan.label}: {leaks[result.identity]}" for result in results if result.identity in leaks]
    return failed + leaked


def timings_of(results: Sequence[RunResult]) -> dict[str, Any]:
    """What depends on the clock: seconds of training and the time of the one test score, by run."""
    return {
        "runs": {result.identity: round(result.folder.seconds(), 3) for result in results},
        "test_scored_at": {result.identity: result.test["scored_at"] for result in results if result.test is not None},
    }


def open_comparison_folder(path: Path) -> Path:
    """Make the folder of a comparison, or take that of an earlier one.

    Raises:
        RunError: If the path holds something else or cannot be written.
    """
    try:
        if path.exists() and not path.is_dir():
            remedy = "Choose another folder with --out."
            raise RunError(complain(str(path), "output", "a folder", "a file", remedy))
        path.mkdir(parents=True, exist_ok=True)
        # The lock and a mark that was cut off by a kill are this function's own traces.
        own = (".lock", f".{MARKER}.")
        contents = [entry for entry in path.iterdir() if not entry.name.startswith(own)]
        if contents and (not (path / MARKER).exists() or read_json(path / MARKER) != MARK):
            remedy = "Choose an empty or a new folder with --out; nothing was changed."
            got = f"one with other things in it ({contents[0].name}, ...)"
            raise RunError(complain(str(path), "output folder", "empty or that of a comparison", got, remedy))
        write_atomically(path / MARKER, dump_json(MARK) + "\n")
        (path / "runs").mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    return path
