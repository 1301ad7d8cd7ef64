"""A stack of Transformer blocks over rows: positions are added once, padding is never read, the past cannot see ahead.

Visibility is decided here, once for all blocks: what the caller permits, and what is real, and, if causal, what is not
later. The blocks only obey.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from clew import visibility
from clew.errors import ConfigError, complain, did_you_mean
from clew.layers.dropout import share_dropout_generator
from clew.layers.normalization import LayerNorm
from clew.layers.positions import LearnedPositions, SinusoidalPositions, count_within_documents
from clew.ledger import recording
from clew.ledger.description import Described
from clew.models.blocks import BLOCKS, TransformerBlock
from clew.models.encoded import Encoded, PastSteps
from clew.shapes import resolve_documents, resolve_valid, resolve_visible

POSITIONS = ("learned", "sinusoidal")


class TransformerEncoder(nn.Module):
    """Positions, blocks, and for pre-norm blocks a final normalization.

    An encoder of the BERT family also normalizes the positioned rows, before the first block.

    Attributes:
        width: Features of a row, at every stage.
        causal: Whether a query reads only its own position and earlier ones.
        norm: "pre" or "post".
        positions: Position layer, or None.
        entry_norm: Normalization of the positioned rows; None without `normalize_entry`.
        blocks: The blocks in order.
        final_norm: Normalization of the last sum; None for post-norm, where it is normalized already.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "input": Described(("batch", "time", "features"), "rows before positions, 0 at padding"),
        "output": Described(("batch", "time", "features"), "rows, 0 at padding"),
    }

    def __init__(
        self,
        width: int,
        heads: int,
        mlp: int,
        layers: int = 1,
        causal: bool = False,
        norm: str = "pre",
        positions: str | None = "learned",
        max_positions: int = 512,
        head_dim: int | None = None,
        value_dim: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        normalize_entry: bool = False,
        epsilon: float = 1e-5,
    ) -> None:
        """Make the encoder.

        Args:
            width: Features of a row.
            heads, head_dim, value_dim: Attention heads and their widths; by default width / heads.
            mlp: Hidden features of each block's MLP.
            layers: Number of blocks.
            causal: Whether a query reads only its own position and earlier ones.
            norm: "pre" or "post", the class of the blocks.
            positions: "learned", "sinusoidal", or None: then the rows' order is known only through visibility.
            max_positions: Size of the position table.
            activation: Activation of the MLPs.
            dropout: Fraction dropped while training; see `clew.models.blocks.TransformerBlock`.
            generator: Draws the initial weights; by default a new one seeded with 0. Dropout draws from one of its own
                with the same seed, until it is given another.
            normalize_entry: Whether the positioned rows are normalized before the first block.
            epsilon: Added to the variance in every normalization.

        Raises:
            ConfigError: If a name is unknown or a size out of range.
        """
        super().__init__()
        if norm not in BLOCKS:
            raise ConfigError(complain("TransformerEncoder", "norm", "'pre' or 'post'", f"'{norm}'"))
        if layers < 1 or mlp < 1:
            raise ConfigError(complain("TransformerEncoder", "sizes", "at least 1", f"layers={layers}, mlp={mlp}"))
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.width, self.causal, self.norm = width, causal, norm
        self.positions = _position_layer(positions, width, max_positions, generator)
        self.entry_norm = LayerNorm(width, epsilon) if normalize_entry else None
        self.blocks = nn.ModuleList(
            BLOCKS[norm](width, heads, mlp, head_dim, value_dim, activation, dropout, generator, epsilon)
            for _ in range(layers)
        )
        self.final_norm = LayerNorm(width, epsilon) if norm == "pre" else None
        self._causal_visible = torch.zeros(0, 0, dtype=torch.bool)
        share_dropout_generator(self, torch.Generator().manual_seed(generator.initial_seed()))

    def forward(
        self,
        rows: Float[Tensor, "batch time width"],
        valid: Shaped[Tensor, "batch time"] | None = None,
        visible: Shaped[Tensor, "*batch query source"] | None = None,
        initial: object = None,
        documents: Shaped[Tensor, "batch time"] | None = None,
    ) -> Encoded:
        """Encode.

        Args:
            rows: Inputs; what stands at padding is replaced by zero and may be anything, NaN too.
            valid: True at real steps; None if all are.
            visible: True where a query may read a source, (query, source) or (batch, query, source); combined with
                `valid` and causality.
            initial: None: attention has no state to start from.
            documents: Which document of its row a step belongs to, whole numbers, negative at padding. Documents do
                not read each other, and the positions of each count from 0.

        Returns:
            Rows of the same shape, zero at padding; no final state.

        Raises:
            ShapeError: If shapes or types do not fit, or there are more valid steps than positions.
            ConfigError: If an initial state is given.
        """
        if documents is not None:
            documents, valid = resolve_documents("TransformerEncoder", documents, rows.shape[0], rows.shape[1], valid)
        rows, allowed = self._enter(rows, valid, visible, initial, documents)
        if self.entry_norm is not None:
            rows = self.entry_norm(rows)
        for block in self.blocks:
            rows = block(rows, allowed)
        return Encoded(self._leave(rows, valid), None)

    def extend(
        self,
        rows: Float[Tensor, "batch time width"],
        past: PastSteps | None = None,
        valid: Shaped[Tensor, "batch time"] | None = None,
    ) -> tuple[Float[Tensor, "batch time width"], PastSteps]:
        """Encode new steps that come after others; together they give what one pass over all of them gives.

        Args:
            rows: Inputs of the new steps.
            past: What was kept of the earlier steps; None if there are none.
            valid: True at real steps; None if all are.

        Raises:
            ConfigError: If the encoder is not causal: a new step would change what all earlier ones gave.
            ShapeError: If shapes or types do not fit, or there are more valid steps than positions.
        """
        if not self.causal:
            remedy = "Here a new step changes what all earlier ones gave; use the full pass, or causal=True."
            raise ConfigError(
                complain(
                    "TransformerEncoder", "encoder", "causal to go on step by step", "one that reads both ways", remedy
                )
            )
        batch, time, _ = rows.shape
        valid = resolve_valid("TransformerEncoder", batch, time, valid=valid)
        numbers, counts, known = _after(past, batch, time, valid, rows.device)
        earlier = 0 if past is None else past.keys_values[0].key.shape[2]
        rules = {} if time == 1 else {"causal": ~visibility.causal(time, earlier + time, rows.device)}
        if known is not None:
            rules["padding"] = ~known.unsqueeze(1).expand(batch, time, earlier + time)
        visible = ~reduce(or_, rules.values()) if rules else None
        if valid is not None:
            rows = self._zero_padding("enter", rows, valid)
        if recording.is_on():
            recording.report(self, "visibility", {}, {}, rules=rules)
        if self.positions is not None:
            rows = self.positions(rows, numbers=numbers)
        if self.entry_norm is not None:
            rows = self.entry_norm(rows)
        kept = []
        for index, block in enumerate(self._blocks()):
            rows, keys_values = block.extend(rows, visible, None if past is None else past.keys_values[index])
            kept.append(keys_values)
        return self._leave(rows, valid), PastSteps(tuple(kept), known, counts)

    def quantities(
        self,
        rows: Float[Tensor, "batch time width"],
        valid: Shaped[Tensor, "batch time"] | None = None,
        visible: Shaped[Tensor, "*batch query source"] | None = None,
    ) -> dict[str, Float[Tensor, "..."]]:
        """Compute every named quantity from the equations, without dropout.

        Returns:
            "positioned"; where there is an entry normalization, "entry_norm." and each name of `LayerNorm.quantities`;
            for block i "blocks.i." and each name of `TransformerBlock.quantities`, such as
            "blocks.0.attention.weights" (batch, heads, query, source); and "output".
        """
        rows, allowed = self._enter(rows, valid, visible, None)
        found = {"positioned": rows}
        if self.entry_norm is not None:
            inside = self.entry_norm.quantities(rows)
            rows = inside["output"]
            found |= {f"entry_norm.{name}": value for name, value in inside.items()}
        for index, block in enumerate(self._blocks()):
            inside = block.quantities(rows, allowed)
            rows = inside["output"]
            found |= {f"blocks.{index}.{name}": value for name, value in inside.items()}
        return found | {"output": self._leave(rows, valid)}

    def combine_visibility(
        self,
        batch: int,
        time: int,
        valid: Shaped[Tensor, "batch time"] | None = None,
        visible: Shaped[Tensor, "*batch query source"] | None = None,
        device: torch.device | None = None,
        documents: Shaped[Tensor, "batch time"] | None = None,
    ) -> Bool[Tensor, "*rows query source"] | None:
        """Combine what the caller permits, what is real, documents, and causality; None if nothing is hidden."""
        allowed = resolve_visible("TransformerEncoder", visible, batch, time)
        if documents is not None:
            same = visibility.from_documents(documents)
            allowed = same if allowed is None else allowed & same
        if valid is not None:
            real = visibility.from_valid(valid)
            allowed = real if allowed is None else allowed & real
        if self.causal:
            earlier = self._causal(time, device)
            allowed = earlier if allowed is None else allowed & earlier
        return allowed

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of one forward pass over one sequence of `time` steps.

        Counts the four maps of attention, scores and mixing of all time^2 (query, source) pairs, hidden ones too, and
        the MLPs; not normalizations, softmax, activations, biases and sums.
        """
        return sum(block.multiply_adds(time) for block in self._blocks())

    def state_size(self, time: int) -> int:
        """Floats to keep for one sequence after `time` steps: keys and values of all steps in all blocks."""
        return sum(block.state_size(time) for block in self._blocks())

    def _enter(
        self,
        rows: Tensor,
        valid: Tensor | None,
        visible: Tensor | None,
        initial: object,
        documents: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        if initial is not None:
            remedy = "Attention keeps no state; give it the earlier steps as inputs."
            raise ConfigError(complain("TransformerEncoder", "initial", "None", type(initial).__name__, remedy))
        batch, time, _ = rows.shape
        valid = resolve_valid("TransformerEncoder", batch, time, valid=valid)
        allowed = self.combine_visibility(batch, time, valid, visible, rows.device, documents)
        if valid is not None:
            rows = self._zero_padding("enter", rows, valid)
        if recording.is_on():
            rules = self._rules(time, valid, visible, rows.device, documents)
            recording.report(self, "visibility", {}, {}, rules=rules)
        if self.positions is None:
            return rows, allowed
        return self.positions(rows, valid, None if documents is None else count_within_documents(documents)), allowed

    def _leave(self, rows: Tensor, valid: Tensor | None) -> Tensor:
        if self.final_norm is not None:
            rows = self.final_norm(rows)
        return rows if valid is None else self._zero_padding("leave", rows, valid)

    def _zero_padding(self, part: str, rows: Tensor, valid: Tensor) -> Tensor:
        output = rows.masked_fill(~valid.unsqueeze(-1), 0)
        if recording.is_on():
            name = "input" if part == "enter" else "output"
            recording.report(self, part, {"rows": rows}, {name: output}, valid=valid)
        return output

    def _rules(
        self,
        time: int,
        valid: Tensor | None,
        visible: Tensor | None,
        device: torch.device,
        documents: Tensor | None,
    ) -> dict[str, Tensor]:
        """Tell the ledger which rule hides which cell: True where it does."""
        rules = {"mask": None if visible is None else ~visible, "padding": None}
        rules["padding"] = None if valid is None else ~visibility.from_valid(valid)
        rules["document"] = None if documents is None else documents.unsqueeze(2) != documents.unsqueeze(1)
        rules["causal"] = ~self._causal(time, device) if self.causal else None
        return {name: hidden for name, hidden in rules.items() if hidden is not None}

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger that padding was replaced by zeros."""
        if part == "visibility":
            return {}
        name = "input" if part == "enter" else "output"
        return {name: inputs["rows"].masked_fill(~facts["valid"].unsqueeze(-1), 0)}

    def _blocks(self) -> list[TransformerBlock]:
        return list(self.blocks)  # pyright: ignore[reportReturnType]

    def _causal(self, time: int, device: torch.device | None) -> Tensor:
        """Give the causal rule, made once and cut to size: its corner is the rule for fewer steps."""
        made = self._causal_visible
        if len(made) < time or made.device != (device or made.device):
            made = self._causal_visible = visibility.causal(max(time, len(made)), device=device)
        return made[:time, :time]


