"""Alignment, rollouts and figures of the forecasting task, against plain twins."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from clew.data import Batch, SequenceData
from clew.errors import ConfigError, DataError, ShapeError
from clew.models import build
from clew.tasks import Forecasting, Scaling
from reference import forecasts as twin
from tasks.members import Function

SEASON = 4
SCALING = Scaling((2.0, -1.0), (3.0, 0.5), SEASON, (1.5, 0.25))


def windows(count: int = 9, steps: int = 14, columns: int = 2) -> Tensor:
    return torch.randn(count, steps, columns, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def in_units(values: Tensor) -> np.ndarray:
    return values.numpy() * np.array(SCALING.scale) + np.array(SCALING.center)


def test_the_worked_row_is_aligned_as_the_docstring_says() -> None:
    rows = torch.tensor([[[5.0, 10], [7, 11], [6, 12], [8, 13], [9, 14], [7, 15]]])
    aligned = Forecasting(2, known=1, lags=(2,)).align(Batch(rows))
    assert aligned.inputs[0].tolist() == [[7, 5, 12], [6, 7, 13], [8, 6, 14], [9, 8, 15]]
    assert aligned.targets[0].squeeze(1).tolist() == [6, 8, 9, 7]
    assert aligned.valid is None and aligned.scored is None


def test_a_target_counts_only_where_all_that_it_needs_is_real() -> None:
    rows = windows(2, 8, 1)
    rows[1, 3] = float("nan")
    valid = torch.tensor([[0, 1, 1, 1, 1, 1, 1, 0], [1] * 8]).bool()
    aligned = Forecasting(2, lags=(3,)).align(Batch(rows, valid))
    assert aligned.scored.int().tolist() == [[0, 1, 1, 1, 0], [0, 1, 1, 1, 1]]
    assert aligned.valid.int().tolist() == [[0, 1, 1, 1, 0], [1] * 5]


@pytest.mark.parametrize("difference", [None, 1, SEASON])
def test_a_difference_is_taken_against_the_value_before_the_target(difference: int | None) -> None:
    task = Forecasting(3, series=2, difference=difference)
    rows = windows()
    lead = (difference or 1) - 1
    zero = Function(lambda x, valid: torch.zeros(*x.shape[:2], 2, dtype=torch.float64))
    base = rows[:, : -difference or None] if difference else torch.zeros_like(rows)
    targets = rows[:, lead + 1 :]
    expected = (targets - base[:, : targets.shape[1]]).square().sum(dim=2).mean().item()
    assert task.loss(zero, Batch(rows)).item() == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["one_step", "rollout"])
@pytest.mark.parametrize("name", ["last_value", "seasonal_naive", "drift", "training_mean"])
def test_references_equal_plain_twins(name: str, mode: str) -> None:
    task = Forecasting(6, series=2, season=SEASON, scaling=SCALING)
    rows = windows()
    row = next(row for row in task.references(Batch(rows), Batch(rows)) if row["name"] == name)
    values = in_units(rows)
    predicted = np.stack(
        [
            np.stack(
                [
                    twin.forecast(name, mode, one[:, series].tolist(), 6, SEASON, SCALING.center[series])
                    for series in range(2)
                ],
                axis=1,
            )
            for one in values
        ]
    )
    targets = values[:, -6:]
    assert row[f"{mode}_mae"] == pytest.approx(np.abs(predicted - targets).mean(), abs=1e-12)
    assert row[f"{mode}_rmse"] == pytest.approx(np.sqrt(((predicted - targets) ** 2).mean()), abs=1e-12)
    assert row[f"{mode}_mase"] == pytest.approx(twin.mase(predicted, targets, [1.5, 0.25]), abs=1e-12)


def test_figures_equal_plain_twins() -> None:
    levels = [0.1, 0.5, 0.9]
    task = Forecasting(5, series=2, quantiles=levels, season=SEASON, scaling=SCALING)
    model = build("gru", features=2, outputs=6, hidden=4).double()
    rows = windows()
    figures, predicted = task.evaluate(model, Batch(rows)), task.predict(model, Batch(rows))
    targets = in_units(rows)[:, -5:]
    for mode in ("one_step", "rollout"):
        values = predicted[mode]
        assert values.shape == (9, 5, 2, 3) and (np.diff(values, axis=-1) >= 0).all()
        inside = [values[place][0] <= targets[place] <= values[place][2] for place in np.ndindex(*targets.shape)]
        assert figures[f"{mode}_mase"] == pytest.approx(twin.mase(values[..., 1], targets, [1.5, 0.25]), abs=1e-12)
        assert figures[f"{mode}_quantile_loss"] == pytest.approx(twin.pinball(values, targets, levels), abs=1e-12)
        assert figures[f"{mode}_coverage"] == pytest.approx(np.mean(inside))
    assert figures["one_step_mae"] != figures["rollout_mae"]


def test_the_quantile_loss_is_summed_over_series_and_levels() -> None:
    task = Forecasting(2, quantiles=(0.25, 0.5))
    rows = torch.tensor([[[1.0], [3.0], [2.0]]], dtype=torch.float64)
    model = Function(lambda x, valid: torch.tensor([2.0, 4.0]).double().expand(*x.shape[:2], 2))
    expected = ((0.25 * 1 + 0.5 * 1) + (0.0 + 0.5 * 2)) / 2  # targets 3 and 2
    assert task.loss(model, Batch(rows)).item() == pytest.approx(expected)


@pytest.mark.parametrize("preset", ["gru", "transformer"])
def test_a_rollout_feeds_predictions_back_and_reads_no_later_truth(preset: str) -> None:
    task = Forecasting(4, series=1, past=1, known=1, lags=(3,), difference=2)
    options = {"causal": True} if preset == "transformer" else {}
    model = build(preset, features=task.features, outputs=1, hidden=4, **options).double().eval()
    rows = windows(3, 12, 3)
    predicted = task.predict(model, Batch(rows))["rollout"]
    # The plain way, one window and one step at a time.
    for row in range(3):
        values, past, known = (rows[row, :, column].tolist() for column in range(3))
        values, past = values[:8], past[:8] + [past[7]] * 4
        for step in range(8, 12):
            read = [[values[t], values[t - 2], past[t], known[t + 1]] for t in range(2, step)]
            change = model(torch.tensor([read], dtype=torch.float64)).logits[0, -1, 0].item()
            values.append(values[step - 2] + change)
        assert predicted[row, :, 0] == pytest.approx(values[8:], abs=1e-12)
    changed = rows.clone()
    changed[:, 8:, :2] = 99.0
    np.testing.assert_array_equal(task.predict(model, Batch(changed))["rollout"], predicted)
    assert not np.allclose(task.predict(model, Batch(changed))["one_step"][:, 1:], predicted[:, 1:])
    changed[:, -1, 2] = 99.0
    assert not np.array_equal(task.predict(model, Batch(changed))["rollout"], predicted)
    # Beyond the end of the data it is the same.
    beyond = task.forecast(model, rows[:, :8], rows[:, 8:, 2:])
    np.testing.assert_allclose(beyond[..., 0], predicted, atol=1e-12)
    assert task.forecast(model, rows[:, :8], rows[:, 8:, 2:], horizon=2).shape == (3, 2, 1, 1)


def test_the_first_step_of_a_rollout_is_a_one_step_forecast() -> None:
    task = Forecasting(3, series=2)
    predicted = task.predict(build("lstm", features=2, outputs=2, hidden=4).double(), Batch(windows()))
    np.testing.assert_allclose(predicted["rollout"][:, 0], predicted["one_step"][:, 0], atol=1e-12)


def test_a_perfect_seasonal_model_is_perfect_over_a_horizon_longer_than_the_season() -> None:
    wave = torch.tensor([1.0, 5.0, 2.0, -3.0]).repeat(6).double().reshape(1, 24, 1)
    task = Forecasting(10, season=SEASON, difference=SEASON)
    zero = Function(lambda x, valid: torch.zeros(*x.shape[:2], 1, dtype=torch.float64))
    assert task.evaluate(zero, Batch(wave)) == pytest.approx(dict.fromkeys(task.metrics, 0.0))
    rows = {row["name"]: row for row in task.references(Batch(wave), Batch(wave))}
    assert rows["seasonal_naive"]["rollout_mae"] == 0 < rows["drift"]["rollout_mae"]


def test_monitoring_takes_no_rollout_unless_it_selects() -> None:
    model, batch = build("gru", features=2, outputs=2, hidden=4).double(), Batch(windows())
    one_step, rollout = Forecasting(3, series=2), Forecasting(3, series=2, select_by="rollout")
    assert set(one_step.monitor(model, batch)) == {"one_step_mae", "one_step_rmse"}
    assert rollout.monitor(model, batch) == rollout.evaluate(model, batch)
    assert (one_step.selection, rollout.selection) == ("one_step_mae", "rollout_mae")


def test_a_comparison_says_by_how_much_a_model_is_better() -> None:
    task = Forecasting(4, series=2, season=SEASON, scaling=SCALING)
    batch = Batch(windows(40))

    def shifted(by: float) -> Function:
        """Repeat the season with a constant error, the way the reference does without one."""
        return Function(lambda x, valid: torch.zeros(*x.shape[:2], 2, dtype=torch.float64) + by)

    worse = task.compare(shifted(9.0), batch, block=2)
    assert worse.low > 0 and worse.values == 40
    assert worse == task.compare(shifted(9.0), batch, block=2) != task.compare(shifted(9.0), batch, block=2, seed=1)
    figures = task.evaluate(shifted(9.0), batch)
    reference = next(row for row in task.references(batch, batch) if row["name"] == "seasonal_naive")
    assert worse.mean == pytest.approx(figures["rollout_mase"] - reference["rollout_mase"])
    better = task.compare(shifted(0.0), batch, mode="one_step")
    assert better.high < 0  # independent values: their mean is the better forecast
    assert task.compare(shifted(0.0), batch, origin_stride=1).block == 4


def test_all_comparisons_are_the_single_ones_and_keep_to_sequences() -> None:
    task = Forecasting(4, series=2, season=SEASON, scaling=SCALING)
    steps = windows(40).float()
    model = build("gru", features=2, outputs=2, hidden=4)
    found = task.compare_all(model, Batch(steps), origin_stride=2)
    assert len(found) == 2 * len(task.reference_names)
    for one in found:
        single = task.compare(model, Batch(steps), one["reference"], one["mode"], origin_stride=2)
        assert single._asdict() == {name: one[name] for name in single._fields}
    flat, borders = steps.reshape(-1, 2).numpy(), np.arange(41) * 14
    numbered = SequenceData(flat, borders)
    named = SequenceData(flat, borders, ids=[f"s{number // 3}" for number in range(40)])
    assert task.compare(model, numbered, origin_stride=1).block == 4
    assert task.compare(model, named, origin_stride=1).block == 3
    assert {one["block"] for one in task.compare_all(model, named, origin_stride=1)} == {3}


def test_zero_is_a_reference_of_series_that_stay_around_it() -> None:
    def names(center: float) -> list[str]:
        return Forecasting(2, scaling=Scaling((center,), (1.0,), 1, (1.0,))).reference_names

    assert "zero" in names(-0.9) and "zero" not in names(1.1)
    assert "zero" not in Forecasting(2).reference_names
    task, batch = Forecasting(3, series=2, scaling=Scaling((0.5, 0.0), (2.0, 1.0), 1, (1.0, 2.0))), Batch(windows())
    rows = {row["name"]: row for row in task.references(batch, batch)}
    targets = task.scaling.scale * batch.inputs[:, -3:].numpy() + task.scaling.center
    assert rows["zero"]["one_step_mae"] == rows["zero"]["rollout_mae"] == pytest.approx(np.abs(targets).mean())


def test_a_history_shorter_than_the_season_has_no_seasonal_figures() -> None:
    task = Forecasting(3, season=50)
    batch = Batch(windows(columns=1))
    rows = {row["name"]: row for row in task.references(batch, batch)}
    assert rows["seasonal_naive"]["one_step_mae"] is None and rows["last_value"]["one_step_mae"] > 0
    with pytest.raises(DataError, match="the history of a window must be at least one season of 50 steps"):
        task.compare(Function(lambda x, valid: x), batch)
    assert rows["training_mean"]["one_step_mae"] is None
    with pytest.raises(DataError, match="scaling must be known for the training mean"):
        task.compare(Function(lambda x, valid: x), batch, "training_mean")


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
        ({"lags": (1,)}, "lags must be different whole numbers of at least 2"),
        ({"quantiles": (0.9, 0.5)}, "quantiles must be rising"),
        ({"quantiles": (0.1, 0.9)}, "quantiles must be with 0.5 among them"),
        ({"series": 2, "scaling": Scaling((0.0,), (1.0,), 1, (1.0,))}, "scaling must be for 2 series, got for 1"),
        ({"select_by": "luck"}, "select_by must be one_step or rollout, got 'luck'"),
    ],
)
def test_wrong_arguments_are_errors(wrong: dict, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        Forecasting(**({"horizon": 2} | wrong))
    assert text in str(error.value)


def test_windows_that_do_not_fit_are_errors() -> None:
    model: Callable = Function(lambda x, valid: x)
    with pytest.raises(DataError) as error:
        Forecasting(12, lags=(3,)).evaluate(model, Batch(windows(columns=1)))
    assert str(error.value) == (
        "Forecasting: windows must be at least lead + 1 + horizon = 15 real steps long, got 14 at row 0. "
        "Take a shorter horizon or lag, or longer windows."
    )
    with pytest.raises(ShapeError, match="1 series, 0 past, 2 known"):
        Forecasting(2, known=2).align(Batch(windows()))
    with pytest.raises(DataError, match="known covariates of the future must be 1 columns of at least 2 steps"):
        Forecasting(2, known=1).forecast(model, windows())
    with pytest.raises(DataError, match="scored targets of a batch must be at least 1"):
        Forecasting(2).loss(model, Batch(torch.full((1, 4, 1), float("nan"))))
