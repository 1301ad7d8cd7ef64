import json
from dataclasses import replace

import numpy as np
import pytest

from clew.data import UNSCORED, UNSEEN, Preparation, Scaling, Table, as_table
from clew.data.scaling import ScalingFitter
from clew.errors import ConfigError, DataError


def table(task: str = "classification", **changes: object) -> Table:
    columns = {
        "id": ["a", "a", "b", "c"],
        "x": [1.0, 3.0, 5.0, 7.0],
        "still": [2.0] * 4,
        "colour": ["red", "blue", "red", "red"],
        "label": ["u", "u", "v", "u"],
    }
    return as_table({**columns, **changes}, task=task, missing="keep")


def test_numbers_come_first_scaled_by_the_training_part_then_categories() -> None:
    preparation = Preparation.fit(table(), "classification")
    data = preparation.apply(table(x=[4.0, 4.0, 4.0, 9.0], colour=["blue", "red", "green", "red"]))
    deviation = np.sqrt(5.0)
    expected = [[0, 0, 1], [0, 0, 2], [0, 0, 0], [5 / deviation, 0, 2]]
    assert np.allclose(data.inputs, np.array(expected, np.float32))
    assert data.targets is not None and data.targets.tolist() == [0, 1, 0] and not data.targets_per_step
    assert preparation.classes == ("u", "v") and preparation.categories == (3,) and preparation.features == 2
    assert list(data.ids) == ["a", "b", "c"]


def test_the_test_part_does_not_move_what_was_fitted() -> None:
    preparation = Preparation.fit(table(), "classification")
    kept = json.dumps(preparation.to_mapping())
    preparation.apply(table(x=[100.0] * 4))
    assert json.dumps(preparation.to_mapping()) == kept


@pytest.mark.parametrize("task", ["classification", "tagging", "regression", "forecasting"])
def test_a_preparation_is_the_same_after_json(task: str) -> None:
    changes = {"label": [0.1, 0.1, 0.3, 0.7]} if task == "regression" else {}
    changes = {"id": ["a", "a", "b", "b"]} if task == "forecasting" else changes
    preparation = Preparation.fit(table(task, **changes), task)
    again = Preparation.from_mapping(json.loads(json.dumps(preparation.to_mapping())))
    assert again == preparation
    assert again.apply(table(task, **changes)).fingerprint() == preparation.apply(table(task, **changes)).fingerprint()


def test_tags_are_a_target_a_step_and_missing_ones_are_not_scored() -> None:
    data = Preparation.fit(table("tagging"), "tagging").apply(table("tagging", label=["v", None, "u", "u"]))
    assert data.targets_per_step and data.targets is not None and data.targets.tolist() == [1, UNSCORED, 0, 0]


def test_regression_targets_are_scaled_by_sequences_and_come_back() -> None:
    labels = [2.0, 2.0, 4.0, 6.0]
    preparation = Preparation.fit(table("regression", label=labels), "regression")
    data = preparation.apply(table("regression", label=labels))
    assert data.targets is not None and data.targets.shape == (3, 1)
    assert np.allclose(data.targets.mean(), 0, atol=1e-6) and np.allclose(data.targets.std(), 1)
    assert np.allclose(preparation.unscale_targets(data.targets)[:, 0], [2, 4, 6], atol=1e-6)


def test_next_token_gives_ids_and_unknown_tokens_are_0() -> None:
    tokens = {"id": ["a", "a", "b", "b"], "token": ["x", "y", "x", "z"]}
    preparation = Preparation.fit(as_table(tokens, task="next_token"), "next_token")
    data = preparation.apply(as_table({**tokens, "token": ["z", "q", "x", "y"]}, task="next_token"))
    assert data.inputs.tolist() == [3, 0, 1, 2] and data.inputs.dtype == np.int32 and data.targets is None
    assert preparation.vocabulary is not None and preparation.vocabulary.decode([3, 0]) == "z <unk>"


def test_series_stand_first_and_come_back_in_their_units() -> None:
    series = {"time": [1, 2, 3], "wind": [1.0, 2.0, 3.0], "load": [10.0, 20.0, 30.0]}
    frame = as_table(series, {"label": "load"}, "forecasting")
    preparation = Preparation.fit(frame, "forecasting")
    data = preparation.apply(frame)
    assert preparation.series == ("load",) and data.targets is None
    assert np.allclose(preparation.unscale_targets(data.inputs[:, :1])[:, 0], [10, 20, 30], atol=1e-5)


