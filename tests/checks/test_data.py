"""The audit of data: each fault beside a clean twin, and what must not be flagged."""

import numpy
import polars
import pytest
import torch

from clew.checks import DATA_CHECKS, audit_data
from clew.errors import AuditError

DRAWS = numpy.random.default_rng(4)


def split(start: int, stop: int, **more: object) -> dict:
    """Rows of a series: a time, three features and a label that no feature gives away."""
    values = numpy.random.default_rng(9).normal(size=(40, 3))[start:stop]
    label = numpy.random.default_rng(8).integers(0, 3, size=40)[start:stop]
    columns = {"t": numpy.arange(start, stop), "a": values[:, 0], "b": values[:, 1], "c": values[:, 2], "y": label}
    return columns | more


CLEAN = split(0, 20), split(20, 30), split(30, 40)
NAMED = {"time": "t", "label": "y"}


def scaled(*splits: dict) -> dict:
    """Mean and spread of all that is given."""
    values = numpy.concatenate([one["a"] for one in splits])
    return {"mean": values.mean(), "spread": values.std()}


def test_clean_splits_pass() -> None:
    report = audit_data(*CLEAN, **NAMED, window=3, horizon=0, statistics=lambda train, *_: scaled(train))
    assert report.failures == []
    assert tuple(finding.name for finding in report.findings) == DATA_CHECKS


def test_polars_tables_and_arrays_are_read() -> None:
    tables = [polars.DataFrame(one) for one in CLEAN]
    fit = lambda train, *_: {"mean": train["a"].mean()}  # noqa: E731
    assert audit_data(*tables, **NAMED, statistics=fit).failures == []
    arrays = [numpy.stack([one["a"], one["b"], one["c"]], axis=1) for one in CLEAN]
    assert audit_data(*arrays, statistics=lambda train, *_: {"mean": train.mean()}).failures == []
    assert audit_data(*arrays, statistics=lambda *all_: {"mean": numpy.concatenate(all_).mean()}).failures == [
        "fitted_on_test"
    ]


def test_time_that_runs_back_is_split_overlap() -> None:
    assert audit_data(split(20, 30), split(0, 20), split(30, 40), **NAMED).failures == ["split_overlap"]


def test_a_group_in_two_splits_is_split_overlap_unless_time_orders_it() -> None:
    units = [{"unit": numpy.full(len(one["t"]), 7)} | one for one in CLEAN]
    assert audit_data(*units, group="unit").failures == ["split_overlap"]
    assert audit_data(*units, group="unit", time="t").failures == []


def test_units_of_their_own_may_overlap_in_time() -> None:
    units = [split(start, start + 10, unit=numpy.full(10, start), t=numpy.arange(10)) for start in (0, 10, 20)]
    assert audit_data(*units, group="unit", time="t").failures == []


def test_targets_inside_earlier_windows_are_window_overlap() -> None:
    close = {"t": numpy.arange(3, 8)}, None, {"t": numpy.arange(8, 10)}
    assert audit_data(*close, time="t", window=3, horizon=2).failures == ["window_overlap"]
    mixed = {"t": numpy.array([3, 5, 7])}, None, {"t": numpy.array([4, 6])}
    assert audit_data(*mixed, time="t", window=3, horizon=1).failures == ["window_overlap"]


def test_inputs_that_look_back_into_train_are_allowed() -> None:
    assert audit_data({"t": numpy.arange(3, 6)}, None, {"t": numpy.arange(6, 9)}, time="t", window=3, horizon=1).passed


def test_a_scaler_fitted_on_everything_is_found() -> None:
    report = audit_data(*CLEAN, **NAMED, statistics=scaled)
    assert report.failures == ["fitted_on_test"]
    assert "'mean'" in report["fitted_on_test"].reason


