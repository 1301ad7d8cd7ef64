"""What edits moved in attention and after it: cells, queries, outputs and gradients, by more than rounding.

Everything is a comparison of two recorded passes, with the edits and without. Start with `Moves`.
"""

from collections.abc import Sequence

from jaxtyping import Bool
from markupsafe import Markup
from torch import Tensor

from clew.explorer.attention.choice import Choice, layer_words, left_out_words, window_around
from clew.explorer.attention.comparison import Comparison
from clew.explorer.attention.reading import AttentionReading, Stage, attention_layers
from clew.explorer.scene import Scene
from clew.ledger.quantity import Quantity
from clew.rendering.markup import joined
from clew.rendering.numbers import format_number, format_signed
from clew.rendering.page import paragraph, subsection
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html

MOST_QUERIES = 24
MOST_NAMED = 6
SAME = "same"
BRANCHES = ("attention_branch", "mlp_sum")
"""What leaves attention, and the sum behind the MLP."""
AFTER = ("final_norm.output", "head.linear.output", "loss.loss")
"""What is told besides the layers: what leaves the encoder, the logits, the loss."""


class Moves:
    """Compares a scene with the same scene without edits, each array once."""

    def __init__(self, scene: Scene, choice: Choice) -> None:
        self.scene, self.base, self.choice = scene, scene.base, choice
        self._known: dict[tuple[str, bool], Comparison | None] = {}

    def of(self, name: str, is_sensitivity: bool) -> Comparison | None:
        """Compare a quantity of the row, or its sensitivity; None where one of the two passes has none."""
        key = (name, is_sensitivity)
        if key not in self._known:
            self._known[key] = self._compare(name, is_sensitivity)
        return self._known[key]

    def _compare(self, name: str, is_sensitivity: bool) -> Comparison | None:
        if self.base is None or name not in self.base.ledger:
            return None
        now, before = at_row(self.scene, name), at_row(self.base, name)
        if now.shape != before.shape or not now.value.is_floating_point():
            return None
        if is_sensitivity and not (now.has_sensitivity and before.has_sensitivity):
            return None
        if is_sensitivity:
            return Comparison.of(now.sensitivity, before.sensitivity, now.axes)
        return Comparison.of(now.value, before.value, now.axes)

    def cells(self, stage: Stage) -> Bool[Tensor, "heads query source"] | None:
        """Say which cells of a stage an edit moved, hid or showed; None without edits."""
        reading, twin = self.choice.reading, self.choice.twin
        if twin is None:
            return None
        if stage.key == "contributions":
            found = Comparison.of(reading.values(stage), twin.values(stage), ()).moved
        else:
            compared = self.of(f"{reading.layer}.{stage.quantity}", is_sensitivity=False)
            if compared is None:
                return None
            found = compared.moved
        return self._seen(found) if stage.is_hidden else found

    def sensitivities(self, stage: Stage) -> Bool[Tensor, "heads query source"] | None:
        """Likewise for the sensitivities of a stage."""
        if self.choice.twin is None:
            return None
        compared = self.of(f"{self.choice.reading.layer}.{stage.quantity}", is_sensitivity=True)
        if compared is None:
            return None
        return self._seen(compared.moved) if stage.is_hidden else compared.moved

    def _seen(self, moved: Tensor) -> Tensor:
        """Leave out what is hidden in both passes, and count what was hidden in one of them."""
        twin = self.choice.twin
        assert twin is not None
        now, before = self.choice.reading.hidden, twin.hidden
        return (moved & ~(now & before)) | (now != before)

    @property
    def hidden_in_both(self) -> Bool[Tensor, "query source"] | None:
        """The cells that no pass reads."""
        twin = self.choice.twin
        return None if twin is None else self.choice.reading.hidden & twin.hidden


def moves_html(moves: Moves) -> Markup:
    """Say what the edits changed: quantity by quantity, then query by query in the chosen layer."""
    if moves.base is None:
        words = "Nothing is edited, so there is nothing to compare. Choose another visibility, or hide a cell."
        return paragraph(words)
    parts: list[Markup] = [subsection("What the edits moved"), _quantities_html(moves, moves.base)]
    if moves.choice.twin is not None:
        parts.append(_queries_html(moves, moves.choice.twin))
    return joined(parts)


def _quantities_html(moves: Moves, base: Scene) -> Markup:
    columns = [
        Column("quantity", "left"),
        Column("values moved at", "left", wraps=True),
        Column("by up to"),
        Column("sensitivities moved at", "left", wraps=True),
        Column("by up to"),
    ]
    scene = moves.scene
    groups: list[Group] = []
    for layer in attention_layers(scene.ledger):
        names = [f"{layer}.{end}" for end in ("scaled_scores", "weights", "context")]
        names += [f"{block_of(layer)}.{end}" for end in BRANCHES]
        rows = [_quantity_row(moves, name, name.rpartition(".")[2]) for name in names if name in scene.ledger]
        groups.append(Group([*rows, *_gradient_rows(scene, base, layer)], layer_words(layer)))
    rows = [_quantity_row(moves, name, name) for name in scene.ledger.names() if name.endswith(AFTER)]
    groups.append(Group(rows, "after the blocks"))
    notes = [f"{SAME}: equal to rounding; by up to: the largest change, with its sign"]
    notes += ["sensitivity: the loss's derivative with respect to the quantity, or to the weight"]
    return table_html(Table("Against the same model and input without the edits", columns, groups, notes))


