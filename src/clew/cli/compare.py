"""`clew compare`: recipes x seeds on files of one's own, under the protocol of `clew.compare`."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clew.cli.faults import FailedRunsError, UsageError
from clew.cli.output import print_result, result_console
from clew.cli.settings import read_configuration, usage_errors, with_paths
from clew.errors import complain
from clew.files import dump_json

if TYPE_CHECKING:
    from clew.lab import Comparison
    from clew.lab.own_files import OwnComparison

WHERE = "clew compare"
_switch = Parameter(negative=(), show_default=False)


def compare(
    config: Path,
    /,
    *,
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    workers: int | None = None,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Train every recipe with every seed on the same data in the same order, and say what that shows.

    The test part is sealed until each run has selected its weights, and scored once. A stopped command goes on where
    it was. The folder gets a page, report.html, with the table, every run and the curves.

    Args:
        config: A TOML file with a file or [tasks.NAME], [recipes.NAME.model], and seeds under [compare].
        settings: Any setting that recipes share, as training.epochs=20; may be repeated.
        out: Folder of the runs [default: runs/ and the name of the configuration].
        workers: Processes that run side by side; 0 trains in this one [default: one a core].
        json: Print the results as JSON.
    """
    from clew.lab.own_files import plan_comparisons
    from clew.report.comparison_page import write_comparison_report

    if workers is not None and workers < 0:
        raise UsageError(complain(WHERE, "--workers", "0 or more", workers, "Leave it out for one a core."))
    values = read_configuration(config)
    tasks = values.get("tasks", {})
    if isinstance(tasks, dict):
        parts = {name: part for name, part in tasks.items() if isinstance(part, dict)}
        values |= {
            "tasks": tasks | {name: with_paths(part, config.parent, str(config)) for name, part in parts.items()}
        }
    values = values if values.get("tasks") else {name: part for name, part in values.items() if name != "tasks"}
    place = out or Path("runs") / config.stem
    with usage_errors():
        plans = plan_comparisons(values, settings or [])
        done = [(plan, _carry_out(plan, _place_of(plan, place), workers)) for plan in plans]
    reports = [write_comparison_report(plan, result, _place_of(plan, place)) for plan, result in done]
    if json:
        print_result(dump_json({plan.name or "task": vars(result) for plan, result in done}))
    else:
        for plan, result in done:
            _print(plan, result)
    for report in reports:
        print(f"Report: {report}", file=sys.stderr)
    failed = sum(row["status"] == "failed" for _, result in done for row in result.rows)
    if failed:
        got, remedy = f"{failed} failed", "The same command tries them again and keeps the others."
        raise FailedRunsError(complain(WHERE, "runs", "finished", got, remedy))


def _place_of(plan: "OwnComparison", out: Path) -> Path:
    return out / plan.name if plan.name else out


def _carry_out(plan: "OwnComparison", out: Path, workers: int | None) -> "Comparison":
    from clew.cli.progress import progress_for
    from clew.lab import compare as compare_recipes

    for note in plan.notes:
        print(f"{plan.name}: {note}" if plan.name else note, file=sys.stderr)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(progress_for(sys.stderr)) as progress:
            return compare_recipes(
                plan.recipes, plan.task, plan.splits, seeds=plan.seeds, out=out, workers=workers,
                order_seed=plan.order_seed, progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        words = f"Finished runs are kept in {out}, and the same command goes on from there."
        raise KeyboardInterrupt(words) from None


def _print(plan: "OwnComparison", result: "Comparison") -> None:
    from clew.rendering.terminal_tables import print_table
    from clew.report.task_comparison import comparison_lines, task_comparison_table

    console = result_console()
    caption = f"{plan.name + ': ' if plan.name else ''}{plan.task.name}, {len(plan.splits.test):,} test sequences"
    table = task_comparison_table(result, plan.task, caption)
    print_table(console, table, comparison_lines(result))