def _after(
    past: PastSteps | None, batch: int, time: int, valid: Tensor | None, device: torch.device
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Give the positions of new steps, the real steps of each row with them, and which of all steps are real."""
    counts = torch.zeros(batch, dtype=torch.long, device=device) if past is None else past.counts
    known = None if past is None else past.valid
    if valid is not None or known is not None:
        earlier = 0 if past is None else past.keys_values[0].key.shape[2]
        before = torch.ones(batch, earlier, dtype=torch.bool, device=device) if known is None else known
        new = torch.ones(batch, time, dtype=torch.bool, device=device) if valid is None else valid
        known = torch.cat([before, new], dim=1)
    if valid is None:
        return counts.unsqueeze(1) + torch.arange(time, device=device), counts + time, known
    numbers = torch.where(valid, counts.unsqueeze(1) + valid.cumsum(dim=1) - 1, 0)
    return numbers, counts + valid.sum(dim=1), known


def _position_layer(
    positions: str | None, width: int, max_positions: int, generator: torch.Generator
) -> LearnedPositions | SinusoidalPositions | None:
    if positions is None:
        return None
    if positions not in POSITIONS:
        remedy = did_you_mean(positions, POSITIONS)
        raise ConfigError(complain("TransformerEncoder", "positions", "known, or None", f"'{positions}'", remedy))
    if positions == "learned":
        return LearnedPositions(max_positions, width, generator=generator)
    return SinusoidalPositions(width, max_positions)
