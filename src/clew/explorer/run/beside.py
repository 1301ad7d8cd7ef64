"""The runs beside a run: where its folder stands in a comparison, the table of every seed and their curves.

What stands here was written by `clew recall` or `clew compare` when each run had selected its epoch; nothing is scored
again. Start with `comparison_part`.
"""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from markupsafe import Markup

from clew.errors import RunError
from clew.lab.comparison import MARKER, Comparison
from clew.rendering.page import bullets, fragments, paragraph, subsection
from clew.rendering.tables import table_html
from clew.report.comparison_page import runs_table as every_run_table
from clew.report.recall_charts import learning_figure, memory_figure
from clew.report.recall_tables import accuracy_table, runs_table
from clew.report.recall_words import Json, at_delay, recipe_name
from clew.report.task_comparison import task_comparison_table
from clew.runs import Run, RunFolder, read_json
from clew.tasks import CueRecall

RESULTS = "results.json"
OF_A_DELAY = ("rows", "cells", "references", "contrasts", "interventions")
_IDENTITY = re.compile(r"[0-9a-f]{16}")


def comparison_folder(run: Run) -> Path | None:
    """Find the folder of the comparison that a run belongs to; None where it stands alone."""
    parent = run.path.resolve().parent
    return parent.parent if parent.name == "runs" and (parent.parent / MARKER).exists() else None


def comparison_part(run: Run) -> Markup | None:
    """Show every seed of every recipe beside this run; None where it stands alone."""
    folder = comparison_folder(run)
    if folder is None:
        return None
    if not (folder / RESULTS).exists():
        return paragraph("This run belongs to a comparison that has not come to its end; its table is not there yet.")
    try:
        results = read_json(folder / RESULTS)
        is_recall = isinstance(run.task, CueRecall) and "interventions" in results
        shown = _recall(run, folder, results) if is_recall else _own(run, results)
    except (RunError, KeyError, TypeError, ValueError, AttributeError, IndexError, AssertionError):
        return paragraph(f"{RESULTS} of this comparison cannot be read; it was made by another version of clew.")
    return fragments(paragraph(_this_run(run)), shown)


def _this_run(run: Run) -> str:
    recipe, seed = run.config.get("recipe", ""), run.config.get("seeds", {}).get("initialization")
    words = f"The run on this page is {recipe_name(str(recipe))}, seed {seed}."
    return f"{words} The test was scored once a run, after its selection."


def _recall(run: Run, folder: Path, results: Json) -> Markup:
    mine = results | {name: at_delay(results[name], run.config["task"]["config"]["delay"]) for name in OF_A_DELAY}
    named = [row["run"] for row in mine["rows"] if row["run"] and _IDENTITY.fullmatch(row["run"])]
    curves = {name: RunFolder(folder / "runs" / name).metrics() for name in named}
    return fragments(
        table_html(accuracy_table(mine)),
        table_html(runs_table(mine)),
        subsection("Learning curves of every seed"),
        learning_figure(mine, curves),
        subsection("Memory signal of every seed"),
        memory_figure(mine, curves),
    )


def _own(run: Run, results: dict[str, Any]) -> Markup:
    comparison = Comparison(**{part.name: results[part.name] for part in fields(Comparison)})
    caption = f"{run.task.name.replace('_', ' ').capitalize()}, on the sealed test part"
    said = [f"{one['words'][0].upper()}{one['words'][1:]}." for one in comparison.contrasts]
    return fragments(
        table_html(task_comparison_table(comparison, run.task, caption)),
        table_html(every_run_table(run.task, comparison)),
        *([bullets(said)] if said else []),
        *([bullets(comparison.warnings)] if comparison.warnings else []),
    )


def own_signal(run: Run) -> Markup | None:
    """Draw the memory signal of a run of cue recall that stands alone; None where its epochs did not measure it."""
    if not isinstance(run.task, CueRecall) or not any(line.get("diagnose") for line in run.metrics()):
        return None
    recipe, delay = str(run.config.get("recipe", "")), run.task.delay
    row = {"recipe": recipe, "delay": delay, "seed": run.config["seeds"]["initialization"], "run": run.path.name}
    return memory_figure({"rows": [row], "cells": [{"recipe": recipe, "delay": delay}]}, {run.path.name: run.metrics()})
