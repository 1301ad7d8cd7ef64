"""How a model is trained, as one validated record: the budget and the rules that recipes share."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

from clew.errors import ConfigError, complain, did_you_mean

DECAYS = ("none", "cosine", "linear")
PRECISIONS = ("float32", "bfloat16", "float16")
CLASS_WEIGHTS = ("balanced",)


@dataclass(frozen=True)
class TrainConfig:
    """Budget, optimizer and the rules of a step.

    Attributes:
        epochs: Passes over the training sequences.
        batch_size: Sequences of one optimizer step; the last batch of an epoch may be smaller.
        learning_rate: Step size of Adam (betas 0.9 and 0.999, eps 1e-8) after the warm-up.
        clip_norm: Largest global gradient norm of a step; larger gradients are scaled down to it. None: no clipping.
        accumulate: Parts in which the batch of a step is computed one after the other, to save memory. Without dropout
            it changes results by rounding alone.
        warmup_steps: Optimizer steps over which the learning rate rises from 0 in equal parts.
        decay: How the learning rate falls to 0 from there to the last step of the last epoch: "none" (it stays),
            "cosine" or "linear".
        weight_decay: Decoupled weight decay (AdamW) of everything but biases and gains; 0: plain Adam.
        patience: Epochs without a better value on validation after which training stops; None: all epochs.
        class_weights: "balanced" weighs classes in the training loss so that each counts alike; None: as they are.
        precision: "float32", or "bfloat16" or "float16" for mixed precision on a GPU: weights stay float32, products
            are computed in the short type. Refused on a CPU, where it is no faster and not all layers have it.
        group_by_length: Whether sequences of similar length share a batch, so that little is padded.
        max_minutes: Minutes of training, all sessions together, after which it stops at the end of a step; the clock
            then decides how far a run comes. None: no limit.
    """

    epochs: int = 60
    batch_size: int = 64
    learning_rate: float = 0.003
    clip_norm: float | None = 1.0
    accumulate: int = 1
    warmup_steps: int = 0
    decay: str = "none"
    weight_decay: float = 0.0
    patience: int | None = None
    class_weights: str | None = None
    precision: str = "float32"
    group_by_length: bool = True
    max_minutes: float | int | None = None

    def __post_init__(self) -> None:
        problems = [
            *(self._check_whole(name, least) for name, least in (("epochs", 1), ("batch_size", 1), ("accumulate", 1))),
            self._check_whole("warmup_steps", 0),
            self._check_whole("patience", 1, optional=True),
            self._check_number("learning_rate"),
            self._check_number("clip_norm", optional=True),
            self._check_number("weight_decay", least_words="at least 0"),
            self._check_number("max_minutes", optional=True),
            self._check_word("decay", DECAYS),
            self._check_word("precision", PRECISIONS),
            self._check_word("class_weights", CLASS_WEIGHTS, optional=True),
        ]
        if not isinstance(self.group_by_length, bool):
            problems.append(complain("TrainConfig", "group_by_length", "true or false", self.group_by_length))
        problems = [problem for problem in problems if problem]
        if not problems and self.accumulate > self.batch_size:
            rule, got = f"at most batch_size={self.batch_size}", self.accumulate
            problems.append(complain("TrainConfig", "accumulate", rule, got, "It is the number of parts of a batch."))
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

    def _check_whole(self, name: str, least: int, optional: bool = False) -> str:
        value, rest = getattr(self, name), " or none" if optional else ""
        is_fine = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if is_fine or (optional and value is None):
            return ""
        return complain("TrainConfig", name, f"a whole number of at least {least}{rest}", value)

    def _check_number(self, name: str, optional: bool = False, least_words: str = "above 0") -> str:
        value, rest = getattr(self, name), " or none" if optional else ""
        if optional and value is None:
            return ""
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if is_number and (value > 0 or (value == 0 and least_words != "above 0")):
            return ""
        return complain("TrainConfig", name, f"{least_words}{rest}", repr(value) if isinstance(value, str) else value)

    def _check_word(self, name: str, known: tuple[str, ...], optional: bool = False) -> str:
        value = getattr(self, name)
        if value in known or (optional and value is None):
            return ""
        rule = " or ".join(repr(word) for word in known) + (" or none" if optional else "")
        return complain("TrainConfig", name, rule, repr(value), did_you_mean(str(value), known))


def check_keys(where: str, values: Mapping[str, Any], known: list[str]) -> None:
    """Refuse unknown keys, all at once, each with the nearest known one."""
    unknown = [key for key in values if key not in known]
    if unknown:
        raise ConfigError(" ".join(f"{where}: unknown key '{key}'. {did_you_mean(key, known)}" for key in unknown))
