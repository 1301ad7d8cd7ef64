"""One model that read one input: the ledger of the pass, forward and backward, and the same without the edits.

Start with `play`.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Bool
from torch import Tensor, nn

from clew.errors import complain
from clew.explorer import limits
from clew.explorer.address import WHERE, Address
from clew.explorer.edits.parsing import Draft, apply_edits, parse_edit
from clew.explorer.faults import ExplorerError
from clew.explorer.sources import Source
from clew.ledger import Ledger
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder
from clew.report.subject import Subject
from clew.report.trace import Trace, checked_line, run_trace

NO_LOSS = "There is nothing to predict here: no loss, no backward pass and no sensitivities."


@dataclass(frozen=True, eq=False)
class Scene:
    """What the views show.

    Attributes:
        address: Where it is shown.
        source: Where the model came from.
        subject: The model and what it read, after the edits.
        trace: The recorded pass, with its loss and its backward pass where the task gives one.
        row: Which row of the batch is shown.
        visible: What the model was told that a query may read, besides its own rules; None if nothing.
        base: The same without edits; None where there are no edits.
        notes: What a reader must know about how it was made, a sentence each.
        checked: How far the ledger lies from what ran, in words; measured once, since it looks at every number.
    """

    address: Address
    source: Source
    subject: Subject
    trace: Trace
    row: int
    visible: Bool[Tensor, "query source"] | None = None
    base: "Scene | None" = None
    notes: Sequence[str] = ()
    checked: str = ""

    @property
    def ledger(self) -> Ledger:
        """Every quantity of the pass."""
        return self.trace.ledger

    @property
    def tokens(self) -> list[str]:
        """A label for each step that the model read in the row."""
        return self.trace.tokens(self.row)

    @property
    def has_backward(self) -> bool:
        """Whether there is a loss, and the sensitivities that its backward pass computes."""
        return self.trace.loss_nats is not None

    @property
    def is_causal(self) -> bool:
        """Whether the model by itself reads no later step."""
        encoder = self.subject.model.encoder
        return encoder.causal if isinstance(encoder, TransformerEncoder) else not encoder.bidirectional

    def at(self, address: Address) -> "Scene":
        """Give the same scene at another address that asks for the same numbers."""
        return replace(self, address=address)


def play(address: Address, source: Source, subject: Subject, base: Scene | None) -> Scene:
    """Run a model on what it reads, after the edits of the address.

    Args:
        address: Of the page.
        source: Where the model came from.
        subject: The model and what it reads, without edits; not changed.
        base: The scene without edits; None where there are no edits.

    Raises:
        ExplorerError: If there is no such row, or what is read is too large.
        ClewError: If an edit cannot be made.
    """
    row = _row_in(subject, address.row)
    words = [list(labels) for labels in subject.words]
    model = deepcopy(subject.model).eval()
    draft = Draft(model, words, subject.batch, subject.task, subject.vocabulary, subject.unit)
    apply_edits(draft, address.edits, row)
    if draft.visible is not None:
        tell_visibility(draft.model, draft.visible)
    edited = replace(
        subject, model=draft.model, words=draft.words, batch=draft.batch, task=draft.task, vocabulary=draft.vocabulary
    )
    require_small(edited)
    _require_unpacked(edited)
    has_loss = _is_scored(edited)
    notes = [] if has_loss else [NO_LOSS]
    if base is not None:
        notes += [remark for edit in address.edits for remark in parse_edit(edit).remarks(base.subject)]
    trace = run_trace(edited, has_loss)
    return Scene(address, source, edited, trace, row, draft.visible, base, notes, checked_line(trace))


def tell_visibility(model: nn.Module, visible: Tensor) -> None:
    """Let a model read, from now on, only what `visible` allows, besides its own rules."""

    def insert(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return given, named if named.get("visible") is not None else {**named, "visible": visible}

    model.register_forward_pre_hook(insert, with_kwargs=True)


def _row_in(subject: Subject, row: int) -> int:
    """Find the row of the batch: a run is given the one that was asked for, alone."""
    rows = len(subject.words)
    if rows > 1 and row >= rows:
        raise ExplorerError(complain(WHERE, "row", f"in [0, {rows}), a line of the text", row), 404)
    return row if rows > 1 else 0


def _is_scored(subject: Subject) -> bool:
    """Say whether every row has something to predict."""
    batch = subject.batch
    if subject.is_shifted and (batch.inputs.shape[1] < 2 or bool((batch.lengths < 2).any())):
        return False
    return subject.task.scored_targets(batch) > 0


def _require_unpacked(subject: Subject) -> None:
    """Refuse packed documents before a recurrence, which reads each as a row of its own: no step is where it stood."""
    if subject.batch.documents is not None and isinstance(subject.model.encoder, RecurrentEncoder):
        got, remedy = "a row that packs several", "Give one of them alone, as a text."
        raise ExplorerError(complain(WHERE, "what a recurrent model reads", "one document", got, remedy))


def require_small(subject: Subject) -> None:
    """Refuse a model or an input that takes too long or too much memory.

    Raises:
        ExplorerError: If it does.
    """
    steps, rows = max(map(len, subject.words)), len(subject.words)
    unit = "patche" if subject.unit == "patch" else subject.unit
    if steps > limits.MOST_STEPS:
        rule, remedy = f"at most {limits.MOST_STEPS} {unit}s long", "Shorten the text, or choose another row."
        raise ExplorerError(complain(WHERE, "what is read", rule, steps, remedy), 413)
    if rows > limits.MOST_ROWS:
        raise ExplorerError(complain(WHERE, "text", f"at most {limits.MOST_ROWS} lines", rows, "Leave some out."), 413)
    found, pairs = rows * subject.model.multiply_adds(steps), rows * pairs_of(subject, steps)
    if found > limits.MOST_MULTIPLY_ADDS or pairs > limits.MOST_PAIRS:
        rule = f"at most {limits.MOST_MULTIPLY_ADDS:,} multiply-adds and {limits.MOST_PAIRS:,} pairs of positions"
        remedy = "Shorten what is read, or choose a smaller model."
        raise ExplorerError(complain(WHERE, "a pass", rule, f"{found:,} and {pairs:,}", remedy), 413)


def pairs_of(subject: Subject, steps: int) -> int:
    """Count the pairs of a query and a source, over layers and heads, in one row."""
    encoder = subject.model.encoder
    if not isinstance(encoder, TransformerEncoder):
        return 0
    heads = sum(getattr(getattr(block, "attention", None), "heads", 1) for block in encoder.blocks)
    return heads * steps**2
