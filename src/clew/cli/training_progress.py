"""Showing one training on stderr: a live line on a terminal, one plain line an epoch in a pipe or a file.

What is printed may be lost without harm: when whoever reads it goes away, the listeners fall silent and the training
goes on.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from clew.cli.display import Display, Lines, TextStream, console_of, duration
from clew.training.loop import EpochRecord
from clew.training.progress import SilentTraining, TrainingProgress

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

FIGURES_SHOWN = 3


def training_progress_for(stream: TextStream) -> TrainingProgress:
    """Choose the listener that suits a stream; a terminal that cannot move its cursor gets plain lines."""
    console = console_of(stream)
    return TrainingLines(stream) if console is None else LiveTraining(console)


class TrainingPace:
    """How far a training is, how fast it goes, and how long the rest may take at that speed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self.epochs = self.steps = self.finished_before = self.finished = 0

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        """Start the clock."""
        self.epochs, self.steps = epochs, steps
        self.finished_before = self.finished = finished_steps
        self._started = self._clock()

    def advance(self, epoch: int, step: int) -> None:
        """Take note of the steps that are over."""
        self.finished = (epoch - 1) * self.steps + step

    @property
    def steps_per_second(self) -> float:
        """Speed since this start; 0 while nothing is known."""
        elapsed = self._clock() - self._started
        return (self.finished - self.finished_before) / elapsed if elapsed > 0 else 0.0

    def words(self) -> str:
        """Say speed and time left, if training goes on to its last epoch."""
        speed = self.steps_per_second
        if speed <= 0:
            return ""
        left = max(0, self.epochs * self.steps - self.finished) / speed
        return f"{speed:.3g} steps/s, about {duration(left)} left"


def epoch_words(record: EpochRecord, epochs: int) -> str:
    """Say in a line what an epoch gave.

    >>> record = EpochRecord(2, 0.5, {"loss_nats": 0.25, "accuracy": 0.9}, {}, 0.0, 100, True, 8, 0.003)
    >>> epoch_words(record, 10)
    'epoch 2/10: loss 0.5000, validation loss_nats 0.2500, accuracy 0.9000, best so far'
    """
    parts = [f"loss {record.train_loss_nats:.4f}", f"validation {_figures(record.validation)}"]
    if record.is_best:
        parts.append("best so far")
    if record.stopped and record.stopped != "epochs":
        parts.append(f"stops here ({record.stopped})")
    return f"epoch {record.epoch}/{epochs}: {', '.join(parts)}"


def _figures(metrics: Mapping[str, float]) -> str:
    shown = list(metrics.items())[:FIGURES_SHOWN]
    return ", ".join(f"{name} {value:.4f}" for name, value in shown)


class TrainingLines(Lines, SilentTraining):
    """One line an epoch, with speed and time left."""

    def __init__(self, stream: TextStream, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._pace = TrainingPace(clock)

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        self._pace.begin(epochs, steps, finished_steps)
        if finished_steps:
            self.note(f"goes on after {finished_steps} of {epochs * steps} steps")

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        self._pace.advance(record.epoch, self._pace.steps)
        pace = "" if record.stopped else self._pace.words()
        self.note(epoch_words(record, self._pace.epochs) + (f" ({pace})" if pace else ""))


class LiveTraining(Display, SilentTraining):
    """A bar over all steps with loss, speed and time left; epochs scroll away above it."""

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._pace = TrainingPace(clock)
        self._words = ""

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        self._pace.begin(epochs, steps, finished_steps)
        self.start(self._render)

    def step(self, epoch: int, step: int, loss: float) -> None:
        self._pace.advance(epoch, step)
        self._words = f"epoch {epoch}/{self._pace.epochs}, step {step}/{self._pace.steps}, loss {loss:.4f}"

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        self._pace.advance(record.epoch, self._pace.steps)
        self.note(epoch_words(record, self._pace.epochs))

    def _render(self) -> "RenderableType":
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._pace.epochs * self._pace.steps, completed=self._pace.finished, width=24)
        line.add_row(bar, self._words, self._pace.words())
        return line
