"""What is in a table, and what each task would do with it: for people before they train, and as JSON.

`describe` looks at a `Table`, which has passed the checks of reading; read it with missing="keep" to see how much is
missing. Nothing is changed or guessed that reading has not guessed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.data.arranging import as_numbers
from clew.data.categories import count_words, sort_words
from clew.data.cleaning import plain
from clew.data.column_types import to_words
from clew.data.columns import MOMENT, NUMBER, TABLE_TASKS, TEXT, Columns
from clew.data.table import Table
from clew.errors import ClewError

SHOWN_WORDS = 6
SHOWN_CLASSES = 20


@dataclass(frozen=True)
class Description:
    """What a table holds.

    Attributes:
        file: Its path, kind, form, and numbers of sequences and steps.
        lengths: Shortest, median, mean and longest sequence, and how many have one step.
        columns: For each column its role, what it holds, how much is missing, and its range or most frequent words.
        time: First and last time, the usual step, and how many steps are longer (gaps) or shorter; None without times.
        classes: How often each class occurs, in sequences where a sequence has one, else in steps; None without label.
        duplicates: How many sequences equal an earlier one in all that is read, and how many of those differ in label.
        tasks: For each task what it would do, or why it cannot.
    """

    file: dict[str, Any]
    lengths: dict[str, Any]
    columns: tuple[dict[str, Any], ...]
    time: dict[str, Any] | None
    classes: dict[str, Any] | None
    duplicates: dict[str, int]
    tasks: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain values; `clew.files.dump_json` writes them."""
        return {**vars(self), "columns": list(self.columns)}

    def table(self) -> str:
        """Give the description as text of about 100 columns."""
        return "\n".join(_lines(self))


def describe(table: Table) -> Description:
    """Look at a table.

    >>> from clew.data import as_table
    >>> table = as_table({"id": ["a", "a", "b"], "time": [0, 1, 0], "x": [1.0, 2.0, 3.0], "label": ["u", "u", "v"]})
    >>> describe(table).classes["counts"]
    {'u': 1, 'v': 1}
    """
    lengths = np.diff(table.offsets)
    return Description(
        file={
            "path": str(table.path),
            "kind": table.kind,
            "form": table.form,
            "sequences": len(table),
            "steps": int(table.frame.height),
            "unused_columns": list(table.unused),
        },
        lengths={
            "shortest": int(lengths.min()),
            "median": float(np.median(lengths)),
            "mean": float(lengths.mean()),
            "longest": int(lengths.max()),
            "of_one_step": int((lengths == 1).sum()),
        },
        columns=tuple(_describe_column(table, name) for name in table.columns.named),
        time=describe_time(table),
        classes=_describe_classes(table),
        duplicates=_describe_duplicates(table),
        tasks={task: _describe_task(table, task) for task in TABLE_TASKS},
    )


def _role(columns: Columns, name: str) -> str:
    for role in ("sequence", "time", "group", "split"):
        if getattr(columns, role) == name:
            return role
    if name in columns.labels and name not in columns.features:
        return "label"
    words = "numeric" if name in columns.numeric else "categorical"
    return f"{words}, known" if name in columns.known else words


def _describe_column(table: Table, name: str) -> dict[str, Any]:
    cells = table.frame[name]
    about: dict[str, Any] = {"name": name, "role": _role(table.columns, name), "missing": int(cells.null_count())}
    given = cells.drop_nulls()
    about["distinct"] = int(given.n_unique())
    if cells.dtype.is_numeric():
        values = given.to_numpy()
        empty = not len(values)
        about |= {"holds": NUMBER, "least": None if empty else float(values.min())}
        about |= {"largest": None if empty else float(values.max()), "mean": None if empty else float(values.mean())}
        return {**about, "deviation": None if empty else float(values.std())}
    if cells.dtype.is_temporal():
        return {**about, "holds": MOMENT, "first": str(given.min()), "last": str(given.max())}
    if name == table.columns.sequence:
        return {**about, "holds": TEXT}
    words = sorted(count_words(given).items(), key=lambda item: (-item[1], item[0]))
    return {**about, "holds": TEXT, "most_frequent": dict(words[:SHOWN_WORDS])}


