"""One named quantity of a forward and a backward pass, with all that a reader may ask of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

import torch
from jaxtyping import Shaped
from torch import Tensor

from clew.errors import LedgerError, complain, did_you_mean
from clew.ledger.description import Described

Values = Shaped[Tensor, "..."]


@dataclass(frozen=True, eq=False)
class Quantity:
    """A value by name, and the loss's derivative with respect to it.

    Attributes:
        name: Its address in the ledger: the layer's path in the model, then the quantity.
        value: What it was, detached.
        described: Axes, equation, source and variant.
        hidden_by: For scores and weights of attention: what hid each cell, a rule's name -> True where it did.
        sensitivity_of: Gives the sensitivity once a backward pass has run; None before.
        terms_of: Gives the parts that sum to the sensitivity, by name.
        never: Why it cannot have a sensitivity, whatever is called; empty if it can.
    """

    name: str
    value: Values
    described: Described
    hidden_by: Mapping[str, Tensor] = field(default_factory=dict)
    sensitivity_of: Callable[[], Tensor | None] = field(default=lambda: None, repr=False)
    terms_of: Callable[[], Mapping[str, Tensor]] = field(default=dict, repr=False)
    never: str = ""

    @property
    def sensitivity(self) -> Values:
        """Derivative of the loss with respect to this quantity, in nats (or the loss's unit) per unit; same shape.

        Raises:
            LedgerError: If no backward pass has run, there can be none, or its explanation is not what really ran.
        """
        if self.never:
            raise LedgerError(complain(self.name, "sensitivity", "asked for where there can be one", self.never))
        found = self.sensitivity_of()
        if found is None:
            remedy = "Call loss.backward() first."
            raise LedgerError(complain(self.name, "sensitivity", "asked for after a backward pass", "none yet", remedy))
        return found

    @property
    def has_sensitivity(self) -> bool:
        """Whether a backward pass has given one."""
        return not self.never and self.sensitivity_of() is not None

    @property
    def terms(self) -> Mapping[str, Values]:
        """The parts that sum to the sensitivity: direct and later of a state, bypass and branch of a residual."""
        return self.terms_of()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of value and sensitivity."""
        return tuple(self.value.shape)

    @property
    def axes(self) -> tuple[str, ...]:
        """Name of each axis."""
        axes = self.described.axes
        if "..." not in axes:
            return axes
        front = ("batch", "time")[: self.value.ndim - len(axes) + 1]
        return tuple(name for axis in axes for name in (front if axis == "..." else (axis,)))

    @property
    def equation(self) -> str:
        """How it is computed."""
        return self.described.equation

    @property
    def source(self) -> str:
        """Where the equation is from."""
        return self.described.source

    @property
    def variant(self) -> str:
        """Which of several variants of its name it is."""
        return self.described.variant

    def at(self, **places: int) -> "Quantity":
        """Take one place on some axes, such as `at(batch=0, time=3, head=1)`; those axes go.

        Raises:
            LedgerError: If an axis is unknown or a place is outside it.
        """
        index: list[slice | int] = [slice(None)] * self.value.ndim
        for name, place in places.items():
            axis = self._axis(name)
            if not -self.value.shape[axis] <= place < self.value.shape[axis]:
                rule = f"in [0, {self.value.shape[axis]})"
                raise LedgerError(complain(self.name, name, rule, place))
            index[axis] = place
        kept = tuple(name for name, place in zip(self.axes, index, strict=True) if isinstance(place, slice))
        cut = tuple(index)
        described = Described(kept, self.described.equation, self.described.source, self.described.variant)
        return Quantity(
            self.name,
            self.value[cut],
            described,
            {rule: cells.expand(self.value.shape)[cut] for rule, cells in self.hidden_by.items()},
            lambda: None if (found := self.sensitivity_of()) is None else found[cut],
            lambda: {name: part[cut] for name, part in self.terms_of().items()},
            self.never,
        )

    def _axis(self, name: str) -> int:
        plural = {"head": "heads", "row": "batch", "step": "time"}.get(name, name)
        for axis in (name, plural):
            if axis in self.axes:
                return self.axes.index(axis)
        raise LedgerError(complain(self.name, "axis", "one of its own", f"'{name}'", did_you_mean(name, self.axes)))

    def is_hidden(self) -> Tensor | None:
        """True at cells that a visibility rule hid; None where no rule applies."""
        if not self.hidden_by:
            return None
        hidden = torch.zeros(self.value.shape, dtype=torch.bool, device=self.value.device)
        for cells in self.hidden_by.values():
            hidden = hidden | cells
        return hidden

    def _repr_html_(self) -> str:
        """Show its equation and its numbers in a notebook."""
        drawing = import_module("clew.ledger.notebook")  # by name, since what draws quantities imports this module
        return drawing.quantity_in_notebook(self)
