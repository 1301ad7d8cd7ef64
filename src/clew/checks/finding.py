"""What one check has to say: passed, failed or not applicable, with the evidence.

A `Finding` is plain data. The checks make them, `clew.checks.report` shows them, and nothing here knows a model.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["passed", "failed", "not applicable"]


@dataclass(frozen=True)
class Counterexample:
    """The smallest change found that moves what it must not move.

    Attributes:
        row: Row of the batch whose output moved.
        changed: Step, row or entry that was changed, in words or as an index.
        moved: Index of the output that moved along its time axis; None where outputs have none.
        before: Value of the coordinate that moved most, before the change.
        after: The same coordinate afterwards.
        before_input: What stood at the changed place.
        after_input: What stands there now.
    """

    row: int
    changed: int | str
    moved: int | None
    before: float
    after: float
    before_input: Any = None
    after_input: Any = None


@dataclass(frozen=True)
class Place:
    """Where on the way through a module a difference first shows.

    Attributes:
        module: Name of the first submodule, in the order in which they finish, whose visible output moved.
        kind: Its class.
        call: Which of its calls, from 1; a module may be used several times.
        calls: How often it was called.
        arises_in: Innermost module around it whose input had not moved yet; "" is the model itself. Where this is
            another one, the difference arises in that module's own code, before `module` is reached.
    """

    module: str
    kind: str
    call: int
    calls: int
    arises_in: str

    @property
    def text(self) -> str:
        """Say the place in one line."""
        again = f", call {self.call} of {self.calls}" if self.calls > 1 else ""
        first = f"{self.module or 'the model itself'} ({self.kind}{again})"
        if self.arises_in == self.module:
            return first
        return f"{first}, whose input had moved before: look in {self.arises_in or 'the model itself'}"


@dataclass(frozen=True)
class Finding:
    """The verdict of one check.

    Attributes:
        name: The check, as in `clew.checks.CHECKS`.
        status: "passed", "failed" or "not applicable".
        reason: Why, in a sentence; what usually causes it, if it failed.
        changed: What was changed.
        moved: What moved, or what stayed where it was.
        movement: Largest movement of what must not move, in units of the outputs; None if nothing was measured.
        floor: Rounding floor that was measured; movements above it count.
        movement_as_given: The same movement in the model's own number type, where `movement` was measured in float64.
        counterexample: The smallest one found.
        place: First submodule whose visible output moved.
        setting: The mode or case in which it was found, if not plain evaluation.
        remarks: What is worth knowing and is no fault.
    """

    name: str
    status: Status
    reason: str
    changed: str = ""
    moved: str = ""
    movement: float | None = None
    floor: float | None = None
    movement_as_given: float | None = None
    counterexample: Counterexample | None = None
    place: Place | None = None
    setting: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def module(self) -> str | None:
        """Name of the first submodule whose output moved, if it is known."""
        return None if self.place is None else self.place.module

    @property
    def text(self) -> str:
        """Say the finding in a few lines."""
        lines = [f"{self.name}: {self.reason}"]
        if self.counterexample is not None:
            lines.append(f"  smallest example: {_example_text(self.counterexample)}")
        if self.movement is not None and self.floor is not None:
            lines.append(f"  moved by {self.movement:.3g}, rounding floor {self.floor:.2g}")
        if self.place is not None:
            lines.append(f"  first submodule that moved: {self.place.text}")
        return "\n".join([*lines, *(f"  remark: {remark}" for remark in self.remarks)])

    def to_dict(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return asdict(self)


def _example_text(example: Counterexample) -> str:
    where = f"row {example.row}" + ("" if example.moved is None else f", output {example.moved}")
    values = f"{example.before:.6g} became {example.after:.6g}"
    step = f"step {example.changed}" if isinstance(example.changed, int) else example.changed
    inputs = "" if example.before_input is None else f" from {example.before_input} to {example.after_input}"
    return f"changing {step}{inputs} moved {where}: {values}"


def passed(name: str, reason: str, **details: Any) -> Finding:
    """Make a finding of a check that touched what it should and saw nothing wrong."""
    return Finding(name, "passed", reason, **details)


def failed(name: str, reason: str, **details: Any) -> Finding:
    """Make a finding of a fault."""
    return Finding(name, "failed", reason, **details)


def not_applicable(name: str, reason: str, **details: Any) -> Finding:
    """Make a finding of a check that had nothing to change, or could not judge."""
    return Finding(name, "not applicable", reason, **details)
