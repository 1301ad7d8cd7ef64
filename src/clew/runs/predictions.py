"""What a run predicts, with the names of the sequences: arrays for programs, a frame for files.

Rows stand in the order of the input, whatever the batches were.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.data import Table

if TYPE_CHECKING:
    import polars as pl

PROBABILITY = "probability of "


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of some sequences.

    Attributes:
        task: Name of the task.
        ids: Name of each sequence.
        lengths: Real steps of each.
        values: Arrays as the task's `predict` gives them, a row a sequence.
        classes: Names of the classes or tokens; empty where there are none.
        names: Names of the numbers that are predicted, in regression and forecasting.
        table: The table that was read, if it was one.
        quantiles: Levels, where quantiles are predicted.
    """

    task: str
    ids: list[str]
    lengths: NDArray[np.int64]
    values: dict[str, NDArray[Any]]
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    table: Table | None = None
    quantiles: tuple[float, ...] = ()

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.ids)

    @property
    def labels(self) -> list[Any]:
        """The predicted class of each sequence by name, or a list of them, one a step."""
        found = self.values["classes"]
        if found.ndim == 1:
            return [self._name(number) for number in found]
        return [
            [self._name(number) for number in row[self._real(row)][:length]]
            for row, length in zip(found, self.lengths, strict=True)
        ]

    def to_frame(self) -> "pl.DataFrame":
        """Give a row a sequence, or a row a step in tagging, in the order of the file.

        Columns are the sequence, the time where the file has one, what is predicted, and a probability a class.
        """
        import polars as pl

        if self.task == "tagging":
            return self._steps()
        if self.task == "forecasting":
            return self._horizons()
        columns: dict[str, Any] = {self._sequence_name: self.ids}
        if "classes" in self.values and self.values["classes"].ndim == 1:
            columns["predicted"] = self.labels
            columns |= {f"{PROBABILITY}{name}": self.values["probabilities"][:, place] for place, name in self._named()}
        elif self.task == "regression":
            names = self.names or tuple(f"value {place + 1}" for place in range(self.values["values"].shape[1]))
            columns |= {f"predicted {name}": self.values["values"][:, place] for place, name in enumerate(names)}
        else:
            columns["predicted"] = [" ".join(map(str, row)) for row in self.labels]
        return pl.DataFrame(columns)[self._file_order()]

    @property
    def _sequence_name(self) -> str:
        columns = None if self.table is None else self.table.columns
        return "sequence" if columns is None or columns.sequence is None else columns.sequence

    def _name(self, number: Any) -> str:
        return self.classes[int(number)] if self.classes and number >= 0 else str(int(number))

    def _named(self) -> list[tuple[int, str]]:
        count = self.values["probabilities"].shape[-1]
        return [(place, self._name(place)) for place in range(count)]

    def _real(self, row: NDArray[Any]) -> NDArray[np.bool_]:
        return row >= 0

    def _file_order(self) -> list[int]:
        """Give sequences by the first row of the file that they stand in."""
        if self.table is None:
            return list(range(len(self)))
        return np.argsort(self.table.rows[self.table.offsets[:-1]], kind="stable").tolist()

    def _steps(self) -> "pl.DataFrame":
        import polars as pl

        number = np.repeat(np.arange(len(self)), self.lengths)
        step = np.concatenate([np.arange(length) for length in self.lengths])
        classes, probabilities = self.values["classes"], self.values["probabilities"]
        columns: dict[str, Any] = {self._sequence_name: [self.ids[place] for place in number], "step": step + 1}
        if self.table is not None and self.table.columns.time is not None:
            columns[self.table.columns.time] = self.table.frame[self.table.columns.time]
        found = classes[number, step]
        columns["predicted"] = [self._name(one) if one >= 0 else None for one in found]
        for place, name in self._named():
            columns[f"{PROBABILITY}{name}"] = probabilities[number, step, place]
        frame = pl.DataFrame(columns)
        if self.table is None:
            return frame
        rows = self.table.rows, np.zeros_like(self.table.rows) if self.table.steps is None else self.table.steps
        return frame[np.lexsort(rows[::-1]).tolist()]

    def _horizons(self) -> "pl.DataFrame":
        import polars as pl

        found = self.values["rollout"]
        windows, horizon, series = found.shape[:3]
        names = self.names or tuple(f"series {place + 1}" for place in range(series))
        columns: dict[str, Any] = {
            self._sequence_name: [name for name in self.ids for _ in range(horizon)],
            "window": np.repeat(np.arange(windows), horizon),
            "step ahead": np.tile(np.arange(1, horizon + 1), windows),
        }
        for place, name in enumerate(names):
            flat = found[:, :, place].reshape(windows * horizon, -1)
            words = [f" {level}" for level in self.quantiles] if self.quantiles else [""]
            columns |= {f"predicted {name}{word}": flat[:, level] for level, word in enumerate(words)}
        return pl.DataFrame(columns)
