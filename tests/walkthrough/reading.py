"""Reading items in tests: a column by its rows' labels, the numbers of a row; and torch.nn twins with given weights."""

from collections.abc import Sequence

import torch
from torch import nn

from clew.walkthrough.items import Cell, Item


def by_label(item: Item, column: int = -1) -> dict[Cell, Cell]:
    return {row[0]: row[column] for row in item.rows}


def numbers(row: Sequence[Cell]) -> list[float]:
    return [value for value in row if isinstance(value, float)]


def rows_by_label(item: Item) -> dict[str, list[float]]:
    return {str(row[0]): numbers(row) for row in item.rows}


def states_of(item: Item) -> list[list[float]]:
    return [values for name, values in rows_by_label(item).items() if name.endswith(": state")]


def twin_of(module: nn.RNNBase, **values: Sequence[object]) -> nn.RNNBase:
    """Give a torch.nn module the named parameters in float64, zeros elsewhere."""
    with torch.no_grad():
        for name, parameter in module.double().named_parameters():
            parameter.copy_(torch.tensor(values.get(name, 0.0), dtype=torch.float64).expand_as(parameter))
    return module
