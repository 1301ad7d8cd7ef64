"""Tables that are larger than memory: converted on disk in pieces, with the parts and numbers of `tables`.

What is chosen from the columns is chosen from the first piece, which decides what every column is. Not for forecasting,
nor for a file of one sequence that must be cut by time: both need all steps at once.
"""

from pathlib import Path

from clew.data import Columns, Converted, SequenceData, SplitRule, Table, convert_table
from clew.data.first_piece import read_first_piece
from clew.errors import ConfigError, complain
from clew.runs.planning.guessing import guess_task
from clew.runs.planning.prepared import Prepared, Request, describe_parts, require_part
from clew.runs.planning.tables import (
    TABLE_DATA,
    USUAL_CACHE,
    choose_way,
    columns_of_others,
    in_units,
    note_unseen,
    say_way,
    task_of,
)

Part = SequenceData | None
STREAMED_TASKS = ("classification", "tagging", "next_token", "regression")
NO_STREAM = "Say --set data.stream=false."


def read_training_start(request: Request) -> tuple[Table, str, list[str]]:
    """Read the start of the file, and say which task it is for.

    Returns:
        The first piece with its columns resolved for the task, the name of the task, and why where it was guessed.
    """
    if request.task is not None:
        return _first_piece(request, request.task), request.task, []
    task, why = guess_task(_first_piece(request, None))
    return _first_piece(request, task), task, [f"task {task}: {why}, in the start of the file"]


def prepare_stream(request: Request, read: tuple[Table, str, list[str]]) -> Prepared:
    """Convert a table and the files of the other parts in pieces, and view the parts on disk."""
    start, task_name, notes = read
    _refuse(request, task_name)
    how, stratify = choose_way(request, start.columns, task_name, is_single=False)
    rule = SplitRule(how, request.fractions, request.split.seed, stratify) if request.is_split else None
    main = _convert(request, task_name, rule)
    others = [
        None if path is None else _convert_other(request, path, main, start)
        for path in (request.validation, request.test)
    ]
    made = [one for one in (main, *others) if one is not None]
    notes += [f"converted on disk: {one.folder} {'used again' if one.is_reused else 'made'}" for one in made]
    train, validation, test = _parts(request, main, others, notes)
    notes.append(describe_parts(say_way(request, start.columns, how, stratify), train, validation, test))
    preparation, data = main.preparation, request.data
    where = {"stream": True, "cache": data.cache or USUAL_CACHE}
    resolved = {
        "columns": preparation.columns.to_mapping(),
        "data": {"min_count": data.min_count or 1, "missing": preparation.missing} | where,
        "split": {"how": how, "stratify": stratify} if request.is_split else {},
    }
    task = task_of(task_name, preparation, train, request)
    return Prepared(task, preparation, train, validation, test, resolved, notes)


def _first_piece(request: Request, task: str | None) -> Table:
    data = request.data
    return read_first_piece(
        request.file, Columns.from_mapping(dict(request.columns)), task, missing=data.missing or "refuse",
        kind=data.format, delimiter=data.delimiter, encoding=data.encoding or "utf-8",
    )  # fmt: skip


def _refuse(request: Request, task: str) -> None:
    """Raise where all steps would be needed at once."""
    where = str(request.file)
    if task not in STREAMED_TASKS:
        rule = f"{', '.join(STREAMED_TASKS)} where a table is streamed"
        raise ConfigError(complain(where, "task", rule, task, NO_STREAM))
    request.data.refuse_others(task, TABLE_DATA)
    if request.data.sort:
        remedy = f"Sort the file by sequence and time. {NO_STREAM}"
        raise ConfigError(complain(where, "data.sort", "left out where a table is streamed", True, remedy))


def _convert(request: Request, task: str, rule: SplitRule | None) -> Converted:
    """Convert the training file; classes that training lacks are nobody's fault where parts are drawn from it."""
    data = request.data
    return convert_table(
        request.file, data.cache or USUAL_CACHE, Columns.from_mapping(dict(request.columns)), task, split=rule,
        missing=data.missing or "refuse", min_count=data.min_count or 1, kind=data.format, delimiter=data.delimiter,
        encoding=data.encoding or "utf-8", allow_unseen=data.allow_unseen is not False,
    )  # fmt: skip


def _convert_other(request: Request, path: Path, main: Converted, start: Table) -> Converted:
    """Convert the file of another part with what was fitted to the training part."""
    data = request.data
    return convert_table(
        path, data.cache or USUAL_CACHE, columns_of_others(start), preparation=main.preparation,
        kind=data.format if path == request.file else None, delimiter=data.delimiter,
        encoding=data.encoding or "utf-8", allow_unseen=bool(data.allow_unseen),
    )  # fmt: skip


def _parts(
    request: Request, main: Converted, others: list[Converted | None], notes: list[str]
) -> tuple[SequenceData, SequenceData, Part]:
    """Give the three parts; a file of its own goes before what was split off."""
    parts: list[Part] = [*main.parts] if request.is_split else [main.data, None, None]
    for number, other in enumerate(others, start=1):
        parts[number] = parts[number] if other is None else other.data
    train, validation, test = (None if part is None else in_units(main.preparation, part) for part in parts)
    for name, part in (("training", train), ("validation", validation)):
        require_part(request.file, name, part)
    test = test if test is not None and len(test) else None
    for name, part in (("validation", validation), ("test", test)):
        if part is not None:
            note_unseen(part, name, notes)
    assert train is not None
    assert validation is not None
    return train, validation, test
