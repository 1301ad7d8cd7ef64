"""Predictions as files of the kind that was read: the same names, the same order, a probability a class.

    CSV, Parquet, JSON Lines   a row a sequence, or a row a step in tagging of long tables
    CoNLL-U                    the file itself with the predicted annotation, its probability in MISC
    .npz                       ids, predicted, probabilities and classes

A file appears whole or not at all, and none is replaced unless that is said.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.data import Table, read_text
from clew.data.conllu import FIELDS
from clew.data.reading import open_source
from clew.errors import ConfigError, RunError, complain, did_you_mean
from clew.files import dump_json, write_atomically
from clew.runs.predictions import Predictions

if TYPE_CHECKING:
    import polars as pl

FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".conllu": "conllu", ".npz": "npz",
}  # fmt: skip
PROBABILITY_KEY = "Probability"
NOTHING = "_"


def write_predictions(predictions: Predictions, path: Path | str, *, label: str = "upos", force: bool = False) -> None:
    """Write predictions in the format that the name of the file says.

    Args:
        predictions: What `Run.predict` gave.
        path: .csv, .tsv, .parquet, .jsonl; .conllu for a treebank; .npz for images.
        label: Which annotation of a treebank was predicted.
        force: Whether a file that exists is replaced.

    Raises:
        ConfigError: If the format does not suit what was read.
        RunError: If the file exists or cannot be written.
    """
    path = Path(path)
    kind = format_of(path, predictions)
    if path.exists() and not force:
        remedy = "Choose another name, or give force to replace it."
        raise RunError(complain(str(path), "predictions", "a new file", "one that exists", remedy))
    write_atomically(path, encode_predictions(predictions, kind, label=label, is_tabs=path.suffix.lower() != ".csv"))


def format_of(path: Path, predictions: Predictions) -> str:
    """Say in which format a file is to be written.

    Raises:
        ConfigError: If it does not suit what was read.
    """
    suffix = path.suffix.lower()
    known = [name for name, kind in FORMATS.items() if _suits(kind, predictions)]
    if suffix not in known:
        rule = f"one of {', '.join(known)}"
        raise ConfigError(
            complain(str(path), "the ending of the output", rule, f"'{suffix}'", did_you_mean(suffix, known))
        )
    return FORMATS[suffix]


def usual_format(predictions: Predictions) -> str:
    """Give the format of what was read."""
    if predictions.table is not None:
        return predictions.table.kind if predictions.table.kind != "frame" else "csv"
    return "csv"


def encode_predictions(predictions: Predictions, kind: str, *, label: str = "upos", is_tabs: bool = False) -> bytes:
    """Give the content of a file."""
    if kind == "conllu":
        assert predictions.table is not None
        return _as_treebank(predictions, predictions.table, label).encode()
    if kind == "npz":
        return _as_arrays(predictions)
    frame = to_file_frame(predictions, has_lists=kind != "csv")
    delimiter = None if predictions.table is None else predictions.table.delimiter
    return encode_frame(frame, kind, delimiter or ("\t" if is_tabs else ","))


def encode_frame(frame: "pl.DataFrame", kind: str, delimiter: str = ",") -> bytes:
    """Give rows as the content of a CSV, Parquet or JSON Lines file."""
    import polars.selectors as cs

    buffer = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(buffer)
    elif kind == "jsonl":
        rows = frame.with_columns(cs.temporal().cast(str)).iter_rows(named=True)
        buffer.write("".join(dump_json(row, indent=None) + "\n" for row in rows).encode())
    else:
        parts = [frame[name].dt.microsecond().max() for name in frame.select(cs.datetime()).columns]
        whole = not any(parts)
        frame.write_csv(buffer, separator=delimiter, datetime_format="%Y-%m-%d %H:%M:%S" if whole else None)
    return buffer.getvalue()


def to_file_frame(predictions: Predictions, has_lists: bool = True) -> "pl.DataFrame":
    """Give the rows of a table of predictions: names of sequences of the type that they had in the file.

    Args:
        predictions: What was predicted.
        has_lists: Whether the format can hold lists; then steps of a table of lists are lists again.
    """
    import polars as pl

    frame, table = predictions.to_frame(), predictions.table
    if table is None:
        return frame
    name = table.columns.sequence
    assert name is not None
    if predictions.task == "tagging" and table.form == "lists" and has_lists:
        frame = frame.drop("step").group_by(name, maintain_order=True).agg(pl.all())
    elif predictions.task == "tagging" and table.columns.time is not None and table.columns.time not in table.added:
        frame = frame.drop("step")
    return _with_type_of_file(frame, table, name)


def _with_type_of_file(frame: "pl.DataFrame", table: Table, name: str) -> "pl.DataFrame":
    """Make names numbers again where the file has numbers."""
    if name in table.added or table.kind not in ("parquet", "jsonl"):
        return frame
    dtype = next(iter(open_source(table.path, kind=table.kind).blocks(1))).frame.schema.get(name)
    if dtype is None or not dtype.is_integer():
        return frame
    numbers = frame[name].cast(dtype, strict=False)
    return frame if numbers.null_count() else frame.with_columns(numbers)


def _suits(kind: str, predictions: Predictions) -> bool:
    if kind == "conllu":
        return predictions.table is not None and predictions.table.kind == "conllu"
    if kind == "npz":
        return predictions.table is None and predictions.task == "classification"
    return True


def _as_treebank(predictions: Predictions, table: Table, label: str) -> str:
    """Put the predicted annotations into the lines of the file that was read."""
    lines = read_text(table.path).split("\n")
    number = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    step = np.arange(len(number)) - table.offsets[number]
    probabilities = predictions.values["probabilities"]
    place, labels = FIELDS.index(label), predictions.labels
    for line, row, column in zip(table.rows.tolist(), number.tolist(), step.tolist(), strict=True):
        cells = lines[line - 1].split("\t")
        cells[place] = labels[row][column]
        ending = "\r" if cells[-1].endswith("\r") else ""
        others = [part for part in cells[-1].removesuffix("\r").split("|") if part != NOTHING]
        others = [part for part in others if not part.startswith(f"{PROBABILITY_KEY}=")]
        cells[-1] = "|".join([*others, f"{PROBABILITY_KEY}={np.nanmax(probabilities[row, column]):.6f}"]) + ending
        lines[line - 1] = "\t".join(cells)
    return "\n".join(lines)


def _as_arrays(predictions: Predictions) -> bytes:
    arrays: dict[str, Any] = {
        "ids": np.array(predictions.ids, dtype=np.str_),
        "predicted": np.array(predictions.labels, dtype=np.str_),
        "probabilities": predictions.values["probabilities"],
        "classes": np.array(predictions.classes, dtype=np.str_),
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
