"""Showing a long job on stderr: a live display on a terminal, one plain line a run in a pipe or a file.

Both take the lab's calls as `clew.lab.progress.Progress` describes them. What they print may be lost without harm: when
whoever reads it goes away, they fall silent and the work goes on.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.cli.display import Display, Lines, TextStream, console_of, duration
from clew.lab.progress import Progress, SilentProgress

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def progress_for(stream: TextStream) -> Progress:
    """Choose the listener that suits a stream; a terminal that cannot move its cursor gets plain lines."""
    console = console_of(stream)
    return LineProgress(stream) if console is None else LiveProgress(console)


@dataclass
class Pace:
    """How far the whole job is, and how long the rest may take if it goes on at the speed so far."""

    clock: Callable[[], float] = time.monotonic
    total_runs: int = 0
    finished_before: int = 0
    finished_now: int = 0
    parts: dict[str, float] = field(default_factory=dict)  # run label -> fraction done, of the runs under way
    inherited: float = 0.0  # runs' worth of work in those parts that an earlier start had done
    started: float = 0.0

    def begin(self, total_runs: int, finished: int) -> None:
        self.total_runs, self.finished_before = total_runs, finished
        self.started = self.clock()

    def advance(self, run_label: str, epoch: int, epochs: int) -> None:
        if run_label not in self.parts:  # a resumed run shows up in its middle
            self.inherited += (epoch - 1) / epochs
        self.parts[run_label] = epoch / epochs

    def end_run(self, run_label: str) -> None:
        self.parts.pop(run_label, None)
        self.finished_now += 1

    @property
    def done(self) -> int:
        """Runs that are over, those of an earlier start among them."""
        return self.finished_before + self.finished_now

    @property
    def elapsed_seconds(self) -> float:
        return self.clock() - self.started

    @property
    def completed(self) -> float:
        """Runs' worth of work that is over, parts of runs counted."""
        return self.done + sum(self.parts.values(), start=0.0)

    @property
    def remaining_seconds(self) -> float | None:
        """None while nothing is known yet."""
        work_done = self.completed - self.finished_before - self.inherited
        if work_done <= 0:
            return None
        return max(0.0, self.total_runs - self.completed) * self.elapsed_seconds / work_done

    def words(self) -> str:
        elapsed = f"{duration(self.elapsed_seconds)} elapsed"
        if self.done >= self.total_runs:
            return elapsed
        remaining = self.remaining_seconds
        return f"{elapsed}, about {duration(remaining)} left" if remaining is not None else elapsed


class LineProgress(Lines, SilentProgress):
    """One line when it starts, one for each run that ends, with the time so far and the time left."""

    def __init__(self, stream: TextStream, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._pace = Pace(clock)

    def begin(self, total_runs: int, finished: int) -> None:
        self._pace.begin(total_runs, finished)
        self.note(_start_line(total_runs, finished))

    def epoch(
        self,
        run_label: str,
        epoch: int,
        epochs: int,
        train_loss: float,
        validation: Mapping[str, float],
        seconds: float,
    ) -> None:
        self._pace.advance(run_label, epoch, epochs)

    def finished(self, run_label: str, words: str) -> None:
        self._end_run(run_label, words)

    def failed(self, run_label: str, reason: str) -> None:
        self._end_run(run_label, f"failed: {reason}")

    def _end_run(self, run_label: str, words: str) -> None:
        self._pace.end_run(run_label)
        self.note(f"{_end_line(self._pace, run_label, words)} ({self._pace.words()})")


@dataclass
class ActiveRun:
    """What the live display shows of a run that is under way."""

    epoch: int
    epochs: int
    train_loss: float
    accuracy: float | None
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """Epoch, loss, accuracy and rate as short words."""
        accuracy = "" if self.accuracy is None else f"accuracy {self.accuracy:.3f}"
        rate = f"{1 / self.seconds:.1f} epochs/s" if self.seconds > 0 else ""
        loss = f"loss {self.train_loss:.3f} nats" if math.isfinite(self.train_loss) else f"loss {self.train_loss}"
        return f"epoch {self.epoch}/{self.epochs}", loss, accuracy, rate


class LiveProgress(Display, SilentProgress):
    """A bar over all runs, and below it a line for each run under way; runs that ended scroll away above it."""

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._pace = Pace(clock)
        self._active: dict[str, ActiveRun] = {}

    def begin(self, total_runs: int, finished: int) -> None:
        self._pace.begin(total_runs, finished)
        self.note(_start_line(total_runs, finished))
        self.start(self._render)

    def epoch(
        self,
        run_label: str,
        epoch: int,
        epochs: int,
        train_loss: float,
        validation: Mapping[str, float],
        seconds: float,
    ) -> None:
        accuracy = next((value for name, value in validation.items() if "accuracy" in name), None)
        self._pace.advance(run_label, epoch, epochs)
        self._active[run_label] = ActiveRun(epoch, epochs, train_loss, accuracy, seconds)

    def finished(self, run_label: str, words: str) -> None:
        self._end_run(run_label, words)

    def failed(self, run_label: str, reason: str) -> None:
        self._end_run(run_label, f"failed: {reason}")

    def _end_run(self, run_label: str, words: str) -> None:
        self._active.pop(run_label, None)
        self._pace.end_run(run_label)
        self.note(_end_line(self._pace, run_label, words))

    def _render(self) -> "RenderableType":
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        pace = self._pace
        overall = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=pace.total_runs, completed=pace.completed, width=30)
        overall.add_row(bar, f"{pace.done}/{pace.total_runs} runs", pace.words())
        runs = Table.grid(padding=(0, 2))
        for label, run in list(self._active.items()):  # a copy: the display has a thread of its own
            runs.add_row(label, *run.cells())
        return Group(overall, runs)


def _start_line(total_runs: int, finished: int) -> str:
    already = f", {finished} of them already finished" if finished else ""
    return f"{total_runs} runs{already}"


def _end_line(pace: Pace, run_label: str, words: str) -> str:
    width = len(str(pace.total_runs))
    return f"[{pace.done:{width}}/{pace.total_runs}] {run_label}: {words}"
