"""Training, validation and test part of one table: as given, by group, by time, or at random with a seed.

Every part keeps the order of the whole, and equal arguments give equal parts. Whether they share what they must not is
for the data audit to say; here it is kept from happening: groups stay together, time is cut with a gap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from clew.data.arranging import as_numbers
from clew.data.cleaning import PARTS
from clew.data.column_types import to_words
from clew.data.sequence_data import SequenceData
from clew.data.table import Table
from clew.errors import ConfigError, DataError, complain, did_you_mean

How = Literal["given", "group", "time", "random"]
WAYS = ("given", "group", "time", "random")
DEFAULT_FRACTIONS = (0.7, 0.15, 0.15)
Splittable = TypeVar("Splittable", Table, SequenceData)
WHERE = "split_sequences"


@dataclass(frozen=True, eq=False)
class Parts(Generic[Splittable]):
    """Three parts of a table; `train, validation, test = parts` takes them apart.

    Attributes:
        train: What is fitted.
        validation: What selects.
        test: What is scored once.
        how: How it was split.
        seed: Seed of the draw; None where nothing was drawn.
        dropped_steps: Steps left out between parts that are cut in time.
        dropped_sequences: Sequences that have no steps left in any part.
    """

    train: Splittable
    validation: Splittable
    test: Splittable
    how: str
    seed: int | None = None
    dropped_steps: int = 0
    dropped_sequences: int = 0

    def __iter__(self) -> Iterator[Splittable]:
        return iter((self.train, self.validation, self.test))


@dataclass(frozen=True, eq=False)
class Outline:
    """What splitting needs to know of the sequences, a value each.

    Attributes:
        count: How many there are.
        labels: What is predicted, where that is one word a sequence.
        groups: What must stay together.
        given: Which part each belongs to.
        times: When each begins.
    """

    count: int
    labels: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    given: NDArray[Any] | None = None
    times: NDArray[Any] | None = None


@dataclass(frozen=True)
class SplitRule:
    """How sequences are split.

    Attributes:
        how: "given" (by the column of parts), "group", "time" (sequences by when they begin), or "random".
        fractions: Shares of training, validation and test part; they add up to 1.
        seed: Seed of the draw, for "random" and "group".
        stratify: Whether each class has the same shares in every part, for "random".
    """

    how: str = "random"
    fractions: tuple[float | int, float | int, float | int] = DEFAULT_FRACTIONS
    seed: int = 0
    stratify: bool = False

    def __post_init__(self) -> None:
        if self.how not in WAYS:
            raise ConfigError(complain(WHERE, "how", "known", repr(self.how), did_you_mean(str(self.how), WAYS)))
        shares = tuple(float(share) for share in self.fractions)
        if len(shares) != 3 or not all(share >= 0 for share in shares) or abs(sum(shares) - 1) > 1e-9 or not shares[0]:
            rule = "three shares that add up to 1, the first above 0"
            raise ConfigError(complain(WHERE, "fractions", rule, self.fractions))
        object.__setattr__(self, "fractions", shares)

    def indices(self, outline: Outline) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Give the sequences of each part, in their order.

        Raises:
            DataError: If there are too few sequences or groups, or what decides is not there.
        """
        parts = getattr(self, f"_by_{self.how}")(outline)
        return cast(Any, tuple(np.flatnonzero(parts == number) for number in range(3)))

    def _by_given(self, outline: Outline) -> NDArray[np.int64]:
        given = _needed(outline.given, "parts", "given", "Name the column that says train, validation or test: split.")
        numbers = np.array([PARTS.index(part) for part in given.tolist()], dtype=np.int64)
        if not (numbers == 0).any():
            raise DataError(complain(WHERE, "the training part", "at least one sequence", "none"))
        return numbers

    def _by_random(self, outline: Outline) -> NDArray[np.int64]:
        generator = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(outline.count, generator=generator).numpy()
        if not self.stratify:
            return self._allot(order)
        labels = _needed(outline.labels, "labels", "one a sequence, to stratify", "Leave stratify out.")
        _, classes = np.unique(labels[order], return_inverse=True)
        return self._allot_evenly([order[classes == number] for number in range(classes.max() + 1)], outline.count)

    def _by_time(self, outline: Outline) -> NDArray[np.int64]:
        times = _needed(outline.times, "times", "given", "Name the column of time.")
        return self._allot(np.argsort(times, kind="stable"))

    def _by_group(self, outline: Outline) -> NDArray[np.int64]:
        groups = _needed(outline.groups, "groups", "given, one a sequence", "Name the column of groups.")
        _, numbers = np.unique(groups, return_inverse=True)
        sizes = np.bincount(numbers)
        wanted = [place for place, share in enumerate(self.fractions) if share]
        if len(sizes) < len(wanted):
            raise DataError(complain(WHERE, "groups", f"at least {len(wanted)}, one a part", len(sizes)))
        generator = torch.Generator().manual_seed(self.seed)
        parts, lacking = np.zeros(len(sizes), np.int64), np.array(self.fractions) * outline.count
        order = torch.randperm(len(sizes), generator=generator).numpy()
        empty = set(wanted)
        # Large groups first, so that small ones even out what is left; equal sizes in the order drawn.
        for place, group in enumerate(order[np.argsort(-sizes[order], kind="stable")]):
            is_last_chance = len(sizes) - place <= len(empty)
            part = max(sorted(empty) if is_last_chance else wanted, key=lambda number: lacking[number])
            empty.discard(part)
            parts[group] = part
            lacking[part] -= sizes[group]
        return parts[numbers]

    def _allot(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the first of an order to training, the next to validation, the last to test."""
        parts = np.zeros(len(order), np.int64)
        parts[order] = np.repeat(np.arange(3), _shares(len(order), self.fractions))
        return parts

    def _allot_evenly(self, classes: list[NDArray[np.int64]], count: int) -> NDArray[np.int64]:
        """Give each part its share of every class; what cannot be divided evens out over the classes.

        Training has at least one of each class.
        """
        parts = np.zeros(count, np.int64)
        fractions, due = np.array(self.fractions), np.zeros(3)
        for members in classes:
            due += fractions * len(members)
            sizes = np.floor(np.maximum(due, 0)).astype(np.int64)
            while sizes.sum() > len(members):
                sizes[np.argmin(np.where(sizes > 0, due - sizes, np.inf))] -= 1
            while sizes.sum() < len(members):
                sizes[np.argmax(np.where(fractions > 0, due - sizes, -np.inf))] += 1
            if not sizes[0]:
                largest = int(np.argmax(sizes))
                sizes[0], sizes[largest] = 1, sizes[largest] - 1
            due -= sizes
            parts[members] = np.repeat(np.arange(3), sizes)
        return parts


def split_sequences(
    data: Splittable,
    how: How | str = "random",
    fractions: Sequence[float | int] = DEFAULT_FRACTIONS,
    seed: int = 0,
    *,
    group: Any = None,
    stratify: bool = False,
    cut: Literal["steps", "sequences"] | None = None,
    gap: int = 0,
) -> Parts[Splittable]:
    """Split sequences into training, validation and test part.

    Args:
        data: A table, or sequences that are numbers already; these know no parts and times.
        how: "given" by the column `split`; "group": no group is in two parts; "time": the later, the further back in
            train, validation, test; or "random".
        fractions: Shares of the three parts, which add up to 1; of steps where time is cut, else of sequences.
        seed: Seed of the draw.
        group: Column of the groups; for `SequenceData` the group of each sequence. By default the column `group`.
        stratify: For "random": each class has the same shares in every part.
        cut: For "time": "steps" cuts every sequence at the same two times, "sequences" leaves sequences whole. By
            default steps where the table is for forecasting or is one sequence.
        gap: For "time" with steps: how many steps at the start of validation and test are left out, in each sequence.
            For forecasting windows that read `window` steps and predict `horizon`, and features lagged by `lag`,
            window + horizon - 1 + lag keeps every window within one part and out of sight of the others.

    Raises:
        ConfigError: If an argument is wrong.
        DataError: If the data cannot be split like that.

    >>> data = SequenceData([1, 2, 3, 4], offsets=[0, 1, 2, 3, 4])
    >>> [len(part) for part in split_sequences(data, fractions=(0.5, 0.25, 0.25))]
    [2, 1, 1]
    """
    rule = SplitRule(how, cast(Any, tuple(fractions)), seed, stratify)
    if gap < 0:
        raise ConfigError(complain(WHERE, "gap", "0 or more steps", gap))
    if isinstance(data, Table) and how == "time" and _is_cut(data, cut):
        return _cut_time(data, rule, gap)
    if gap:
        raise ConfigError(complain(WHERE, "gap", "0 where no time is cut", gap))
    indices = rule.indices(_outline(data, group))
    train, validation, test = (data.part(index) for index in indices)
    return Parts(train, validation, test, how, seed if how in ("random", "group") else None)


def _is_cut(table: Table, cut: str | None) -> bool:
    if cut is not None and cut not in ("steps", "sequences"):
        raise ConfigError(complain(WHERE, "cut", "'steps' or 'sequences'", repr(cut)))
    is_forecast = bool(table.columns.labels) and set(table.columns.labels) <= set(table.columns.numeric)
    return cut == "steps" or (cut is None and (is_forecast or len(table) == 1))


def _outline(data: Table | SequenceData, group: Any) -> Outline:
    """Find out about the sequences what a rule may ask for."""
    if isinstance(data, SequenceData):
        groups = None if group is None else np.asarray(group)
        if groups is not None and groups.shape != (len(data),):
            raise ConfigError(complain(WHERE, "group", f"({len(data)},), one a sequence", groups.shape))
        is_class = data.targets is not None and data.targets.ndim == 1 and not data.targets_per_step
        return Outline(len(data), data.targets if is_class else None, groups)
    columns = data.columns
    if group is not None and group not in data.frame.columns:
        raise ConfigError(
            complain(WHERE, "group", "a column", repr(group), did_you_mean(str(group), data.frame.columns))
        )
    chosen = columns.group if group is None else str(group)
    if chosen is not None and chosen != columns.group:
        _refuse_mixed(data, chosen)

    def words(name: str | None) -> NDArray[Any] | None:
        return None if name is None else to_words(data.of_sequence(name)).fill_null("").to_numpy().astype(str)

    label = columns.labels[0] if len(columns.labels) == 1 else None
    times = None if columns.time is None else as_numbers(data.frame[columns.time])[data.offsets[:-1]]
    return Outline(len(data), words(label), words(chosen), words(columns.split), times)


def _refuse_mixed(table: Table, name: str) -> None:
    """Raise where a sequence is in two groups."""
    frame = table.frame.group_by(table.columns.sequence, maintain_order=True).n_unique()
    mixed = frame.filter(frame[name] > 1)
    if mixed.height:
        got = f"{mixed[name][0]} in sequence {mixed[table.columns.sequence or ''][0]!r}"
        raise DataError(complain(str(table.path), f"values of column '{name}'", "one a sequence, as groups are", got))


def _cut_time(table: Table, rule: SplitRule, gap: int) -> Parts[Table]:
    """Cut all sequences at the same two times."""
    numbers = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    places = np.arange(len(numbers)) - table.offsets[numbers]
    times = places if table.columns.time is None else as_numbers(table.frame[table.columns.time])
    ends = np.cumsum(_shares(len(times), rule.fractions))
    ordered = np.sort(times)
    borders = [ordered[end] if end < len(ordered) else np.inf for end in ends[:2]]
    part = (times >= borders[0]).astype(np.int64) + (times >= borders[1])
    parts, dropped, left = [], 0, np.zeros(len(table), dtype=bool)
    for number in range(3):
        is_in = part == number
        if number and gap:
            first = np.full(len(table), np.iinfo(np.int64).max)
            np.minimum.at(first, numbers[is_in], places[is_in])
            is_gap = is_in & (places - first[numbers] < gap)
            dropped += int(is_gap.sum())
            is_in &= ~is_gap
        if rule.fractions[number] and not is_in.any():
            remedy = "Use a smaller gap or a larger share."
            got = f"none: {int((part == number).sum())} before a gap of {gap}"
            raise DataError(
                complain(str(table.path), f"steps of the {PARTS[number]} part", "at least one", got, remedy)
            )
        left[np.unique(numbers[is_in])] = True
        parts.append(table.cut(is_in))
    return Parts(*parts, how="time", dropped_steps=dropped, dropped_sequences=int((~left).sum()))


def _needed(values: NDArray[Any] | None, what: str, rule: str, remedy: str) -> NDArray[Any]:
    if values is None:
        raise DataError(complain(WHERE, what, rule, "none", remedy))
    return values


def _shares(count: int, fractions: Sequence[float | int]) -> NDArray[np.int64]:
    """Divide a number by largest remainder; every share above 0 gets at least one."""
    wanted = np.array(fractions) * count
    sizes = np.floor(wanted + 1e-9).astype(np.int64)
    # A tie goes to the earlier part.
    for place in np.argsort(-(wanted - sizes), kind="stable")[: count - int(sizes.sum())]:
        sizes[place] += 1
    needed = np.array(fractions) > 0
    if count < needed.sum():
        raise DataError(complain(WHERE, "the data", f"at least {int(needed.sum())}, one a part", count))
    while (lacking := needed & (sizes == 0)).any():
        sizes[np.argmax(lacking)] += 1
        sizes[np.argmax(sizes)] -= 1
    return sizes
