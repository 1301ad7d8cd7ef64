"""`clew evaluate`: the sealed test part of a run, once; or any other file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clew.cli.output import print_result, result_console
from clew.cli.settings import usage_errors
from clew.files import dump_json

if TYPE_CHECKING:
    from clew.runs import Run

_switch = Parameter(negative=(), show_default=False)


def evaluate(run: Path, file: Path | None = None, /, *, json: Annotated[bool, _switch] = False) -> None:
    """Score a trained model on its sealed test part, or on a file with labels, beside simple predictors.

    The sealed part is scored once; later calls give the same result again.

    Args:
        run: The folder of a run.
        file: A file with labels, like the one that was trained on [default: the test part that was split off].
        json: Print everything as JSON with all digits.
    """
    from clew.cli.status import StatusLine
    from clew.report.training import write_training_report
    from clew.runs import load
    from clew.runs.assessing import assess, scored_data
    from clew.runs.planning import sealed_test

    with usage_errors(), StatusLine(sys.stderr) as status:
        loaded = load(run)
        status.show(f"scoring {loaded.path}")
        source = sealed_test(loaded) if file is None else file
        result = loaded.evaluate(source)
        result["assessment"] = assess(loaded, scored_data(loaded, source))
        if file is None:
            write_training_report(loaded, result["assessment"])
    if json:
        print_result(dump_json(result))
        return
    _print(loaded, result, "the sealed test part" if file is None else str(file))


def _print(run: "Run", result: dict[str, Any], what: str) -> None:
    from clew.rendering.terminal_tables import print_table
    from clew.report.evaluation_table import assessment_lines, evaluation_table

    console = result_console()
    caption = f"{run.task.name} on {what}: {result['sequences']:,} {_unit(run)}, scored {result['scored_at']}"
    table = evaluation_table(result, run.config["model"]["preset"], caption)
    print_table(console, table, assessment_lines(result["assessment"]))


def _unit(run: "Run") -> str:
    if run.config["model"]["preset"] == "vit":
        return "images"
    return "windows" if run.task.name in ("forecasting", "next_token") else "sequences"
