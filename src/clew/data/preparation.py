"""From a table to numbers: what is learned about the columns from the training part, and applied to every part.

Scaling, categories and classes are fitted once, on training data alone, kept in the run as JSON, and used as they are
on validation, test and the files of later users. `fit` and `apply` take whole tables; `PreparationFitter` and the
`encode_...` methods take them in pieces. Text has its own way, through vocabularies.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.data.categories import CategoryMap, count_words, encode_words, sort_words
from clew.data.cleaning import MISSING, plain
from clew.data.column_types import to_words
from clew.data.column_vocabulary import ColumnVocabulary
from clew.data.columns import NEEDS_LABEL, TABLE_TASKS, Columns
from clew.data.problems import SHOWN, Problems, shorten
from clew.data.scaling import Scaling, ScalingFitter
from clew.data.sequence_data import UNSCORED, UNSEEN, SequenceData
from clew.data.table import Table
from clew.data.vocabulary import Vocabulary
from clew.errors import ConfigError, DataError, complain, did_you_mean

if TYPE_CHECKING:
    import polars as pl

KIND = "table"


@dataclass(frozen=True)
class Preparation:
    """How a table becomes numbers for one task.

    Inputs have the numeric columns first, scaled, then the categories as numbers (0 is unknown). In next_token the only
    column is ids. In forecasting the series stand first, then what only the past is known of, then the known columns.

    Attributes:
        task: Name of the task.
        columns: Roles of the columns.
        missing: What is done with missing values: "refuse", "mean" (of the training part; 0 once scaled) or "forward"
            (the last value before it in the sequence; the mean where there is none).
        scaling: Of the numeric columns.
        maps: Of the categorical columns; in next_token of the only column.
        classes: Names of the classes, in classification and tagging.
        target_scaling: Of the labels, in regression.
    """

    task: str
    columns: Columns
    missing: str
    scaling: Scaling
    maps: tuple[CategoryMap, ...] = ()
    classes: tuple[str, ...] = ()
    target_scaling: Scaling | None = None

    @classmethod
    def fit(cls, table: Table, task: str, *, missing: str = "refuse", min_count: int = 1) -> "Preparation":
        """Fit to the training part.

        Args:
            table: The training part.
            task: Name of the task.
            missing: "refuse", "mean" or "forward", see the class.
            min_count: How often a category must occur to be known.

        Raises:
            TableError: If values are missing and must not be.
            DataError: If there is nothing to predict: one class only.
            ConfigError: If the task or an argument is unknown.
        """
        fitter = PreparationFitter(table.columns, task, missing=missing, min_count=min_count)
        problems = Problems(table.path)
        note_missing(table, fitter.columns, missing, problems)
        problems.raise_if_any()
        fitter.update(table.frame, table.offsets[:-1])
        return fitter.finish(str(table.path))

    @property
    def features(self) -> int:
        """Numeric columns that a model reads."""
        return 0 if self.task == "next_token" else len(self.columns.numeric)

    @property
    def categories(self) -> tuple[int, ...]:
        """Sizes of the categorical columns that a model reads, the unknown category counted."""
        return () if self.task == "next_token" else tuple(words.size for words in self.maps)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The tokens, in next_token."""
        return ColumnVocabulary(self.maps[0]) if self.task == "next_token" else None

    @property
    def series(self) -> tuple[str, ...]:
        """The columns that are forecast, in forecasting; the first of the inputs."""
        return self.columns.labels if self.task == "forecasting" else ()

    def apply(self, table: Table, *, allow_unseen: bool = False) -> SequenceData:
        """Turn a table into numbers.

        Args:
            table: Any part; it needs the columns that are read, and has no targets where it lacks the label.
            allow_unseen: Whether a class that training did not have becomes the target `UNSEEN`, which counts as wrong,
                instead of an error.

        Returns:
            The sequences. Targets are numbers of classes (n,), of tags (steps,) with -1 where not scored, scaled
            numbers (n, labels), or None.

        Raises:
            TableError: For missing values and unseen classes, by row and column.
            DataError: If the table lacks a column.
        """
        problems = Problems(table.path)
        self._refuse_other_columns(table)
        note_missing(table, self.columns, self.missing, problems)
        frame = table.frame
        if self.missing == "forward":
            frame = _fill_forward(frame, self.columns, table.offsets)
        inputs = self.encode_inputs(frame)
        self._note_large(table, inputs, problems)
        targets = None
        if self.has_targets(table.columns):
            if not allow_unseen:
                self._note_unseen(table, problems)
            targets = self.encode_targets(frame, table.offsets[:-1])
        problems.raise_if_any()
        per_step = self.task == "tagging"
        return SequenceData(inputs, table.offsets, targets, targets_per_step=per_step, ids=table.ids)

    def has_targets(self, columns: Columns) -> bool:
        """Whether a table with these columns brings targets of its own."""
        return self.task in NEEDS_LABEL and columns.label is not None

    def encode_inputs(self, frame: "pl.DataFrame") -> NDArray[Any]:
        """Give the inputs of some steps: float32 (steps, columns), or int32 (steps,) in next_token."""
        if self.task == "next_token":
            return self.maps[0].encode_column(to_words(frame[self.maps[0].name])).astype(np.int32)
        inputs = np.zeros((frame.height, len(self.columns.features)), np.float32)
        if self.columns.numeric:
            scaled = self.scaling.scale(frame.select(self.columns.numeric).to_numpy())
            with np.errstate(over="ignore"):
                inputs[:, : len(self.columns.numeric)] = np.where(np.isnan(scaled), 0.0, scaled)
        for place, words in enumerate(self.maps, start=len(self.columns.numeric)):
            inputs[:, place] = words.encode_column(frame[words.name])
        return inputs

    def encode_targets(self, frame: "pl.DataFrame", starts: NDArray[np.int64]) -> NDArray[Any]:
        """Give the targets of some steps, or of the sequences that begin at `starts`; unseen classes are `UNSEEN`."""
        if self.task == "regression":
            assert self.target_scaling is not None
            labels = np.stack([first_given(frame[name], starts).to_numpy() for name in self.columns.labels], axis=1)
            return self.target_scaling.scale(labels).astype(np.float32)
        cells = to_words(frame[self.columns.labels[0]])
        cells = cells if self.task == "tagging" else first_given(cells, starts)
        numbers = {name: number for number, name in enumerate(self.classes)}
        return encode_words(cells, numbers, unknown=UNSEEN, missing=UNSCORED)

    def unscale_targets(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Give predictions in the units of the table: labels of regression, series of forecasting, columns last."""
        scaling = self.scaling.of(self.series) if self.task == "forecasting" else self.target_scaling
        return np.asarray(values, np.float64) if scaling is None else scaling.unscale(values)

    def to_mapping(self) -> dict[str, Any]:
        """Give everything as plain JSON values."""
        return {
            "kind": KIND,
            "task": self.task,
            "columns": self.columns.to_mapping(),
            "missing": self.missing,
            "scaling": self.scaling.to_mapping(),
            "maps": [words.to_mapping() for words in self.maps],
            "classes": list(self.classes),
            "target_scaling": None if self.target_scaling is None else self.target_scaling.to_mapping(),
        }

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "Preparation":
        """Make the preparation again from what `to_mapping` gave.

        Raises:
            DataError: If something is missing.
        """
        try:
            target = mapping["target_scaling"]
            return cls(
                task=mapping["task"],
                columns=Columns.from_mapping(mapping["columns"]),
                missing=mapping["missing"],
                scaling=Scaling.from_mapping(mapping["scaling"]),
                maps=tuple(CategoryMap.from_mapping(words) for words in mapping["maps"]),
                classes=tuple(mapping["classes"]),
                target_scaling=None if target is None else Scaling.from_mapping(target),
            )
        except (KeyError, TypeError) as error:
            raise DataError(complain("Preparation", "mapping", "one of a table", f"without {error}")) from error

    def _refuse_other_columns(self, table: Table) -> None:
        """Raise unless the table has the columns that are read, with the same meaning."""
        lines = []
        for role in ("numeric", "categorical"):
            for name in getattr(self.columns, role):
                if name not in table.frame.columns:
                    remedy = did_you_mean(name, table.frame.columns)
                    lines.append(complain(str(table.path), "column", "in the table", f"'{name}'", remedy))
                elif name not in getattr(table.columns, role):
                    remedy = "Read the table with the columns of the preparation."
                    lines.append(
                        complain(str(table.path), f"column '{name}'", f"{role}, as in training", "not", remedy)
                    )
        if table.columns.label is not None and self.task in NEEDS_LABEL and table.columns.label != self.columns.label:
            lines.append(complain(str(table.path), "label", repr(self.columns.label), repr(table.columns.label)))
        if lines:
            raise DataError("\n".join(lines))

    def _note_large(self, table: Table, inputs: NDArray[Any], problems: Problems) -> None:
        """Note numbers that are beyond float32 once scaled."""
        if inputs.ndim == 1:
            return
        for place, name in enumerate(self.columns.numeric):
            wrong = np.flatnonzero(~np.isfinite(inputs[:, place]))
            for index in wrong[:SHOWN]:
                got = plain(table.frame[name][int(index)])
                rule = "of a size that training had"
                problems.add(f"column '{name}'", table.place(int(index)), "value", rule, got)
            problems.count_more(f"column '{name}'", "value", "of a size that training had", len(wrong) - SHOWN)

    def _note_unseen(self, table: Table, problems: Problems) -> None:
        """Note classes that training did not have, each with its first row."""
        if self.task == "regression":
            return
        name = self.columns.labels[0]
        cells = to_words(table.frame[name])
        unseen = np.flatnonzero((~cells.is_in(self.classes) & cells.is_not_null()).to_numpy())
        classes = {}
        for index in unseen.tolist():
            classes.setdefault(cells[index], index)
        for word, index in classes.items():
            remedy = f"{did_you_mean(word, self.classes)} Put examples of it into the training part, or drop them here."
            rule = f"one of the {len(self.classes)} that training has"
            problems.add(f"column '{name}'", table.place(index), "class", rule, shorten(word), remedy)


class PreparationFitter:
    """Fits a preparation to training steps that come in pieces.

    Args:
        columns: Roles of the columns.
        task: Name of the task.
        missing: As for `Preparation`.
        min_count: How often a category must occur to be known.

    Raises:
        ConfigError: If an argument is wrong, or next_token is not given exactly one column to read.
    """

    def __init__(self, columns: Columns, task: str, *, missing: str = "refuse", min_count: int = 1) -> None:
        policies = [name for name in MISSING if name != "keep"]
        for what, value, known in (("task", task, TABLE_TASKS), ("missing", missing, policies)):
            if value not in known:
                raise ConfigError(complain("Preparation", what, "known", repr(value), did_you_mean(str(value), known)))
        if min_count < 1:
            raise ConfigError(complain("Preparation", "min_count", "at least 1", min_count))
        if task == "next_token" and (lack := columns.lack_of_tokens("Preparation")):
            raise ConfigError(lack)
        if task in NEEDS_LABEL and columns.label is None:
            raise ConfigError(complain("Preparation", f"label of {task}", "given", "none", "Name its column."))
        if task in ("classification", "tagging") and len(columns.labels) != 1:
            raise ConfigError(complain("Preparation", f"label of {task}", "one column", ", ".join(columns.labels)))
        self.columns, self._task, self._missing, self._min_count = columns, task, missing, min_count
        self._scaling = ScalingFitter(columns.numeric if task != "next_token" else ())
        words = columns.features if task == "next_token" else columns.categorical
        self._counts = {name: Counter() for name in words}
        self._classes: Counter[str] = Counter()
        self._targets = ScalingFitter(columns.labels) if task == "regression" else None

    def update(self, frame: "pl.DataFrame", starts: NDArray[np.int64]) -> None:
        """Take more steps, in which sequences begin at `starts`."""
        if self.columns.numeric and self._task != "next_token":
            self._scaling.update(frame.select(self.columns.numeric).to_numpy())
        for name, counts in self._counts.items():
            counts.update(count_words(to_words(frame[name])))
        if self._targets is not None:
            labels = [first_given(frame[name], starts).to_numpy() for name in self.columns.labels]
            self._targets.update(np.stack(labels, axis=1))
        elif self._task in ("classification", "tagging"):
            cells = to_words(frame[self.columns.labels[0]])
            self._classes.update(count_words(cells if self._task == "tagging" else first_given(cells, starts)))

    def finish(self, where: str = "Preparation") -> Preparation:
        """Give what was learned.

        Raises:
            DataError: If there is one class only, or none.
        """
        if self._task in ("classification", "tagging") and len(self._classes) < 2:
            got = f"{len(self._classes)}: {', '.join(map(repr, self._classes)) or 'none'}"
            remedy = "With one class there is nothing to learn; add examples of another."
            raise DataError(complain(where, f"classes in column '{self.columns.labels[0]}'", "at least 2", got, remedy))
        return Preparation(
            task=self._task,
            columns=self.columns,
            missing=self._missing,
            scaling=self._scaling.finish(),
            maps=tuple(CategoryMap.fit(name, counts, self._min_count) for name, counts in self._counts.items()),
            classes=sort_words(self._classes),
            target_scaling=None if self._targets is None else self._targets.finish(),
        )


def note_missing(table: Table, columns: Columns, missing: str, problems: Problems) -> None:
    """Note missing values in the columns that are read, where they are refused."""
    if missing != "refuse":
        return
    for name in columns.features:
        if name not in table.frame.columns:
            continue
        wrong = np.flatnonzero(table.frame[name].is_null().to_numpy())
        for index in wrong[:SHOWN]:
            remedy = "Fill it in, drop the row, or say missing='mean'."
            problems.add(f"column '{name}'", table.place(int(index)), "value", "given", "nothing", remedy)
        problems.count_more(f"column '{name}'", "value", "given", len(wrong) - SHOWN)


def first_given(cells: "pl.Series", starts: NDArray[np.int64]) -> "pl.Series":
    """Give for each sequence, from its start to the next, the first value that is not missing."""
    import polars as pl

    ends = np.append(starts[1:], len(cells))
    first = starts[0] if len(starts) else len(cells)
    numbers = np.repeat(np.arange(len(starts)), ends - starts)
    frame = pl.DataFrame({"number": numbers, "value": cells[int(first) :]})
    found = frame.group_by("number", maintain_order=True).agg(pl.col("value").drop_nulls().first())
    return found["value"].alias(cells.name)


def _fill_forward(frame: "pl.DataFrame", columns: Columns, offsets: NDArray[np.int64]) -> "pl.DataFrame":
    """Repeat the last value of the same sequence where one is missing."""
    import polars as pl

    numbers = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    names = list(columns.features)
    filled = frame.select(names).with_columns(pl.Series("number of sequence", numbers))
    return frame.with_columns(filled.select(pl.col(names).forward_fill().over("number of sequence")))
