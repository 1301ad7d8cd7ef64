"""Prediction heads: which row a prediction reads, and the linear map that turns the row into logits or values.

Each head is its own class; `HEADS` names them for `clew.models.build`.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.layers.linear import Linear
from clew.models.pooling import last_valid_row, masked_mean


class Head(nn.Module):
    """One linear map from the encoder's width to the outputs; subclasses say which rows it reads."""

    def __init__(self, width: int, outputs: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.width = width
        self.outputs = outputs
        self.linear = Linear(width, outputs, generator=generator)

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

    def forward(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch outputs"]:
        """Map the last valid row of each sequence."""
        return self.linear(last_valid_row(rows, valid))


class MeanHead(Head):
    """A prediction from the mean of the valid rows."""

    def forward(
        self, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch outputs"]:
        """Map the masked mean of each sequence."""
        return self.linear(masked_mean(rows, valid))


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


HEADS: dict[str, type[Head]] = {"rows": RowsHead, "last": LastHead, "mean": MeanHead, "class_token": ClassTokenHead}
