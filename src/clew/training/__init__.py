"""Training: one loop, its configuration, and the state that makes resuming exact."""

from clew.training.config import TrainConfig, check_keys
from clew.training.loop import EpochRecord, TrainingError, train_epoch
from clew.training.ordering import draw_batches, steps_of_an_epoch
from clew.training.progress import SeveralListeners, SilentTraining, TrainingProgress
from clew.training.schedule import learning_rate_at
from clew.training.settings import parse_value, settings_of, with_overrides
from clew.training.state import TrainingState, load_weights, save_weights
from clew.training.weighting import weighted

__all__ = [
    "EpochRecord",
    "SeveralListeners",
    "SilentTraining",
    "TrainConfig",
    "TrainingError",
    "TrainingProgress",
    "TrainingState",
    "check_keys",
    "draw_batches",
    "learning_rate_at",
    "load_weights",
    "parse_value",
    "save_weights",
    "settings_of",
    "steps_of_an_epoch",
    "train_epoch",
    "weighted",
    "with_overrides",
]
