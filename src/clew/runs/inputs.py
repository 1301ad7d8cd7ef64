"""From what a user has to what a run reads: files, tables, texts and images, through the preparation of the training.

Scaling, categories, classes and vocabularies are those that were fitted on the training part; nothing is fitted here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor

from clew.data import (
    Columns,
    Documents,
    ImagePreparation,
    Images,
    Preparation,
    SequenceData,
    Table,
    TextPreparation,
    as_table,
    read_conllu,
    read_documents,
    read_images,
)
from clew.data.batch import Batch
from clew.data.cleaning import Missing
from clew.data.columns import NEEDS_LABEL
from clew.data.reading import open_source
from clew.errors import ConfigError, DataError, complain
from clew.tasks import Forecasting, Task

AnyPreparation = Preparation | TextPreparation | ImagePreparation
ADDED_NAMES = ("sequence", "sequence_", "sequence__")
"""What a table calls its sequences where the file has no column for them."""


@dataclass(frozen=True, eq=False)
class ReadInputs:
    """Sequences that a run can read.

    Attributes:
        data: The sequences.
        ids: Name of each.
        where: What they came from, in words.
        table: The table that they came from; None where it was none.
    """

    data: SequenceData | Batch
    ids: list[str]
    where: str
    table: Table | None = None


def read_inputs(source: Any, task: Task, preparation: AnyPreparation | None, *, is_scored: bool) -> ReadInputs:
    """Bring what a user gives into sequences.

    Args:
        source: Sequences, which are taken as they are; a path; a `Table`, frame of polars or mapping of columns;
            `Documents`; `Images`.
        task: What is predicted.
        preparation: Of the run; None where it was trained on arrays.
        is_scored: Whether targets are needed; a class that training never had counts as wrong then.

    Raises:
        ConfigError: If a run cannot read such a thing.
        DataError: If the content is wrong.
    """
    if isinstance(source, Tensor):
        source = Batch(source)
    if isinstance(source, Batch):
        return ReadInputs(source, [str(number) for number in range(len(source))], "sequences in memory")
    if isinstance(source, SequenceData):
        return ReadInputs(source, list(source.ids), "sequences in memory")
    if isinstance(preparation, Preparation):
        read = _read_table(source, preparation, is_scored)
    elif isinstance(preparation, TextPreparation):
        read = _read_text(source, preparation)
    elif isinstance(preparation, ImagePreparation):
        read = _read_images(source, preparation, is_scored)
    else:
        got, remedy = type(source).__name__, "It was trained on arrays, so that it does not know how to read files."
        raise ConfigError(complain("run", "input", "a Batch, a SequenceData or a tensor", got, remedy))
    if len(read.data) == 0:
        raise DataError(complain(read.where, "input", "at least one sequence", "none"))
    return read


def windows_of(data: SequenceData, task: Forecasting, window: int) -> SequenceData:
    """Cut series into windows at rolling origins, whose targets do not overlap and reach the end of each series.

    Args:
        data: Whole series.
        task: Says how long a horizon is.
        window: Steps of a window, as in training; a shorter series is one window.

    Raises:
        DataError: If a series is too short for any forecast.
    """
    least = task.lead + 1 + task.horizon
    starts, lengths, ids = [], [], []
    for name, offset, length in zip(data.ids, data.offsets[:-1], data.lengths.tolist(), strict=True):
        if length < least:
            rule = f"at least {least} steps long: lead, one step and the horizon of {task.horizon}"
            raise DataError(complain("forecasting", f"series '{name}'", rule, length, "Give more of its history."))
        size = min(window, length)
        places = range(length - size, -1, -task.horizon)
        for place in reversed(places):
            starts.append(int(offset) + place)
            lengths.append(size)
            ids.append(str(name))
    return SequenceData.windows(data.inputs, np.array(starts), np.array(lengths), ids=ids)


def _read_table(source: Any, preparation: Preparation, is_scored: bool) -> ReadInputs:
    table = as_run_table(source, preparation, is_scored)
    if not is_scored and preparation.task in NEEDS_LABEL:  # what is there to predict may be anything
        table = replace(table, columns=replace(table.columns, label=None))
    data = preparation.apply(table, allow_unseen=is_scored)
    if preparation.task == "regression" and data.targets is not None:
        # The task standardizes targets itself, so that its figures are in their own units.
        units = preparation.unscale_targets(data.targets).astype(np.float32)
        data = SequenceData(data.inputs, data.offsets, units, ids=list(data.ids))
    return ReadInputs(data, list(data.ids), str(table.path), table)


def as_run_table(source: Any, preparation: Preparation, is_scored: bool) -> Table:
    if isinstance(source, Table):
        return source
    columns, needs_label, missing = preparation.columns, is_scored, cast("Missing", preparation.missing)
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() == ".conllu":
            return read_conllu(path, preparation.columns.labels[0], needs_label=is_scored)
        columns = _fitting(columns, next(iter(open_source(path).blocks(1))).frame.columns)
        return as_table(path, columns, preparation.task, missing=missing, needs_label=needs_label)
    if not isinstance(source, Mapping) and not hasattr(source, "columns"):
        rule = "a path, a Table, a frame of polars or a mapping of columns"
        raise ConfigError(complain("run", "input", rule, type(source).__name__))
    names = list(source) if isinstance(source, Mapping) else list(source.columns)
    columns = _fitting(columns, names)
    return as_table(source, columns, preparation.task, missing=missing, needs_label=needs_label)


def _fitting(columns: Columns, names: list[str]) -> Columns:
    """Forget a column of sequences that training had made up, where the file has none either."""
    is_made_up = columns.sequence in ADDED_NAMES and columns.sequence not in names
    return replace(columns, sequence=None) if is_made_up else columns


def _read_text(source: Any, preparation: TextPreparation) -> ReadInputs:
    if not isinstance(source, Documents):
        if not isinstance(source, str | Path | list | tuple):
            got = type(source).__name__
            raise ConfigError(complain("run", "input", "paths of texts, or Documents", got))
        source = read_documents(source)
    data = preparation.apply(source)
    return ReadInputs(data, list(data.ids), ", ".join(source.names[:3]))


def _read_images(source: Any, preparation: ImagePreparation, is_scored: bool) -> ReadInputs:
    if not isinstance(source, Images):
        if not isinstance(source, str | Path):
            raise ConfigError(complain("run", "input", "a path of images, or Images", type(source).__name__))
        source = read_images(source, needs_label=is_scored)
    data = preparation.apply(source, allow_unseen=is_scored)
    return ReadInputs(data, list(source.ids), str(source.path))
