"""What the readers of files give: blocks of rows as they stand in the file, before anyone knows what they mean."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Some rows of a file.

    Attributes:
        frame: The columns; cells without a type of their own are text.
        rows: Number of the first row in the file, from 1; headers do not count.
        untyped: Columns whose text may mean numbers or times.
        other: Columns that no task can use, as nested lists, with the words for what they hold. Not in `frame`.
    """

    frame: "pl.DataFrame"
    first_row: int
    untyped: frozenset[str]
    other: Mapping[str, str]


@runtime_checkable
class Source(Protocol):
    """A file that can be read block by block, more than once.

    Attributes:
        path: The file.
        kind: "csv", "parquet" or "jsonl".
    """

    path: Path
    kind: str

    def blocks(self, size: int | None) -> Iterator[RawBlock]:
        """Read all rows in blocks of about `size` bytes; None for one block.

        Raises:
            DataError: If the file cannot be read as what it is.
        """
        ...
