"""What kind of table a file is: said, or told by its name and checked against its first bytes."""

from pathlib import Path

from clew.errors import DataError, complain, did_you_mean, suggest_file

TABLE_KINDS = {
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "jsonl": (".jsonl", ".ndjson"),
}
OTHER_READERS = {
    ".txt": "clew.data.read_text reads plain text.",
    ".conllu": "clew.data.read_conllu reads treebanks.",
    ".npz": "clew.data.read_images reads images.",
    ".json": "Write one JSON object a line, and call the file .jsonl.",
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".gz": "Unpack it first.",
    ".zip": "Unpack it first.",
    ".pkl": "Files of pickles can run code and are not read; save a table as CSV or Parquet.",
}
SIGNATURES = (
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a zip archive, as .xlsx and .npz are"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x93NUMPY", "a numpy array"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG", "a PNG image"),
    (b"%PDF", "a PDF"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3", "an SQLite database"),
)


def kind_of_table(path: Path, kind: str | None = None) -> str:
    """Name the kind of a file: "csv" (any delimiter), "parquet" or "jsonl".

    Args:
        path: The file.
        kind: What it is, where its name does not say so.

    Raises:
        DataError: If there is no such file, it is empty, or its kind is unknown or another than its name says.
    """
    where = str(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(complain(where, "file", "one that can be read", reason, suggest_file(path))) from error
    except ValueError as error:
        raise DataError(complain(repr(where), "the name of a file", "one that the system takes", str(error))) from error
    if not start:
        raise DataError(complain(where, "file", "one with content", "an empty file"))
    known = [suffix for suffixes in TABLE_KINDS.values() for suffix in suffixes]
    if kind is None:
        suffix = path.suffix.lower()
        kind = next((name for name, suffixes in TABLE_KINDS.items() if suffix in suffixes), None)
        if kind is None:
            remedy = OTHER_READERS.get(
                suffix, did_you_mean(suffix, known) if suffix else "Say kind='csv' if it is one."
            )
            rule = f"a table: {', '.join(known)}"
            raise DataError(complain(where, "file", rule, f"'{suffix}'" if suffix else "no ending", remedy))
    elif kind not in TABLE_KINDS:
        raise DataError(complain(where, "kind", "known", f"'{kind}'", did_you_mean(kind, TABLE_KINDS)))
    found = next((words for bytes_, words in SIGNATURES if start.startswith(bytes_)), None)
    if (kind == "parquet") != (found == "a Parquet file") and (found or kind == "parquet"):
        rule = {"csv": "a text table", "parquet": "a Parquet file", "jsonl": "JSON Lines"}[kind]
        remedy = "Say kind='parquet', or rename it." if found == "a Parquet file" else ""
        raise DataError(complain(where, "content", f"{rule}, as its name says", found or "something else", remedy))
    return kind
