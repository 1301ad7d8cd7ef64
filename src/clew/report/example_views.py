"""Single predictions, sorted by their loss: where a model is furthest from what is true, and where it is nearest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from markupsafe import Markup

from clew.data import Preparation, SequenceData
from clew.data.batch import Batch
from clew.rendering.numbers import format_number
from clew.rendering.page import fragments, paragraph
from clew.rendering.tables import Column, Group, Row, Table, table_html
from clew.report.evaluation_table import figure as digits
from clew.runs import Run
from clew.tasks import Classification, Forecasting, NextToken, Regression, Tagging, Task

MOST_SEQUENCES = 1024
WORST, BEST = 10, 3
CONTEXT = 24
CHUNK = 128
MOST_PROBABILITIES = 20_000_000
VISIBLE = str.maketrans({"\n": "⏎", "\t": "⇥", " ": "␣"})


@dataclass(frozen=True, eq=False)
class Examples:
    """Single predictions.

    Attributes:
        columns: Of their table.
        losses: Of each prediction.
        sequences: The sequence that each belongs to, by its place in the data.
        row: Makes the table's row of a prediction, by its place among the losses.
        looked_at: How many sequences were looked at.
        of: How many there are.
    """

    columns: Sequence[Column]
    losses: np.ndarray
    sequences: np.ndarray
    row: Callable[[int], Row]
    looked_at: int
    of: int

    @property
    def order(self) -> np.ndarray:
        """Places of the predictions, the highest loss first; those without a loss are left out."""
        order = np.argsort(-self.losses, kind="stable")
        return order[np.isfinite(self.losses[order]) | (self.losses[order] == np.inf)]


Opening = Callable[[int, str], str]
"""Makes a link to a sequence, by its place in the data, of the words for it."""


def examples_part(run: Run, data: Batch | SequenceData) -> Markup:
    """Show the predictions with the highest loss, and a few with the lowest; of many sequences an even selection."""
    found = find_examples(run, data)
    return paragraph("Nothing is shown for this task.") if found is None else examples_html(found)


def find_examples(run: Run, data: Batch | SequenceData, most: int = MOST_SEQUENCES) -> Examples | None:
    """Predict, and say what each prediction costs; None for a task without single predictions.

    Args:
        run: Its model predicts.
        data: Sequences with targets.
        most: Sequences that are looked at; of more an even selection.
    """
    make = _makers().get(run.task.name)
    if make is None:
        return None
    count = len(data)
    places = torch.linspace(0, count - 1, min(count, most)).long()
    found = make(run, run.task, data.select(places), _names(data, places))
    sequences = places.numpy()[found.rows]
    return Examples(found.columns, found.losses, sequences, found.row, len(places), count)


def examples_html(found: Examples, opening: Opening | None = None) -> Markup:
    """Render predictions by their loss, each with a link to its sequence where there is an `opening`."""
    order = found.order
    groups = [Group([_opened(found, int(place), opening) for place in order[:WORST]], "Highest loss")]
    if len(order) >= WORST + BEST:
        groups.append(Group([_opened(found, int(place), opening) for place in order[-BEST:]], "Lowest loss"))
    table = table_html(Table("Predictions by their loss", found.columns, groups))
    is_part = found.of > found.looked_at
    some = f"Of {found.looked_at:,} sequences out of {found.of:,}, evenly chosen." if is_part else ""
    return fragments(table, *([paragraph(some)] if some else []))


def _opened(found: Examples, place: int, opening: Opening | None) -> Row:
    first, *others = found.row(place)
    assert isinstance(first, str)
    return [first if opening is None else opening(int(found.sequences[place]), first), *others]


class _Found(NamedTuple):
    """Predictions of a batch: columns, losses, the row of the batch that each belongs to, and how it is shown."""

    columns: Sequence[Column]
    losses: np.ndarray
    rows: np.ndarray
    row: Callable[[int], Row]


def _makers() -> dict[str, Callable[[Run, Any, Batch, Sequence[str]], _Found]]:
    return {
        Classification.name: _classes,
        Tagging.name: _tags,
        NextToken.name: _tokens,
        Regression.name: _numbers,
        Forecasting.name: _windows,
    }


def _names(data: Batch | SequenceData, places: torch.Tensor) -> list[str]:
    return [str(place) if isinstance(data, Batch) else str(data.ids[place]) for place in places.tolist()]


def _class_names(run: Run, task: Task) -> list[str]:
    known = list(getattr(run.preparation, "classes", ())) or [str(number) for number in range(task.outputs)]
    return [*known, "not in training"]


def _classes(run: Run, task: Classification, batch: Batch, names: Sequence[str]) -> _Found:
    said, targets = task.predict(run.model, batch, CHUNK), task.align(batch).targets.numpy()
    classes = _class_names(run, task)
    kept = np.flatnonzero(targets != -1)
    chances = _chances(said["probabilities"][kept], targets[kept])

    def row(place: int) -> Row:
        number = int(kept[place])
        true, chosen = classes[max(targets[number], -1)], int(said["classes"][number])
        sure = said["probabilities"][number, chosen]
        return [
            names[number],
            true,
            classes[chosen],
            digits(float(sure)),
            digits(float(chances[place])),
            _loss(chances[place]),
        ]

    return _Found(_columns("Sequence", "True class", "Said"), -np.log(chances.clip(1e-300)), kept, row)


def _tags(run: Run, task: Tagging, batch: Batch, names: Sequence[str]) -> _Found:
    said, aligned = task.predict(run.model, batch, CHUNK), task.align(batch)
    assert aligned.scored is not None
    targets, classes = aligned.targets.numpy(), _class_names(run, task)
    places = np.argwhere(aligned.scored.numpy() & (said["classes"] >= 0))
    rows, steps = places[:, 0], places[:, 1]
    chances = _chances(said["probabilities"][rows, steps], targets[rows, steps])
    words = _words(run, task, batch)

    def row(place: int) -> Row:
        number, step = int(rows[place]), int(steps[place])
        chosen = int(said["classes"][number, step])
        sure = said["probabilities"][number, step, chosen]
        where = f"{names[number]}, {f'{words(number, step)} ({step + 1})' if words else f'step {step + 1}'}"
        true = classes[max(targets[number, step], -1)]
        return [where, true, classes[chosen], digits(float(sure)), digits(float(chances[place])), _loss(chances[place])]

    return _Found(_columns("Sequence and step", "True class", "Said"), -np.log(chances.clip(1e-300)), rows, row)


def _words(run: Run, task: Tagging, batch: Batch) -> Callable[[int, int], str] | None:
    if task.word is None or not isinstance(run.preparation, Preparation):
        return None
    column, word = run.preparation.maps[task.word - run.preparation.features], task.word
    return lambda row, step: column.decode([int(batch.inputs[row, step, word])])[0]


def _tokens(run: Run, task: NextToken, batch: Batch, names: Sequence[str]) -> _Found:
    count = max(1, min(len(batch), MOST_PROBABILITIES // (batch.inputs.shape[1] * task.vocab)))
    chosen = torch.linspace(0, len(batch) - 1, count).long()
    batch = batch.select(chosen)
    scores = task.score(run.model, batch, CHUNK)
    said = task.predict(run.model, batch, CHUNK)["probabilities"]
    places = np.argwhere(scores.scored.numpy())
    rows, steps = places[:, 0], places[:, 1]
    losses, ids = scores.losses_nats.numpy()[rows, steps], batch.inputs.numpy()

    def text(numbers: Sequence[int]) -> str:
        vocabulary = run.vocabulary
        tokens = [str(number) if vocabulary is None else vocabulary.token(number) for number in numbers]
        return (" " if vocabulary is None else vocabulary.gap).join(tokens)

    def row(place: int) -> Row:
        number, step = int(rows[place]), int(steps[place])
        before = text(ids[number, max(0, step + 1 - CONTEXT) : step + 1].tolist()).replace("\n", "⏎")
        true, chosen = int(ids[number, step + 1]), int(np.nanargmax(said[number, step]))
        chance, sure = said[number, step, true], said[number, step, chosen]
        shown = [text([token]).translate(VISIBLE) for token in (true, chosen)]
        return [f"…{before}", *shown, digits(float(sure)), digits(float(chance)), _loss(chance)]

    return _Found(_columns("After", "True token", "Said"), losses, chosen.numpy()[rows], row)


def _numbers(run: Run, task: Regression, batch: Batch, names: Sequence[str]) -> _Found:
    said, aligned = task.predict(run.model, batch, CHUNK)["values"], task.align(batch)
    assert aligned.scored is not None
    targets, kept = aligned.targets.double().numpy(), np.flatnonzero(aligned.scored.numpy())
    errors = np.square(said - targets)[kept].sum(axis=1)

    def row(place: int) -> Row:
        number = int(kept[place])
        shown = [" ".join(format_number(float(value)) for value in values[number]) for values in (targets, said)]
        return [names[number], *shown, format_number(float(errors[place]))]

    heads = [Column("Sequence", "left"), Column("True"), Column("Said"), Column("Squared error")]
    return _Found(heads, errors, kept, row)


def _windows(run: Run, task: Forecasting, batch: Batch, names: Sequence[str]) -> _Found:
    said = task.predict(run.model, batch, CHUNK)["rollout"]
    middle = said[..., task.quantiles.index(0.5)] if task.quantiles else said
    values = batch.inputs[..., : task.series].double().numpy()
    if task.scaling is not None:
        values = values * np.asarray(task.scaling.scale) + np.asarray(task.scaling.center)
    ends = batch.lengths.tolist()
    truth = np.stack([values[row, end - task.horizon : end] for row, end in enumerate(ends)])
    errors = np.abs(middle - truth).mean(axis=(1, 2))
    bias = (middle - truth).mean(axis=(1, 2))

    def row(place: int) -> Row:
        return [f"{names[place]}, window {place + 1}", *(format_number(float(one[place])) for one in (errors, bias))]

    heads = [
        Column("Window, in the order of the part", "left"),
        Column("Mean absolute error"),
        Column("Forecast minus truth"),
    ]
    return _Found(heads, errors, np.arange(len(errors)), row)


def _columns(where: str, true: str, said: str) -> list[Column]:
    heads = [Column(where, "left"), Column(true, "left"), Column(said, "left")]
    return [*heads, Column("Its probability"), Column("That of the true one"), Column("Loss, nats")]


def _chances(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Give the probability of each true class; 0 for one that training never saw."""
    found = probabilities[np.arange(len(targets)), targets.clip(0)]
    return np.where(targets < 0, 0.0, found)


def _loss(chance: Any) -> str:
    return "∞" if chance <= 0 else digits(float(-np.log(chance)))
