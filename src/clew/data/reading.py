"""From a file to a `Table`: every column gets a role and a type, every cell is checked, all problems are told at once.

`read_table` reads CSV, Parquet and JSON Lines; `as_table` takes what is in memory already. Files that are larger than
memory go through `clew.data.conversion`, with the same checks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.data.arranging import Arranger
from clew.data.cleaning import MISSING, Cleaner, Missing
from clew.data.column_types import infer_kinds
from clew.data.columns import Columns
from clew.data.delimited import DelimitedSource
from clew.data.file_kinds import kind_of_table
from clew.data.json_lines import JsonLinesSource
from clew.data.memory_tables import FrameSource
from clew.data.parquet import ParquetSource
from clew.data.problems import Problems
from clew.data.raw_blocks import RawBlock, Source
from clew.data.table import Table
from clew.errors import ConfigError, DataError, complain, did_you_mean

if TYPE_CHECKING:
    import polars as pl


def read_table(
    path: Path | str,
    columns: Columns | Mapping[str, Any] | None = None,
    task: str | None = None,
    *,
    kind: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sort: bool = False,
    missing: Missing = "refuse",
    needs_label: bool = True,
) -> Table:
    """Read a table of sequences.

    A row is a step (long form: a column names the sequence), or a sequence (columns of lists). Rows are counted from 1
    without the header. Sequences whose rows are scattered are put together where a column of time orders them.

    Args:
        path: A file .csv, .tsv, .parquet or .jsonl.
        columns: Roles of the columns; what is not given is guessed, see `Columns.resolve`.
        task: The task that the table is for, which says what it must have.
        kind: "csv", "parquet" or "jsonl", where the name of the file does not say so.
        delimiter: What stands between the cells of a CSV file; found by default.
        encoding: Encoding of text.
        sort: Whether steps that are not in the order of time are sorted; else they are a problem.
        missing: "refuse" to make missing values a problem; "mean", "forward" or "keep" leave them to the preparation,
            which fills them as it was told.
        needs_label: False where a missing label is no problem, as in prediction.

    Raises:
        TableError: With one line for each thing that is wrong with the content.
        DataError: If the file cannot be read at all, or columns are missing.
        ConfigError: If an argument is wrong.
    """
    source = open_source(path, kind=kind, delimiter=delimiter, encoding=encoding)
    return read_source(source, columns, task, sort=sort, missing=missing, needs_label=needs_label)


def as_table(
    table: "Table | pl.DataFrame | Mapping[str, Any] | Path | str",
    columns: Columns | Mapping[str, Any] | None = None,
    task: str | None = None,
    *,
    name: str = "table",
    sort: bool = False,
    missing: Missing = "refuse",
    needs_label: bool = True,
) -> Table:
    """Take a frame of polars, a mapping of columns, a path, or a `Table`, which is given back as it is.

    Raises:
        DataError: As `read_table` does; `name` stands for the file.

    >>> as_table({"sequence": ["a", "a"], "x": [1.0, 2.0]}).ids
    ['a']
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, str | Path):
        return read_table(table, columns, task, sort=sort, missing=missing, needs_label=needs_label)
    return read_source(FrameSource(table, name), columns, task, sort=sort, missing=missing, needs_label=needs_label)


def open_source(
    path: Path | str, *, kind: str | None = None, delimiter: str | None = None, encoding: str = "utf-8"
) -> Source:
    """Open a file for reading in blocks; see `read_table` for the arguments.

    Raises:
        DataError: If the file cannot be read as a table.
    """
    place = Path(path)
    found = kind_of_table(place, kind)
    if found == "parquet":
        return ParquetSource(place)
    if found == "jsonl":
        return JsonLinesSource(place, encoding)
    if delimiter is None and place.suffix.lower() in (".tsv", ".tab"):
        delimiter = "\t"
    return DelimitedSource(place, delimiter, encoding)


def read_source(
    source: Source,
    columns: Columns | Mapping[str, Any] | None,
    task: str | None,
    *,
    sort: bool,
    missing: Missing,
    needs_label: bool,
) -> Table:
    """Read all rows of a source in one block; see `read_table` for the arguments."""
    block = next(iter(source.blocks(None)))
    cleaner, problems, unused = prepare_cleaning(source.path, block, columns, task, missing, needs_label)
    arranger = Arranger(cleaner.columns, task, sort, problems)
    steps = cleaner.clean(block)
    if not steps.frame.height:
        problems.add("", "", "table", "at least one row long", "none")
        problems.raise_if_any()
    steps, offsets = arranger.arrange_all(steps)
    problems.raise_if_any()
    return Table(
        frame=steps.frame,
        columns=cleaner.columns,
        path=source.path,
        kind=source.kind,
        form=cleaner.form,
        rows=steps.rows,
        steps=steps.steps,
        offsets=offsets,
        added=cleaner.added,
        unused=tuple(unused),
        delimiter=getattr(source, "delimiter", None),
    )


def prepare_cleaning(
    path: Path,
    block: RawBlock,
    columns: Columns | Mapping[str, Any] | None,
    task: str | None,
    missing: Missing,
    needs_label: bool,
) -> tuple[Cleaner, Problems, list[str]]:
    """Find out what the columns of a file are from its first block.

    Returns:
        What cleans its blocks, where problems are noted, and the columns without a role.
    """
    if missing not in MISSING:
        remedy = did_you_mean(str(missing), MISSING)
        raise ConfigError(complain("read_table", "missing", "known", repr(missing), remedy))
    problems = Problems(path)
    if not block.frame.height:
        raise DataError(complain(str(path), "table", "at least one row long", "a header alone"))
    kinds = infer_kinds(block)
    given = columns if isinstance(columns, Columns) else Columns.from_mapping(columns or {})
    resolved = given.resolve(kinds, task, where=str(path), needs_label=needs_label)
    unused = [name for name in kinds if name not in resolved.named]
    return Cleaner(resolved, kinds, missing, problems, path.stem), problems, unused
