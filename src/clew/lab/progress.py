"""What a long job tells while it runs, whoever listens.

The lab calls these methods from the parent process as its runs advance; nothing here prints. `SilentProgress` is for
calls from Python; the terminal's two listeners live in `clew.cli.progress`.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """A listener to many runs that advance at the same time.

    Calls come in this order: `begin` once, then `epoch`, `finished`, `failed` and `note` in any mixture, `close` once
    at the very end, after an error too. A run is named by its label, the same words in every call, such as
    "gru, delay 16, seed 6207".
    """

    def begin(self, total_runs: int, finished: int) -> None:
        """Say how many runs there are altogether, and how many of them an earlier start has finished already."""
        ...

    def epoch(
        self,
        run_label: str,
        epoch: int,
        epochs: int,
        train_loss: float,
        validation: Mapping[str, float],
        seconds: float,
    ) -> None:
        """Report an epoch of a run.

        Args:
            run_label: The run.
            epoch: Epochs that this run has behind it, from 1 to `epochs`.
            epochs: Epochs that it will have at its end.
            train_loss: Mean training loss of this epoch, in nats.
            validation: What the task's `evaluate` gave on the validation data.
            seconds: Wall-clock seconds that this epoch took.
        """
        ...

    def finished(self, run_label: str, words: str) -> None:
        """Report the end of a run, with its outcome in a few words."""
        ...

    def failed(self, run_label: str, reason: str) -> None:
        """Report that a run ended in an error; the others go on."""
        ...

    def note(self, text: str) -> None:
        """Say something that belongs to no run."""
        ...

    def close(self) -> None:
        """Stop listening and leave the terminal as it was found; harmless when called twice."""
        ...


class SilentProgress:
    """Listens and says nothing."""

    def begin(self, total_runs: int, finished: int) -> None:
        pass

    def epoch(
        self,
        run_label: str,
        epoch: int,
        epochs: int,
        train_loss: float,
        validation: Mapping[str, float],
        seconds: float,
    ) -> None:
        pass

    def finished(self, run_label: str, words: str) -> None:
        pass

    def failed(self, run_label: str, reason: str) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass
