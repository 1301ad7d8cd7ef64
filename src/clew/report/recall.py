"""The report of the recall experiment: one self-contained page from results, curves and views.

The page answers first, warns before any number, and shows every seed, what chance and the oracle reach, how training
went, what the models use, the protocol, and what all of it does not show. Start with `write_recall_report`.
"""

import os
from pathlib import Path

from markupsafe import Markup

from clew.errors import RunError, complain
from clew.rendering.markup import element
from clew.rendering.numbers import format_seconds
from clew.rendering.page import (
    Section,
    banner,
    bullets,
    definitions,
    fragments,
    paragraph,
    render_page,
    subsection,
)
from clew.rendering.tables import table_html
from clew.report.intervention_tables import interventions_table
from clew.report.recall_charts import Curves, accuracy_figure, learning_figure, memory_figure
from clew.report.recall_tables import (
    accuracy_table,
    contrast_table,
    cost_table,
    folders_table,
    loss_table,
    references_table,
    runs_table,
)
from clew.report.recall_views import attention_part, gates_part
from clew.report.recall_words import (
    EQUAL,
    Json,
    answer,
    limits,
    protocol_pairs,
    quick_words,
    warnings_of,
    warnings_title,
)

FIXED_CUE = 1  # BOS, cue, moves, RECALL, cue, EOS


def write_recall_report(results: Json, curves: Curves, views: Json, path: Path) -> None:
    """Write the report as one HTML file; the file is replaced as a whole or left as it was.

    Args:
        results: What `clew recall --json` prints.
        curves: For each run id the lines of its `metrics.jsonl`.
        views: One test episode inside the selected models: `delay`, `tokens`, `query` (the scored position), `target`,
            `attention` (or None) and `gates`; only `delay` and empty ones if no run finished.
        path: The file to write.

    Raises:
        RunError: If the file cannot be written.
    """
    page = recall_report(results, curves, views)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        constraint = "a place that can be written"
        raise RunError(complain("report", str(path), constraint, error.strerror, "Free it or name another.")) from error


def recall_report(results: Json, curves: Curves, views: Json) -> str:
    """Render the whole page; see `write_recall_report`."""
    cue = FIXED_CUE if results["protocol"].get("cue_position") == "fixed" else None
    sections = [
        Section("Results", "results", _results(results)),
        Section("Reference predictors", "references", table_html(references_table(results))),
        Section("Accuracy by delay", "accuracy", accuracy_figure(results)),
        Section("Differences between recipes", "differences", _differences(results)),
        Section("Learning curves", "learning", learning_figure(results, curves)),
        Section("Memory signal", "memory", _memory(results, curves)),
        Section("Attention on one episode", "attention", attention_part(views, cue)),
        Section("Gates over time", "gates", gates_part(views)),
        Section("Interventions", "interventions", _interventions(results)),
        Section("Protocol", "protocol", _protocol(results)),
        Section("What this does not show", "limits", bullets(limits(results))),
    ]
    return render_page("Cue recall: what does a model remember?", _top(results), sections, _footer(results))


def _top(results: Json) -> Markup:
    lead = element("div", {"class": "lead"}, *map(paragraph, answer(results)))
    warnings = warnings_of(results)
    notices = [banner(quick_words(results), [], "Quick run")] if results["quick"] else []
    if warnings:
        notices.append(banner(warnings_title(results), warnings, "Warnings"))
    return fragments(lead, *notices)


def _results(results: Json) -> Markup:
    return fragments(
        table_html(accuracy_table(results)),
        subsection("Every run"),
        table_html(runs_table(results)),
        subsection("What the average hides"),
        paragraph(
            "Most targets of an episode are random moves that nobody can predict, and one target needs memory. "
            "Between an oracle and a uniform guess at that target, the loss there moves by log 4, 1.39 nats. "
            "The loss over all tokens moves by that divided by the number of targets."
        ),
        table_html(loss_table(results)),
        subsection("Costs"),
        table_html(cost_table(results)),
    )


def _differences(results: Json) -> Markup:
    if not results["contrasts"]:
        return paragraph("Nothing to compare: fewer than two recipes finished a run at the same delay.")
    sentences = [f"Delay {item['delay']}: {item['words']}." for item in results["contrasts"]]
    return fragments(bullets(sentences), table_html(contrast_table(results)))


def _memory(results: Json, curves: Curves) -> Markup:
    return fragments(
        paragraph(
            "To learn to recall, a model must get a learning signal from the answer back to the cue. "
            "A large gradient over all weights does not show that it does: most of it may come from the nearest steps."
        ),
        memory_figure(results, curves),
    )


def _interventions(results: Json) -> Markup:
    if not results["interventions"]:
        return paragraph("No interventions: no run finished.")
    return fragments(
        paragraph(
            "A right answer does not say what it rests on. Each selected model was run again on test episodes with one "
            "thing changed; nothing was trained or selected on them."
        ),
        table_html(interventions_table(results)),
    )


def _protocol(results: Json) -> Markup:
    return fragments(
        definitions(protocol_pairs(results)), bullets(EQUAL), subsection("Runs"), table_html(folders_table(results))
    )


def _footer(results: Json) -> str:
    seconds = format_seconds(float(sum(results["timings"]["runs"].values())))
    return f"Made by clew {results['protocol']['clew']} from {len(results['rows'])} runs that took {seconds} in all."
