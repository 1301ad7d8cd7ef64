"""One text through one model, looked at with the ledger: a summary, the quantities, and matrices of the chosen ones.

Start with `run_trace`; `trace_text` prints it, `trace_json` and `trace_page` are the same for programs and browsers.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from markupsafe import Markup

import clew.ledger
from clew.errors import ConfigError, LedgerError, complain, did_you_mean
from clew.ledger import Ledger
from clew.ledger.export import quantities_json
from clew.ledger.page import ledger_page
from clew.ledger.quantity import Quantity
from clew.ledger.tables import WIDTH, quantities_text, quantity_text
from clew.rendering.numbers import format_nats, format_number
from clew.rendering.page import Section, fragments, paragraph
from clew.report.subject import Subject, count_of
from clew.report.trace_paths import StepTable, step_tables, steps_html, steps_text
from clew.tasks import Forecasting, NextToken, Regression

SENSITIVITY = ".sensitivity"
USUAL = (
    "*.state",
    "*.update_gate",
    "*.forget_gate",
    "*.cell",
    "*.attention.weights",
    "loss.per_position",
)


@dataclass(frozen=True, eq=False)
class Trace:
    """A recorded pass.

    Attributes:
        subject: Model and text.
        ledger: What was recorded.
        loss_nats: The task's loss, of the next token where there is no other task; None without a backward pass. In
            nats, but for numbers that are predicted.
    """

    subject: Subject
    ledger: Ledger
    loss_nats: float | None

    def tokens(self, row: int) -> list[str]:
        """Give the words that the model read in a row; the last one is only predicted if there is a loss."""
        words = self.subject.words[row]
        return words[:-1] if self.loss_nats is not None and self.subject.is_shifted else words

    def require(self, row: int, step: int | None) -> None:
        """Check a choice of row and step.

        Raises:
            ConfigError: If there is no such row or step.
        """
        rows = len(self.subject.words)
        if not 0 <= row < rows:
            raise ConfigError(complain("clew trace", "--row", f"in [0, {rows}), a line of the text", row))
        steps = len(self.tokens(row))
        if step is not None and not 0 <= step < steps:
            unit = self.subject.unit
            read = f"; the last {unit} is only predicted" if steps < len(self.subject.words[row]) else ""
            raise ConfigError(complain("clew trace", "--step", f"in [0, {steps}), a {unit} that is read{read}", step))


def run_trace(subject: Subject, backward: bool) -> Trace:
    """Run the model once under the ledger; with `backward`, the task's loss and its backward pass too."""
    model = subject.model
    with clew.ledger.record(model) as ledger:
        if backward:
            loss = subject.task.loss(model, subject.batch)
            loss.backward()
        else:
            loss, read = None, subject.reading
            given = {"valid": read.valid, "documents": read.documents}
            model(read.inputs, **{name: part for name, part in given.items() if part is not None})
    return Trace(subject, ledger, None if loss is None else loss.item())


def choose(ledger: Ledger, patterns: Sequence[str], has_backward: bool) -> list[Quantity]:
    """Find quantities by name, by the end of a name or by pattern, in the order of computation.

    Raises:
        LedgerError: If a pattern fits nothing, with the nearest name, or names a sensitivity that is not computed.
    """
    names = ledger.names()
    chosen: set[str] = set()
    for pattern in patterns:
        wanted = pattern.removesuffix(SENSITIVITY)
        fitting = [name for name in names if fnmatchcase(name, wanted) or fnmatchcase(name, f"*.{wanted}")]
        if not fitting:
            remedy = _nearest(wanted, names)
            raise LedgerError(complain("clew trace", "--show", "the name of a quantity", f"'{pattern}'", remedy))
        if wanted != pattern and not has_backward:
            remedy = "Add --backward."
            raise LedgerError(complain(fitting[0], "sensitivity", "computed before it is shown", "none yet", remedy))
        chosen.update(fitting)
    return [ledger.quantity(name) for name in names if name in chosen]


def _nearest(wanted: str, names: Sequence[str]) -> str:
    """Suggest a whole name, or the end of one."""
    ends = {name.rpartition(".")[2] for name in names}
    return did_you_mean(wanted, names if "." in wanted else ends)