def describe_time(table: Table) -> dict[str, Any] | None:
    """Give first and last time, the usual step, and how many steps are longer (gaps) or shorter; None without times."""
    name = table.columns.time
    if name is None:
        return None
    cells = table.frame[name]
    times = as_numbers(cells)
    inner = np.ones(len(times), dtype=bool)
    inner[table.offsets[:-1]] = False
    steps = np.diff(times, prepend=times[:1])[inner]
    about: dict[str, Any] = {
        "column": name,
        "unit": "seconds" if cells.dtype.is_temporal() else "the column's own",
        "first": plain(cells.min()),
        "last": plain(cells.max()),
        "usual_step": None,
    }
    if not len(steps):
        return about
    # Rounding makes equal steps differ in the last digits.
    values, counts = np.unique(np.round(steps, 9), return_counts=True)
    usual = float(values[np.argmax(counts)])
    tolerance = 1e-6 * max(abs(usual), 1e-9)
    longer, shorter = steps > usual + tolerance, steps < usual - tolerance
    missing = np.round(steps[longer] / usual).sum() - longer.sum() if usual > 0 else 0
    return about | {
        "usual_step": usual,
        "gaps": int(longer.sum()),
        "longest_gap": float(steps.max()) if longer.any() else None,
        "first_gap_after": plain(cells[int(np.flatnonzero(inner)[longer][0]) - 1]) if longer.any() else None,
        "steps_missing_in_gaps": int(missing),
        "shorter_steps": int(shorter.sum()),
        "is_regular": not longer.any() and not shorter.any(),
    }


def _describe_classes(table: Table) -> dict[str, Any] | None:
    columns = table.columns
    if len(columns.labels) != 1 or columns.labels[0] in columns.features:
        return None
    name = columns.labels[0]
    cells = to_words(table.frame[name])
    per_sequence = is_per_sequence(table, name)
    counts = count_words(to_words(table.of_sequence(name)) if per_sequence else cells)
    return {
        "column": name,
        "of": "sequences" if per_sequence else "steps",
        "number": len(counts),
        "counts": {word: counts[word] for word in sort_words(counts)} if len(counts) <= 1000 else None,
        "steps_without": int(cells.null_count()),
    }


def is_per_sequence(table: Table, name: str) -> bool:
    """Whether every sequence has one value of this column at most."""
    import polars as pl

    numbers = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    frame = pl.DataFrame({"number": numbers, "value": table.frame[name]}).drop_nulls()
    distinct = frame.group_by("number").agg(pl.col("value").n_unique())
    return not len(distinct) or int(distinct["value"].max()) <= 1  # pyright: ignore[reportArgumentType]


def _describe_duplicates(table: Table) -> dict[str, int]:
    columns = table.columns
    read = [table.frame[name] for name in columns.features]
    codes = [cells.to_numpy() if cells.dtype.is_numeric() else _codes(cells) for cells in read]
    rows = np.stack([np.asarray(values, np.float64) for values in codes], axis=1) if codes else np.zeros((0, 0))
    labels = None
    if len(columns.labels) == 1 and columns.labels[0] not in columns.features:
        labels = _codes(to_words(table.frame[columns.labels[0]]))
    first: dict[bytes, bytes] = {}
    repeated = differing = 0
    for begin, end in zip(table.offsets[:-1], table.offsets[1:], strict=True):
        key = sha256(rows[begin:end].tobytes()).digest()
        label = b"" if labels is None else labels[begin:end].tobytes()
        if key in first:
            repeated += 1
            differing += first[key] != label
        first.setdefault(key, label)
    return {"sequences": repeated, "with_another_label": differing}


def _codes(cells: Any) -> NDArray[np.int64]:
    """Number the words of a column; a missing one is -1."""
    import polars as pl

    return (cells.rank("dense").cast(pl.Int64).fill_null(-1)).to_numpy()


def _describe_task(table: Table, task: str) -> str:
    """Say what a task would do with the table, or what it lacks."""
    kinds = {cells.name: _kind(cells) for cells in table.frame}
    given = table.columns
    if task in ("next_token", "forecasting") and not set(given.labels) <= set(given.numeric):
        given = replace(given, label=None)
    try:
        columns = given.resolve(kinds, task, where="")
    except ClewError as error:
        return f"not as it is: {str(error).splitlines()[0].removeprefix(': ')}"
    label, lengths = columns.labels, np.diff(table.offsets)
    reads = f"{len(columns.numeric)} numbers and {len(columns.categorical)} categories a step"
    if task in ("classification", "tagging", "regression"):
        name = label[0]
        per_sequence = is_per_sequence(table, name)
        if task == "regression":
            if not table.frame[name].dtype.is_numeric():
                return f"not as it is: '{name}' holds words."
            if not per_sequence:
                return f"not as it is: '{name}' differs within sequences."
            return f"predicts the number '{name}' of each of {len(table):,} sequences from {reads}."
        number = int(table.frame[name].drop_nulls().n_unique())
        if number < 2:
            return f"not as it is: '{name}' has {number} class{'' if number == 1 else 'es'}."
        if task == "classification":
            if not per_sequence:
                return f"not as it is: '{name}' differs within sequences, as tags do."
            return f"predicts which of {number:,} classes each of {len(table):,} sequences has, from {reads}."
        return f"predicts which of {number:,} tags each of {table.frame.height:,} steps has, from {reads}."
    if task == "next_token":
        name = columns.features[0]
        distinct = int(table.frame[name].n_unique())
        return f"predicts the next of {distinct:,} tokens of '{name}' in {len(table):,} sequences."
    if (lengths < 2).any():
        return f"not as it is: {int((lengths < 2).sum()):,} sequences have one step."
    return (
        f"forecasts {', '.join(label[:SHOWN_WORDS])}{'...' if len(label) > SHOWN_WORDS else ''} in {len(table):,} "
        f"sequences; known of the future: {', '.join(columns.known) or 'nothing'}."
    )


