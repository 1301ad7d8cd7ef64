"""Prediction heads: which row a prediction reads, and the linear map that turns the row into logits or values.

Each head is its own class; `HEADS` names them for `clew.models.build`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.layers.linear import Linear
from clew.ledger import recording
from clew.ledger.description import Described
from clew.models.pooling import last_valid_row, masked_mean


class Head(nn.Module):
    """One linear map from the encoder's width to the outputs; subclasses say which rows it reads."""

    described: ClassVar[Mapping[str, Described]] = {
        "pooled": Described(("batch", "features"), "the row that the prediction reads"),
        "with_token": Described(("batch", "time", "features"), "[class token | rows]"),
        "class_row": Described(("batch", "features"), "the class token's row of the encoder's output"),
    }

    def __init__(self, width: int, outputs: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.width = width
        self.outputs = outputs
        self.linear = Linear(width, outputs, generator=generator)

    def pool(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None
    ) -> Float[Tensor, "batch *time width"]:
        """Give the rows that the linear map reads."""
        return rows

    def _pool(self, rows: Tensor, valid: Tensor | None) -> Tensor:
        pooled = self.pool(rows, valid)
        if recording.is_on():
            recording.report(self, "", {"rows": rows}, {"pooled": pooled}, valid=valid)
        return pooled

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain the pooling to the ledger; the linear map explains itself."""
        return {"pooled": self.pool(inputs["rows"], facts["valid"])}

    def predictions(self, time: int) -> int:
        """How many predictions one sequence of `time` steps gets."""
        return 1

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the linear map for one sequence."""
        return self.predictions(time) * self.width * self.outputs


class RowsHead(Head):
    """A prediction at every position."""

    def predictions(self, time: int) -> int:
        return time

    def forward(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time outputs"]:
        """Map every row; what is predicted at padding means nothing and is not scored."""
        return self.linear(rows)


class LastHead(Head):
    """A prediction from the last valid row."""

    def pool(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None
    ) -> Float[Tensor, "batch width"]:
        return last_valid_row(rows, valid)

    def forward(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch outputs"]:
        """Map the last valid row of each sequence."""
        return self.linear(self._pool(rows, valid))


class MeanHead(Head):
    """A prediction from the mean of the valid rows."""

    def pool(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None
    ) -> Float[Tensor, "batch width"]:
        return masked_mean(rows, valid)

    def forward(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch outputs"]:
        """Map the masked mean of each sequence."""
        return self.linear(self._pool(rows, valid))


class ClassTokenHead(Head):
    """A prediction from a learned extra row that stands before the sequence and reads all of it.

    `SequenceModel` puts `class_token` in front of the encoder's input rows and hands its output row to this head.
    """

    def __init__(self, width: int, outputs: int, token_width: int, generator: torch.Generator | None = None) -> None:
        super().__init__(width, outputs, generator)
        self.class_token = nn.Parameter(torch.empty(token_width))
        nn.init.normal_(self.class_token, std=0.02, generator=generator)

    def forward(self, row: Float[Tensor, "batch width"]) -> Float[Tensor, "batch outputs"]:
        """Map the class token's output row."""
        return self.linear(row)

    def prepend(self, rows: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time_and_token width"]:
        """Put the class token before each sequence."""
        output = self._prepended(rows)
        if recording.is_on():
            recording.report(self, "prepend", {"rows": rows}, {"with_token": output})
        return output

    def split(
        self, rows: Float[Tensor, "batch time_and_token width"]
    ) -> tuple[Float[Tensor, "batch width"], Float[Tensor, "batch time width"]]:
        """Take the class token's row and the others apart."""
        class_row, others = rows[:, 0], rows[:, 1:]
        if recording.is_on():
            recording.report(self, "split", {"rows": rows}, {"class_row": class_row, "others": others})
        return class_row, others

    def _prepended(self, rows: Tensor) -> Tensor:
        return torch.cat([self.class_token.expand(rows.shape[0], 1, -1), rows], dim=1)

    def explained_parameters(self, part: str) -> list[nn.Parameter]:
        """The parameters that a part explains to the ledger."""
        return [self.class_token] if part == "prepend" else []

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger how the class token is put before the rows and taken off again."""
        if part == "prepend":
            return {"with_token": self._prepended(inputs["rows"])}
        return {"class_row": inputs["rows"][:, 0], "others": inputs["rows"][:, 1:]}


HEADS: dict[str, type[Head]] = {"rows": RowsHead, "last": LastHead, "mean": MeanHead, "class_token": ClassTokenHead}
