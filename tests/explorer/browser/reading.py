"""Reading tables off a page, and comparing what stands there with numbers that torch.nn computed."""

import math
from typing import Any

import torch
from torch import Tensor

ROWS = """table => [...table.tBodies].flatMap(body => [...body.rows]).map(row => [...row.cells].map(cell => {
  const said = cell.cloneNode(true);
  said.querySelectorAll("small").forEach(beside => beside.remove());
  return said.textContent.trim();
}))"""
"""What is written small in a cell stands beside its number, such as the change since an edit."""
PRECISION = 0.0051
"""A page writes three significant digits."""
RULES = ("hidden", "causal", "mask", "padding")
"""What stands in a hidden cell: that it is hidden, or by which rule."""


def rows_of(page: Any, caption: str, within: str = "#view") -> list[list[str]]:
    """Read the body of the table with a caption, row by row, the heading of the row first."""
    table = page.locator(within).get_by_role("table", name=caption, exact=True)
    return table.evaluate(ROWS)


def number(words: str) -> float:
    """Read a number as a page writes it."""
    return float(words.strip().replace(",", "").replace("−", "-").replace("∞", "inf"))


def says(words: str, value: float) -> bool:
    """Tell whether words are a number, rounded to three digits."""
    return math.isclose(number(words), value, rel_tol=PRECISION, abs_tol=1e-12)


def wrong_cells(rows: list[list[str]], expected: Tensor, hidden: Tensor | None = None) -> list[str]:
    """List the cells of a table, without the headings of its rows, that say something else than expected."""
    hides = torch.zeros_like(expected, dtype=torch.bool) if hidden is None else hidden
    assert len(rows) == len(expected) and all(len(row) - 1 == expected.shape[1] for row in rows)
    wrong = []
    for said, values, hidden_here in zip(rows, expected.tolist(), hides.tolist(), strict=True):
        for words, value, is_hidden in zip(said[1:], values, hidden_here, strict=True):
            is_number = words not in RULES
            if is_number == is_hidden or (is_number and not says(words, value)):
                wrong.append(f"{said[0]}: {words} instead of {value}")
    return wrong
