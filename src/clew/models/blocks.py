"""Transformer blocks: attention mixes rows, an MLP transforms each row, a residual sum keeps what came in.

`PreNormBlock` normalizes what enters a branch and leaves the sums alone; `PostNormBlock` normalizes the sums. The same
weights give different numbers in the two. Positions, padding and the final normalization belong to the encoder.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.layers.attention import KeysValues, MultiHeadAttention
from clew.layers.dropout import Dropout, share_dropout_generator
from clew.layers.feedforward import MLP
from clew.layers.normalization import LayerNorm
from clew.ledger import recording
from clew.ledger.description import Described

Branch = Callable[[Tensor], Tensor]


class BlockStages(NamedTuple):
    """Representations on the way through a block, each (batch, time, width).

    Attributes:
        attention_input: What attention reads.
        attention_branch: What attention gives.
        attention_sum: First residual sum.
        mlp_input: What the MLP reads.
        mlp_branch: What the MLP gives.
        mlp_sum: Second residual sum.
        output: What the block gives.
    """

    attention_input: Float[Tensor, "batch time width"]
    attention_branch: Float[Tensor, "batch time width"]
    attention_sum: Float[Tensor, "batch time width"]
    mlp_input: Float[Tensor, "batch time width"]
    mlp_branch: Float[Tensor, "batch time width"]
    mlp_sum: Float[Tensor, "batch time width"]
    output: Float[Tensor, "batch time width"]


class TransformerBlock(nn.Module, ABC):
    """The layers of a block; subclasses say where the normalizations stand.

    Attributes:
        attention_norm, attention: Normalization and attention of the first branch.
        mlp_norm, mlp: Normalization and MLP of the second branch.
        attention_dropout, mlp_dropout: Dropout on what the branches give, before the sums.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "attention_branch": Described(("batch", "time", "features"), "what the attention branch gives"),
        "attention_sum": Described(("batch", "time", "features"), "U = bypass + attention branch"),
        "mlp_branch": Described(("batch", "time", "features"), "what the MLP branch gives"),
        "mlp_sum": Described(("batch", "time", "features"), "bypass + MLP branch"),
    }

    def __init__(
        self,
        width: int,
        heads: int,
        mlp: int,
        head_dim: int | None = None,
        value_dim: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        epsilon: float = 1e-5,
    ) -> None:
        """Make the layers.

        Args:
            width: Features of a row.
            heads, head_dim, value_dim: See `clew.layers.attention.MultiHeadAttention`.
            mlp: Hidden features of the MLP.
            activation: Activation of the MLP.
            dropout: Fraction dropped while training, at the places of torch.nn.TransformerEncoderLayer: attention
                weights, hidden features of the MLP, and what each branch gives.
            generator: Draws the initial weights; by default a new one seeded with 0. Dropout draws from one of its own
                with the same seed, until it is given another.
            epsilon: Added to the variance in both normalizations.
        """
        super().__init__()
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.attention_norm = LayerNorm(width, epsilon)
        self.attention = MultiHeadAttention(width, heads, head_dim, value_dim, generator, dropout)
        self.attention_dropout = Dropout(dropout)
        self.mlp_norm = LayerNorm(width, epsilon)
        self.mlp = MLP(width, mlp, activation, generator, dropout)
        self.mlp_dropout = Dropout(dropout)
        share_dropout_generator(self, torch.Generator().manual_seed(generator.initial_seed()))

    def forward(
        self, rows: Float[Tensor, "batch time width"], visible: Bool[Tensor, "*batch query source"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """Transform rows; `visible` is True where a query may read a source, None if nothing is hidden."""

        # No inner function with annotations: where types are checked, each call would compile its checks anew.
        return self._stages(rows, lambda read: self._attend(read, visible), self._transform).output

    def _attend(self, rows: Tensor, visible: Tensor | None) -> Tensor:
        return self.attention_dropout(self.attention(rows, visible))

    def _transform(self, rows: Tensor) -> Tensor:
        return self.mlp_dropout(self.mlp(rows))

    def extend(
        self,
        rows: Float[Tensor, "batch time width"],
        visible: Bool[Tensor, "*batch time source"] | None = None,
        past: KeysValues | None = None,
    ) -> tuple[Float[Tensor, "batch time width"], KeysValues]:
        """Transform new rows that also read earlier ones; see `MultiHeadAttention.extend`."""
        kept: list[KeysValues] = []

        def attend(attention_input: Tensor) -> Tensor:
            output, keys_values = self.attention.extend(attention_input, visible, past)
            kept.append(keys_values)
            return self.attention_dropout(output)

        def transform(mlp_input: Tensor) -> Tensor:
            return self.mlp_dropout(self.mlp(mlp_input))

        return self._stages(rows, attend, transform).output, kept[0]

    def quantities(
        self, rows: Float[Tensor, "batch time width"], visible: Bool[Tensor, "*batch query source"] | None = None
    ) -> dict[str, Float[Tensor, "..."]]:
        """Compute the stages of `BlockStages` by name, and what is inside attention and MLP, without dropout.

        The quantities of `MultiHeadAttention` and `MLP` have the prefixes "attention." and "mlp.".
        """
        inside: dict[str, Tensor] = {}

        def attend(attention_input: Tensor) -> Tensor:
            found = self.attention.quantities(attention_input, visible)
            inside.update({f"attention.{name}": value for name, value in found.items()})
            return found["output"]

        def transform(mlp_input: Tensor) -> Tensor:
            found = self.mlp.quantities(mlp_input)
            inside.update({f"mlp.{name}": value for name, value in found.items()})
            return found["output"]

        return self._stages(rows, attend, transform)._asdict() | inside

    def _add(self, name: str, bypass: Tensor, branch: Tensor) -> Tensor:
        """Add a branch to what passes it by."""
        total = bypass + branch
        if recording.is_on():
            recording.report(self, name, {"bypass": bypass, "branch": branch}, {name: total})
        return total

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a residual sum to the ledger; the layers explain themselves."""
        return {part.replace("_sum", "_branch"): inputs["branch"], part: inputs["bypass"] + inputs["branch"]}

    @abstractmethod
    def _stages(self, rows: Float[Tensor, "batch time width"], attend: Branch, transform: Branch) -> BlockStages:
        """Put the normalizations, the branches and the sums together."""

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the maps, the scores, the mixing and the MLP for one sequence of `time` steps."""
        return self.attention.multiply_adds(time) + self.mlp.multiply_adds(time)

    def state_size(self, time: int) -> int:
        """Floats of the keys and values of `time` steps of one sequence."""
        return self.attention.state_size(time)


class PreNormBlock(TransformerBlock):
    """The sums are never normalized, so that they carry the input through unchanged.

        U = H + attention(LN_1(H))
        H' = U + mlp(LN_2(U))

    Source:
        Xiong et al. 2020, arXiv:2002.04745.
    """

    def _stages(self, rows: Float[Tensor, "batch time width"], attend: Branch, transform: Branch) -> BlockStages:
        attention_input = self.attention_norm(rows)
        attention_branch = attend(attention_input)
        attention_sum = self._add("attention_sum", rows, attention_branch)
        mlp_input = self.mlp_norm(attention_sum)
        mlp_branch = transform(mlp_input)
        output = self._add("mlp_sum", attention_sum, mlp_branch)
        return BlockStages(attention_input, attention_branch, attention_sum, mlp_input, mlp_branch, output, output)


class PostNormBlock(TransformerBlock):
    """Each sum is normalized, the bypass with it.

        U = LN_1(H + attention(H))
        H' = LN_2(U + mlp(U))

    Source:
        Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
    """

    def _stages(self, rows: Float[Tensor, "batch time width"], attend: Branch, transform: Branch) -> BlockStages:
        attention_branch = attend(rows)
        attention_sum = self._add("attention_sum", rows, attention_branch)
        mlp_input = self.attention_norm(attention_sum)
        mlp_branch = transform(mlp_input)
        mlp_sum = self._add("mlp_sum", mlp_input, mlp_branch)
        return BlockStages(
            rows, attention_branch, attention_sum, mlp_input, mlp_branch, mlp_sum, self.mlp_norm(mlp_sum)
        )


BLOCKS: dict[str, type[TransformerBlock]] = {"pre": PreNormBlock, "post": PostNormBlock}
