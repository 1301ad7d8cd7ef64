"""`clew recall`: the memory experiment, from options to the table and the report."""

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clew.cli.faults import FailedRunsError, UsageError
from clew.cli.output import print_result, result_console
from clew.errors import ConfigError, complain
from clew.files import dump_json

if TYPE_CHECKING:
    from clew.lab.recall import RecallConfig, RecallOutcome

OUT = Path("runs/recall")
QUICK_OUT = Path("runs/recall-quick")

_several = Parameter(consume_multiple=(1, None), negative=())
_switch = Parameter(negative=(), show_default=False)


def recall(
    *,
    delays: Annotated[list[int] | None, _several] = None,
    seeds: Annotated[list[int] | None, _several] = None,
    recipes: Annotated[list[str] | None, _several] = None,
    epochs: int | None = None,
    cue_position: str | None = None,
    out: Path | None = None,
    workers: int | None = None,
    quick: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Train recurrent and attention models to recall a cue after a delay, and compare what they remember.

    Prints the table and writes report.html. A stopped command goes on where it was when it is started again.

    Args:
        delays: Numbers of random moves between the cue and its recall [default: 8 16 32; quick: 8].
        seeds: Initialization seeds, one run each [default: 6206 6207 6208; quick: 6206 6207].
        recipes: Models to compare: rnn, gru, lstm, transformer [default: rnn gru transformer].
        epochs: Passes over the training episodes of each run [default: 60; quick: 18].
        cue_position: fixed, or random: then no absolute position points to the cue [default: fixed].
        out: Folder for the runs and the report [default: runs/recall; quick: runs/recall-quick].
        workers: Processes that run side by side; 0 trains in this one [default: one a core].
        quick: A first look in under 30 seconds, too small to conclude from; other options still count.
        json: Print the results as JSON instead of the table.
    """
    if workers is not None and workers < 0:
        raise UsageError(complain("clew recall", "--workers", "0 or more", workers, "Leave it out for one a core."))
    given = {
        "delays": None if delays is None else tuple(delays),
        "seeds": None if seeds is None else tuple(seeds),
        "recipes": None if recipes is None else tuple(recipes),
        "epochs": epochs,
        "cue_position": cue_position,
    }
    config = _configure(quick, {name: value for name, value in given.items() if value is not None})
    out = out or (QUICK_OUT if quick else OUT)
    outcome = _run(config, out, workers)
    try:
        _show(outcome.results, json)
    finally:  # a reader of the table that left does not cost the report
        _write_report(outcome, out / "report.html")
    _complain_about_failures(outcome.results["rows"])


def _configure(quick: bool, given: dict[str, Any]) -> "RecallConfig":
    """Lay the options that were given over the defaults.

    Raises:
        UsageError: If a value is out of range; all problems at once.
    """
    from clew.lab.recall import RecallConfig

    try:
        return replace(RecallConfig.quick_look() if quick else RecallConfig(), **given)
    except ConfigError as error:
        raise UsageError(str(error)) from error


def _run(config: "RecallConfig", out: Path, workers: int | None) -> "RecallOutcome":
    from clew.cli.progress import progress_for
    from clew.lab.recall import run_recall

    try:
        with closing(progress_for(sys.stderr)) as progress:
            return run_recall(config, out, workers, progress)
    except KeyboardInterrupt:
        words = f"Finished runs are kept in {out}, and the same command goes on from there."
        raise KeyboardInterrupt(words) from None


def _write_report(outcome: "RecallOutcome", path: Path) -> None:
    from clew.report.recall import write_recall_report

    write_recall_report(outcome.results, outcome.curves, outcome.view, path)
    print(f"Report: {path}", file=sys.stderr)


def _show(results: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_result(dump_json(results))
        return
    from clew.report.comparison_table import print_comparison

    print_comparison(results, result_console())


def _complain_about_failures(rows: list[dict[str, Any]]) -> None:
    """End with an error if runs failed, after all that did not fail has been shown.

    Raises:
        FailedRunsError: If a run failed.
    """
    failed = sum(row["status"] == "failed" for row in rows)
    if failed:
        got = f"{failed} of {len(rows)} failed"
        remedy = "The results say why; the same command tries them again and keeps the others."
        raise FailedRunsError(complain("clew recall", "runs", "finished", got, remedy))
