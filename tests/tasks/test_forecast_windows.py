import json

import numpy as np
import pytest

from clew.checks.data_runner import audit_data
from clew.data.sequence_data import SequenceData
from clew.errors import ConfigError, DataError
from clew.tasks import ForecastParts, Scaling, chronological_windows
from reference.forecasts import seasonal_error


def counted(*lengths: int) -> SequenceData:
    """Each step's value is its number in the whole file."""
    total = sum(lengths)
    values = np.stack([np.arange(total), np.sin(np.arange(total))], axis=1)
    return SequenceData(values, np.cumsum([0, *lengths]))


def steps(part: SequenceData, parts: ForecastParts) -> np.ndarray:
    """Give the step numbers of each window, undoing the scaling."""
    values = part.whole().inputs[..., 0].double().numpy() * parts.scaling.scale[0] + parts.scaling.center[0]
    return np.rint(values).astype(int)


@pytest.mark.parametrize("look_back", [True, False])
@pytest.mark.parametrize(("lags", "difference"), [((), None), ((3, 6), None), ((2,), 5)])
def test_no_window_has_targets_of_another_part(look_back: bool, lags: tuple[int, ...], difference: int | None) -> None:
    lead = max(1, difference or 1, *lags) - 1
    parts = chronological_windows(
        counted(100), series=1, context=8, horizon=4, lags=lags, difference=difference, look_back=look_back,
        fractions=(0.6, 0.2, 0.2), origin_stride=1,
    )  # fmt: skip
    window = lead + 12
    assert parts.window == window and parts.borders.tolist() == [[60, 80]]
    train, validation, test = (steps(part, parts) for part in (parts.train, parts.validation, parts.test))
    assert (np.diff(train, axis=1) == 1).all() and train.shape[1] == window
    assert train.min() == 0 and train.max() == 59
    for part, first, last in ((validation, 60, 79), (test, 80, 99)):
        begin = part[:, -4] if look_back else part[:, 0]
        assert begin.min() == first and part[:, -1].max() == last
    gap = 3 if look_back else window - 1
    assert parts.gap == gap
    assert len(train) + len(validation) + len(test) == 100 - window + 1 - 2 * gap
    assert parts.dropped == 2 * gap


def test_sequences_are_cut_each_by_its_own_time() -> None:
    parts = chronological_windows(counted(40, 60), series=1, context=4, horizon=2, fractions=(0.5, 0.25, 0.25))
    train, test = steps(parts.train, parts), steps(parts.test, parts)
    assert set(train.ravel()) == {*range(20), *range(40, 70)}
    assert set(test[:, -2:].ravel()) == {*range(30, 40), *range(85, 100 - 1)}
    assert (np.diff(train, axis=1) == 1).all() and (np.diff(test, axis=1) == 1).all()
    assert list(parts.train.ids) == ["0"] * 15 + ["1"] * 25
    assert list(parts.test.ids) == ["0"] * 5 + ["1"] * 7


def test_scaling_comes_from_the_training_steps_alone() -> None:
    data = counted(100)
    changed = SequenceData(np.where(np.arange(100)[:, None] < 60, data.inputs, 1e6), [0, 100])
    split = {"series": 1, "context": 8, "horizon": 4, "season": 3, "fractions": (0.6, 0.2, 0.2)}
    first, second = (chronological_windows(one, **split) for one in (data, changed))
    assert first.scaling == second.scaling
    assert first.scaling.center == pytest.approx((29.5,)) and first.scaling.scale == pytest.approx(
        (np.arange(60).std(),)
    )
    assert first.scaling.seasonal_error == pytest.approx((seasonal_error(np.arange(60.0), 3),))
    assert np.array_equal(first.train.whole().inputs, second.train.whole().inputs)
    assert np.allclose(first.train.whole().inputs[0, :, 1], np.sin(np.arange(12)), atol=1e-6)  # covariates stay


def test_series_that_are_standardized_already_keep_their_units() -> None:
    raw = counted(100)
    plain = chronological_windows(raw, series=2, context=8, horizon=4, season=5)
    center, scale = np.array([3.0, 0.5]), np.array([7.0, 2.0])
    given = SequenceData((raw.inputs - center) / scale, [0, 100])
    parts = chronological_windows(
        given, series=2, context=8, horizon=4, season=5, standardized=(center.tolist(), scale.tolist())
    )
    assert parts.scaling.center == (3.0, 0.5) and parts.scaling.scale == (7.0, 2.0)
    assert parts.scaling.seasonal_error == pytest.approx(plain.scaling.seasonal_error, rel=1e-5)
    np.testing.assert_array_equal(parts.train.whole().inputs[3], given.inputs[3:15])


def test_the_data_audit_finds_no_overlap() -> None:
    parts = chronological_windows(counted(100), series=1, context=8, horizon=4, origin_stride=1)
    tables = [{"last": steps(part, parts)[:, 7]} for part in (parts.train, parts.validation, parts.test)]
    report = audit_data(*tables, time="last", window=8, horizon=4)
    assert "window_overlap" not in report.failures
    tables[0]["last"] = np.append(tables[0]["last"], tables[0]["last"].max() + 1)
    assert "window_overlap" in audit_data(*tables, time="last", window=8, horizon=4).failures


def test_scaling_is_plain_values() -> None:
    scaling = Scaling((1.0, 2.0), (3.0, 4.0), 48, (0.5, 0.25))
    assert Scaling.from_mapping(json.loads(json.dumps(scaling.to_mapping()))) == scaling
    flat = Scaling.fit([np.ones((5, 1))], 2)
    assert (flat.center, flat.scale, flat.seasonal_error) == ((1.0,), (1.0,), (0.0,))


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(DataError) as error:
        chronological_windows(counted(30), series=1, context=8, horizon=20)
    assert str(error.value) == (
        "chronological_windows: the train part must be long enough for a window of 28 steps (lead, context and horizon "
        "of 20), got sequences of at most 30 steps, split (0.7, 0.15, 0.15). Take a shorter horizon, context or lag, "
        "or give this part a larger share."
    )
    for wrong in ({"horizon": 0}, {"context": 0}, {"series": 3}, {"fractions": (0.5, 0.5, 0.5)}, {"stride": 0}):
        with pytest.raises(ConfigError):
            chronological_windows(counted(50), **({"series": 1, "context": 4, "horizon": 2} | wrong))
    with pytest.raises(DataError, match="the training part must be longer than the season of 90 steps, got at most 35"):
        chronological_windows(counted(50), series=1, context=4, horizon=2, season=90)
    broken = counted(50).inputs.copy()
    broken[7, 0] = np.nan
    with pytest.raises(DataError, match=r"training values must be finite, got \[nan\] at step 7"):
        chronological_windows(SequenceData(broken, [0, 50]), series=1, context=4, horizon=2)
    for wrong in (((1.0,), (0.0,), 1, (1.0,)), ((1.0,), (1.0, 2.0), 1, (1.0,)), ((1.0,), (1.0,), 0, (1.0,))):
        with pytest.raises(ConfigError, match="Scaling: values must be"):
            Scaling(*wrong)
