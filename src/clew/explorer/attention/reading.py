"""What one attention layer did with one row: the stages from raw scores to contributions, and the rules that hid cells.

Every number is the ledger's. `attention_layers` lists the layers of a scene; `AttentionReading` reads one of them and
cuts nothing out: what is shown of a long sequence is for `attention_choice.py` to say. Start with `AttentionReading`.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.explorer.scene import Scene
from clew.ledger import Ledger
from clew.ledger.quantity import Quantity

PADDING = "padding"


@dataclass(frozen=True)
class Stage:
    """One stage of a head, in the order of computation.

    Attributes:
        key: In the address.
        heading: What the stage is called.
        symbol: Of one cell, for a table's heading.
        quantity: Its name in the ledger.
        is_hidden: Whether cells that a rule hides show that rule; before the mask they show their score.
        equation: How a cell is computed.
        words: One sentence on it.
    """

    key: str
    heading: str
    symbol: str
    quantity: str
    is_hidden: bool
    equation: str
    words: str


STAGES = (
    Stage(
        "scores", "raw scores", "R", "scores", False, "R = Q K'",
        "How well a query and a key fit. Computed for all pairs, also those that a rule hides afterwards.",
    ),
    Stage(
        "scaled", "scaled", "S", "scaled_scores", False, "S = R / sqrt(head_dim)",
        "The same divided by the root of the width of a key, so that wide heads do not give larger scores.",
    ),
    Stage(
        "masked", "masked", "S", "scaled_scores", True, "S where visible, minus infinity where hidden",
        "What the softmax gets: hidden cells take no part in it.",
    ),
    Stage(
        "weights", "softmax weights", "A", "weights", True, "A = exp(S) / sum over visible sources of exp(S)",
        "The share of each source; the weights of a query sum to 1, or to 0 if it may read nothing.",
    ),
    Stage(
        "dropout", "dropout mask", "m", "factor", True, "m = 0 or 1 / (1 - fraction), as drawn",
        "What each weight is multiplied by while training with dropout.",
    ),
    Stage(
        "contributions", "contributions", "|A v|", "weights", True, "|A_qs v_s|, the norm of weight times value",
        "How much of each source's value enters the context of the query.",
    ),
)  # fmt: skip


def attention_layers(ledger: Ledger) -> list[str]:
    """Name the attention layers, in the order of computation."""
    names = ledger.names()
    known = set(names)
    ends = (name.removesuffix(".scaled_scores") for name in names if name.endswith(".scaled_scores"))
    return [layer for layer in ends if f"{layer}.weights" in known]


class AttentionReading:
    """One attention layer and one row of the batch."""

    def __init__(self, scene: Scene, layer: str) -> None:
        self.ledger, self.layer, self.row = scene.ledger, layer, scene.row
        self.heads, self.queries, self.sources = self.quantity("weights").shape
        self._known: dict[str, Tensor | None] = {}
        self._rules_of: dict[int, dict[int, str]] = {}
        self.words = self._words(scene.subject.words[scene.row])

    def quantity(self, name: str) -> Quantity:
        """Give a quantity of the layer for the row."""
        return self.ledger.quantity(f"{self.layer}.{name}").at(batch=self.row)

    def has(self, name: str) -> bool:
        """Say whether the layer recorded a quantity."""
        return f"{self.layer}.{name}" in self._names

    def _words(self, labels: list[str]) -> list[str]:
        """Give a word for each step; which of them are padding only what was hidden says, not the labels' number."""
        padding = self.rules.get(PADDING)
        is_real = [True] * self.sources if padding is None else (~padding).any(dim=0).tolist()
        named = [*labels[: self.sources], *[""] * (self.sources - len(labels))]
        return [word if real else PADDING for word, real in zip(named, is_real, strict=True)]

    @property
    def stages(self) -> list[Stage]:
        """The stages that ran: a dropout mask only where one was drawn."""
        return [stage for stage in STAGES if self.has(stage.quantity)]

    @cached_property
    def _names(self) -> set[str]:
        return set(self.ledger.names())

    @cached_property
    def rules(self) -> dict[str, Bool[Tensor, "query source"]]:
        """Which rule hid which cell; rules that hid nothing are left out. All heads hide the same."""
        found = self.quantity("weights").hidden_by
        return {rule: hidden[0] for rule, hidden in found.items() if bool(hidden[0].any())}

    @cached_property
    def hidden(self) -> Bool[Tensor, "query source"]:
        """True where some rule hid the cell."""
        hidden = torch.zeros(self.queries, self.sources, dtype=torch.bool)
        for cells in self.rules.values():
            hidden = hidden | cells.cpu()
        return hidden

    def rules_of(self, query: int) -> dict[int, str]:
        """Name, for each hidden source of a query, the rules that hid it: "causal", or "causal and padding"."""
        if query not in self._rules_of:
            found: dict[int, str] = {}
            for rule, hidden in self.rules.items():
                for source in hidden[query].nonzero().flatten().tolist():
                    found[source] = f"{found[source]} and {rule}" if source in found else rule
            self._rules_of[query] = found
        return self._rules_of[query]

    def rules_at(self, query: int, source: int) -> list[str]:
        """Name the rules that hid a cell."""
        found = self.rules_of(query).get(source)
        return found.split(" and ") if found else []

    def reads(self, query: int) -> int:
        """Count the sources that a query may read."""
        return int((~self.hidden[query]).sum())

    @cached_property
    def silent(self) -> list[int]:
        """The queries that may read nothing."""
        return self.hidden.all(dim=1).nonzero().flatten().tolist()

    def values(self, stage: Stage) -> Float[Tensor, "heads query source"]:
        """Give the numbers of a stage, hidden cells too."""
        if stage.key not in self._known:
            self._known[stage.key] = self._values(stage)
        found = self._known[stage.key]
        assert found is not None
        return found

    def _values(self, stage: Stage) -> Tensor:
        if stage.key != "contributions":
            return self.quantity(stage.quantity).value
        mixing = self.quantity("weights").value
        mixing = mixing * self.quantity("factor").value if self.has("factor") else mixing
        return mixing * self.quantity("value").value.norm(dim=-1).unsqueeze(1)

    def sensitivities(self, stage: Stage) -> Float[Tensor, "heads query source"] | None:
        """Give the loss's derivatives with respect to a stage; None where there are none."""
        if stage.key in ("dropout", "contributions"):
            return None
        name = f"sensitivity of {stage.quantity}"
        if name not in self._known:
            quantity = self.quantity(stage.quantity)
            self._known[name] = quantity.sensitivity if quantity.has_sensitivity else None
        return self._known[name]


def twin_of(reading: AttentionReading, base: Scene | None) -> AttentionReading | None:
    """Give the same layer and row of the scene without edits; None where there is none that can be compared."""
    if base is None or reading.layer not in attention_layers(base.ledger):
        return None
    twin = AttentionReading(base, reading.layer)
    same = (twin.heads, twin.queries, twin.sources) == (reading.heads, reading.queries, reading.sources)
    return twin if same else None
