"""Loss and predictions of two passes side by side.

Probabilities and losses of single steps are the ledger's where it has them; of other tasks the task gives its
predictions in their own units. Start with `predictions_html`.
"""

from collections.abc import Sequence
from math import isfinite

import torch
from markupsafe import Markup
from torch import Tensor

from clew.explorer.change.moved import Sides
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.ledger.grids import cut_words, window
from clew.rendering.colours import diverging
from clew.rendering.numbers import Value, format_fraction, format_nats, format_number, format_signed
from clew.rendering.page import definitions, fragments, paragraph
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html
from clew.tasks import Forecasting, NextToken, Regression

MOST_ROWS = 24
PROBABILITIES, PER_POSITION = "loss.probabilities", "loss.per_position"


def predictions_html(first: Scene, second: Scene, sides: Sides, studio: Studio) -> Markup:
    """Show the loss of two passes, and what each predicts."""
    parts = [_losses(first, second, sides)]
    if all(PROBABILITIES in scene.ledger for scene in (first, second)):
        parts.append(_class_table(first, second, sides))
    else:
        with studio.lock:  # while a pass is recorded elsewhere, what runs here must not be heard
            values = [_values(scene) for scene in (first, second)]
        if values[0] is not None and values[1] is not None and values[0].shape == values[1].shape:
            parts.append(_value_table(values[0], values[1], sides))
    return fragments(*parts)


def _losses(first: Scene, second: Scene, sides: Sides) -> Markup:
    ones = [scene.trace.loss_nats for scene in (first, second)]
    if ones[0] is None or ones[1] is None:
        return paragraph("There is no loss: what is read is too short to predict anything.")
    is_nats = not isinstance(second.subject.task, Forecasting | Regression)
    write = format_nats if is_nats else format_number
    change = ones[1] - ones[0]
    told = format_signed(change) if change else "0, exactly equal"
    unit = " nats" if is_nats and isfinite(change) and change else ""
    pairs = [
        (f"Loss {sides.first}", write(ones[0])),
        (f"Loss {sides.second}", write(ones[1])),
        ("Change", f"{told}{unit}"),
    ]
    return definitions(pairs)


def _class_table(first: Scene, second: Scene, sides: Sides) -> Markup:
    """Show for each scored step the target, the most probable class and the loss, in both passes."""
    ones = [_Predictions(scene) for scene in (first, second)]
    steps = [step for step in range(min(one.count for one in ones)) if any(one.is_scored(step) for one in ones)]
    shown = window(len(steps), MOST_ROWS)
    changes = [_change(ones[0].loss(step), ones[1].loss(step)) for step in steps]
    scale = diverging(changes)
    rows: list[Row] = []
    for place in shown:
        if place is None:
            rows.append(["…", *[""] * 6])
            continue
        step = steps[place]
        rows.append(_class_row(ones, step, changes[place], scale.classes_of([changes[place]])[0]))
    columns = [
        Column("step", "left"),
        Column("target", "left"),
        Column(f"most probable {sides.first}", "left"),
        Column(f"most probable {sides.second}", "left"),
        Column(f"loss {sides.first}"),
        Column(f"loss {sides.second}"),
        Column("change"),
    ]
    cut = cut_words("step", shown, len(steps))
    notes = [f"Loss of a step: -log of the target's probability, in nats.{f' {cut}.' if cut else ''}"]
    return table_html(
        Table(f"Predictions step by step, {sides.first} and {sides.second}", columns, [Group(rows)], notes)
    )


def _change(first: float | None, second: float | None) -> Value:
    return None if first is None or second is None else second - first


def _class_row(ones: "Sequence[_Predictions]", step: int, change: Value, css_class: str) -> Row:
    first, second = ones
    targets = [one.target(step) for one in ones]
    target = targets[0] if targets[0] == targets[1] else f"{targets[0]} → {targets[1]}"
    losses = [one.loss(step) for one in ones]
    moved = first.best(step)[0] != second.best(step)[0]
    return [
        second.label(step),
        target,
        first.best_words(step),
        Cell((f"{second.best_words(step)}, another",), "strong") if moved else second.best_words(step),
        *("not scored" if loss is None else format_number(loss) for loss in losses),
        "" if change is None else Cell((format_signed(change),), css_class=css_class),
    ]


class _Predictions:
    """The class probabilities of the shown row of a scene, step by step."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.probabilities = scene.ledger.quantity(PROBABILITIES).value[scene.row]
        self.losses = scene.ledger.quantity(PER_POSITION).value[scene.row]
        aligned = scene.subject.task.align(scene.subject.batch)
        self.targets = aligned.targets[scene.row].reshape(-1)
        self.scored = None if aligned.scored is None else aligned.scored[scene.row].reshape(-1)
        self.count = min(len(self.probabilities), len(self.targets))

    def is_scored(self, step: int) -> bool:
        return self.scored is None or bool(self.scored[step])

    def name(self, number: int) -> str:
        words = self.scene.subject.vocabulary
        is_word = isinstance(self.scene.subject.task, NextToken) and number < len(words)
        return words[number] if is_word else f"class {number}"

    def label(self, step: int) -> str:
        labels = self.scene.tokens
        if self.count == 1 and len(labels) > 1:
            return "the whole"
        return f"{step} {labels[step]}".strip() if step < len(labels) else f"{step} padding"

    def target(self, step: int) -> str:
        return self.name(int(self.targets[step])) if self.is_scored(step) else "not scored"

    def loss(self, step: int) -> float | None:
        return self.losses[step].item() if self.is_scored(step) else None

    def best(self, step: int) -> tuple[int, float]:
        row = self.probabilities[step]
        if bool(row.isnan().any()):
            return -1, float("nan")
        return int(row.argmax()), row.max().item()

    def best_words(self, step: int) -> str:
        number, probability = self.best(step)
        return "NaN" if number < 0 else f"{self.name(number)} ({format_fraction(probability)})"


def _values(scene: Scene) -> Tensor | None:
    """Predict again, through the task: values in their own units, or probabilities that its loss does not record."""
    predicted = scene.subject.task.predict(scene.subject.model, scene.subject.batch)
    for name in ("values", "one_step", "probabilities"):
        if name in predicted:
            return torch.as_tensor(predicted[name])[scene.row]
    return None


def _value_table(first: Tensor, second: Tensor, sides: Sides) -> Markup:
    flat = [part.reshape(-1).tolist() for part in (first, second)]
    shown = window(len(flat[0]), MOST_ROWS)
    changes = [other - one for one, other in zip(*flat, strict=True)]
    classes = diverging(changes).classes_of(changes)
    rows: list[Row] = []
    for place in shown:
        if place is None:
            rows.append(["…", "", "", ""])
            continue
        change = Cell((format_signed(changes[place]),), css_class=classes[place])
        rows.append([str(place), format_number(flat[0][place]), format_number(flat[1][place]), change])
    cut = cut_words("prediction", shown, len(flat[0]))
    columns = [Column("prediction", "left"), Column(sides.first), Column(sides.second), Column("change")]
    return table_html(
        Table(f"Predictions, {sides.first} and {sides.second}", columns, [Group(rows)], [cut] if cut else [])
    )
