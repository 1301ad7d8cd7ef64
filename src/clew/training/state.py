"""All that training needs in order to go on exactly: weights, optimizer, generators, position in the data.

`last.safetensors` holds it in one file: tensors by name, generator states as bytes, numbers in the header. In the
middle of an epoch that is the order generator as it was at the start of the epoch, the steps that are over, and what
they gave.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from clew.errors import RunError, complain
from clew.files import write_atomically
from clew.layers.dropout import share_dropout_generator
from clew.models.sequence_model import SequenceModel
from clew.training.config import TrainConfig
from clew.training.optimizers import make_optimizer, make_scaler
from clew.training.sums import EpochSums


@dataclass
class Progress:
    """Where training stands.

    Attributes:
        epoch: Finished epochs.
        step: Optimizer steps of the epoch under way that are over.
        total_steps: Optimizer steps of all epochs that are over.
        tokens_seen: Real input positions read in finished epochs.
        best_epoch: Epoch with the lowest value of the task's selection metric so far; 0 before the first.
        best_value: That value.
        stopped: Why training is over: "epochs", "patience" or "max_minutes"; "" while it is not.
    """

    epoch: int = 0
    step: int = 0
    total_steps: int = 0
    tokens_seen: int = 0
    best_epoch: int = 0
    best_value: float = float("inf")
    stopped: str = ""


@dataclass
class TrainingState:
    """A model in training, with everything that moves while it trains.

    Attributes:
        model, optimizer: As they are after the last step.
        order_generator: Draws the order of each epoch's batches.
        dropout_generator: Draws the dropout masks.
        scaler: Scales the loss of float16 training; does nothing otherwise.
        progress: Where training stands.
        sums: What the steps of the epoch under way gave.
        order_at_start: State of `order_generator` before it drew the epoch under way.
        epoch_positions: Input positions of a whole epoch, once they are counted.
    """

    model: SequenceModel
    optimizer: torch.optim.Optimizer
    order_generator: torch.Generator
    dropout_generator: torch.Generator
    scaler: torch.amp.GradScaler
    progress: Progress = field(default_factory=Progress)
    sums: EpochSums = field(default_factory=EpochSums)
    order_at_start: Tensor | None = None
    epoch_positions: int | None = None

    @classmethod
    def start(cls, model: SequenceModel, config: TrainConfig, order_seed: int, dropout_seed: int) -> "TrainingState":
        """Begin training: a new optimizer, the order of batches and the dropout masks from seeds of their own.

        Raises:
            ConfigError: If the precision does not suit the device of the model.
        """
        device = next(model.parameters()).device
        optimizer, scaler = make_optimizer(model, config), make_scaler(device, config)
        dropout_generator = torch.Generator(device).manual_seed(dropout_seed)
        share_dropout_generator(model, dropout_generator)
        return cls(model, optimizer, torch.Generator().manual_seed(order_seed), dropout_generator, scaler)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def save(self, path: Path) -> None:
        """Write the whole state into one file, in place of the last one.

        Raises:
            RunError: If the disk is full or the folder cannot be written; the last file stays whole.
        """
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for index, entries in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in entries.items()}
        is_within = self.progress.step > 0 and self.order_at_start is not None
        tensors["generator.order"] = self.order_at_start if is_within else self.order_generator.get_state()
        tensors["generator.dropout"] = self.dropout_generator.get_state()
        if self.progress.step:
            tensors |= {f"epoch.{name}": tensor for name, tensor in self.sums.tensors().items()}
        header = {"progress": json.dumps(vars(self.progress))}
        if self.scaler.is_enabled():
            header["scaler"] = json.dumps(self.scaler.state_dict())
        write_atomically(path, save({name: tensor.contiguous() for name, tensor in tensors.items()}, header))

    def restore(self, path: Path) -> None:
        """Take over the state that a file holds.

        Raises:
            RunError: If the file is damaged or belongs to another model.
        """
        tensors, header = read_tensors(path)
        try:
            self.progress = Progress(**json.loads(header["progress"]))
            self.model.load_state_dict(_under(tensors, "model."))
            self.optimizer.load_state_dict(self._optimizer_state(_under(tensors, "optimizer.")))
            self.order_generator.set_state(tensors["generator.order"])
            self.dropout_generator.set_state(tensors["generator.dropout"])
            self.sums = EpochSums.of(_under(tensors, "epoch."), self.device) if self.progress.step else EpochSums()
            if self.scaler.is_enabled():
                self.scaler.load_state_dict(json.loads(header["scaler"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise _damaged(path, f"{error}".splitlines()[0]) from error

    def _optimizer_state(self, tensors: dict[str, Tensor]) -> dict:
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            index, name = key.split(".", 1)
            state.setdefault(int(index), {})[name] = tensor
        return self.optimizer.state_dict() | {"state": state}


def save_weights(weights: dict[str, Tensor], path: Path, epoch: int) -> None:
    """Write weights alone (a model's `state_dict`), with the epoch they are from in the header."""
    write_atomically(path, save({name: tensor.contiguous() for name, tensor in weights.items()}, {"epoch": str(epoch)}))


def load_weights(model: SequenceModel, path: Path) -> int:
    """Give a model the weights that a file holds; return the epoch they are from.

    Raises:
        RunError: If the file is missing, damaged or belongs to another model.
    """
    tensors, header = read_tensors(path)
    try:
        model.load_state_dict(tensors)
        return int(header["epoch"])
    except (KeyError, ValueError, RuntimeError) as error:
        raise _damaged(path, f"{error}".splitlines()[0]) from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a safetensors file: its tensors and its header.

    Raises:
        RunError: If the file is missing or damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise _damaged(path, f"{error}".splitlines()[0]) from error


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _damaged(path: Path, what: str) -> RunError:
    remedy = f"Delete the folder {path.parent} and run the same command again to train this run anew."
    return RunError(complain(str(path), "checkpoint", "whole and of this run", f"a damaged one ({what})", remedy))
