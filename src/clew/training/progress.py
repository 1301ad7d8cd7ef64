"""What a training tells while it runs, whoever listens; nothing here prints.

`clew.lab.progress` is the same for many runs at once. The terminal's listeners live in the command line.
"""

from typing import Protocol, runtime_checkable

from clew.training.loop import EpochRecord


@runtime_checkable
class TrainingProgress(Protocol):
    """A listener to one training.

    Calls come in this order: `begin` once, then `step`, `epoch` and `note` in any mixture, `close` once at the very
    end, after an error too.
    """

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        """Say what is to be done.

        Args:
            epochs: Most epochs.
            steps: Optimizer steps of an epoch.
            finished_steps: Steps of all epochs that an earlier start has taken.
        """
        ...

    def step(self, epoch: int, step: int, loss: float) -> None:
        """Tell how far it is, a few times a second at most.

        Args:
            epoch: Number of the epoch under way, from 1.
            step: Steps of it that are over.
            loss: Loss of the last step, in nats.
        """
        ...

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        """Tell what an epoch gave, and the seconds that this start spent on it."""
        ...

    def note(self, text: str) -> None:
        """Say something else."""
        ...

    def close(self) -> None:
        """Stop listening and leave the terminal as it was found; harmless when called twice."""
        ...


class SilentTraining:
    """Listens and says nothing."""

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        pass

    def step(self, epoch: int, step: int, loss: float) -> None:
        pass

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


class SeveralListeners:
    """Passes each call on to several listeners."""

    def __init__(self, *listeners: TrainingProgress) -> None:
        self._listeners = listeners

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        for one in self._listeners:
            one.begin(epochs, steps, finished_steps)

    def step(self, epoch: int, step: int, loss: float) -> None:
        for one in self._listeners:
            one.step(epoch, step, loss)

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        for one in self._listeners:
            one.epoch(record, seconds)

    def note(self, text: str) -> None:
        for one in self._listeners:
            one.note(text)

    def close(self) -> None:
        for one in self._listeners:
            one.close()