def _quantity_row(moves: Moves, name: str, words: str) -> Row:
    steps = _step_words(moves.choice.reading, at_row(moves.scene, name))
    skipped = moves.hidden_in_both if name.endswith("scores") else None
    found = [moves.of(name, is_sensitivity) for is_sensitivity in (False, True)]
    return [words, *(part for one in found for part in _told(one, steps, skipped))]


def _told(found: Comparison | None, steps: Sequence[str], skipped: Tensor | None = None) -> tuple[str | Cell, str]:
    """Write at which steps an array moved, and by how much at most."""
    if found is None:
        return Cell(("not computed",), "muted"), ""
    found = found if skipped is None else found.without(skipped)
    if not bool(found.moved.any()):
        return Cell((SAME,), "muted"), ""
    by, places = format_signed(found.largest), found.steps
    if places is None:
        return "moved", by
    if len(places) == len(steps) > 1:
        return f"all {len(steps)} steps", by
    named = [f"{step} {steps[step]}".strip() for step in places[:MOST_NAMED]]
    rest = len(places) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else ""), by


def block_of(layer: str) -> str:
    """Name the block around an attention layer."""
    return layer.rpartition(".")[0]


def at_row(scene: Scene, name: str) -> Quantity:
    """Give a quantity of the row that is shown."""
    quantity = scene.ledger.quantity(name)
    return quantity.at(batch=scene.row) if "batch" in quantity.axes else quantity


def _step_words(reading: AttentionReading, quantity: Quantity) -> list[str]:
    """Give a word for each step of a quantity; none where it has no steps."""
    axis = next((name for name in ("query", "time") if name in quantity.axes), None)
    count = 0 if axis is None else quantity.shape[quantity.axes.index(axis)]
    return reading.words if count == len(reading.words) else [""] * count


def _gradient_rows(scene: Scene, base: Scene, layer: str) -> list[Row]:
    """Compare the weights of a layer, which only an edit of one moves, and their gradients."""
    now, before = (dict(one.subject.model.named_parameters()) for one in (scene, base))
    rows: list[Row] = []
    for name, parameter in now.items():
        other = before.get(name)
        if not name.startswith(f"{layer}.") or other is None or other.shape != parameter.shape:
            continue
        told = _told(Comparison.of(parameter.detach(), other.detach(), ()), ())
        first, second = parameter.grad, other.grad
        compared = None if first is None or second is None else Comparison.of(first, second, ())
        rows.append([name.removeprefix(f"{layer}."), *told, *_told(compared, ())])
    return rows


def _queries_html(moves: Moves, twin: AttentionReading) -> Markup:
    """Compare query by query: what each reads, its weights, its context, its output, and their sensitivities."""
    choice, reading = moves.choice, moves.choice.reading
    shown = window_around(reading.queries, MOST_QUERIES, choice.query)
    columns = [Column("query", "left"), Column("sources it reads"), Column("weights"), Column("context")]
    columns += [Column("attention branch"), Column("dL/d weights"), Column("dL/d context"), Column("dL/d branch")]
    names = [f"{reading.layer}.weights", f"{reading.layer}.context", f"{block_of(reading.layer)}.attention_branch"]
    found = [moves.of(name, is_sensitivity) for is_sensitivity in (False, True) for name in names]
    norms = [None if one is None else one.norms for one in found]
    rows: list[Row] = []
    for query in shown:
        if query is None:
            rows.append(["…", *("" for _ in columns[1:])])
            continue
        now, before = reading.reads(query), twin.reads(query)
        reads = Cell((f"{now}",), "muted") if now == before else Cell((f"{before} → {now}",), "strong")
        rows.append([choice.word(query), reads, *(_norm_cell(one, query) for one in norms)])
    notes = [f"norm of the change of each, over all heads; {SAME}: equal to rounding"]
    notes += [left_out_words("queries", shown, reading.queries)]
    caption = f"Query by query in {choice.layer_words}: how far each moved"
    return table_html(Table(caption, columns, [Group(rows)], [note for note in notes if note]))


def _norm_cell(norms: Sequence[float | None] | None, query: int) -> Cell:
    if norms is None:
        return Cell(("not computed",), "muted")
    norm = norms[query]
    return Cell((SAME,), "muted") if norm is None else Cell((format_number(norm),), "strong")
