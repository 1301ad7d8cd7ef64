"""Any number of recurrent layers, in one direction or two, as the encoder of a `SequenceModel`."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from clew.errors import ConfigError, ShapeError, complain, did_you_mean
from clew.layers.bidirectional import BidirectionalLayer
from clew.layers.dropout import Dropout
from clew.layers.gru import GRULayer
from clew.layers.lstm import LSTMLayer
from clew.layers.packed_documents import PackedDocuments
from clew.layers.recurrent import RecurrentLayer
from clew.layers.rnn import RNNLayer
from clew.ledger import recording
from clew.ledger.description import Described
from clew.models.encoded import Encoded
from clew.shapes import resolve_documents

CELLS: dict[str, type[RecurrentLayer]] = {"rnn": RNNLayer, "gru": GRULayer, "lstm": LSTMLayer}


class RecurrentEncoder(nn.Module):
    """Recurrent layers, each of which reads the rows of the one before.

    Padding is never read, by either direction; see `clew.layers.RecurrentLayer`.

    Args:
        cell: "rnn", "gru" or "lstm".
        features: Width of the rows that come in.
        hidden: Width of each layer's state in one direction.
        layers: How many.
        bidirectional: Read each row in both directions; rows are then 2 * hidden wide, forward first.
        dropout: Fraction of the rows' elements dropped between layers while training.
        activation: For "rnn": "tanh", "relu", "identity" or "sigmoid"; the other cells have theirs.
        generator: Draws the initial weights; None for a new one seeded 0. Dropout draws from one of its own with the
            same seed, until it is given another.

    Attributes:
        recurrent: The layers, a ModuleList of `RecurrentLayer`s or `BidirectionalLayer`s.
        width: Width of the rows that go out.

    Raises:
        ConfigError: If a name is unknown, a size is not positive, or the activation does not apply to the cell.

    >>> encoded = RecurrentEncoder("lstm", features=3, hidden=4, layers=2)(torch.zeros(2, 5, 3))
    >>> encoded.rows.shape, [[tuple(part.shape) for part in layer] for layer in encoded.final]
    (torch.Size([2, 5, 4]), [[(2, 4), (2, 4)], [(2, 4), (2, 4)]])
    """

    described: ClassVar[Mapping[str, Described]] = {
        "by_document": Described(("document", "time", "features"), "each packed document as a row of its own"),
        "output": Described(("batch", "time", "features"), "the documents' rows where the documents stood"),
    }

    def __init__(
        self,
        cell: str,
        features: int,
        hidden: int,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        _check_configuration(cell, features, hidden, layers, activation)
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        self.cell = cell
        self.features = features
        self.hidden = hidden
        self.bidirectional = bidirectional
        self.width = hidden * (1 + bidirectional)

        def direction(width: int) -> RecurrentLayer:
            if cell == "rnn":
                return RNNLayer(width, hidden, activation, generator)
            return CELLS[cell](width, hidden, generator)

        def layer(width: int) -> RecurrentLayer | BidirectionalLayer:
            return BidirectionalLayer(direction(width), direction(width)) if bidirectional else direction(width)

        self.recurrent = nn.ModuleList(layer(features if index == 0 else self.width) for index in range(layers))
        self.dropout = Dropout(dropout, torch.Generator().manual_seed(generator.initial_seed()))

    def forward(
        self,
        rows: Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        visible: Bool[Tensor, "*batch query source"] | None = None,
        initial: list[tuple[Tensor, ...]] | None = None,
        documents: Shaped[Tensor, "batch time"] | None = None,
    ) -> Encoded:
        """Run all layers.

        Args:
            rows: What the first layer reads.
            valid: True at real steps; None if every step is real.
            visible: Must be None: a recurrence reads through its state and cannot hide a source from one query only.
            initial: For each layer what `Encoded.final` holds: the state to start from. Zeros if None.
            documents: Which document of its row a step belongs to, whole numbers, negative at padding. Each document
                starts from zeros; there is then no one final state, and none to start from.

        Raises:
            ConfigError: If `visible` is given, or an initial state for packed documents.
            ShapeError: If shapes or types do not fit.
        """
        if visible is not None:
            remedy = (
                "A state carries all that was read to every later query; use valid to leave steps out, or attention."
            )
            raise ConfigError(complain("RecurrentEncoder", "visible", "None", "a mask", remedy))
        if initial is not None and len(initial) != len(self.recurrent):
            rule = f"a list of {len(self.recurrent)} tuples, one a layer"
            raise ShapeError(complain("RecurrentEncoder", "initial", rule, f"{len(initial)}"))
        if documents is None:
            return self._run(rows, valid, initial)
        if initial is not None:
            remedy = "Every document starts from zeros."
            raise ConfigError(complain("RecurrentEncoder", "initial", "None with documents", "a state", remedy))
        documents, _ = resolve_documents("RecurrentEncoder", documents, rows.shape[0], rows.shape[1], valid)
        packed = PackedDocuments(documents)
        read = packed.gather(rows)
        if recording.is_on():
            recording.report(self, "unpack", {"rows": rows}, {"by_document": read}, packed=packed)
        found = self._run(read, packed.valid, None).rows
        output = packed.scatter(found)
        if recording.is_on():
            recording.report(self, "pack", {"rows": found}, {"output": output}, packed=packed)
        return Encoded(output, None)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger how packed documents become rows of their own and go back."""
        if part == "unpack":
            return {"by_document": facts["packed"].gather(inputs["rows"])}
        return {"output": facts["packed"].scatter(inputs["rows"])}

    def _run(self, rows: Tensor, valid: Tensor | None, initial: list[tuple[Tensor, ...]] | None) -> Encoded:
        final = []
        for index, layer in enumerate(self.recurrent):
            rows = rows if index == 0 else self.dropout(rows)
            rows, state = layer(rows, valid, None if initial is None else initial[index])
            final.append(state)
        return Encoded(rows, final)

    def quantities(
        self,
        rows: Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        initial: list[tuple[Tensor, ...]] | None = None,
    ) -> dict[str, Float[Tensor, "batch time hidden"]]:
        """Give every named quantity of every layer, without dropout, under names like `recurrent.0.update_gate`.

        Names of a layer with two directions are like `recurrent.0.backward_layer.update_gate`.
        """
        found = {}
        for index, layer in enumerate(self._layers()):
            state = None if initial is None else initial[index]
            inside = layer.quantities(rows, valid, state)
            found |= {f"recurrent.{index}.{name}": value for name, value in inside.items()}
            rows, _ = layer(rows, valid, state)
        return found

    def state_size(self, time: int) -> int:
        """Floats kept for one sequence to go on after `time` steps.

        The states of all layers, whatever `time` is; in two directions all input rows, because each further step
        changes what the backward direction finds in every earlier one.
        """
        if self.bidirectional:
            return time * self.features
        return sum(layer.hidden * len(layer.state_parts) for layer in self._layers())

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the matrix products for one sequence of `time` steps, forward."""
        return sum(layer.multiply_adds(time) for layer in self._layers())

    def _layers(self) -> list[RecurrentLayer | BidirectionalLayer]:
        return [layer for layer in self.recurrent if isinstance(layer, RecurrentLayer | BidirectionalLayer)]


def _check_configuration(cell: str, features: int, hidden: int, layers: int, activation: str) -> None:
    where = "RecurrentEncoder"
    if cell not in CELLS:
        raise ConfigError(complain(where, "cell", "a known cell", f"'{cell}'", did_you_mean(str(cell), CELLS)))
    for name, value in {"features": features, "hidden": hidden, "layers": layers}.items():
        if value < 1:
            raise ConfigError(complain(where, name, "a whole number of at least 1", value))
    if cell != "rnn" and activation != "tanh":
        remedy = "Only the cell 'rnn' has a choice of activation."
        raise ConfigError(complain(where, "activation", f"left out for {cell}", f"'{activation}'", remedy))