def test_unseen_classes_are_named_with_their_row_or_become_a_target_of_their_own() -> None:
    preparation = Preparation.fit(table(), "classification")
    other = table(label=["u", "u", "w", "u"])
    with pytest.raises(DataError) as error:
        preparation.apply(other)
    assert str(error.value) == (
        "table: column 'label', row 3: class must be one of the 2 that training has, got 'w'. Known: u, v. Put "
        "examples of it into the training part, or drop them here."
    )
    targets = preparation.apply(other, allow_unseen=True).targets
    assert targets is not None and targets.tolist() == [0, UNSEEN, 0]


def test_missing_values_are_refused_or_filled_as_asked() -> None:
    holes = table(x=[1.0, None, 5.0, float("nan")], colour=["red", None, "red", "red"])
    with pytest.raises(DataError) as error:
        Preparation.fit(holes, "classification")
    assert [line.split(":")[1] for line in str(error.value).splitlines()] == [
        " column 'x', row 2", " column 'x', row 4", " column 'colour', row 2",
    ]  # fmt: skip
    by_mean = Preparation.fit(holes, "classification", missing="mean")
    assert by_mean.scaling.means[0] == 3.0
    assert by_mean.apply(holes).inputs[:, 0].tolist() == [-1, 0, 1, 0]
    assert by_mean.apply(holes).inputs[1, 2] == 0
    forward = Preparation.fit(holes, "classification", missing="forward")
    assert forward.apply(holes).inputs[:, 0].tolist() == [-1, -1, 1, 0]


def test_one_class_and_wrong_arguments_are_refused() -> None:
    with pytest.raises(DataError, match=r"classes in column 'label' must be at least 2, got 1: 'u'\. With one class"):
        Preparation.fit(table(label=["u"] * 4), "classification")
    with pytest.raises(ConfigError, match=r"missing must be known, got 'men'\. Did you mean 'mean'"):
        Preparation.fit(table(), "classification", missing="men")
    with pytest.raises(ConfigError, match=r"must be one column of tokens, got x \(numbers\), still"):
        Preparation.fit(table(), "next_token")


def test_a_table_without_what_is_read_is_refused() -> None:
    preparation = Preparation.fit(table(), "classification")
    columns = {"id": ["a"], "xx": [1.0], "still": ["s"], "colour": ["red"]}
    with pytest.raises(DataError) as error:
        preparation.apply(as_table(columns))
    assert str(error.value).splitlines() == [
        "table: column must be in the table, got 'x'. Did you mean 'xx'?",
        "table: column 'still' must be numeric, as in training, got not. Read the table with the columns of the "
        "preparation.",
    ]
    without = as_table(
        {"id": ["a"], "x": [1.0], "still": [1.0], "colour": ["red"]}, preparation.columns, needs_label=False
    )
    assert preparation.apply(without).targets is None


def test_values_beyond_float32_once_scaled_are_named() -> None:
    preparation = replace(
        Preparation.fit(table(), "classification"), scaling=Scaling(("x", "still"), (0.0, 0.0), (1e-20, 1.0))
    )
    with pytest.raises(DataError, match=r"column 'x', row 2: value must be of a size that training had, got 1e\+25"):
        preparation.apply(table(x=[1.0, 1e25, 1.0, 1.0]))


def test_scaling_in_pieces_is_scaling_at_once() -> None:
    values = np.random.default_rng(0).normal(1e6, 1e-1, (1000, 2))
    values[::7, 1] = np.nan
    at_once, fitter = Scaling.fit(("x", "y"), values), ScalingFitter(("x", "y"))
    for piece in np.array_split(values, 13):
        fitter.update(piece)
    assert np.allclose(fitter.finish().deviations, at_once.deviations, rtol=1e-9)
    assert np.allclose(at_once.deviations, np.nanstd(values, axis=0), rtol=1e-9)
    assert Scaling.fit(("x",), np.full((5, 1), 0.1 + 0.2)).deviations == (1.0,)
