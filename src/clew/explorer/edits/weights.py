"""Edits of a single weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar

import torch
from torch import nn

from clew.errors import ConfigError, complain
from clew.explorer.edits.draft import Draft, Edit, Read, held, number
from clew.rendering.numbers import format_number


@dataclass(frozen=True)
class WeightEdit(Edit):
    """Another number in a parameter."""

    kind: ClassVar[str] = "weight"
    place: str
    value: float

    @classmethod
    def parse(cls, place: str, value: str) -> "WeightEdit":
        """Read `weight:NAME.INDEX.INDEX=NUMBER`."""
        if not place:
            raise ConfigError(complain("weight", "edit", "of the form weight:NAME.INDEX.INDEX=NUMBER", "no name"))
        return cls(place, number("weight", value))

    @property
    def address(self) -> tuple[str, ...]:
        """The cell."""
        return self.kind, self.place

    def apply(self, draft: Draft, row: int) -> None:
        """Write the number into the copy's parameter."""
        name, index = find_weight(draft.model, self.place)
        parameter = draft.model.get_parameter(name)
        with torch.no_grad():
            parameter[index] = held("weight", self.value, parameter.dtype)

    def words(self, before: Read, row: int) -> str:
        """Name the weight, the old number and the new one."""
        try:
            name, index = find_weight(before.model, self.place)
        except ConfigError:  # one that only an earlier edit has brought
            return f"weight {self.place} → {format_number(self.value)}"
        old = format_number(before.model.get_parameter(name)[index].item())
        return f"weight {name}[{', '.join(map(str, index))}]: {old} → {format_number(self.value)}"


def find_weight(model: nn.Module, place: str) -> tuple[str, tuple[int, ...]]:
    """Split a place such as "head.linear.weight.2.0" into the parameter and the index of a number in it.

    Raises:
        ConfigError: If there is no such parameter, with the nearest name, or no such number in it.
    """
    parameters = dict(model.named_parameters())
    fitting = [name for name in parameters if place == name or place.startswith(f"{name}.")]
    if not fitting:
        wanted = place.rstrip("0123456789.")
        raise ConfigError(complain("weight", "name", "that of a parameter", f"'{place}'", _nearest(wanted, parameters)))
    name = max(fitting, key=len)
    shape, rest = parameters[name].shape, place[len(name) + 1 :]
    parts = rest.split(".") if rest else []
    is_index = all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
    index = tuple(map(int, parts)) if is_index else ()
    if len(index) != len(shape) or not all(at < size for at, size in zip(index, shape, strict=True)):
        rule = f"{len(shape)} of them, within {tuple(shape)}"
        raise ConfigError(complain(f"weight {name}", "index", rule, f"'{rest}'"))
    return name, index


def _nearest(wanted: str, names: Sequence[str] | dict[str, nn.Parameter]) -> str:
    """Suggest the nearest name: one that ends as is wanted, or is written nearly so."""
    near = [name for name in names if wanted and name.endswith(f".{wanted}")]
    near = near or get_close_matches(wanted, list(names), n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'?" if near else f"The first of {len(names)} is '{next(iter(names), '')}'."
