"""What a planted fault is: something small with one known fault, beside its twin without it.

The audit must find the fault under its name and nothing in the twin. Each model differs from its twin in the few lines
that make the fault; each data set in the few rows or columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from clew.checks.data_runner import audit_data
from clew.checks.report import Report
from clew.checks.runner import audit

VOCAB = 11
WIDTH = 8
TIME = 7
ROWS = 3
POSITIONS = 64


@dataclass(frozen=True)
class Plant:
    """One fault and its repair.

    Attributes:
        name: The fault in a few words.
        check: The check that must fail, alone.
        faulty: Makes the arguments of an audit of what is faulty.
        repaired: Makes those of its twin.
        source: Where the fault was reported in public; "" if it was not.
        kind: Whether a model or the splits of a data set are audited.
    """

    name: str
    check: str
    faulty: Callable[[], dict[str, Any]]
    repaired: Callable[[], dict[str, Any]]
    source: str = ""
    kind: Literal["model", "data"] = "model"

    def audit(self, arguments: dict[str, Any]) -> Report:
        """Audit the faulty or the repaired one."""
        return audit_data(**arguments) if self.kind == "data" else audit(**arguments)


class SmallModel(nn.Module):
    """Ids to rows, rows through `mix`, rows to scores: what the planted models have in common.

    A subclass says in `mix` what a step reads, and in `pool` whether rows stay or become one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Parameter(torch.randn(POSITIONS, WIDTH))
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB)
        self.extra()

    def extra(self) -> None:
        """Add what a subclass needs."""

    def place(self, ids: Int[Tensor, "batch time"], valid: Bool[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
        """Number the steps: a real step by the real steps before it."""
        return (valid.cumsum(dim=1) - 1).clamp(min=0)

    def mix(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time width"]:
        """Let steps read other steps; here each reads the mean of itself and what came before it."""
        kept = rows * valid.unsqueeze(2)
        return kept.cumsum(dim=1) / valid.cumsum(dim=1).clamp(min=1).unsqueeze(2)

    def pool(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch *time width"]:
        """Keep the rows."""
        return rows

    def forward(
        self, ids: Int[Tensor, "batch time"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch *time scores"]:
        """Give scores."""
        if valid is None:
            valid = torch.ones_like(ids, dtype=torch.bool)
        rows = self.tokens(ids) + self.positions[self.place(ids, valid)]
        rows = torch.tanh(self.inner(rows))
        return self.head(self.pool(rows + self.mix(rows, valid), valid))


def built(kind: type[nn.Module]) -> nn.Module:
    """Build a planted model with the same weights every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return kind()


def ids(time: int = TIME) -> Int[Tensor, "batch time"]:
    """Token ids; no row or step repeats another."""
    return torch.randint(0, VOCAB, (ROWS, time), generator=torch.Generator().manual_seed(5))


def some_valid() -> Bool[Tensor, "batch time"]:
    """One full row and two that are padded on the right."""
    return torch.arange(TIME) < torch.tensor([TIME, TIME - 3, TIME - 2]).unsqueeze(1)


def plain(kind: type[nn.Module], time: int = TIME, **more: Any) -> Callable[[], dict[str, Any]]:
    """Audit a model on ids without padding."""
    return lambda: {"model": built(kind), "inputs": ids(time), "vocab": VOCAB} | more


def padded(kind: type[nn.Module], **more: Any) -> Callable[[], dict[str, Any]]:
    """Audit a model on ids with padding, told by `valid`."""
    return lambda: {"model": built(kind), "inputs": ids(), "vocab": VOCAB, "valid": some_valid()} | more
