"""How a model is trained, as one validated record: the budget and the rules that recipes share."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from clew.errors import ConfigError, complain, did_you_mean


@dataclass(frozen=True)
class TrainConfig:
    """Budget, optimizer and clipping.

    Attributes:
        epochs: Passes over the training sequences.
        batch_size: Sequences of one optimizer step; the last batch of an epoch may be smaller.
        learning_rate: Step size of Adam (betas 0.9 and 0.999, eps 1e-8, no weight decay).
        clip_norm: Largest global gradient norm; larger gradients are scaled down to it. None: no clipping.
    """

    epochs: int = 60
    batch_size: int = 64
    learning_rate: float = 0.003
    clip_norm: float | None = 1.0

    def __post_init__(self) -> None:
        problems = [
            complain("TrainConfig", name, "a whole number of at least 1", value)
            for name, value in (("epochs", self.epochs), ("batch_size", self.batch_size))
            if not isinstance(value, int) or isinstance(value, bool) or value < 1
        ]
        if not self.learning_rate > 0:
            problems.append(complain("TrainConfig", "learning_rate", "above 0", self.learning_rate))
        if self.clip_norm is not None and not self.clip_norm > 0:
            problems.append(complain("TrainConfig", "clip_norm", "above 0 or none", self.clip_norm))
        if problems:
            raise ConfigError(" ".join(problems))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "TrainConfig":
        """Build from plain values.

        Raises:
            ConfigError: If a key is unknown (with the nearest known one) or a value is out of range.
        """
        check_keys("TrainConfig", values, [field.name for field in fields(cls)])
        return cls(**values)

    def to_mapping(self) -> dict[str, Any]:
        """Give the plain values."""
        return asdict(self)


def check_keys(where: str, values: Mapping[str, Any], known: list[str]) -> None:
    """Refuse unknown keys, all at once, each with the nearest known one."""
    unknown = [key for key in values if key not in known]
    if unknown:
        raise ConfigError(" ".join(f"{where}: unknown key '{key}'. {did_you_mean(key, known)}" for key in unknown))
