"""The configuration of a training: plain values, all errors at once."""

import pytest

from clew.errors import ConfigError
from clew.training import TrainConfig

WRONG = {
    "epochs": 0,
    "batch_size": 2.5,
    "learning_rate": float("nan"),
    "clip_norm": 0.0,
    "accumulate": 0,
    "warmup_steps": -1,
    "decay": "cosin",
    "weight_decay": -0.1,
    "patience": 0,
    "class_weights": "equal",
    "precision": "half",
    "group_by_length": 1,
    "max_minutes": 0,
}


def from_mapping(values):
    """Build without the type check that is on in tests: users' files hold anything."""
    config = object.__new__(TrainConfig)
    for name, value in (TrainConfig().to_mapping() | values).items():
        object.__setattr__(config, name, value)
    config.__post_init__()
    return config


def test_all_wrong_values_are_told_at_once() -> None:
    assert set(WRONG) == set(TrainConfig().to_mapping())
    with pytest.raises(ConfigError) as caught:
        from_mapping(WRONG)
    said = str(caught.value)
    assert all(f"TrainConfig: {name} must be " in said for name in WRONG)
    assert "decay must be 'none' or 'cosine' or 'linear', got 'cosin'. Did you mean 'cosine'?" in said


def test_plain_values_make_the_same_configuration_again() -> None:
    config = TrainConfig(epochs=3, patience=2, max_minutes=1.5, class_weights="balanced")
    assert TrainConfig.from_mapping(config.to_mapping()) == config


def test_more_parts_than_sequences_are_refused() -> None:
    with pytest.raises(ConfigError, match="accumulate must be at most batch_size=4, got 5"):
        TrainConfig(batch_size=4, accumulate=5)
