"""The stations of a pass: its quantities in the order of computation, grouped into what a picture shows as one box.

Nothing is left out: a quantity that no rule knows belongs to a station named after its layer. Start with `stations_of`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

_OF_BLOCK = re.compile(r"(encoder\.blocks\.\d+)\.(attention_norm|attention|mlp_norm|mlp)\.")
_OF_SUM = re.compile(r"(encoder\.blocks\.\d+\.(?:attention|mlp))_(?:branch|sum)")
_OF_RECURRENCE = re.compile(r"(encoder\.recurrent\.\d+)(?:\.(forward_layer|backward_layer))?\.\w+")
_REPEATED = re.compile(r"(encoder\.(?:blocks|recurrent)\.\d+)\b")
_ALONE = re.compile(r"inputs\.embedding\.ids|inputs\.(output|joined)|encoder\.\w+|head\.(with_token|class_row|pooled)")
_DIRECTIONS = ("forward_layer", "backward_layer")
_TITLES = {
    "inputs.embedding.ids": "Tokens",
    "inputs.embedding": "Embedding",
    "inputs.output": "Padding set to zero",
    "inputs.joined": "Columns side by side",
    "inputs.projection": "Projection",
    "inputs.patches": "Patches",
    "inputs.patches.projection": "Patch projection",
    "head.with_token": "Class token in front",
    "encoder.input": "Padding set to zero",
    "encoder.positions": "Positions",
    "encoder.final_norm": "Final norm",
    "encoder.output": "Rows of the encoder",
    "encoder.by_document": "Documents apart",
    "head.pooled": "Pooling",
    "head.class_row": "Row of the class token",
    "head.linear": "Prediction head",
    "loss": "Loss",
}
_TITLES_BY_KIND = {
    "attention_norm": "Norm",
    "attention": "Attention",
    "attention_sum": "Residual sum",
    "mlp_norm": "Norm",
    "mlp": "MLP",
    "mlp_sum": "Residual sum",
    "forward_layer": "Forward in time",
    "backward_layer": "Backward in time",
    "output": "Both directions joined",
}
_WORDS = {
    "input_map.output": "input map",
    "output_map.output": "output map",
    "hidden_map.output": "hidden map",
    "scaled_scores": "scaled",
    "cell_candidate": "candidate",
}


@dataclass(frozen=True)
class Station:
    """One box of the picture.

    Attributes:
        key: Its address in the model, such as "encoder.blocks.0.attention".
        names: Its quantities in the order of computation.
    """

    key: str
    names: tuple[str, ...]

    @property
    def border(self) -> str:
        """The quantity that it hands on."""
        return self.names[-1]

    @property
    def main(self) -> str:
        """The quantity that it opens with."""
        return next((name for name in self.names if name.endswith(".attention.weights")), self.border)

    @property
    def kind(self) -> str:
        """What it is within its block or layer."""
        return self.key.rpartition(".")[2]

    @property
    def group(self) -> str:
        """The block or layer that it is part of, such as "encoder.blocks.0"; empty if it is part of none."""
        found = _REPEATED.match(self.key)
        return found.group(1) if found else ""

    @property
    def is_recurrent(self) -> bool:
        """Whether it is a recurrent layer in one direction."""
        return self.border.endswith(".state") and self.group.startswith("encoder.recurrent.")

    @property
    def is_direction(self) -> bool:
        """Whether it is one of two directions that run side by side."""
        return self.kind in _DIRECTIONS

    @property
    def title(self) -> str:
        """What its box is called."""
        if self.key in _TITLES:
            return _TITLES[self.key]
        if self.group and self.key != self.group:
            return _TITLES_BY_KIND.get(self.kind, self.kind.replace("_", " ").capitalize())
        if self.group:
            return group_title(self.group)
        words = self.key.removeprefix("encoder.").removeprefix("inputs.").replace(".", " ").replace("_", " ")
        return words.capitalize()

    @property
    def whole_title(self) -> str:
        """What it is called where its block is not seen."""
        own = self.title if self.title.isupper() else self.title.lower()
        return f"{group_title(self.group)}, {own}" if self.group not in ("", self.key) else self.title

    def words(self, name: str) -> str:
        """Name one of its quantities within it.

        >>> Station("encoder.blocks.0.mlp_sum", ()).words("encoder.blocks.0.mlp_branch")
        'branch'
        """
        own = name.removeprefix(f"{self.key}.")
        own = name.rpartition(".")[2].removeprefix(f"{self.kind.removesuffix('_sum')}_") if own == name else own
        return _WORDS.get(own, own.replace("_", " ").replace(".", " "))

    def passes_to(self, total: "Station") -> bool:
        """Whether it lies on the branch that a residual sum adds."""
        return total.kind.endswith("_sum") and self.kind in (total.kind[:-4], f"{total.kind[:-4]}_norm")


def stations_of(names: Iterable[str]) -> list[Station]:
    """Group the quantities of a pass."""
    return [Station(key, tuple(own)) for key, own in groupby(names, _key)]


def station_of(stations: Sequence[Station], name: str) -> Station:
    """Find the station that has a quantity."""
    return next(station for station in stations if name in station.names)


def group_title(group: str) -> str:
    """Name a block or a layer."""
    number = group.rpartition(".")[2]
    return f"Block {number}" if ".blocks." in group else f"Recurrent layer {number}"


def _key(name: str) -> str:
    if found := _OF_SUM.fullmatch(name):
        return f"{found.group(1)}_sum"
    if found := _OF_BLOCK.match(name):
        return f"{found.group(1)}.{found.group(2)}"
    if name.endswith(".output") and _REPEATED.fullmatch(name.removesuffix(".output")):
        return name
    if found := _OF_RECURRENCE.fullmatch(name):
        return ".".join(part for part in found.groups() if part)
    return name if _ALONE.fullmatch(name) else name.rpartition(".")[0]
