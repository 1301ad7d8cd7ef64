"""Settings in words: typed by the annotations of what they are for, all problems at once."""

from typing import Any, Literal

import pytest

from clew.errors import ConfigError
from clew.models import build
from clew.tasks import TASKS
from clew.training import TrainConfig, parse_value, settings_of, with_overrides

SECTIONS = {
    "training": settings_of(TrainConfig),
    "model": settings_of(build, ("generator",)),
    "task": settings_of(TASKS["forecasting"]),
}

WRONG = ["training.patienc=1", "trainin.a=2", "model.hidden=big", "x", "task=3", "model.norm"]


@pytest.mark.parametrize(
    ("words", "kind", "value"),
    [
        ("3", int, 3),
        ("3", int | None, 3),
        ("None", int | None, None),
        ("0.01", float, 0.01),
        ("1e-3", float | None, 0.001),
        ("5", float | int | None, 5),
        ("yes", bool, True),
        ("FALSE", bool | None, False),
        ("gelu", str | None, "gelu"),
        ("none", str, "none"),
        ("none", str | None, None),
        ("8,4", tuple[int, ...], [8, 4]),
        ("[8, 4]", int | tuple[int, int] | None, [8, 4]),
        ("8", int | tuple[int, int] | None, 8),
        ("0.1,0.5", list[float], [0.1, 0.5]),
        ("pre", Literal["pre", "post"], "pre"),
    ],
)
def test_words_become_values_of_their_kind(words: str, kind: Any, value: Any) -> None:
    found = parse_value("a.b", words, kind)
    assert found == value and type(found) is type(value)


def test_every_setting_of_a_training_can_be_given_in_words() -> None:
    config = TrainConfig(patience=3, class_weights="balanced", max_minutes=1.5, decay="linear")
    words = {f"training.{name}": str(value) for name, value in config.to_mapping().items()}
    found = with_overrides({}, words, SECTIONS)
    assert TrainConfig.from_mapping(found["training"]) == config


def test_settings_are_laid_over_a_configuration_that_is_not_changed() -> None:
    values = {"training": {"epochs": 3, "batch_size": 4}, "seed": 1}
    found = with_overrides(values, ["training.epochs=5", "model.image=8,4", "task.lags = 2"], SECTIONS)
    assert found == {
        "training": {"epochs": 5, "batch_size": 4},
        "seed": 1,
        "model": {"image": [8, 4]},
        "task": {"lags": [2]},
    }
    assert values["training"]["epochs"] == 3


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        with_overrides({}, WRONG, SECTIONS)
    assert str(caught.value).splitlines() == [
        "--set: a setting must be written as a.b=value, got 'x'.",
        "--set: a setting must be written as a.b=value, got 'model.norm'.",
        "--set: 'training.patienc' must be a setting of training, got 'patienc'. Did you mean 'patience'?",
        "--set: 'trainin.a' must be in a known section, got 'trainin'. Did you mean 'training'?",
        "--set: 'model.hidden' must be a whole number or none, got 'big'.",
        "--set: 'task' must be a setting of task, got ''. Known: difference, horizon, known, lags, past, quantiles, "
        "scaling, season, select_by, series.",
    ]


@pytest.mark.parametrize(("name", "words", "said"), [
    ("training.group_by_length", "maybe", "true or false"),
    ("training.learning_rate", "", "a number"),
    ("task.quantiles", "0.1,x", "numbers separated by commas"),
])  # fmt: skip
def test_what_a_setting_must_be_is_said(name: str, words: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' must be {said}, got '{words}'"):
        with_overrides({}, {name: words}, SECTIONS)
