import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.data import SequenceData, SplitRule, Table, as_table, split_sequences
from clew.errors import ConfigError, DataError


def table(count: int = 20, steps: int = 3) -> Table:
    rows = np.arange(count * steps)
    return as_table(
        {
            "id": np.char.add("s", (rows // steps).astype(str)),
            "time": rows % steps + 100 * (rows // steps),
            "x": rows * 1.0,
            "label": np.where(rows // steps % 4 == 0, "v", "u"),
            "group": np.char.add("g", (rows // steps // 3).astype(str)),
            "split": np.array(["train", "test", "validation", "train"])[rows // steps % 4],
        }
    )


@pytest.mark.parametrize("how", ["random", "group", "time", "given"])
def test_every_sequence_is_in_one_part_whole_and_in_order(how: str) -> None:
    whole = table()
    parts = split_sequences(whole, how, seed=3)
    ids = [part.ids for part in parts]
    assert sorted(name for names in ids for name in names) == sorted(whole.ids)
    for part, names in zip(parts, ids, strict=True):
        assert names == [name for name in whole.ids if name in names], "the order of the whole"
        assert part.frame.height == 3 * len(part)


def test_equal_seeds_give_equal_parts_for_tables_and_numbers() -> None:
    data = SequenceData(np.arange(20), np.arange(21))
    for seed in (0, 1):
        expected = [part.ids for part in split_sequences(table(), seed=seed)]
        assert [part.ids for part in split_sequences(table(), seed=seed)] == expected
        assert [[f"s{name}" for name in part.ids] for part in split_sequences(data, seed=seed)] == expected
    assert split_sequences(table(), seed=0).test.ids != split_sequences(table(), seed=1).test.ids


def test_groups_stay_together() -> None:
    groups = [set(part.of_sequence("group")) for part in split_sequences(table(), "group")]
    assert not groups[0] & groups[1] and not groups[0] & groups[2] and not groups[1] & groups[2] and all(groups)
    by_label = split_sequences(table(), "group", (0.5, 0.5, 0.0), group="label")
    assert [set(part.of_sequence("label")) for part in by_label][:2] == [{"u"}, {"v"}]


def test_given_parts_are_taken_as_they_stand() -> None:
    assert split_sequences(table(), "given").test.ids == ["s1", "s5", "s9", "s13", "s17"]


@given(st.lists(st.integers(0, 5), min_size=3, max_size=60), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_stratified_parts_have_every_class_in_training_and_even_shares(classes: list[int], seed: int) -> None:
    data = SequenceData(np.arange(len(classes)), np.arange(len(classes) + 1), classes)
    parts = split_sequences(data, fractions=(0.6, 0.2, 0.2), seed=seed, stratify=True)
    counts = np.stack([np.bincount(np.asarray(part.targets, int), minlength=6) for part in parts])
    totals = np.bincount(classes, minlength=6)
    assert (counts.sum(axis=0) == totals).all()
    assert (counts[0][totals > 0] > 0).all()
    assert (np.abs(counts - np.array([[0.6], [0.2], [0.2]]) * totals) <= 2).all()


def test_time_cuts_every_series_at_the_same_times_and_leaves_a_gap() -> None:
    rows = np.arange(40)
    series = as_table({"id": rows // 20, "time": rows % 20, "x": rows * 1.0}, task="forecasting")
    parts = split_sequences(series, "time", (0.5, 0.25, 0.25), gap=2)
    times = [part.frame["time"].to_list() for part in parts]
    assert times == [[*range(10)] * 2, [12, 13, 14] * 2, [17, 18, 19] * 2]
    assert parts.dropped_steps == 8 and parts.dropped_sequences == 0 and [len(part) for part in parts] == [2, 2, 2]
    with pytest.raises(
        DataError, match=r"steps of the validation part must be at least one, got none: 10 before a gap of 9"
    ):
        split_sequences(series, "time", (0.5, 0.25, 0.25), gap=9)


def test_whole_sequences_are_ordered_by_when_they_begin() -> None:
    parts = split_sequences(table(), "time")
    assert [part.ids[0] for part in parts] == ["s0", "s14", "s17"]


def test_what_cannot_be_split_is_told() -> None:
    with pytest.raises(ConfigError, match=r"how must be known, got 'randm'\. Did you mean 'random'"):
        split_sequences(table(), "randm")
    with pytest.raises(ConfigError, match="fractions must be three shares that add up to 1"):
        split_sequences(table(), fractions=(0.7, 0.7, 0.1))
    with pytest.raises(DataError, match="the data must be at least 3, one a part, got 2"):
        split_sequences(table(2))
    with pytest.raises(DataError, match="groups must be at least 3, one a part, got 2"):
        split_sequences(table(4), "group")
    with pytest.raises(DataError, match=r"times must be given, got none\. Name the column of time"):
        split_sequences(SequenceData(np.arange(4), np.arange(5)), "time")
    with pytest.raises(ConfigError, match=r"group must be a column, got 'grp'\. Did you mean 'group'"):
        split_sequences(table(), "group", group="grp")
    with pytest.raises(ConfigError, match="gap must be 0 where no time is cut, got 3"):
        split_sequences(table(), gap=3)


def test_a_share_of_nothing_is_an_empty_part() -> None:
    parts = split_sequences(table(), fractions=(0.8, 0.2, 0))
    assert [len(part) for part in parts] == [16, 4, 0] and SplitRule(fractions=(1, 0, 0)).fractions == (1, 0, 0)
