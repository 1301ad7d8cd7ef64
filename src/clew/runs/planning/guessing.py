"""What a table is for and how often its series repeat: said where it is plain, asked for where it is not."""

import numpy as np

from clew.data import Table
from clew.data.arranging import as_numbers
from clew.data.describing import is_per_sequence
from clew.errors import ConfigError, complain

MOST_CLASSES = 50
DAY = 86400.0
MOST_IN_A_DAY = 400
LONG_SEASONS = ((7 * DAY, 52, "a year of weeks"), (30.4 * DAY, 12, "a year of months"), (91.3 * DAY, 4, "a year"))
CHOICES = "Say --task classification, tagging, regression, next_token or forecasting"


def guess_task(table: Table) -> tuple[str, str]:
    """Say which task a table is for, and why.

    - A label that is the same all through each sequence is a class if it is text or one of few whole numbers, and a
      number to predict if it has fractions.
    - Text that differs within sequences is a tag.
    - Without a label, numbers with a time are series, and a single column of text is tokens.

    Raises:
        ConfigError: If it may be several.
    """
    columns = table.columns
    if len(columns.labels) > 1:
        raise _ask(table, "several labels")
    if columns.labels:
        return _of_label(table, columns.labels[0])
    if columns.time is not None and columns.numeric and not columns.categorical:
        return "forecasting", f"numbers over '{columns.time}' and no label"
    if len(columns.categorical) == 1 and not columns.numeric:
        return "next_token", f"one column of text, '{columns.categorical[0]}', and no label"
    raise _ask(table, "no label, or none that is called label, target, class, tag or y", "columns.label=NAME")


def _of_label(table: Table, name: str) -> tuple[str, str]:
    cells = table.frame[name].drop_nulls()
    per_sequence, is_number = is_per_sequence(table, name), cells.dtype.is_numeric()
    one_step = int(table.lengths.max()) == 1
    if not is_number:
        if per_sequence:
            return "classification", f"'{name}' is one word a sequence"
        return "tagging", f"'{name}' is a word a step"
    if not per_sequence or one_step:
        raise _ask(table, f"a number '{name}' a step" if not one_step else f"'{name}' in sequences of one step")
    if not len(cells):
        raise _ask(table, f"'{name}' without any value")
    values = cells.to_numpy()
    if (values != np.rint(values)).any():
        return "regression", f"'{name}' is a number a sequence"
    distinct = int(cells.n_unique())
    if distinct <= MOST_CLASSES and 2 * distinct <= len(table):
        words = (
            f"'{name}' is one of {distinct} whole numbers a sequence; say --task regression to predict it as a number"
        )
        return "classification", words
    raise _ask(table, f"'{name}', {distinct} different whole numbers")


def _ask(table: Table, got: str, setting: str = "") -> ConfigError:
    remedy = f"{CHOICES}{f', and name the label with --set {setting}' if setting else ''}."
    return ConfigError(complain(str(table.path), "task", "plain from the columns, or said", got, remedy))


def usual_step(table: Table) -> tuple[float, bool] | None:
    """Give the usual time from one step to the next, and whether all are alike; None without times.

    Seconds where times are dates, else in the column's own units.
    """
    name = table.columns.time
    if name is None or table.frame.height < 2:
        return None
    times = as_numbers(table.frame[name])
    inner = np.ones(len(times), dtype=bool)
    inner[table.offsets[:-1]] = False
    steps = np.diff(times, prepend=times[:1])[inner]
    if not len(steps):
        return None
    values, counts = np.unique(np.round(steps, 6), return_counts=True)
    usual = float(values[np.argmax(counts)])
    return usual, bool(np.allclose(steps, usual))


def guess_season(table: Table) -> tuple[int, str]:
    """Give the steps after which series probably repeat, and why; 1 where nothing is known."""
    found = usual_step(table)
    if found is None or table.columns.time is None or not table.frame[table.columns.time].dtype.is_temporal():
        return 1, "the season is not known"
    step, is_regular = found
    if 0 < step < DAY and (DAY / step).is_integer() and DAY / step <= MOST_IN_A_DAY:
        return int(DAY / step), "a day"
    if step == DAY and is_regular:
        return 7, "a week"
    for length, steps, words in LONG_SEASONS:
        if abs(step - length) < 0.1 * length:
            return steps, words
    return 1, "the season is not known"
