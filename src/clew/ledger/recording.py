"""The border where layers meet the ledger: while someone records, a layer hands over what really went in and came out.

    if recording.is_on():
        recording.report(self, "core", {"mapped": mapped}, {"joined": joined}, visible=visible)

When nobody records, a layer pays one look at an empty list. A report keeps references only: it changes no value, no
graph and no order of summation, so that looking leaves every bit as it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from torch import Tensor

from clew.ledger.description import Described


@runtime_checkable
class Explains(Protocol):
    """What a layer offers so that its inside can be read: its equations, as a function of what stands at its border."""

    described: ClassVar[Mapping[str, Described]]

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Compute the named quantities of one part, the outputs that it reports among them; differentiable."""
        ...


@dataclass(eq=False)
class Border:
    """One use of one layer, or of one part of it: the real tensors at its border.

    Attributes:
        layer: What reports.
        part: Which part of it, where a layer has several; empty for the whole.
        inputs: What went in, by name.
        outputs: What came out, by name.
        facts: What else decided the result: masks, directions, drawn dropout factors.
    """

    layer: Any
    part: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    facts: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Listener(Protocol):
    """Who records."""

    def take(self, border: Border) -> None:
        """Take over what a layer reports."""
        ...


_listeners: list[Listener] = []


def is_on() -> bool:
    """Whether anybody records."""
    return bool(_listeners)


def count() -> int:
    """How many record at present."""
    return len(_listeners)


def report(layer: object, part: str, inputs: dict[str, Tensor], outputs: dict[str, Tensor], **facts: Any) -> None:
    """Hand one border over to everybody who records."""
    for listener in _listeners:
        listener.take(Border(layer, part, inputs, outputs, facts))


def attach(listener: Listener) -> None:
    """Begin to hand borders over."""
    _listeners.append(listener)


def detach(listener: Listener) -> None:
    """Stop."""
    _listeners.remove(listener)
