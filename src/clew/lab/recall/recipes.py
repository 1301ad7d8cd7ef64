"""The recipes of the memory experiment: four small models of nearly equal size, and the published results.

Equal counts do not make computation or capacity equal; the results table has state size and multiply-adds too.
"""

from typing import Any

from clew.data.recall_episodes import VOCAB
from clew.lab.recipe import Recipe
from clew.training.config import TrainConfig

MAX_POSITIONS = 36  # inputs of an episode with delay 32

MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"preset": "rnn", "embedding": 16, "hidden": 32},
    "gru": {"preset": "gru", "embedding": 16, "hidden": 17},
    "lstm": {"preset": "lstm", "embedding": 16, "hidden": 14},
    "transformer": {"preset": "transformer", "hidden": 12, "heads": 2, "mlp": 24, "causal": True},
}
DEFAULT_RECIPES = ("rnn", "gru", "transformer")

# Accuracy: mean and sample standard deviation over three initializations, three significant digits.
# Source: the course text's Table 34 (held-out cue recall, 1,024 test episodes a delay).
PUBLISHED: dict[tuple[str, int], tuple[float, float]] = {
    ("rnn", 8): (1.0, 0.0),
    ("rnn", 16): (0.44, 0.126),
    ("rnn", 32): (0.257, 0.0),
    ("gru", 8): (1.0, 0.0),
    ("gru", 16): (0.814, 0.116),
    ("gru", 32): (0.322, 0.102),
    ("transformer", 8): (1.0, 0.0),
    ("transformer", 16): (1.0, 0.0),
    ("transformer", 32): (1.0, 0.0),
}


def recall_recipe(name: str, training: TrainConfig) -> Recipe:
    """Give a recipe of the experiment.

    >>> [recall_recipe(name, TrainConfig()).parameter_count() for name in ("rnn", "gru", "lstm", "transformer")]
    [1943, 2023, 2009, 1915]
    """
    model = {"vocab": VOCAB, "outputs": VOCAB} | MODELS[name]
    if model["preset"] == "transformer":
        model["max_positions"] = MAX_POSITIONS
    return Recipe(name, model, training)
