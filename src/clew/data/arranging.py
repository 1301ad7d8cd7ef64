"""The order of steps: sequences together, time increasing, one value a sequence where there must be one.

`Arranger` takes the steps of a file in one block, or block by block; then it remembers the end of the last one.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.data.cleaning import StepBlock, plain
from clew.data.columns import Columns
from clew.data.problems import SHOWN, Problems, shorten

if TYPE_CHECKING:
    import polars as pl

SHORTEST = {"next_token": 2, "forecasting": 2}


class Arranger:
    """Checks and repairs the order of steps.

    Args:
        columns: Roles, with a sequence.
        task: Name of the task, where it is known.
        sort: Whether steps may be sorted by time; in one block only.
        problems: Where to note what is wrong.
    """

    def __init__(self, columns: Columns, task: str | None, sort: bool, problems: Problems) -> None:
        assert columns.sequence is not None
        self._columns, self._task, self._sort, self._problems = columns, task, sort, problems
        self._sequence = columns.sequence
        self._ended: set[int] = set()
        self._last: dict[str, Any] | None = None
        self._length = 0
        per_sequence = [name for name in (columns.group, columns.split) if name is not None]
        if task in ("classification", "regression"):
            per_sequence += [name for name in columns.labels if name not in columns.numeric]
        self._per_sequence = tuple(dict.fromkeys(per_sequence))

    def arrange_all(self, block: StepBlock) -> tuple[StepBlock, NDArray[np.int64]]:
        """Bring all steps of a file into order.

        Returns:
            The steps, and where each sequence begins with the end of the last, (n + 1,).
        """
        starts = run_starts(block.frame[self._sequence])
        ids = block.frame[self._sequence].gather(starts)
        if ids.n_unique() < len(starts) or (self._sort and self._columns.time is not None):
            if self._columns.time is None and self._columns.sequence is not None:
                self._note_returns(block, starts)
            block = self._sorted(block)
            starts = run_starts(block.frame[self._sequence])
        offsets = np.append(starts, block.frame.height)
        self._check(block, starts)
        self._end_sequences(np.diff(offsets), block.frame[self._sequence].gather(starts))
        return block, offsets

    def arrange_next(self, block: StepBlock) -> NDArray[np.int64]:
        """Check the next steps of a file.

        Returns:
            Where in them a sequence begins; the steps before the first belong to the last sequence of the block before.
        """
        if not block.frame.height:
            return np.zeros(0, np.int64)
        starts = run_starts(block.frame[self._sequence])
        ids = block.frame[self._sequence].gather(starts)
        goes_on = self._last is not None and ids[0] == self._last[self._sequence]
        codes = ids.hash().to_list()
        fresh = codes[1:] if goes_on else codes
        for place, code in zip(starts[1:] if goes_on else starts, fresh, strict=True):
            if code in self._ended:
                self._note_return(block, int(place))
            self._ended.add(code)
        self._check(block, starts, goes_on)
        lengths = np.diff(np.append(starts, block.frame.height))
        if goes_on:
            self._length += int(lengths[0])
        if len(lengths) > goes_on:
            self.finish()
            self._end_sequences(lengths[int(goes_on) : -1], ids[int(goes_on) : -1])
            self._length = int(lengths[-1])
        self._last = block.frame.row(-1, named=True)
        return starts[1:] if goes_on else starts

    def finish(self) -> None:
        """Say that the last sequence has ended."""
        if self._last is not None and self._length < SHORTEST.get(self._task or "", 1):
            self._note_short(str(self._last[self._sequence]), self._length)

    def _end_sequences(self, lengths: NDArray[np.int64], ids: "pl.Series") -> None:
        for place in np.flatnonzero(lengths < SHORTEST.get(self._task or "", 1)):
            self._note_short(ids[int(place)], int(lengths[place]))

    def _note_short(self, name: str, length: int) -> None:
        rule = f"at least {SHORTEST[self._task or '']} steps long for {self._task}"
        self._problems.add("", f"sequence {shorten(name)}", "sequence", rule, length, "Drop it.")

    def _sorted(self, block: StepBlock) -> StepBlock:
        """Put sequences together in the order of their first steps; by time within, where that was asked for."""
        import polars as pl

        keys = pl.DataFrame(
            {"sequence": block.frame[self._sequence], "place": np.arange(block.frame.height)}
        ).with_columns(pl.col("place").min().over("sequence").alias("first"))
        by = ["first"]
        if self._sort and self._columns.time is not None:
            keys = keys.with_columns(block.frame[self._columns.time].alias("time"))
            by.append("time")
        order = keys.sort(by, maintain_order=True)["place"].to_numpy()
        steps = None if block.steps is None else block.steps[order]
        return StepBlock(block.frame[order], block.rows[order], steps)

    def _note_returns(self, block: StepBlock, starts: NDArray[np.int64]) -> None:
        seen: set[str] = set()
        for place in starts:
            name = block.frame[self._sequence][int(place)]
            if name in seen:
                self._note_return(block, int(place))
            seen.add(name)

    def _note_return(self, block: StepBlock, index: int) -> None:
        name = block.frame[self._sequence][index]
        where, rule = f"column '{self._sequence}'", "together in the file, or ordered by a column of time"
        if self._columns.time is not None:
            rule = "together in a file that is read as a stream"
        got = f"sequence {shorten(name)} again after another"
        self._problems.add(where, block.place(index), "rows of a sequence", rule, got, "Sort the file by sequence.")

    def _check(self, block: StepBlock, starts: NDArray[np.int64], goes_on: bool = False) -> None:
        if self._columns.time is not None:
            self._check_time(block, starts, goes_on)
        for name in self._per_sequence:
            self._check_single(block, starts, name, goes_on)

    def _check_time(self, block: StepBlock, starts: NDArray[np.int64], goes_on: bool) -> None:
        name = self._columns.time
        assert name is not None
        cells = block.frame[name]
        times = as_numbers(cells)
        before = np.roll(times, 1)
        is_inner = np.ones(len(times), dtype=bool)
        is_inner[starts] = False
        if goes_on and self._last is not None and len(times):
            import polars as pl

            before[0] = as_numbers(pl.Series([self._last[name]], dtype=cells.dtype))[0]
            is_inner[0] = True
        place = f"column '{name}'"
        repeated = np.flatnonzero(is_inner & (times == before))
        for index in repeated[:SHOWN]:
            got = f"{plain(cells[int(index)])} again in sequence {shorten(block.frame[self._sequence][int(index)])}"
            remedy = "Keep one of the rows." if self._columns.sequence else "Name the column of sequences."
            self._problems.add(place, block.place(int(index)), "time", "once in a sequence", got, remedy)
        self._problems.count_more(place, "time", "once in a sequence", len(repeated) - SHOWN)
        earlier = np.flatnonzero(is_inner & (times < before))
        rule = "later than the one before"
        for index in earlier[:SHOWN]:
            got = f"{plain(cells[int(index)])} in sequence {shorten(block.frame[self._sequence][int(index)])}"
            self._problems.add(place, block.place(int(index)), "time", rule, got, "Sort the file, or say sort=True.")
        self._problems.count_more(place, "time", rule, len(earlier) - SHOWN)

    def _check_single(self, block: StepBlock, starts: NDArray[np.int64], name: str, goes_on: bool) -> None:
        """Note where a sequence has two values of what it must have one of; missing ones do not count."""
        import polars as pl

        cells, numbers = block.frame[name], np.zeros(block.frame.height, dtype=np.int64)
        numbers[starts] = 1
        frame = pl.DataFrame({"run": np.cumsum(numbers), "value": cells, "place": np.arange(len(cells))}).drop_nulls()
        frame = frame.with_columns(pl.col("value").first().over("run").alias("first"))
        if goes_on and self._last is not None and self._last[name] is not None and frame.height:
            is_first = pl.col("run") == int(numbers[0] or 0)
            frame = frame.with_columns(
                pl.when(is_first).then(pl.lit(self._last[name])).otherwise("first").alias("first")
            )
        wrong = frame.filter(pl.col("value") != pl.col("first"))
        remedy = "Name the column of sequences with sequence." if name in self._columns.labels else ""
        for place, value, first in wrong.select("place", "value", "first").head(SHOWN).iter_rows():
            got = f"{shorten(value)} after {shorten(first)} in sequence {shorten(block.frame[self._sequence][place])}"
            self._problems.add(
                f"column '{name}'", block.place(place), "value", "one and the same in a sequence", got, remedy
            )
        self._problems.count_more(f"column '{name}'", "value", "one and the same in a sequence", wrong.height - SHOWN)
        self._note_absent(block, starts, name, goes_on)

    def _note_absent(self, block: StepBlock, starts: NDArray[np.int64], name: str, goes_on: bool) -> None:
        """Note sequences of this block without any label; one that goes on is looked at with its first steps."""
        if name not in self._columns.labels or not block.frame.height:
            return
        given = np.logical_or.reduceat(block.frame[name].is_not_null().to_numpy(), starts)
        for place in np.flatnonzero(~given):
            if goes_on and place == 0:
                continue
            index = int(starts[place])
            self._problems.add(
                f"column '{name}'",
                f"{block.place(index)}, sequence {shorten(block.frame[self._sequence][index])}",
                "label", "given", "nothing", "Fill it in, or drop the sequence.",
            )  # fmt: skip


def run_starts(ids: "pl.Series") -> NDArray[np.int64]:
    """Give the places where a column changes, the first among them."""
    if not len(ids):
        return np.zeros(0, np.int64)
    changes = (ids != ids.shift(1)).fill_null(True).to_numpy()
    return np.flatnonzero(changes)


def as_numbers(times: "pl.Series") -> NDArray[Any]:
    """Give times as float64 seconds where they are dates, as they stand where they are numbers; NaN where missing."""
    import polars as pl

    if times.dtype.is_temporal():
        return times.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64).to_numpy() / 1e6
    return times.cast(pl.Float64).to_numpy()