@pytest.mark.parametrize("shift", [0.0, 1e-6])
def test_equal_and_nearly_equal_rows_are_duplicates(shift: float) -> None:
    test = {name: values.copy() for name, values in CLEAN[2].items()}
    for name in "abc":
        test[name][3] = CLEAN[0][name][5] + shift
    test["y"][3] = CLEAN[0]["y"][5]
    assert audit_data(CLEAN[0], CLEAN[1], test, **NAMED).failures == ["duplicate_rows"]


def test_rows_that_repeat_by_nature_are_no_duplicates() -> None:
    flags = [{"a": numpy.arange(20) % 2, "y": numpy.arange(20) // 2 % 2} for _ in range(3)]
    assert audit_data(*flags, label="y").failures == []


def test_the_label_in_other_words_is_found() -> None:
    words = numpy.array(["low", "mid", "high"])
    recoded = [one | {"word": words[one["y"]]} for one in CLEAN]
    assert audit_data(*recoded, **NAMED).failures == ["label_in_features"]
    lines = [{"x": one["a"] * 3 + 1, "other": one["b"], "y": one["a"]} for one in CLEAN]
    assert audit_data(*lines, label="y").failures == ["label_in_features"]


@pytest.mark.parametrize(
    ("splits", "more", "text"),
    [
        ((CLEAN[0], None, None), {}, "train and at least one other"),
        (CLEAN, {"time": "tt"}, "Did you mean 't'?"),
        ((CLEAN[0], None, {"t": [1]}), {}, "those of train"),
        ((CLEAN[0], None, {name: [] for name in CLEAN[0]}), {}, "at least 1"),
        (CLEAN, {"statistics": lambda *_: 3}, "a function that gives a mapping of arrays"),
    ],
)
def test_what_cannot_be_read_is_one_error(splits: tuple, more: dict, text: str) -> None:
    with pytest.raises(AuditError, match="audit_data:") as told:
        audit_data(*splits, **more)
    assert text in str(told.value)


NORMAL = numpy.random.default_rng(2).normal(size=(300, 4))


def halves(rows: object) -> tuple:
    """The first two thirds for training, the rest to test."""
    return rows[:200], None, rows[200:]  # type: ignore[index]


@pytest.mark.parametrize("change", [lambda v: v.round(2), lambda v: v + 1e-3, numpy.float32], ids=["2", "1e-3", "32"])
def test_one_row_copied_and_rounded_is_a_duplicate(change: object) -> None:
    rows = NORMAL.copy()
    rows[250] = change(rows[3])  # type: ignore[operator]
    assert audit_data(*halves(NORMAL)).failures == []
    told = audit_data(*halves(rows))
    assert told.failures == ["duplicate_rows"]
    assert "row 50 of test nearly equals row 3 of train" in told["duplicate_rows"].reason


def test_a_single_real_column_needs_a_closer_copy_because_rows_lie_dense() -> None:
    column = NORMAL.ravel()[:900].copy()
    close, chance = column.copy(), column.copy()
    close[700], chance[700] = column[5] + 1e-11, column[5] + 1e-3
    for values, failures in ((column, []), (chance, []), (close, ["duplicate_rows"])):
        assert audit_data({"x": values[:600]}, None, {"x": values[600:]}).failures == failures


@pytest.mark.parametrize("seed", range(40))
def test_independent_draws_are_no_duplicates(seed: int) -> None:
    draws = numpy.random.default_rng(seed)
    rows, columns = int(draws.integers(10, 200)), int(draws.integers(1, 6))
    values = draws.normal(size=(rows + 50, columns))
    kinds = values, values.cumsum(axis=0), values.round(1), abs(values) ** 3 * (draws.random(values.shape) > 0.5)
    kept = kinds[seed % 4]
    assert audit_data(kept[:rows], None, kept[rows:]).failures == []


def test_calendar_columns_repeat_by_nature() -> None:
    hour = numpy.arange(200)
    columns = {"hour": hour % 24, "night": hour % 24 < 6, "day": hour // 24 % 7, "sin": numpy.sin(hour % 24)}
    columns["y"] = numpy.random.default_rng(0).integers(0, 2, 200)
    splits = [{name: value[part] for name, value in columns.items()} for part in (slice(0, 150), slice(150, 200))]
    assert audit_data(splits[0], None, splits[1], label="y").failures == []


@pytest.mark.parametrize("kind", [numpy.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_token_rows_are_duplicates_where_they_are_too_long_for_chance(kind: object) -> None:
    ids = numpy.random.default_rng(0).integers(0, 10, size=(300, 20))
    assert audit_data(*halves(kind(ids))).failures == []  # type: ignore[operator]
    ids[250] = ids[3]
    assert audit_data(*halves(kind(ids))).failures == ["duplicate_rows"]  # type: ignore[operator]
    assert audit_data(*halves(numpy.random.default_rng(0).integers(0, 10, size=(300, 3)))).failures == []


def test_texts_and_lists_are_compared() -> None:
    train, test = ["the cat sat", "a dog ran", "one two"], ["The  cat sat.", "no"]
    assert audit_data({"s": train}, None, {"s": test}).failures == ["duplicate_rows"]
    assert audit_data({"s": train}, None, {"s": ["the cat ran", "no"]}).failures == []
    lists = [polars.DataFrame({"s": rows}) for rows in ([[1, 2, 3], [3, 4], [5]], [[3, 4], [7]], [[3, 5], [7]])]
    assert audit_data(lists[0], None, lists[1]).failures == ["duplicate_rows"]
    assert audit_data(lists[0], None, lists[2]).failures == []


def test_missing_numbers_are_equal_to_each_other() -> None:
    rows = NORMAL.copy()
    rows[3, 1] = rows[250, 1] = numpy.nan
    assert audit_data(*halves(rows)).failures == []
    rows[250] = rows[3]
    assert audit_data(*halves(rows)).failures == ["duplicate_rows"]


def test_arrays_of_windows_are_compared_by_their_targets() -> None:
    series = NORMAL[:, :2].cumsum(axis=0)
    windows = numpy.stack([series[start : start + 8] for start in range(120)])
    named = {"window": 6, "horizon": 2}
    assert audit_data(windows[:60], None, windows[61:], **named).failures == []
    for later in (windows[60:], windows[numpy.random.default_rng(0).permutation(120)]):
        assert audit_data(windows[:60], None, later[:40], **named)["window_overlap"].status == "failed"


def test_steps_of_dates_are_told_from_the_dates() -> None:
    months = [f"2020-{month:02d}-01" for month in range(1, 11)]
    named = {"time": "t", "window": 2, "horizon": 2}
    assert audit_data({"t": months[:5]}, None, {"t": months[7:]}, **named).failures == []
    told = audit_data({"t": months[:5]}, None, {"t": months[5:]}, **named)
    assert told.failures == ["window_overlap"]
    assert "a step is 1 month" in told["window_overlap"].reason
    seconds = numpy.arange(1_600_000_000, 1_600_036_000, 3600)
    assert audit_data({"t": seconds[:5]}, None, {"t": seconds[5:]}, **named).failures == ["window_overlap"]


def test_a_label_of_a_later_row_is_found_and_that_of_an_earlier_row_allowed() -> None:
    value = NORMAL[:60, 0].cumsum()
    for shift, failures in ((1, []), (-1, ["label_in_features"]), (-3, ["label_in_features"])):
        columns = {"t": numpy.arange(60), "x": numpy.roll(value, shift), "y": value}
        splits = [{name: one[part] for name, one in columns.items()} for part in (slice(0, 40), slice(40, 57))]
        assert audit_data(splits[0], None, splits[1], **NAMED).failures == failures


def test_ids_that_equal_the_inputs_are_targets_still_to_be_shifted() -> None:
    ids = [numpy.random.default_rng(seed).integers(0, 9, size=(20, 12)) for seed in (0, 1)]
    assert audit_data(*({"x": one, "y": one} if one is not None else one for one in (ids[0], None, ids[1])),
                      label="y").failures == []  # fmt: skip
    held = [{"x": NORMAL[part], "y": NORMAL[part, 2:]} for part in (slice(0, 200), slice(200, 300))]
    assert audit_data(held[0], None, held[1], label="y").failures == ["label_in_features"]


def test_two_counters_are_no_function_of_each_other() -> None:
    columns = [{"step": numpy.arange(part, part + 20), "y": numpy.arange(part, part + 20) * 2.0} for part in (0, 20)]
    assert audit_data(columns[0], None, columns[1], label="y").failures == []


def test_what_is_fitted_is_given_the_types_that_came() -> None:
    kinds: list[type] = []

    def fit(train: dict, validation: object, test: dict) -> dict:
        kinds.extend(type(split["x"]) for split in (train, test))
        train["x"] *= 1.0  # what was given must not change
        return {"mean": torch.cat([train["x"], test["x"]]).mean()}

    train = {"x": torch.arange(5.0)}
    assert audit_data(train, None, {"x": torch.randn(5)}, statistics=fit).failures == ["fitted_on_test"]
    assert set(kinds) == {torch.Tensor}
    assert torch.equal(train["x"], torch.arange(5.0))


def test_words_and_numbers_of_rows_are_varied_too() -> None:
    splits = {"w": ["a", "b", "a"], "x": [1.0, 2.5, 3.1]}, None, {"w": ["c", "b"], "x": [0.3, 0.7]}
    both = lambda train, _, test: {"words": sorted({*train["w"], *test["w"]})}  # noqa: E731
    count = lambda train, _, test: {"n": sum(train["x"]) + len(test["x"])}  # noqa: E731
    for fit, what in ((both, "texts of test"), (count, "rows of test")):
        assert what in audit_data(*splits, statistics=fit)["fitted_on_test"].reason


def test_statistics_that_do_not_repeat_themselves_are_not_judged() -> None:
    fit = lambda train, *_: {"mean": train["a"].mean() + numpy.random.default_rng().normal()}  # noqa: E731
    assert audit_data(*CLEAN, statistics=fit)["fitted_on_test"].status == "not applicable"


@pytest.mark.parametrize(
    ("splits", "more", "text"),
    [
        ((3, None, [1]), {}, "train must be a polars table"),
        (([{"a": 1}], None, [{"a": 2}]), {}, "Give one mapping of columns instead."),
        ((polars.LazyFrame({"a": [1]}), None, None), {}, "Call .collect() first."),
        (({"x": [1, 2]}, None, {"x": ["a", "b"]}), {}, "column 'x' of test must be numbers of shape (rows,)"),
        (({"yy": [1]}, None, {"y": [1]}), {}, "without ['yy'] and with ['y']. Did you mean 'yy'?"),
        (
            ({"x": [1, 2], "y": [1]}, None, {"x": [1], "y": [1]}),
            {},
            "columns of one length, at least 1, got columns of",
        ),
        (({"t": [1.0, numpy.nan]}, None, {"t": [3.0]}), {"time": "t"}, "none in row 1"),
        (({"t": ["monday"]}, None, {"t": ["friday"]}), {"time": "t"}, "numbers, dates or dates as ISO text"),
        (CLEAN, {"time": "t", "horizon": -1}, "horizon must be a whole number of steps, at least 0"),
        (CLEAN, {"time": "t", "window": 0}, "window must be a whole number of steps, at least 1"),
    ],
)
def test_bad_tables_are_one_clear_error(splits: tuple, more: dict, text: str) -> None:
    with pytest.raises(AuditError, match="audit_data:") as told:
        audit_data(*splits, **more)
    assert text in str(told.value)
    assert "\n" not in str(told.value)
