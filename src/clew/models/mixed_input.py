"""Numbers and categories of one step together: each category is looked up in a table of its own and joined behind.

A category column holds indices as floats, index 0 being "unknown" by the convention of `clew.data`. Padding is never
looked up and never enters a product; see `clew.models.inputs`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from clew.errors import ConfigError, DataError, ShapeError, complain
from clew.layers.embedding import Embedding
from clew.layers.linear import Linear
from clew.ledger import recording
from clew.ledger.description import Described
from clew.models.inputs import zero_padding, zeroed

WIDEST = 16


class MixedInput(nn.Module):
    """Join numeric features and embedded categories, and map them linearly to the model's width where it has one.

        joined = [x_1 .. x_features | E_1[k_1] | E_2[k_2] | ...]

    Attributes:
        embeddings: The table of each category column, in order.
        projection: The map to `width`; None if the joined row goes on as it is.
        width: Width of the rows that go out.

    >>> inputs = MixedInput(features=1, categories=[3], embedding=2)
    >>> inputs(torch.tensor([[[0.5, 2.0], [0.1, 0.0]]])).shape
    torch.Size([1, 2, 3])
    """

    described: ClassVar[Mapping[str, Described]] = {
        "joined": Described(("batch", "time", "features"), "[numbers | E_1[k_1] | E_2[k_2] | ...]"),
        "output": Described(("batch", "time", "features"), "rows, 0 at padding"),
    }

    def __init__(
        self,
        features: int,
        categories: Sequence[int],
        width: int | None = None,
        embedding: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        """Make the tables and the map.

        Args:
            features: Numeric columns, which stand first; there may be none.
            categories: For each category column how many indices are legal, the unknown one, 0, among them.
            width: Width of the rows that go out; None to leave the joined rows as they are.
            embedding: Width of each table; by default half of its category's size rounded up, at most 16.
            generator: Draws the initial weights; by default a new one seeded with 0.

        Raises:
            ConfigError: If there is no category, or a size is out of range.
        """
        super().__init__()
        if features < 0 or not categories or min(categories) < 1 or (embedding or 1) < 1:
            got = f"features={features}, categories={list(categories)}, embedding={embedding}"
            rule = "at least 1 (features: 0), with at least one category"
            raise ConfigError(complain("MixedInput", "sizes", rule, got))
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.features = features
        self.categories = tuple(categories)
        widths = [embedding or min(WIDEST, (size + 1) // 2) for size in categories]
        self.embeddings = nn.ModuleList(
            Embedding(size, each, generator=generator) for size, each in zip(categories, widths, strict=True)
        )
        joined = features + sum(widths)
        self.width = width or joined
        self.projection = None if width is None else Linear(joined, width, generator=generator)

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the linear map for one sequence; a lookup multiplies nothing."""
        return 0 if self.projection is None else time * self.projection.weight.numel()

    def forward(
        self, inputs: Shaped[Tensor, "batch time *features"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """Make each step one row; rows at padding are zero and receive no gradient.

        Args:
            inputs: Numeric columns, then category indices as floats.
            valid: True at real steps; None if all are.

        Raises:
            ShapeError: If the inputs are not floats of shape (batch, time, features + categories).
            DataError: If a category index at a real step is not a whole number of its range.
        """
        columns = self.features + len(self.categories)
        if inputs.ndim != 3 or inputs.shape[-1] != columns or not inputs.is_floating_point():
            rule = f"floats of shape (batch, time, features={self.features} + categories={len(self.categories)})"
            got = f"{tuple(inputs.shape)} of {inputs.dtype}"
            raise ShapeError(complain("MixedInput", "inputs", rule, got))
        if valid is not None:
            inputs = torch.where(valid.unsqueeze(-1), inputs, torch.zeros_like(inputs))
        numbers, indices = inputs[..., : self.features], self._indices(inputs[..., self.features :])
        looked_up = [table(indices[..., place]) for place, table in enumerate(self.embeddings)]
        parts = {"numbers": numbers, **{f"category_{place}": part for place, part in enumerate(looked_up)}}
        joined = _join(parts)
        if recording.is_on():
            recording.report(self, "join", parts, {"joined": joined})
        rows = joined if self.projection is None else self.projection(joined)
        return rows if valid is None else zero_padding(self, rows, valid)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger how the parts are joined, and that padding was replaced by zeros."""
        return {"joined": _join(inputs)} if part == "join" else {"output": zeroed(inputs["rows"], facts["valid"])}

    def _indices(self, values: Float[Tensor, "batch time categories"]) -> Int[Tensor, "batch time categories"]:
        """Read indices out of floats; NaN, fractions and what is out of range are told with their place."""
        sizes = torch.tensor(self.categories, device=values.device)
        wrong = ~((values >= 0) & (values < sizes) & (values == values.floor()))
        if bool(wrong.any()):
            row, step, column = wrong.nonzero()[0].tolist()
            rule = f"a whole number in [0, {self.categories[column]})"
            got = f"{values[row, step, column].item():g} at row {row}, step {step}"
            remedy = "Numeric columns stand first, category indices behind them; 0 is the unknown one."
            raise DataError(complain("MixedInput", f"category column {column}", rule, got, remedy))
        return values.long()


def _join(parts: Mapping[str, Tensor]) -> Tensor:
    return torch.cat(list(parts.values()), dim=-1)
