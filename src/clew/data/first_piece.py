"""The first piece of a table as a `Table`: enough to say what its columns are and which task it is for.

Not for training: what is wrong with cells is not told here, and the last sequence may go on behind the piece. See
`clew.data.conversion` for all pieces, with the same columns.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.data.arranging import Arranger
from clew.data.cleaning import Missing
from clew.data.columns import Columns
from clew.data.conversion import PIECE_BYTES
from clew.data.problems import Problems
from clew.data.reading import open_source, prepare_cleaning
from clew.data.table import Table
from clew.errors import DataError, complain


def read_first_piece(
    path: Path | str,
    columns: Columns | Mapping[str, Any] | None = None,
    task: str | None = None,
    *,
    missing: Missing = "refuse",
    kind: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    piece_bytes: int = PIECE_BYTES,
) -> Table:
    """Read about `piece_bytes` of a table; the other arguments are those of `read_table`.

    Raises:
        DataError: If the file cannot be read as a table, or has no rows.
    """
    source = open_source(path, kind=kind, delimiter=delimiter, encoding=encoding)
    for raw in source.blocks(piece_bytes):
        if not raw.frame.height:
            continue
        cleaner, _, unused = prepare_cleaning(source.path, raw, columns, task, missing, needs_label=True)
        block = cleaner.clean(raw)
        if not block.frame.height:
            continue
        # The conversion tells all problems of all pieces at once; these would be a part of them.
        arranger = Arranger(cleaner.columns, task, sort=False, problems=Problems(source.path))
        block, offsets = arranger.arrange_all(block)
        return Table(
            frame=block.frame,
            columns=cleaner.columns,
            path=source.path,
            kind=source.kind,
            form=cleaner.form,
            rows=block.rows,
            steps=block.steps,
            offsets=offsets,
            added=cleaner.added,
            unused=tuple(unused),
        )
    raise DataError(complain(str(source.path), "table", "at least one row long", "a header alone"))
