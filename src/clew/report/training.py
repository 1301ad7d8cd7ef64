"""The page of a run on a file of one's own: the answer, curves, the parts that were scored, examples, the settings.

While the test is sealed, what stands here is of validation, on which the epoch was selected; once it is scored, figures
and pictures of the test stand first. Start with `write_training_report`.
"""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.files import write_atomically
from clew.rendering.markup import element
from clew.rendering.page import Section, bullets, definitions, fragments, paragraph, render_page
from clew.rendering.tables import table_html
from clew.report.class_views import classes_part
from clew.report.evaluation_table import assessment_lines, evaluation_table, words_of
from clew.report.evaluation_table import figure as digits
from clew.report.example_views import examples_part
from clew.report.forecast_views import forecasts_part
from clew.runs import Run, read_json
from clew.runs.page import learning_curves
from clew.tasks import Classification, Forecasting, Tagging

RISING = ("accuracy", "macro_f1", "r2", "coverage")
"""Figures of which more is better."""
MOST_REFERENCE_STEPS, MOST_REFERENCE_SEQUENCES = 100_000, 2_000
DOES = {
    "classification": "classifies sequences",
    "tagging": "tags each step",
    "next_token": "predicts the next token",
    "forecasting": "forecasts series",
    "regression": "predicts numbers for each sequence",
    "cue_recall": "recalls a cue after random moves",
}


def write_training_report(
    run: Run, assessment: dict[str, Any] | None = None, validation: Batch | SequenceData | None = None
) -> Path:
    """Write `report.html` into the folder of a run, and give its path.

    Args:
        run: A trained run.
        assessment: What `assess` found on the test.
        validation: The validation part, whose predictions are shown while the test is sealed.
    """
    path = run.path / "report.html"
    write_atomically(path, training_page(run, assessment, validation))
    return path


def training_page(
    run: Run, assessment: dict[str, Any] | None = None, validation: Batch | SequenceData | None = None
) -> str:
    """Compose the page; see `write_training_report`."""
    sections = []
    if run.folder.is_scored:
        sections.append(Section("Test", "test", test_part(run, assessment)))
    sections.append(Section("Validation", "validation", validation_part(run, validation)))
    sections.append(Section("Learning curves", "curves", curves_part(run)))
    shown = _shown_data(run, validation)
    if shown is not None:
        part, data = shown
        sections += _views(run, part, data)
    sections.append(Section("Settings", "settings", _settings(run)))
    return render_page(_title(run), _top(run), sections, f"Made by clew from the run in {run.path.name}.")


def _title(run: Run) -> str:
    file = _plan(run).get("file")
    where = Path(file).name if file else f"run {run.path.name}"
    return f"{run.task.name.replace('_', ' ').capitalize()} on {where}"


def _plan(run: Run) -> dict[str, Any]:
    path = run.path / "plan.json"
    return read_json(path) if path.exists() else {}


def answer_sentences(run: Run) -> list[str]:
    """Say what the run is, which epoch was selected, and what the test said, if it was scored."""
    preset, count = run.config["model"]["preset"], run.model.parameter_count()
    name, value = run.selection["metric"], run.selection["value"]
    sentences = [
        f"This {preset} with {count:,} parameters {DOES.get(run.task.name, run.task.name)}. Epoch "
        f"{run.selected_epoch} of {len(run.metrics())} was selected: it has the lowest {words_of(name)} on "
        f"validation, {digits(value)}."
    ]
    sentences.append(_answer(run) if run.folder.is_scored else "The test has not been scored.")
    return sentences


def _top(run: Run) -> Markup:
    """Give the answer in a few sentences."""
    return element("div", {"class": "lead"}, *map(paragraph, answer_sentences(run)))


def _answer(run: Run) -> str:
    """Put the figure that matters beside the best reference."""
    result = run.folder.test()
    metrics, name = result["metrics"], _chosen(run)
    words = f"On the test its {words_of(name)} is {digits(metrics[name])}."
    known = [one for one in result.get("references") or [] if isinstance(one.get(name), int | float)]
    if not known:
        return words
    best = (max if name.removeprefix("rollout_") in RISING else min)(known, key=lambda one: one[name])
    return f"{words} The best of the simple references, {best['name'].replace('_', ' ')}, has {digits(best[name])}."


