"""What one check has to say: passed, failed or not applicable, with the evidence.

A `Finding` is plain data. The checks make them, `clew.checks.report` shows them, and nothing here knows a model.
"""

import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from clew.checks.advice import advice_for
from clew.rendering.numbers import format_number

Status = Literal["passed", "failed", "not applicable"]
_CAUSES = re.compile(r"\.? Usual causes?: ")


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

    @property
    def source(self) -> str:
        """Name what was changed."""
        return f"step {self.changed}" if isinstance(self.changed, int) else self.changed

    @property
    def target(self) -> str:
        """Name what moved."""
        return f"row {self.row}" if self.moved is None else f"output {self.moved} of row {self.row}"

    @property
    def text(self) -> str:
        """Say the example in one line."""
        before, after = values_words(self.before, self.after)
        if self.before_input is None:
            return f"changing {self.source} moved {self.target} from {before} to {after}"
        old, new = values_words(self.before_input, self.after_input)
        return f"changing {self.source} from {old} to {new} moved {self.target} from {before} to {after}"


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
        return f"{self.first}, whose input had moved before: look in {self.origin}" if self.origin else self.first

    @property
    def first(self) -> str:
        """Name the first submodule that moved, its class, and which of its calls."""
        again = f", call {self.call} of {self.calls}" if self.calls > 1 else ""
        return f"{self.module or 'the model itself'} ({self.kind}{again})"

    @property
    def origin(self) -> str:
        """Name the module in whose own code the difference arises; "" if that is the first that moved."""
        return "" if self.arises_in == self.module else self.arises_in or "the model itself"


@dataclass(frozen=True)
class Finding:
    """The verdict of one check.

    Attributes:
        name: The check, as in `clew.checks.CHECKS`.
        status: "passed", "failed" or "not applicable".
        reason: Why, in a sentence.
        changed: What was changed.
        moved: What moved, or what stayed where it was.
        movement: Largest movement of what must not move, in units of the outputs; None if nothing was measured.
        floor: Rounding floor that was measured; movements above it count.
        movement_as_given: The same movement in the model's own number type, where `movement` was measured in float64.
        counterexample: The smallest one found.
        place: First submodule whose visible output moved.
        setting: The mode or case in which it was found, if not plain evaluation.
        remarks: What is worth knowing and is no fault.
        causes: What usually causes a fault like this one, where it failed.
        remedy: What to do about it, where it failed.
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
    causes: str = ""
    remedy: str = ""

    @property
    def module(self) -> str | None:
        """Name of the first submodule whose output moved, if it is known."""
        return None if self.place is None else self.place.module

    @property
    def text(self) -> str:
        """Say the finding in a few lines."""
        lines = [f"{self.name}: {self.reason}", *(f"  {term}: {words}" for term, words in self.evidence)]
        return "\n".join(lines)

    @property
    def evidence(self) -> list[tuple[str, str]]:
        """List what there is to say about the finding, each with what it is."""
        pairs = [("found in", self.setting)]
        if self.counterexample is not None:
            pairs.append(("smallest example", self.counterexample.text))
        pairs.append(("moved by", movement_words(self)))
        if self.place is not None:
            pairs.append(("first submodule that moved", self.place.first))
            pairs.append(("arises before it, in the code of", self.place.origin))
        pairs += [("usual causes", self.causes), ("remedy", self.remedy)]
        return [(term, words) for term, words in pairs if words] + [("remark", remark) for remark in self.remarks]

    def to_dict(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return asdict(self)


def movement_words(finding: Finding) -> str:
    """Say how far what must not move has moved, against rounding; "" if nothing was measured."""
    moved, floor = finding.movement, finding.floor
    if moved is None:
        return ""
    if not math.isfinite(moved):
        return "no finite amount: NaN or infinity appears"
    words = format_number(moved)
    if floor is not None:
        times = f"{format_number(moved / floor, 2)} times " if floor > 0 and math.isfinite(moved / floor) else "above "
        words += f", {times}the rounding floor of {format_number(floor, 2)}"
    if finding.movement_as_given is not None:
        given = format_number(finding.movement_as_given)
        words += f"; {'the same' if given == format_number(moved) else given} in the model's own number type"
    return words


def values_words(first: Any, second: Any) -> tuple[str, str]:
    """Write two values, numbers or short lists of them, with as many digits as it takes to tell them apart.

    >>> values_words(0.5, 0.25), values_words(1.0, 1.00000001)
    (('0.5', '0.25'), ('1', '1.00000001'))
    """
    for digits in (4, 6, 9, 17):
        words = _written(first, digits), _written(second, digits)
        if words[0] != words[1]:
            break
    return words


def _written(value: Any, digits: int) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(item, digits) for item in value) + "]"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def passed(name: str, reason: str, **details: Any) -> Finding:
    """Make a finding of a check that touched what it should and saw nothing wrong."""
    return Finding(name, "passed", reason, **details)


def failed(name: str, reason: str, **details: Any) -> Finding:
    """Make a finding of a fault, with what usually causes it and what to do.

    Args:
        name: The check.
        reason: What was seen; causes that are known better than `clew.checks.advice` has them follow "Usual causes:".
        **details: Other attributes of the finding.
    """
    advice = advice_for(name)
    seen, *own = _CAUSES.split(reason, maxsplit=1)
    causes = own[0].rstrip(".") if own else advice.causes
    return Finding(name, "failed", seen, **({"causes": causes, "remedy": advice.remedy} | details))


def not_applicable(name: str, reason: str, **details: Any) -> Finding:
    """Make a finding of a check that had nothing to change, or could not judge."""
    return Finding(name, "not applicable", reason, **details)
