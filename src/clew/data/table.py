"""A table of sequences: one row a step, sequences together, time increasing, every column with a role and a type.

`read_table` makes one from a file; `Preparation` turns it into numbers. Rows of the file are kept for error texts and
for writing predictions in the order of the file.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clew.data.columns import Columns
from clew.errors import DataError, complain

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Table:
    """Steps of sequences.

    Attributes:
        frame: A row a step: sequence, group and split as text, time as float64 or dates, numeric columns and numeric
            labels as float64 (null where missing), categorical columns and other labels as text.
        columns: What each column is; `columns.sequence` is always given.
        path: The file, or a name for a table that was in memory.
        kind: "csv", "parquet", "jsonl", "conllu" (rows are lines of the file) or "frame".
        form: "long" where the file has a row a step, "lists" where it has a row a sequence.
        rows: Row of the file that each step stands in, from 1, (steps,).
        steps: Place in the lists of that row, from 1; None in long form.
        offsets: First row of `frame` of each sequence, and the end of the last, (n + 1,).
        added: Columns of `frame` that the file does not have.
        unused: Columns of the file without a role.
        delimiter: What stands between the cells of a CSV file.
    """

    frame: "pl.DataFrame"
    columns: Columns
    path: Path
    kind: str
    form: Literal["long", "lists"]
    rows: NDArray[np.int64]
    steps: NDArray[np.int64] | None
    offsets: NDArray[np.int64]
    added: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    delimiter: str | None = None

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Table({self.path}: {len(self):,} sequences, {self.frame.height:,} steps)"

    @property
    def lengths(self) -> Tensor:
        """Steps of each sequence."""
        return torch.from_numpy(np.diff(self.offsets))

    @property
    def ids(self) -> list[str]:
        """Name of each sequence."""
        assert self.columns.sequence is not None
        return self.frame[self.columns.sequence].gather(self.offsets[:-1]).to_list()

    def of_sequence(self, name: str) -> "pl.Series":
        """Give one value of a column for each sequence: its first that is not missing.

        >>> import polars as pl
        >>> from clew.data import as_table
        >>> table = as_table({"sequence": ["a", "a", "b"], "x": [1.0, 2.0, 3.0], "label": ["u", "u", "v"]})
        >>> table.of_sequence("label").to_list()
        ['u', 'v']
        """
        import polars as pl

        numbers = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        frame = pl.DataFrame({"number": numbers, "value": self.frame[name]})
        first = frame.group_by("number", maintain_order=True).agg(pl.col("value").drop_nulls().first())
        return first["value"].alias(name)

    def part(self, index: Any) -> "Table":
        """Take some sequences, in the order of `index`: numbers, or a bool a sequence."""
        array = index.numpy() if isinstance(index, Tensor) else np.asarray(index)
        chosen = np.flatnonzero(array) if array.dtype == np.bool_ else array.astype(np.int64)
        lengths = np.diff(self.offsets)[chosen]
        ends = np.cumsum(lengths)
        places = np.arange(int(lengths.sum())) + np.repeat(self.offsets[:-1][chosen] - (ends - lengths), lengths)
        return self._take(places, np.concatenate([[0], ends]))

    def cut(self, is_kept: NDArray[np.bool_]) -> "Table":
        """Take some steps; sequences without any are gone."""
        numbers = np.repeat(np.arange(len(self)), np.diff(self.offsets))[is_kept]
        lengths = np.bincount(numbers, minlength=len(self))
        return self._take(np.flatnonzero(is_kept), np.concatenate([[0], np.cumsum(lengths[lengths > 0])]))

    def _take(self, places: NDArray[np.int64], offsets: NDArray[Any]) -> "Table":
        steps = None if self.steps is None else self.steps[places]
        frame = self.frame[places]
        return replace(self, frame=frame, rows=self.rows[places], steps=steps, offsets=offsets.astype(np.int64))

    def place(self, index: int) -> str:
        """Say where a row of `frame` stands in the file.

        Raises:
            DataError: If there is no such row.
        """
        if not 0 <= index < len(self.rows):
            raise DataError(complain("Table", "index", f"below {len(self.rows)} steps", index))
        row = f"{'line' if self.kind == 'conllu' else 'row'} {self.rows[index]}"
        return row if self.steps is None else f"{row}, step {self.steps[index]}"
