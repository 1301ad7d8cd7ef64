"""What an assessment of forecasts says, and which reference it says it of."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from clew.data import SequenceData
from clew.runs.assessing import assess, interval_words
from clew.tasks import Forecasting, chronological_windows


def interval(reference: str, low: float, high: float, values: int = 40, block: int = 4) -> dict[str, Any]:
    return {
        "mode": "rollout", "reference": reference, "mean": (low + high) / 2, "low": low, "high": high, "block": block,
        "values": values,
    }  # fmt: skip


def test_a_model_is_better_only_if_the_interval_to_the_reference_chosen_on_validation_is_below_0() -> None:
    naive, mean = interval("last_value", -0.9, -0.5), interval("training_mean", -0.02, 0.01)
    assert interval_words([naive, mean], "last_value", "MASE") == (
        "better than last value, the best on validation: -0.7 MASE [-0.9, -0.5] over 40 origins"
    )
    assert interval_words([naive, mean], "training_mean", "MASE") == (
        "no model beat the naive reference: the difference to training mean, the best on validation, includes 0: "
        "-0.005 MASE [-0.02, 0.01] over 40 origins"
    )
    worse = interval("drift", 0.1, 0.3)
    assert interval_words([naive, worse], "drift", "MAE") == (
        "no model beat the naive reference: worse than drift, the best on validation: "
        "+0.2 MAE [0.1, 0.3] over 40 origins"
    )


def test_without_a_choice_the_reference_that_is_hardest_to_beat_counts() -> None:
    naive, mean = interval("last_value", -0.9, -0.5), interval("training_mean", -0.02, 0.01)
    for chosen in (None, "seasonal_naive"):  # the second has no forecast here
        words = interval_words([naive, mean], chosen, "MASE")
        assert words.startswith("no model beat the naive reference: the difference to training mean, the best on these")


def test_few_blocks_show_nothing() -> None:
    one = interval("drift", -0.9, -0.5, values=20, block=5)
    assert interval_words([one], "drift", "MASE") == "20 origins in blocks of 5 are too few for an interval"
    assert interval_words([], None, "MASE") == "no reference has a forecast to compare with"


@pytest.mark.parametrize(
    ("kind", "best", "said"),
    [
        ("noise", "training_mean", "no model beat the naive reference"),
        pytest.param("wave", "drift", "better than", marks=pytest.mark.slow),
    ],
)
def test_noise_is_not_predicted_and_a_wave_is(tmp_path: Path, kind: str, best: str, said: str) -> None:
    steps, is_noise = np.arange(700), kind == "noise"
    series = np.random.default_rng(0).normal(0.3, 1.0, 700) if is_noise else np.sin(2 * np.pi * steps / 31)
    data = SequenceData(series.astype(np.float32)[:, None], [0, 700])
    parts = chronological_windows(data, series=1, context=12, horizon=2, season=1, stride=8 if is_noise else 4)
    task, model = Forecasting(2, scaling=parts.scaling), {"preset": "rnn", "hidden": 4 if is_noise else 8}
    training = {"epochs": 2 if is_noise else 12, "batch_size": 16, "learning_rate": 0.02}
    run = clew.fit(
        task, model, parts.train, parts.validation, training=training, out=tmp_path / "run", audit="skip", device="cpu"
    )
    kept = json.loads((run.path / "references.json").read_text())
    assert kept["chosen"]["rollout"] in ((best, "zero") if is_noise else (best, "last_value"))
    assert kept["validation"] == json.loads(json.dumps(task.references(parts.train, parts.validation)))
    found = assess(clew.load(run.path), parts.test)
    assert [line.split(":")[0] for line in found["words"]] == ["one step ahead", "in rollouts"]
    for line in found["words"]:
        assert said in line, found["words"]
        assert "the best on validation" in line
    assert {one["mode"] for one in found["intervals"]} == {"one_step", "rollout"}
    error = f"{parts.scaling.seasonal_error[0]:.4g}"
    assert found["notes"] == [f"MASE divides by the mean absolute change over 1 step in the training part: {error}"]


def test_a_handful_of_origins_is_too_few(tmp_path: Path) -> None:
    data = SequenceData(np.random.default_rng(0).normal(size=(80, 1)).astype(np.float32), [0, 80])
    parts = chronological_windows(data, series=1, context=8, horizon=3)
    run = clew.fit(
        Forecasting(3, scaling=parts.scaling), {"preset": "rnn", "hidden": 3}, parts.train, parts.validation,
        training={"epochs": 1}, out=tmp_path / "run", audit="skip", device="cpu",
    )  # fmt: skip
    assert assess(run, parts.test)["words"] == [f"{len(parts.test)} origins are too few to say more"]