def _chosen(run: Run) -> str:
    metrics = run.folder.test()["metrics"]
    order = ("accuracy", "cue_accuracy", "rollout_mase", "rollout_mae", "bits_per_byte", "rmse")
    order = ("bits_per_byte", "loss_nats") if run.task.name == "next_token" else order
    return next((name for name in order if name in metrics), run.task.selection)


def _shown_data(run: Run, validation: Batch | SequenceData | None) -> tuple[str, Batch | SequenceData] | None:
    """Give the part whose predictions may be seen: the test once it is scored, else validation."""
    sealed = run.path / "test"
    if run.folder.is_scored and sealed.exists():
        return "test", SequenceData.open(sealed)
    return None if validation is None else ("validation", validation)


def _views(run: Run, part: str, data: Batch | SequenceData) -> list[Section]:
    """Show how predictions of a part look."""
    task, sections = run.task, []
    if isinstance(task, Classification | Tagging):
        names = list(getattr(run.preparation, "classes", ())) or [str(number) for number in range(task.classes)]
        confusion = task.confusion(run.model, data)
        sections.append(Section(f"Classes, on {part}", "classes", classes_part(confusion, names)))
    if isinstance(task, Forecasting):
        sections.append(Section(f"Forecasts, on {part}", "forecasts", forecasts_part(run, task, data)))
    sections.append(Section(f"Examples, from {part}", "examples", examples_part(run, data)))
    return sections


def curves_part(run: Run) -> Markup:
    """Draw the training loss, and each figure of validation, over the epochs."""
    return learning_curves(run.metrics(), run.selected_epoch, words_of)


def validation_part(run: Run, validation: Batch | SequenceData | None = None) -> Markup:
    """Show the figures of validation at the selected epoch; with the part itself, those of references too."""
    found = run.metrics()[run.selected_epoch - 1]["validation"]
    result = {"metrics": found, "references": _references(run, validation)}
    caption = f"Validation at epoch {run.selected_epoch}, which was selected on it"
    return table_html(evaluation_table(result, run.config["model"]["preset"], caption))


def _references(run: Run, validation: Batch | SequenceData | None) -> list[dict[str, Any]]:
    """Score the references on validation, where the run keeps its training part and that takes seconds."""
    kept = run.path / "train"
    if validation is None or not kept.exists():
        return []
    train = SequenceData.open(kept)
    if int(train.lengths.sum()) > MOST_REFERENCE_STEPS or len(train) > MOST_REFERENCE_SEQUENCES:
        return []
    return run.task.references(train, validation)


def test_part(run: Run, assessment: dict[str, Any] | None = None) -> Markup:
    """Show the figures of the sealed test as they were written when it was scored."""
    result = run.folder.test()
    count = f"{result['sequences']:,} sequences, " if "sequences" in result else ""
    caption = f"Test: {count}scored once, at {result['scored_at']}"
    is_compared = "references" not in result  # a comparison scores the references once for all of its runs
    shown = result | {"references": []} if is_compared else result
    table = table_html(evaluation_table(shown, run.config["model"]["preset"], caption))
    lines = assessment_lines(assessment or {})
    return fragments(table, *([bullets(lines)] if lines else []))


def _settings(run: Run) -> Markup:
    """List what was decided, section by section, and what the audit before training said."""
    values = _plan(run) or {"model": run.config["model"], "training": run.config["training"]}
    pairs = []
    for section, part in values.items():
        listed = part.items() if isinstance(part, dict) else [("", part)]
        pairs += [(f"{section}.{name}".rstrip("."), _plain(value)) for name, value in listed if value is not None]
    path = run.path / "audit.json"
    audits = read_json(path)["audits"] if path.exists() else []
    lines = [
        f"{one['subject']}: {one['status']}{'' if not one['reasons'] else ' (' + '; '.join(one['reasons']) + ')'}."
        for one in audits
    ]
    told = [paragraph("The audit before training:"), bullets(lines)] if lines else []
    return fragments(definitions(pairs), *told)


def _plain(value: Any) -> str:
    """Write a setting as it would be written in a file."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items()) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
