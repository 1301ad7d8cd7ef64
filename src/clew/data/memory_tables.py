"""Tables that are in memory already, read as files are: a frame of polars, or a mapping of columns."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from clew.data.parquet import as_block
from clew.data.raw_blocks import RawBlock
from clew.errors import DataError, complain

if TYPE_CHECKING:
    import polars as pl


class FrameSource:
    """A frame of polars, or a mapping of names to lists, arrays or tensors.

    Args:
        table: The columns.
        name: What errors call it.

    Raises:
        DataError: If it is no table.
    """

    kind = "frame"

    def __init__(self, table: "pl.DataFrame | Mapping[str, Any]", name: str) -> None:
        import polars as pl

        self.path = Path(name)
        if isinstance(table, pl.DataFrame):
            self._frame = table
            return
        if not isinstance(table, Mapping):
            rule = "a frame of polars or a mapping of columns"
            raise DataError(complain(name, "table", rule, type(table).__name__))
        columns = {str(key): _as_column(value) for key, value in table.items()}
        try:
            self._frame = pl.DataFrame(columns, strict=True)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise DataError(complain(name, "table", "columns of one length and type each", str(error))) from error

    def blocks(self, size: int | None) -> Iterator[RawBlock]:
        """Give all rows in one block."""
        yield as_block(self._frame, 1)


def _as_column(values: Any) -> Any:
    """Bring tensors and arrays of two axes to what polars reads."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    return values.tolist() if isinstance(values, np.ndarray) and values.ndim > 1 else values
