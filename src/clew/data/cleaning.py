"""From the cells of a file to one row a step with numbers, times and words; what is wrong is noted, cell by cell.

Lists are spread over rows here. The order of the rows is `arranging`'s business.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from clew.data.column_types import DECIMAL_COMMA, LOCAL_DATE, to_moments, to_numbers, to_words
from clew.data.columns import LIST_OF_NUMBERS, LIST_OF_TEXT, MOMENT, NUMBER, Columns
from clew.data.problems import SHOWN, Problems, shorten
from clew.data.raw_blocks import RawBlock

if TYPE_CHECKING:
    import polars as pl

LARGEST = 1e30
PARTS = ("train", "validation", "test")
Missing = Literal["refuse", "keep", "mean", "forward"]
MISSING: tuple[Missing, ...] = ("refuse", "keep", "mean", "forward")


@dataclass(frozen=True, eq=False)
class StepBlock:
    """Steps, a row each.

    Attributes:
        frame: The columns that have a role, typed.
        rows: Row of the file that each step stands in.
        steps: Place in the list of that row, from 1; None in long form.
    """

    frame: "pl.DataFrame"
    rows: NDArray[np.int64]
    steps: NDArray[np.int64] | None

    def place(self, index: int) -> str:
        """Say where a step stands in the file."""
        row = f"row {self.rows[index]}"
        return row if self.steps is None else f"{row}, step {self.steps[index]}"


class Cleaner:
    """Turns blocks of a file into steps.

    Args:
        columns: Roles, resolved; one without a sequence gets a column of that name.
        kinds: What the columns of the file hold.
        missing: "refuse" to note missing values; otherwise they are left as null.
        problems: Where to note what is wrong.
        name: Name of the only sequence of a file without a column of sequences.
    """

    def __init__(
        self, columns: Columns, kinds: dict[str, str], missing: Missing, problems: Problems, name: str
    ) -> None:
        self._kinds, self._missing, self._problems, self._name = kinds, missing, problems, name
        self._given = columns
        lists = (LIST_OF_NUMBERS, LIST_OF_TEXT)
        self._lists = [column for column in columns.named if kinds[column] in lists]
        added = next(name for name in ("sequence", "sequence_", "sequence__") if name not in columns.named)
        self.columns = columns if columns.sequence is not None else replace(columns, sequence=added)
        self.added = () if columns.sequence is not None else (added,)

    @property
    def form(self) -> Literal["long", "lists"]:
        """Whether a row of the file is a step or a sequence."""
        return "lists" if self._lists else "long"

    def clean(self, block: RawBlock) -> StepBlock:
        """Type and check the cells of some rows."""
        import polars as pl

        frame = self._with_expected_types(block)
        rows = np.arange(block.first_row, block.first_row + frame.height)
        if block.frame.width > 1 and block.untyped and frame.width:
            # A line without any cell is no row; it still counts as one.
            is_blank = block.frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
            if is_blank.any():
                frame, rows = frame.filter(~is_blank), rows[(~is_blank).to_numpy()]
        steps = None
        sequence = self._given.sequence
        if sequence is None:
            names = rows.astype(str) if self._lists else np.full(len(rows), self._name)
            frame = frame.with_columns(pl.Series(self.columns.sequence, names.tolist(), dtype=pl.String))
        if self._lists:
            frame, rows, steps = self._spread(frame, rows)
        found = StepBlock(frame, rows, steps)
        typed = [self._typed(found, frame[name]).alias(name) for name in self.columns.named]
        return StepBlock(pl.DataFrame(typed), rows, steps)

    def _with_expected_types(self, block: RawBlock) -> "pl.DataFrame":
        """Take the columns with a role; raise where a later piece of JSON holds lists or objects, earlier ones not."""
        import polars as pl

        columns = []
        for name in self._given.named:
            cells = block.frame.get_column(name, default=None)
            expected = pl.List(pl.String) if name in self._lists else pl.String
            if cells is None and name not in block.other:
                cells = pl.Series(name, [None] * block.frame.height, dtype=expected)
            if cells is not None and cells.null_count() == len(cells) and name in self._lists:
                cells = cells.cast(pl.String).cast(expected) if not isinstance(cells.dtype, pl.List) else cells
            if cells is None or isinstance(cells.dtype, pl.List) != (name in self._lists):
                got = block.other.get(name, "lists" if name not in self._lists else "single values")
                where = f"row {block.first_row} or later"
                self._problems.add(f"column '{name}'", where, "values", f"{self._kinds[name]} in every row", got)
                continue
            columns.append(cells)
        if len(columns) < len(self._given.named):
            self._problems.raise_if_any()
        return pl.DataFrame(columns)

    def _spread(self, frame: "pl.DataFrame", rows: NDArray[Any]) -> "tuple[pl.DataFrame, NDArray[Any], NDArray[Any]]":
        """Give each element of the lists a row of its own."""
        import polars as pl

        lengths = np.stack([frame[name].list.len().fill_null(0).to_numpy() for name in self._lists])
        usable = (lengths == lengths[0]).all(axis=0) & (lengths[0] > 0)
        for place in np.flatnonzero(~usable):
            row = f"row {rows[place]}"
            if (lengths[:, place] == lengths[0, place]).all():
                remedy = "Drop the row."
                self._problems.add("", row, "sequence", "at least one step long", "an empty list", remedy)
            else:
                got = ", ".join(f"{name} {count}" for name, count in zip(self._lists, lengths[:, place], strict=True))
                self._problems.add("", row, "lists", "of one length", got)
        counts = lengths[0][usable].astype(np.int64)
        kept = frame.filter(pl.Series(usable))
        kept = kept.explode(self._lists) if kept.height else kept.clear().explode(self._lists)
        ends = np.cumsum(counts)
        steps = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts) + 1
        return kept, np.repeat(rows[usable], counts), steps

    def _typed(self, block: StepBlock, cells: "pl.Series") -> "pl.Series":
        """Type one column and note its bad cells."""
        name, columns = cells.name, self.columns
        if name == columns.time:
            return self._time(block, cells)
        if name in columns.numeric:
            return self._numbers(block, cells, is_missing_allowed=self._missing != "refuse")
        if name in columns.categorical:
            words = to_words(cells)
            if self._missing == "refuse":
                self._note(block, name, words.is_null(), "given", "nothing", self._fill_remedy)
            return words
        if name in (columns.sequence, columns.group, columns.split):
            words = to_words(cells)
            self._note(block, name, words.is_null(), "given", "nothing")
            if name == columns.split:
                wrong = ~words.is_in(PARTS) & words.is_not_null()
                self._note(block, name, wrong, "train, validation or test", words)
            return words.fill_null("")
        if self._kinds[name] in (NUMBER, LIST_OF_NUMBERS):
            return self._numbers(block, cells, is_missing_allowed=True)
        return to_words(cells)

    _fill_remedy = "Fill it in, drop the row, or say missing='mean'."

    def _numbers(self, block: StepBlock, cells: "pl.Series", is_missing_allowed: bool) -> "pl.Series":
        numbers, wrong = to_numbers(cells)
        commas = wrong.any() and cells.str.contains(DECIMAL_COMMA).any()
        remedy = "Write decimal points." if commas else "Correct it, or list the column under categorical."
        self._note(block, cells.name, wrong, "a number", cells, remedy)
        infinite = numbers.is_infinite().fill_null(False)
        self._note(block, cells.name, infinite, "finite", numbers, "Correct it or drop the row.")
        large = (numbers.abs() > LARGEST).fill_null(False) & ~infinite & numbers.is_not_nan().fill_null(False)
        self._note(block, cells.name, large, f"at most {LARGEST:g} in size", numbers)
        if not is_missing_allowed:
            self._note(block, cells.name, numbers.is_nan().fill_null(False), "finite", "NaN", self._fill_remedy)
            absent = numbers.is_null() & ~wrong
            got = cells.fill_null("nothing") if _is_text(cells) else "nothing"
            self._note(block, cells.name, absent, "finite", got, self._fill_remedy)
        return numbers.fill_nan(None)

    def _time(self, block: StepBlock, cells: "pl.Series") -> "pl.Series":
        if self._kinds[cells.name] in (NUMBER, LIST_OF_NUMBERS):
            return self._numbers_of_time(block, cells)
        moments = to_moments(cells)
        text = cells if _is_text(cells) else to_words(cells)
        local = _is_text(cells) and cells.str.contains(LOCAL_DATE).any()
        is_date = local or self._kinds[cells.name] == MOMENT
        remedy = "Write dates as 2026-01-31." if is_date else "Write numbers, or dates as 2026-01-31 12:00:00."
        self._note(block, cells.name, moments.is_null(), "a time", text.fill_null("nothing"), remedy)
        return moments

    def _numbers_of_time(self, block: StepBlock, cells: "pl.Series") -> "pl.Series":
        numbers, wrong = to_numbers(cells)
        bad = wrong | numbers.is_null() | ~numbers.is_finite().fill_null(False)
        got = cells.fill_null("nothing") if _is_text(cells) else numbers
        self._note(block, cells.name, bad, "a number or a time", got)
        return numbers

    def _note(
        self, block: StepBlock, name: str, wrong: "pl.Series", rule: str, got: "pl.Series | str", remedy: str = ""
    ) -> None:
        """Note the marked cells: the first few in full, the others as a number."""
        places = np.flatnonzero(wrong.to_numpy())
        for index in places[:SHOWN]:
            value = got if isinstance(got, str) else got[int(index)]
            text = shorten(value) if isinstance(value, str) and value not in ("nothing", "NaN") else plain(value)
            self._problems.add(f"column '{name}'", block.place(int(index)), "value", rule, text, remedy)
        self._problems.count_more(f"column '{name}'", "value", rule, len(places) - SHOWN)


def plain(value: object) -> str:
    """Write a cell as a file has it: whole numbers without a decimal point.

    >>> plain(4.0)
    '4'
    """
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _is_text(cells: "pl.Series") -> bool:
    import polars as pl

    return cells.dtype == pl.String
