"""Position vectors, added to the rows once, before the first block: learned, or sines and cosines.

The position of a step is the number of valid steps before it. So left padding, gaps and the amount of padding do not
move it, and a row alone has the positions that it has in a batch. Packed documents each count from 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding

from clew.errors import ConfigError, ShapeError, complain
from clew.ledger import recording
from clew.ledger.description import Described
from clew.visibility import from_documents


def sinusoids(positions: Int[Tensor, "*steps"], width: int) -> Float[Tensor, "*steps width"]:
    """Compute the sine and cosine features of positions, in double precision.

        omega_j = 10000^(-2 floor(j / 2) / width)
        p_tj = sin(t omega_j) if j is even, cos(t omega_j) if j is odd          (radians)

    Neighbouring features share a frequency; an odd width ends in a sine without its cosine.

    Source:
        Vaswani et al. 2017, arXiv:1706.03762, section 3.5.

    >>> sinusoids(torch.tensor([0]), 5).tolist()
    [[0.0, 1.0, 0.0, 1.0, 0.0]]
    """
    feature = torch.arange(width, device=positions.device)
    omega = 10000.0 ** (-2 * (feature // 2).double() / width)
    angle = positions.unsqueeze(-1) * omega
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos())


def count_positions(valid: Bool[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Number the valid steps of each row from 0; padding gets 0, which nobody reads.

    >>> count_positions(torch.tensor([[False, True, True, False, True]])).tolist()
    [[0, 0, 1, 0, 2]]
    """
    return torch.where(valid, valid.long().cumsum(dim=1) - 1, 0)


def count_within_documents(documents: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Number the steps of each document from 0, where several are packed into a row; padding, -1, gets 0.

    >>> count_within_documents(torch.tensor([[4, 4, 4, 9, 9, -1]])).tolist()
    [[0, 1, 2, 0, 1, 0]]
    """
    return from_documents(documents).tril(-1).sum(dim=-1)


def _vectors(
    table: Float[Tensor, "positions width"], time: int, numbers: Int[Tensor, "batch time"] | None
) -> Float[Tensor, "*batch time width"]:
    return table[:time] if numbers is None else embedding(numbers, table)


class Positions(nn.Module, ABC):
    """What both kinds share: a table with a vector for each of `max_positions` positions."""

    described: ClassVar[Mapping[str, Described]] = {
        "vectors": Described(("...", "features"), "p_t, the table's row of the number of valid steps before t"),
        "output": Described(("batch", "time", "features"), "y_t = x_t + p_t"),
    }

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__()
        if width < 1 or max_positions < 1:
            got = f"width={width}, max_positions={max_positions}"
            raise ConfigError(complain(type(self).__name__, "sizes", "at least 1", got))
        self.width = width
        self.max_positions = max_positions

    @abstractmethod
    def table(self, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "positions width"]:
        """Give the vectors of all positions."""

    def forward(
        self,
        rows: Float[Tensor, "batch time width"],
        valid: Bool[Tensor, "batch time"] | None = None,
        numbers: Int[Tensor, "batch time"] | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Add to each row the vector of its position.

        Args:
            rows: What the positions are added to.
            valid: True at real steps; None if all are. Positions count these.
            numbers: The position of each step, where it is another: in a packed document, or behind earlier steps.

        Raises:
            ShapeError: If a row has more valid steps than the table has positions.
        """
        time = rows.shape[1]
        table = self.table(rows.dtype, rows.device)
        if numbers is not None:
            needed = numbers.amax(dim=1) + 1
            self._require_positions(int(needed.max()), f" at row {int(needed.argmax())}")
        elif valid is None:
            self._require_positions(time, "")
        else:
            if time > self.max_positions:
                counts = valid.sum(dim=1)
                self._require_positions(int(counts.max()), f" at row {int(counts.argmax())}")
            numbers = count_positions(valid)
        output = rows + _vectors(table, time, numbers)
        if recording.is_on():
            recording.report(self, "", {"rows": rows}, {"output": output}, numbers=numbers)
        return output

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a call to the ledger."""
        rows = inputs["rows"]
        vectors = _vectors(self.table(rows.dtype, rows.device), rows.shape[1], facts["numbers"])
        return {"vectors": vectors, "output": rows + vectors}

    def _require_positions(self, needed: int, place: str) -> None:
        if needed > self.max_positions:
            rule = f"at most max_positions={self.max_positions}"
            remedy = f"Build it with max_positions={needed}, or cut the sequences."
            raise ShapeError(complain(type(self).__name__, "steps", rule, f"{needed}{place}", remedy))

    def extra_repr(self) -> str:
        return f"max_positions={self.max_positions}, width={self.width}"


class LearnedPositions(Positions):
    """A trained vector for each position.

    Attributes:
        weight: The table, (max_positions, width); drawn from the standard normal distribution, as torch.nn.Embedding.
    """

    def __init__(self, max_positions: int, width: int, generator: torch.Generator | None = None) -> None:
        super().__init__(width, max_positions)
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(max_positions, width, generator=generator))

    def table(self, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "positions width"]:
        """Give the trained table as it is."""
        return self.weight


class SinusoidalPositions(Positions):
    """Fixed sines and cosines; nothing to train and nothing to save."""

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__(width, max_positions)
        self._table = sinusoids(torch.arange(max_positions), width)

    def table(self, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "positions width"]:
        """Give the table in the type of the rows, rounded once from double precision."""
        if self._table.dtype != dtype or self._table.device != device:
            self._table = sinusoids(torch.arange(self.max_positions), self.width).to(device, dtype)
        return self._table
