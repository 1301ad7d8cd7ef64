"""What a plan chooses for series when nothing is said."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from clew.runs.planning import plan_training
from clew.tasks import Forecasting


def half_hours(path: Path, weeks: float, weekly: float) -> Path:
    """A day's wave, with weekends that are lower by `weekly`."""
    steps = np.arange(round(weeks * 336))
    noise = np.random.default_rng(0).normal(0, 0.1, len(steps))
    values = np.sin(2 * np.pi * steps / 48) - weekly * (steps // 48 % 7 >= 5) + noise
    start = datetime(2024, 1, 1)
    rows = [
        f"{start + timedelta(minutes=30 * int(step))},{value:.4f}" for step, value in zip(steps, values, strict=True)
    ]
    path.write_text("\n".join(["time,demand", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("weeks", "weekly", "season", "lags"),
    [
        (6, 2.0, 336, [48, 336, 337]),  # a week repeats better
        (6, 0.0, 48, [48, 49]),  # a day repeats as well
        (4, 2.0, 48, [48, 49]),  # three weeks do not fit into the training part
    ],
)
def test_half_hours_repeat_by_the_week_where_that_is_better(
    tmp_path: Path, weeks: float, weekly: float, season: int, lags: list[int]
) -> None:
    plan = plan_training(half_hours(tmp_path / "a.csv", weeks, weekly))
    task = plan.config["task"]
    assert (task["season"], task["difference"], task["lags"], task["horizon"]) == (season, season, lags, 48)
    assert isinstance(plan.task, Forecasting) and plan.task.scaling is not None and plan.task.scaling.season == season
    words = "a week, which repeats better than a day in training" if season == 336 else "a day"
    assert f"season {season} ({words}); --set task.season=N for another" in plan.notes


def test_only_the_training_part_says_how_a_series_repeats(tmp_path: Path) -> None:
    path = half_hours(tmp_path / "a.csv", 6, 2.0)
    lines = path.read_text().splitlines()
    first_border = 1 + round(0.7 * (len(lines) - 1))
    changed = [f"{line.split(',')[0]},{number % 5}" for number, line in enumerate(lines[first_border:])]
    path.write_text("\n".join([*lines[:first_border], *changed]) + "\n")
    assert plan_training(path).config["task"]["season"] == 336


def test_a_given_season_is_kept(tmp_path: Path) -> None:
    plan = plan_training(half_hours(tmp_path / "a.csv", 6, 2.0), overrides=["task.season=48", "task.horizon=6"])
    assert (plan.config["task"]["season"], plan.config["task"]["lags"]) == (48, [48, 49])


def test_missing_times_are_told_with_what_to_do(tmp_path: Path) -> None:
    path = half_hours(tmp_path / "a.csv", 6, 2.0)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:200] + lines[220:900] + lines[902:]) + "\n")
    told = [note for note in plan_training(path).notes if "gaps in the times" in note]
    first = lines[199].split(",")[0]
    assert told == [
        f"2 gaps in the times, the first after {first}, the longest of 21 usual steps: steps on both sides of one "
        "count as neighbours. Where that is wrong, insert rows for the missing times and say --set data.missing=forward"
    ]
    assert not any("gaps" in note for note in plan_training(half_hours(tmp_path / "b.csv", 6, 2.0)).notes)
