"""The view "A run": what a training came to, the runs beside it, its errors one by one, and the row on show under test.

What is shown of the whole run are its kept weights without edits; what is shown of the one row follows the edits. The
sealed test is never read: of it stands here only what was written when it was scored.
"""

from collections.abc import Sequence

import torch
from markupsafe import Markup

from clew.data import SequenceData
from clew.data.sequence_data import UNSCORED, UNSEEN
from clew.explorer.run.beside import comparison_folder, comparison_part, own_signal
from clew.explorer.run.data import chosen_part, confusion_of, examples_of, kept_part, selection
from clew.explorer.run.data import run_of as open_run
from clew.explorer.run.episode import episode_of, interventions_part
from clew.explorer.run.image import image_part, is_of_images
from clew.explorer.run.recall import episodes_part, signal_part
from clew.explorer.scene import Scene
from clew.explorer.sources import LAST
from clew.explorer.studio import Studio
from clew.explorer.view import View
from clew.rendering.markup import element
from clew.rendering.numbers import format_number
from clew.rendering.page import Section, fragments, paragraph, subsection
from clew.report.class_views import classes_part
from clew.report.example_views import examples_html
from clew.report.forecast_views import forecasts_part
from clew.report.training import answer_sentences, curves_part, test_part, validation_part
from clew.runs import Run
from clew.tasks import Classification, CueRecall, Forecasting, Tagging

MADE = (
    "Every number was computed in Python: those of the row on show for exactly this input, with its edits; those of "
    "the whole run on other inputs and without edits, or written down when it was trained and scored"
)
SEEN = "The model was trained on these: it may err more on what it never saw. The sealed test is not read here."


def _missing(scene: Scene) -> str:
    if scene.source.folder is not None:
        return ""
    return "This model comes from no training run; start it with: clew explore RUN, where RUN is the folder of a run."


def _sections(scene: Scene, studio: Studio) -> Sequence[Section]:
    with studio.lock:
        run = open_run(scene)
        assert run is not None
        return [
            Section("What the run came to", "run", _answer(run, scene)),
            Section("Learning curves", "run-curves", _curves(run)),
            *_row_on_show(run, scene),
            *_beside(run),
            *_classes(run),
            *_forecasts(run),
            *_examples(run, scene),
        ]


def _answer(run: Run, scene: Scene) -> Markup:
    sentences = answer_sentences(run)
    if scene.source.key == LAST:
        sentences.append(f"On this page it has its last weights, after epoch {len(run.metrics())}.")
    if scene.address.edits:
        sentences.append("Figures and examples of the whole run are without the edits; the row on show has them.")
    tables = [validation_part(run), *([test_part(run)] if run.folder.is_scored else [])]
    return fragments(element("div", {"class": "lead"}, *map(paragraph, sentences)), *tables)


def _curves(run: Run) -> Markup:
    signal = own_signal(run) if comparison_folder(run) is None else None
    return fragments(curves_part(run), *([] if signal is None else [subsection("Memory signal"), signal]))


def _beside(run: Run) -> list[Section]:
    found = comparison_part(run)
    return [] if found is None else [Section("Every seed beside it", "run-beside", found)]


def _row_on_show(run: Run, scene: Scene) -> list[Section]:
    """Show what can be asked of the one row: an image its attention, an episode its interventions."""
    if is_of_images(scene):
        told = fragments(*_answer_on_row(run, scene), image_part(scene))
        return [Section("This image and the attention over it", "run-image", told)]
    if isinstance(run.task, Classification):
        return [Section("This sequence", "run-row", fragments(*_answer_on_row(run, scene)))]
    if not isinstance(run.task, CueRecall):
        return []
    episode = episode_of(scene)
    if episode is None:
        words = "What is read is no episode: it needs BOS, a cue right after it, and RECALL later on."
        return [Section("This episode under intervention", "run-episode", paragraph(words))]
    return [
        Section("This episode under intervention", "run-episode", interventions_part(scene, episode)),
        Section("Memory signal of this episode", "run-signal", signal_part(scene, episode)),
    ]


def _answer_on_row(run: Run, scene: Scene) -> list[Markup]:
    """Say what the model of the scene takes the row for, and what it is."""
    subject, task = scene.subject, scene.subject.task
    if not isinstance(task, Classification):
        return []
    names = [*_class_names(run, task), "a class that training lacks", "unknown"]
    said = task.predict(subject.model, subject.batch)
    true, chosen = int(task.align(subject.batch).targets[scene.row]), int(said["classes"][scene.row])
    chances: list[float] = said["probabilities"][scene.row].tolist()
    known = {UNSEEN: names[-2], UNSCORED: names[-1]}.get(true) or names[true]
    words = f"{subject.title}: the model says {names[chosen]} with probability {format_number(chances[chosen])}"
    if true >= 0 and true != chosen:
        words += f", and {known}, the true class, with {format_number(chances[true])}"
    else:
        words += ", which is right" if true == chosen else f"; its true class is {known}"
    return [paragraph(f"{words}. Choose another with the row above, or among the examples below.")]


def _class_names(run: Run, task: Classification | Tagging) -> list[str]:
    return list(getattr(run.preparation, "classes", ())) or [str(number) for number in range(task.classes)]


def _classes(run: Run) -> list[Section]:
    task, found, confusion = run.task, chosen_part(run), confusion_of(run)
    if confusion is None or found is None or not isinstance(task, Classification | Tagging):
        return []
    names = _class_names(run, task)
    told = paragraph(f"Counted on {found[1].rstrip(',')}. {SEEN}")
    return [Section("Which class is taken for which", "run-classes", fragments(told, classes_part(confusion, names)))]


def _forecasts(run: Run) -> list[Section]:
    task, data = run.task, kept_part(run)
    if not isinstance(task, Forecasting) or data is None or not len(data):
        return []
    last = data.select(_last(run, task, data))
    words = f"Forecast are the last {len(last):,} of {len(data):,} windows of the training part. {SEEN}"
    return [Section("Forecasts", "run-forecasts", fragments(paragraph(words), forecasts_part(run, task, last)))]


def _last(run: Run, task: Forecasting, data: SequenceData) -> torch.Tensor:
    """Choose as many of the last windows as can be rolled out in a moment."""
    count = max(1, len(selection(run, data)) // task.horizon)
    return torch.arange(max(0, len(data) - count), len(data))


def _examples(run: Run, scene: Scene) -> list[Section]:
    if isinstance(run.task, CueRecall):
        return [Section("Episodes by their loss", "run-examples", episodes_part(run, scene))]
    found = examples_of(run)
    if found is None:
        words = "The run does not keep its training part, so that no examples can be shown."
        return [Section("Examples by their loss", "run-examples", paragraph(words))]

    def opening(sequence: int, words: str) -> Markup:
        href = scene.address.link(row=sequence, text=None, edits=())
        return element("a", {"href": href}, words)

    told = paragraph(f"Of the training part; a link opens the sequence in all views. {SEEN}")
    return [Section("Examples by their loss", "run-examples", fragments(told, examples_html(found, opening)))]


RUN = View(
    "run",
    "A run",
    "What a training came to: curves, seeds, errors one by one, and interventions on one episode.",
    _missing,
    _sections,
    made=MADE,
)
