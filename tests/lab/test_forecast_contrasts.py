"""Compared forecasts: who has the smaller error follows from intervals over origins, against the reference to beat."""

from pathlib import Path

import numpy as np
import pytest
import torch

from clew.data import SequenceData
from clew.lab import Comparison, Splits, compare
from clew.lab.recipe import Recipe
from clew.tasks import Forecasting, chronological_windows
from clew.tasks.forecast_comparison import steps_between_origins
from clew.training import TrainConfig

SEASON = 12


def compared(folder: Path, kind: str, origin_stride: int = 4) -> tuple[Comparison, Forecasting, Splits]:
    """Two recipes over two seeds: on a wave that grows, or on noise around zero."""
    steps, draw = np.arange(420), np.random.default_rng(0)
    wave = np.sin(2 * np.pi * steps / SEASON) * (1 + 0.002 * steps) + 0.05 * draw.normal(size=len(steps))
    series = (wave if kind == "wave" else draw.normal(size=len(steps))).astype(np.float32)[:, None]
    parts = chronological_windows(
        SequenceData(series, [0, len(series)]),
        series=1, context=24, horizon=4, season=SEASON, origin_stride=origin_stride,
    )  # fmt: skip
    task = Forecasting(horizon=4, season=SEASON, scaling=parts.scaling)
    assert parts.test is not None
    splits = Splits(parts.train.whole(), parts.validation.whole(), parts.test.whole())
    model = {"features": 1, "outputs": 1, "hidden": 12}
    budgets = {
        "long": TrainConfig(epochs=8, batch_size=16, learning_rate=0.02),
        "none": TrainConfig(epochs=1, batch_size=64, learning_rate=1e-6),
    }
    recipes = [Recipe(name, {"preset": "gru"} | model, training) for name, training in budgets.items()]
    return compare(recipes, task, splits, seeds=[0, 1], out=folder, workers=0, audit="skip"), task, splits


@pytest.fixture(scope="module")
def of_a_wave(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Forecasting, Splits]:
    return compared(tmp_path_factory.mktemp("wave"), "wave")


def test_a_trained_model_beats_an_untrained_one_and_the_reference(of_a_wave) -> None:
    comparison, _, _ = of_a_wave
    labels = {(one["first"], one["second"], one["mode"]): one["label"] for one in comparison.contrasts}
    assert labels["long", "none", "one_step"] == "first has the smaller error"
    assert labels["none", "seasonal_naive", "rollout"] == "second has the smaller error"
    words = {one["words"] for one in comparison.contrasts if one["first"] == "none" and one["mode"] == "rollout"}
    assert len(words) == 1
    assert words.pop().startswith("in rollouts, mean of 2 seeds: seasonal naive has the smaller error: +")


def test_the_difference_is_that_of_the_figures(of_a_wave) -> None:
    comparison, _, _ = of_a_wave
    for one in comparison.contrasts:
        if one["first"] == "all":
            continue
        name = f"{one['mode']}_mase"
        mean = {cell["recipe"]: cell[f"mean_{name}"] for cell in comparison.cells}
        mean |= {row["name"]: row[name] for row in comparison.references}
        assert one["difference"] == pytest.approx(mean[one["first"]] - mean[one["second"]], abs=1e-6)
        assert one["interval"][0] <= one["difference"] <= one["interval"][1]


def test_of_noise_no_model_beats_the_naive_reference(tmp_path: Path) -> None:
    comparison, _, _ = compared(tmp_path, "noise")
    said = [one["words"] for one in comparison.contrasts if one["first"] == "all"]
    assert said == [f"{mode}: no model beat the naive reference" for mode in ("one step ahead", "in rollouts")]


@pytest.mark.parametrize(("stride", "overlap"), [(1, 4), (3, 2), (4, 1), (7, 1)])
def test_windows_that_share_targets_are_found(stride: int, overlap: int) -> None:
    series = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    series[50] = torch.nan
    windows = torch.stack([series[start : start + 30] for start in range(0, 150, stride)])
    assert -(-4 // steps_between_origins(windows, 4)) == overlap
