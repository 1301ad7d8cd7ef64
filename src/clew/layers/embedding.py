"""One row of a learned table for each token id."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from clew.errors import DataError, ShapeError, complain
from clew.ledger import recording
from clew.ledger.description import Described


class Embedding(nn.Module):
    """A table `weight` (vocab, width), looked up by id; entries start standard normal, as in torch.nn.Embedding.

    Args:
        vocab: Number of ids; legal ones are 0 .. vocab - 1.
        width: Width of the rows that go out.
        generator: Draws the initial values; None for a new one seeded 0.

    >>> Embedding(7, 4)(torch.tensor([[4, 0, 6]])).shape
    torch.Size([1, 3, 4])
    """

    described: ClassVar[Mapping[str, Described]] = {
        "ids": Described(("...",), "k_t, a row of the table"),
        "output": Described(("...", "features"), "e_t = E[k_t]"),
    }

    def __init__(self, vocab: int, width: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        self.weight = nn.Parameter(torch.empty(vocab, width).normal_(generator=generator))

    def forward(self, ids: Int[Tensor, "*positions"]) -> Float[Tensor, "*positions width"]:
        """Look the rows up.

        Raises:
            ShapeError: If the ids are not integers.
            DataError: If an id is negative or not below `vocab`; the first one is named with its place.
        """
        if ids.is_floating_point() or ids.dtype == torch.bool:
            remedy = "Real-valued inputs enter a model as features, without an embedding."
            raise ShapeError(complain("Embedding", "ids", "integers", ids.dtype, remedy))
        self._check_range(ids)
        output = functional.embedding(ids, self.weight)
        if recording.is_on():
            recording.report(self, "", {"ids": ids}, {"output": output})
        return output

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a call to the ledger."""
        return {"ids": inputs["ids"], "output": functional.embedding(inputs["ids"], self.weight)}

    def _check_range(self, ids: Int[Tensor, "*positions"]) -> None:
        if ids.numel() == 0:
            return
        vocab = len(self.weight)
        least, greatest = torch.aminmax(ids)
        if least >= 0 and greatest < vocab:
            return
        place = tuple(((ids < 0) | (ids >= vocab)).nonzero()[0].tolist())
        got = f"{ids[place].item()} at index {place}"
        raise DataError(complain("Embedding", "ids", f"in [0, vocab={vocab})", got, "Fix the ids or enlarge vocab."))

    def extra_repr(self) -> str:
        vocab, width = self.weight.shape
        return f"vocab={vocab}, width={width}"
