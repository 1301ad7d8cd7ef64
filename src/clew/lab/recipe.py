"""A recipe: a model and how it is trained, under a name. What a comparison compares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.errors import ConfigError, complain
from clew.models.presets import build, build_options
from clew.models.sequence_model import SequenceModel
from clew.training.config import TrainConfig, check_keys


@dataclass(frozen=True)
class Recipe:
    """A named model with its options and its training.

    Attributes:
        name: How tables and reports call it.
        model: Options of `clew.models.build`, with `preset` among them.
        training: Budget and optimizer.

    >>> Recipe("gru", {"preset": "gru", "vocab": 7, "outputs": 7, "hidden": 17, "embedding": 16}).parameter_count()
    2023
    """

    name: str
    model: Mapping[str, Any]
    training: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        where = f"Recipe '{self.name}'"
        if not self.name:
            raise ConfigError(complain("Recipe", "name", "a word", "nothing"))
        if "preset" not in self.model:
            remedy = "Name one, for example 'gru'."
            raise ConfigError(complain(where, "model", "a mapping with 'preset'", dict(self.model), remedy))
        check_keys(where, self.model, ["preset", *build_options()])

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "Recipe":
        """Build from plain values, as a configuration file holds them.

        Raises:
            ConfigError: If a key is unknown (with the nearest known one) or a value is out of range.
        """
        check_keys("Recipe", values, ["name", "model", "training"])
        training = TrainConfig.from_mapping(values.get("training", {}))
        return cls(values.get("name", ""), values.get("model", {}), training)

    def to_mapping(self) -> dict[str, Any]:
        """Give the plain values."""
        return {"name": self.name, "model": dict(self.model), "training": self.training.to_mapping()}

    def build(self, seed: int) -> SequenceModel:
        """Build the model with weights drawn from a seed of their own."""
        import torch

        return build(**self.model, generator=torch.Generator().manual_seed(seed))

    def parameter_count(self) -> int:
        """Number of trainable parameters."""
        return self.build(0).parameter_count()
