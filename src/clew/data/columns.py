"""Which column of a table is what: the sequence, the time, what is read and what is predicted.

What is not said is guessed by fixed rules, see `Columns.resolve`; everything that is missing or misspelt is told at
once. Not here: whether the values of the columns are any good, which reading decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from clew.errors import ConfigError, DataError, complain, did_you_mean

SEQUENCE_NAMES = ("sequence", "sequence_id", "seq", "seq_id", "series", "series_id", "unique_id", "sentence", "id")
TIME_NAMES = ("time", "timestamp", "datetime", "date", "ds", "step", "t", "position")
LABEL_NAMES = ("label", "target", "class", "tag", "upos", "y")
NEEDS_LABEL = ("classification", "tagging", "regression")
SHOWN = 8
TABLE_TASKS = ("classification", "tagging", "regression", "next_token", "forecasting")

NUMBER, TEXT, MOMENT, LIST_OF_NUMBERS, LIST_OF_TEXT, OTHER = "number", "text", "time", "numbers", "texts", "other"


@dataclass(frozen=True)
class Columns:
    """Roles of the columns of a table.

    Attributes:
        sequence: Which sequence a row belongs to; None where the file is one sequence, or has one row a sequence.
        time: When a step was; numbers or dates. None where the order of the rows is the order of time.
        numeric: Numbers that are read.
        categorical: Words that are read, one of finitely many.
        label: What is predicted; several names for several numbers. In forecasting: the series that are forecast, by
            default all numbers that are not `known`.
        group: What must not be split, as a patient with many sequences.
        known: Those of the columns that are read whose future is known, as a calendar.
        split: Which part a sequence belongs to: train, validation or test.
    """

    sequence: str | None = None
    time: str | None = None
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    label: str | tuple[str, ...] | None = None
    group: str | None = None
    known: tuple[str, ...] = ()
    split: str | None = None

    def __post_init__(self) -> None:
        for name in ("numeric", "categorical", "known"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if isinstance(self.label, list):
            object.__setattr__(self, "label", tuple(self.label))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are predicted, none, one or several."""
        if self.label is None:
            return ()
        return (self.label,) if isinstance(self.label, str) else self.label

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are read: numbers first, then words."""
        return (*self.numeric, *self.categorical)

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that has a role, each once."""
        single = [name for name in (self.sequence, self.time, self.group, self.split) if name is not None]
        return tuple(dict.fromkeys([*single, *self.features, *self.labels, *self.known]))

    def to_mapping(self) -> dict[str, Any]:
        """Give the roles as plain JSON values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "Columns":
        """Make roles again from what `to_mapping` gave.

        Raises:
            ConfigError: If a role is unknown.
        """
        known = [field.name for field in fields(cls)]
        for name in mapping:
            if name not in known:
                raise ConfigError(f"Columns: unknown role '{name}'. {did_you_mean(name, known)}")
        return cls(**{name: _as_names(name, value) for name, value in mapping.items()})

    def resolve(
        self, schema: Mapping[str, Any], task: str | None = None, *, where: str = "Columns", needs_label: bool = True
    ) -> "Columns":
        """Fill in what was not given.

        - sequence, time, group, split and label: the first column with one of the usual names, in any case of letters;
          time otherwise the only column of dates; group and split only by these very names.
        - numeric and categorical: where neither is given, every number and every text that has no other role. Where
          one is given, the other is what was given for it. Columns `known` are read too.
        - label: asked for by classification, tagging and regression. In next_token and forecasting none is guessed.

        next_token reads one categorical column and nothing else.

        Args:
            schema: Name and type of each column: types of polars, or the words "number", "text", "time", "numbers",
                "texts" (the last two for lists, a row a sequence).
            task: Name of the task, or None where it is not known yet.
            where: Who asks, for the error text; the file.
            needs_label: False where a missing label is no error, as in prediction.

        Raises:
            DataError: With one line for each column that is missing or of a wrong kind.
            ConfigError: If the task is unknown, or a column has two roles.

        >>> Columns().resolve({"id": "text", "t": "number", "x": "number", "label": "text"}, "classification").numeric
        ('x',)
        """
        if task is not None and task not in TABLE_TASKS:
            raise ConfigError(complain(where, "task", "known", f"'{task}'", did_you_mean(task, TABLE_TASKS)))
        kinds = {name: kind_of(value) for name, value in schema.items()}
        given = self if needs_label else self._without_missing_labels(kinds)
        given._refuse_missing(kinds, where)
        found = given._guess_single_roles(kinds, task)
        found = found._guess_features(kinds, task)
        found._refuse_double_roles(task, where)
        found._refuse_wrong_kinds(kinds, task, where)
        found._refuse_incomplete(kinds, task, where, needs_label)
        return found

    def lack_of_tokens(self, where: str) -> str:
        """Say what is wrong where next_token does not read exactly one column of tokens; "" where it does.

        Numbers are no tokens unless they are said to be: the next of a thousand measured values is a forecast.
        """
        if len(self.categorical) == 1 and not self.numeric:
            return ""
        kinds = {name: "numbers" if name in self.numeric else "text" for name in self.features}
        named = [f"{name} ({kind})" for name, kind in kinds.items()]
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        remedy = "Name the column of tokens with categorical."
        return complain(where, "what next_token reads", "one column of tokens", ", ".join(named[:SHOWN]) + more, remedy)

    def _without_missing_labels(self, kinds: Mapping[str, str]) -> "Columns":
        """Forget labels that are not there, and the parts that a file for prediction has no use for."""
        is_there = bool(self.labels) and all(name in kinds for name in self.labels)
        kept = {name: value for name in ("group", "split") if (value := getattr(self, name)) in kinds}
        return replace(self, label=self.label if is_there else None, group=kept.get("group"), split=kept.get("split"))

    def _refuse_missing(self, kinds: Mapping[str, str], where: str) -> None:
        lines = []
        for name in self.named:
            if name not in kinds:
                lines.append(complain(where, "column", "in the file", f"'{name}'", did_you_mean(name, kinds)))
        if lines:
            raise DataError("\n".join(lines))

    def _guess_single_roles(self, kinds: Mapping[str, str], task: str | None) -> "Columns":
        taken = set(self.named)

        def first(names: tuple[str, ...], allowed: tuple[str, ...]) -> str | None:
            by_name = {name.lower(): name for name in reversed(list(kinds)) if name not in taken}
            found = next((by_name[name] for name in names if name in by_name and kinds[by_name[name]] in allowed), None)
            taken.update([found] if found is not None else [])
            return found

        label = self.label
        if label is None and (task is None or task in NEEDS_LABEL):
            label = first(LABEL_NAMES, (NUMBER, TEXT, LIST_OF_NUMBERS, LIST_OF_TEXT))
        sequence = self.sequence or first(SEQUENCE_NAMES, (NUMBER, TEXT))
        time = self.time or first(TIME_NAMES, (NUMBER, MOMENT, LIST_OF_NUMBERS, TEXT))
        if time is None:
            moments = [name for name, kind in kinds.items() if kind == MOMENT and name not in taken]
            time = moments[0] if len(moments) == 1 else None
        group, split = self.group or first(("group",), (NUMBER, TEXT)), self.split or first(("split",), (TEXT,))
        return replace(self, label=label, sequence=sequence, time=time, group=group, split=split)

    def _guess_features(self, kinds: Mapping[str, str], task: str | None) -> "Columns":
        numeric, categorical = list(self.numeric), list(self.categorical)
        others = {self.sequence, self.time, self.group, self.split, *(self.labels if task != "forecasting" else ())}
        free = [name for name in kinds if name not in others]
        if not numeric and not categorical:
            numeric = [name for name in free if kinds[name] in (NUMBER, LIST_OF_NUMBERS)]
            categorical = [name for name in free if kinds[name] in (TEXT, LIST_OF_TEXT)]
        wanted = (*self.known, *(self.labels if task == "forecasting" else ()))
        for name in wanted:
            if name not in numeric and name not in categorical:
                (numeric if kinds[name] in (NUMBER, LIST_OF_NUMBERS) else categorical).append(name)
        if task == "forecasting":
            # The series stand first, then what only the past is known of, then what is known of the future.
            series = self.labels or tuple(name for name in numeric if name not in self.known)
            numeric.sort(key=lambda name: (name not in series, name in self.known))
            return replace(self, numeric=tuple(numeric), categorical=tuple(categorical), label=series or None)
        return replace(self, numeric=tuple(numeric), categorical=tuple(categorical))

    def _refuse_double_roles(self, task: str | None, where: str) -> None:
        roles: dict[str, list[str]] = {}
        label = () if task == "forecasting" else ("label",)
        for role in ("sequence", "time", "group", "split", "numeric", "categorical", *label):
            value = getattr(self, role)
            for name in (value,) if isinstance(value, str) else value or ():
                roles.setdefault(name, []).append(role)
        for name, several in roles.items():
            if len(several) > 1 and several != ["sequence", "group"]:
                raise ConfigError(complain(where, f"column '{name}'", "given one role", " and ".join(several)))

    def _refuse_wrong_kinds(self, kinds: Mapping[str, str], task: str | None, where: str) -> None:
        lines = []
        for name in self.numeric:
            if kinds[name] not in (NUMBER, LIST_OF_NUMBERS):
                remedy = "List it under categorical, or make its values numbers."
                lines.append(complain(where, f"column '{name}'", "numbers", kinds[name], remedy))
        for name in self.categorical:
            if kinds[name] not in (NUMBER, TEXT, LIST_OF_NUMBERS, LIST_OF_TEXT):
                lines.append(complain(where, f"column '{name}'", "text", kinds[name]))
        for role in ("sequence", "group", "split"):
            name = getattr(self, role)
            if name is not None and kinds[name] not in (NUMBER, TEXT, MOMENT):
                lines.append(complain(where, f"column '{name}'", "one value a row", kinds[name]))
        for name in self.labels:
            is_number = kinds[name] in (NUMBER, LIST_OF_NUMBERS)
            if task in ("regression", "forecasting") and not is_number:
                lines.append(complain(where, f"column '{name}'", f"numbers, which {task} predicts", kinds[name]))
            elif kinds[name] in (MOMENT, OTHER):
                lines.append(complain(where, f"column '{name}'", "numbers or text, to be predicted", kinds[name]))
        if lines:
            raise DataError("\n".join(lines))

    def _refuse_incomplete(self, kinds: Mapping[str, str], task: str | None, where: str, needs_label: bool) -> None:
        lines = []
        columns = f"columns {', '.join(kinds)}"
        if not self.features:
            remedy = "Name the columns that are read with numeric and categorical."
            lines.append(complain(where, "the table", "at least one column to read beside the label", columns, remedy))
        elif task == "next_token" and (lack := self.lack_of_tokens(where)):
            lines.append(lack)
        if task in NEEDS_LABEL and needs_label and self.label is None:
            remedy = f"Name the column that {task} predicts with label."
            lines.append(complain(where, "the label", "a column of the table", columns, remedy))
        if task == "forecasting" and not self.labels:
            remedy = "Forecasting needs a series of numbers."
            lines.append(complain(where, "the table", "one with a numeric column that is not known", columns, remedy))
        if lines:
            raise DataError("\n".join(lines))


def _as_names(role: str, value: Any) -> Any:
    """Read what a file of configuration says for a role: a name, a list of names, or nothing."""
    is_several = role in ("numeric", "categorical", "known")
    if is_several and isinstance(value, str):
        value = [value]
    is_list = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    if is_list and (is_several or role == "label"):
        return tuple(value)
    if not is_several and (value is None or isinstance(value, str)):
        return value
    rule = "a list of names of columns" if is_several else "the name of a column"
    raise ConfigError(complain("Columns", role, rule, repr(value)))


def kind_of(dtype: Any) -> str:
    """Say in one word what a column holds, from a type of polars or such a word.

    >>> kind_of("number")
    'number'
    """
    if isinstance(dtype, str):
        return dtype
    import polars as pl

    if isinstance(dtype, pl.List | pl.Array):
        inner = kind_of(dtype.inner)
        return {NUMBER: LIST_OF_NUMBERS, TEXT: LIST_OF_TEXT}.get(inner, OTHER)
    if dtype.is_numeric() or dtype == pl.Boolean:
        return NUMBER
    if dtype.is_temporal() and dtype != pl.Duration:
        return MOMENT
    return TEXT if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) else OTHER