def _kind(cells: Any) -> str:
    return MOMENT if cells.dtype.is_temporal() else NUMBER if cells.dtype.is_numeric() else TEXT


def _lines(about: Description) -> Iterable[str]:
    """Write a description line by line."""
    file, lengths = about.file, about.lengths
    form = {"long": "a row a step", "lists": "a row a sequence"}[file["form"]]
    yield f"{file['path']}: {file['kind']}, {form}, {file['sequences']:,} sequences, {file['steps']:,} steps"
    yield (
        f"lengths: {lengths['shortest']:,} to {lengths['longest']:,}, median {plain(lengths['median'])}, "
        f"mean {lengths['mean']:.1f}"
    )
    if lengths["of_one_step"] and lengths["longest"] > 1:
        yield f"sequences of one step: {lengths['of_one_step']:,}"
    yield ""
    yield from _column_lines(about.columns)
    if file["unused_columns"]:
        yield f"not used: {', '.join(file['unused_columns'])}"
    yield ""
    if about.time is not None:
        yield from _time_lines(about.time)
    if about.classes is not None:
        yield from _class_lines(about.classes)
    repeated = about.duplicates
    yield f"equal sequences: {repeated['sequences']:,}" + (
        f", {repeated['with_another_label']:,} of them with another label" if repeated["with_another_label"] else ""
    )
    yield ""
    width = max(map(len, about.tasks))
    for task, words in about.tasks.items():
        yield f"{task:<{width}}  {words}"


def _column_lines(columns: tuple[dict[str, Any], ...]) -> Iterable[str]:
    rows = [("column", "role", "holds", "missing", "distinct", "values")]
    for column in columns:
        if column["holds"] == NUMBER and column["least"] is not None:
            values = (
                f"{column['least']:.4g} to {column['largest']:.4g}, mean {column['mean']:.4g}, "
                f"sd {column['deviation']:.4g}"
            )
        elif column["holds"] == MOMENT:
            values = f"{column['first']} to {column['last']}"
        else:
            values = ", ".join(f"{word} ({count:,})" for word, count in column.get("most_frequent", {}).items())
        cells = (column["name"], column["role"], column["holds"], f"{column['missing']:,}", f"{column['distinct']:,}")
        rows.append((*cells, values))
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    for row in rows:
        left = "  ".join(f"{cell:<{width}}" for cell, width in zip(row[:3], widths[:3], strict=True))
        right = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[3:5], widths[3:], strict=True))
        yield f"{left}  {right}  {row[5]}".rstrip()


def _time_lines(time: dict[str, Any]) -> Iterable[str]:
    yield f"time: {time['first']} to {time['last']}"
    if time["usual_step"] is None:
        return
    unit = " s" if time["unit"] == "seconds" else ""
    if time["is_regular"]:
        yield f"steps: all {plain(time['usual_step'])}{unit}"
        return
    parts = [f"steps: irregular, usually {plain(time['usual_step'])}{unit}"]
    if time["gaps"]:
        longest = plain(time["longest_gap"])
        parts.append(
            f"{time['gaps']:,} gaps, the longest {longest}{unit}, {time['steps_missing_in_gaps']:,} steps missing"
        )
    if time["shorter_steps"]:
        parts.append(f"{time['shorter_steps']:,} shorter")
    yield "; ".join(parts)


def _class_lines(classes: dict[str, Any]) -> Iterable[str]:
    counts = Counter(classes["counts"] or {})
    shown = list((classes["counts"] or {}).items())
    if len(shown) > SHOWN_CLASSES:
        shown = counts.most_common(SHOWN_CLASSES)
    words = ", ".join(f"{word} {count:,}" for word, count in shown)
    more = ", ..." if classes["number"] > len(shown) else ""
    yield f"'{classes['column']}' in {classes['of']}: {classes['number']:,} values: {words}{more}"
    if classes["steps_without"]:
        yield f"steps without '{classes['column']}': {classes['steps_without']:,}"