def trace_text(trace: Trace, show: Sequence[str], row: int, step: int | None) -> str:
    """Write a trace in at most 100 columns.

    Args:
        trace: What ran.
        show: Which quantities are shown as matrices; a usual few if there are none.
        row: Of the batch.
        step: The only step that the matrices show; None for all.
    """
    tokens, has_backward = trace.tokens(row), trace.loss_nats is not None
    if show:
        chosen = choose(trace.ledger, show, has_backward)
    else:
        usual = [pattern for pattern in USUAL if any(fnmatchcase(name, pattern) for name in trace.ledger)]
        chosen = choose(trace.ledger, usual, has_backward)
    parts = [
        "\n".join(textwrap.wrap(f"{summary_line(trace)}; {checked_line(trace)}.", WIDTH, break_on_hyphens=False)),
        quantities_text(trace.ledger.quantities()),
    ]
    parts += ["\n".join(steps_text(table)) for table in _steps(trace, row)]
    parts += [_shown(trace, quantity, row, step, tokens) for quantity in chosen]
    return "\n\n".join(parts)


def _shown(trace: Trace, quantity: Quantity, row: int, step: int | None, tokens: Sequence[str]) -> str:
    one = quantity.at(batch=row) if "batch" in quantity.axes else quantity
    is_in_steps = quantity.name.endswith(".state")  # the table along time has its parts
    words = quantity_text(one, tokens, step, has_parts=not is_in_steps)
    if step is None or not {"time", "query"} & set(one.axes):
        return words
    places = {axis: step if axis in ("time", "query") else 0 for axis in one.axes}
    places |= {"batch": row} if "batch" in quantity.axes else {}
    where = ", ".join(f"{axis} {place}" for axis, place in places.items() if axis not in ("batch", "one"))
    told = trace.ledger.explain(quantity.name, **places).split("\n")
    wrapped = [
        line for part in told for line in textwrap.wrap(part, WIDTH, initial_indent="    ", subsequent_indent=" " * 8)
    ]
    return "\n".join([words, "", f"  in words, {where}", *wrapped])


def summary_line(trace: Trace) -> str:
    """Say in a line what ran."""
    subject = trace.subject
    count, rows = sum(map(len, subject.words)), len(subject.words)
    read = count_of(count, subject.unit) + (f" in {rows} rows" if rows > 1 else "")
    return f"{subject.description}; {read}{_loss_words(trace)}"


def _loss_words(trace: Trace) -> str:
    if trace.loss_nats is None:
        return ""
    task = trace.subject.task
    if isinstance(task, Forecasting | Regression):
        return f"; loss {format_number(trace.loss_nats)}"
    return f"; {'next-token loss' if isinstance(task, NextToken) else 'loss'} {format_nats(trace.loss_nats)}"


def checked_line(trace: Trace) -> str:
    """Say in a line what was recorded, and how far it lies from what ran."""
    furthest = max((one.relative for one in trace.ledger.distances), default=0.0)
    return f"{len(trace.ledger)} quantities, checked against what ran: {format_number(furthest, 1)} apart at most"


def trace_json(trace: Trace, show: Sequence[str]) -> dict[str, Any]:
    """Describe a trace by plain values: model, words and loss, and the ledger as `clew.ledger.export` has it."""
    chosen = choose(trace.ledger, show, trace.loss_nats is not None) if show else trace.ledger.quantities()
    return {
        "model": trace.subject.description,
        "vocabulary": list(trace.subject.vocabulary),
        "rows": trace.subject.words,
        "loss_nats": trace.loss_nats,
        **quantities_json(chosen, trace.ledger.distances),
    }


def trace_page(trace: Trace, show: Sequence[str], row: int) -> str:
    """Render a trace as one page; all quantities, or the chosen ones."""
    chosen = choose(trace.ledger, show, trace.loss_nats is not None) if show else trace.ledger.quantities()
    tables = _steps(trace, row)
    content = fragments(*(steps_html(table) for table in tables))
    along = [Section("Sensitivity along time", "along-time", content)] if tables else []
    subject = trace.subject
    shown = f"{subject.title}." if subject.title else f"“{' '.join(subject.words[row])}”"
    lead: Markup = fragments(paragraph(shown), paragraph(f"{summary_line(trace)}."))
    title = "A sequence through a model" if subject.title else "A text through a model"
    return ledger_page(chosen, trace.ledger.distances, row, trace.tokens(row), title, lead, along)


def _steps(trace: Trace, row: int) -> list[StepTable]:
    return [] if trace.loss_nats is None else step_tables(trace.ledger, row, trace.tokens(row))
