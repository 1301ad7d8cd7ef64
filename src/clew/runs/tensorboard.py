"""The figures of each epoch for TensorBoard, which needs the extra `tensorboard`."""

from pathlib import Path
from typing import Any

from clew.errors import ConfigError, complain
from clew.training import EpochRecord, SilentTraining


class TensorBoardLog(SilentTraining):
    """Writes loss, rate and validation figures after each epoch; give it to `fit` as one of its listeners.

    Args:
        folder: Where the logs go, as the folder `tensorboard` beside the run.

    Raises:
        ConfigError: If the package is not installed.
    """

    def __init__(self, folder: Path | str) -> None:
        self._writer = _writer_class()(str(folder))

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        figures = {
            "train/loss": record.train_loss_nats,
            "train/clipped_fraction": record.clipped_fraction,
            "train/learning_rate": record.learning_rate,
            **{f"validation/{name}": value for name, value in record.validation.items()},
            **{f"diagnose/{name}": value for name, value in record.diagnose.items()},
        }
        for name, value in figures.items():
            self._writer.add_scalar(name, value, record.epoch)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        remedy = "Install it with `pip install 'clew[tensorboard]'`, or leave the logging out."
        raise ConfigError(complain("tensorboard", "package", "installed", "none", remedy)) from error
    return SummaryWriter
