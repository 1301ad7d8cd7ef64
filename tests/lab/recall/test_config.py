"""The experiment's settings: sizes that the text states, and every wrong setting as one clear line."""

import pytest

from clew.errors import ConfigError
from clew.lab.recall import DEFAULT_RECIPES, MODELS, RecallConfig, recall_recipe
from clew.training import TrainConfig


@pytest.mark.parametrize(("name", "count"), [("rnn", 1943), ("gru", 2023), ("lstm", 2009), ("transformer", 1915)])
def test_recipes_have_the_published_sizes(name, count):
    assert recall_recipe(name, TrainConfig()).parameter_count() == count


def test_the_defaults_are_the_published_protocol():
    config = RecallConfig()
    assert config.delays == (8, 16, 32)
    assert config.seeds == (6206, 6207, 6208)
    assert config.recipes == DEFAULT_RECIPES == ("rnn", "gru", "transformer")
    assert tuple(config.sizes) == (4096, 512, 1024)
    assert config.training() == TrainConfig(epochs=60, batch_size=64, learning_rate=0.003, clip_norm=1.0)
    assert set(MODELS) == {"rnn", "gru", "lstm", "transformer"}


def test_a_quick_look_says_so_and_is_smaller():
    quick = RecallConfig.quick_look()
    assert quick.quick
    assert not RecallConfig().quick
    assert sum(quick.sizes) < sum(RecallConfig().sizes) / 2


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"delays": (0,)}, "clew recall: delay must be a whole number of at least 1, got 0."),
        ({"delays": (-3,)}, "clew recall: delay must be a whole number of at least 1, got -3."),
        (
            {"delays": (33,)},
            "clew recall: delays must be at most 32, where the Transformer's table of 36 positions ends, got 33. "
            "Leave the transformer out with --recipes rnn gru for longer delays.",
        ),
        (
            {"delays": (5,)},
            "clew recall: delays must be so long that 5,632 disjoint episodes can be drawn from twice as many distinct "
            "ones, got 5, which has 4,096. Use a delay of 6 or more.",
        ),
        ({"delays": ()}, "clew recall: delays must be at least one, got none."),
        ({"delays": (8, 8)}, "clew recall: delays must be all different, got 8 8."),
        ({"seeds": ()}, "clew recall: seeds must be at least one, got none."),
        ({"seeds": (-1,)}, "clew recall: seeds must be at least 0, got -1."),
        ({"recipes": ("gur",)}, "clew recall: recipes must be known, got 'gur'. Did you mean 'gru'?"),
        ({"epochs": 0}, "TrainConfig: epochs must be a whole number of at least 1, got 0."),
        ({"cue_position": "fixt"}, "cue_position must be 'fixed' or 'random', got 'fixt'. Did you mean 'fixed'?"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(wrong, text):
    with pytest.raises(ConfigError) as error:
        RecallConfig(**wrong)
    assert text in str(error.value)


def test_all_wrong_settings_are_told_at_once():
    with pytest.raises(ConfigError) as error:
        RecallConfig(delays=(0, 5), seeds=(), recipes=("banana",), epochs=0)
    for word in ("got 0", "got 5", "seeds", "banana", "epochs"):
        assert word in str(error.value)


def test_longer_delays_are_open_to_recurrent_models():
    assert RecallConfig(delays=(64,), recipes=("rnn", "gru")).delays == (64,)
