"""The audit of data: each fault beside a clean twin, and what must not be flagged."""

import numpy
import polars
import pytest

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
