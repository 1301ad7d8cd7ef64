"""Training: one loop, its configuration, and the state that makes resuming exact."""

from clew.training.config import TrainConfig, check_keys
from clew.training.loop import EpochRecord, TrainingError, train_epoch
from clew.training.state import TrainingState, load_weights, save_weights

__all__ = [
    "EpochRecord",
    "TrainConfig",
    "TrainingError",
    "TrainingState",
    "check_keys",
    "load_weights",
    "save_weights",
    "train_epoch",
]
