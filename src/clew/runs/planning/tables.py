"""Tables and treebanks for all tasks but forecasting: read, split, then fitted to the training part alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from clew.data import UNSEEN, Columns, Preparation, SequenceData, Table, read_conllu, read_table
from clew.errors import ConfigError, complain, did_you_mean
from clew.runs.planning.files import TREEBANK
from clew.runs.planning.guessing import guess_task
from clew.runs.planning.prepared import Prepared, Request, describe_parts, require_part, split_table
from clew.tasks import Classification, NextToken, Regression, Tagging, Task

STREAM_BYTES = 500 << 20
USUAL_CACHE = "runs/cache"
SEQUENCES_AT_ONCE = 10_000
TABLE_DATA = ("format", "delimiter", "encoding", "sort", "missing", "min_count", "allow_unseen", "stream", "cache")
TREEBANK_DATA = ("label", "min_count", "allow_unseen")
WAYS = ("given", "group", "time", "random")
WORD_COLUMNS = ("form", "word", "token")


def read_training_table(request: Request) -> tuple[Table, str, list[str]]:
    """Read the file, and say which task it is for.

    Returns:
        The table with its columns resolved for the task, the name of the task, and why where it was guessed.
    """
    data = request.data
    if request.kind == TREEBANK:
        data.refuse_others("a treebank", TREEBANK_DATA)
        if request.columns:
            remedy = "Its columns are fixed; data.label says which annotation is predicted."
            raise ConfigError(complain(str(request.file), "columns", "left out for a treebank", "some", remedy))
        return read_conllu(request.file, data.label or "upos"), "tagging", []
    if request.task is not None:
        return read_as(request, request.file, request.task), request.task, []
    table = read_as(request, request.file, None)
    task, why = guess_task(table)
    return read_as(request, request.file, task), task, [f"task {task}: {why}"]


def read_as(request: Request, path: Path, task: str | None, columns: Columns | None = None) -> Table:
    """Read a table with the columns that were given, or with those of the training file."""
    data = request.data
    return read_table(
        path,
        Columns.from_mapping(dict(request.columns)) if columns is None else columns,
        task,
        kind=data.format if path == request.file else None,
        delimiter=data.delimiter,
        encoding=data.encoding or "utf-8",
        sort=bool(data.sort),
        missing=data.missing or "refuse",
    )


def prepare_table(request: Request, read: tuple[Table, str, list[str]]) -> Prepared:
    """Split a table, fit what must be learned to its training part, and turn the parts into numbers."""
    table, task_name, notes = read
    if request.kind != TREEBANK:
        request.data.refuse_others(task_name, TABLE_DATA)
    how, stratify = choose_way(request, table.columns, task_name, is_single=len(table) == 1)
    parts, words = _parts(request, table, task_name, how, stratify)
    for name, part in (("training", parts[0]), ("validation", parts[1])):
        require_part(request.file, name, part)
    min_count = request.data.min_count or (2 if request.kind == TREEBANK else 1)
    missing = request.data.missing or "refuse"
    preparation = Preparation.fit(parts[0], task_name, missing=missing, min_count=min_count)
    sequences: list[SequenceData | None] = []
    for name, part in zip(("train", "validation", "test"), parts, strict=True):
        sequences.append(None if part is None else _apply(request, preparation, part, name, notes))
    train, validation, test = sequences
    assert train is not None
    assert validation is not None
    notes.append(describe_parts(words, train, validation, test))
    resolved = {
        "columns": table.columns.to_mapping() if request.kind != TREEBANK else {},
        "data": {"min_count": min_count} | ({"missing": missing} if request.kind != TREEBANK else {}),
        "split": {"how": how, "stratify": stratify} if request.is_split else {},
    }
    task = task_of(task_name, preparation, train, request)
    return Prepared(task, preparation, train, validation, test, resolved, notes)


def is_streamed(request: Request) -> bool:
    """Whether a table is to be converted on disk."""
    if request.kind == TREEBANK or request.file.is_dir():
        return False
    return request.data.stream is True or (
        request.data.stream is None and request.file.exists() and request.file.stat().st_size >= STREAM_BYTES
    )


def task_of(name: str, preparation: Preparation, train: SequenceData, request: Request) -> Task:
    """Make the task with what the data say of it."""
    if name == "classification":
        return Classification(len(preparation.classes))
    if name == "tagging":
        words = preparation.columns.categorical
        place = next((words.index(word) for word in WORD_COLUMNS if word in words), 0)
        word = preparation.features + place if words else None
        return Tagging(len(preparation.classes), word=word, **request.settings)
    if name == "next_token":
        assert preparation.vocabulary is not None
        return NextToken(preparation.vocabulary.size)
    return Regression.scaled_to(train, len(preparation.columns.labels))


def in_units(preparation: Preparation, data: SequenceData) -> SequenceData:
    """Give targets of regression in the units of the table; the task standardizes them itself."""
    if preparation.task != "regression" or data.targets is None:
        return data
    units = preparation.unscale_targets(data.targets).astype(np.float32)
    return data.with_targets(units)


def choose_way(request: Request, columns: Columns, task: str, is_single: bool) -> tuple[str, bool]:
    """Choose how the file is split: as it says itself, else by its groups, else at random; and whether by class.

    A file that is a single sequence is cut by time.
    """
    how = request.split.how or ("given" if columns.split else "group" if columns.group else "random")
    how = "time" if request.split.how is None and how == "random" and is_single else how
    if how not in WAYS:
        raise ConfigError(
            complain("split", "how", f"{', '.join(WAYS)} for a table", f"'{how}'", did_you_mean(how, WAYS))
        )
    stratify = request.split.stratify
    if stratify is None:
        stratify = task == "classification" and how == "random"
    return how, stratify


def say_way(request: Request, columns: Columns, how: str, stratify: bool) -> str:
    """Say how the parts came about."""
    if not request.is_split:
        return "as given by files"
    ways = {"given": f"by '{columns.split}'", "group": f"by '{columns.group}'", "time": "by time"}
    return ways.get(how, f"at random{', by class' if stratify else ''} (seed {request.split.seed})")


def columns_of_others(table: Table) -> Columns:
    """Give the columns that the files of the other parts must have: those of the training file but its parts."""
    made_up = table.columns.sequence if table.columns.sequence in table.added else None
    columns = replace(table.columns, sequence=None) if made_up else table.columns
    return replace(columns, split=None)


def note_unseen(part: SequenceData, name: str, notes: list[str]) -> None:
    """Note how many targets of a part are of classes that training lacks; a bounded number is looked at at a time."""
    unseen = 0
    for start in range(0, len(part), SEQUENCES_AT_ONCE):
        targets = part.part(slice(start, start + SEQUENCES_AT_ONCE)).targets
        unseen += 0 if targets is None or targets.dtype.kind == "f" else int((targets == UNSEEN).sum())
    if unseen:
        what = "1 target" if unseen == 1 else f"{unseen:,} targets"
        notes.append(f"{what} of the {name} part of classes that training lacks, which count as wrong")


def _parts(
    request: Request, table: Table, task: str, how: str, stratify: bool
) -> tuple[tuple[Table, Table, Table | None], str]:
    """Give the tables of the three parts, and how they came about in words."""
    train, validation, test = table, None, None
    if request.is_split:
        train, validation, test = split_table(table, request, how, stratify)
        test = test if len(test) else None
    given = list(_given(request, table, task))
    validation = given[0] if given[0] is not None else validation
    test = given[1] if given[1] is not None else test
    assert validation is not None
    return (train, validation, test), say_way(request, table.columns, how, stratify)


def _given(request: Request, table: Table, task: str) -> Iterator[Table | None]:
    """Read the files of the other parts with the columns of the training file."""
    for path in (request.validation, request.test):
        if path is None:
            yield None
        elif request.kind == TREEBANK:
            yield read_conllu(path, request.data.label or "upos")
        else:
            yield read_as(request, path, task, columns_of_others(table))


def _apply(request: Request, preparation: Preparation, part: Table, name: str, notes: list[str]) -> SequenceData:
    """Turn a part into numbers. Where it was drawn from the file, classes that training lacks are nobody's fault."""
    is_given = (request.validation if name == "validation" else request.test) is not None
    allow = request.data.allow_unseen
    allow_unseen = name != "train" and (not is_given if allow is None else allow)
    data = preparation.apply(part, allow_unseen=allow_unseen)
    note_unseen(data, name, notes)
    return in_units(preparation, data)
