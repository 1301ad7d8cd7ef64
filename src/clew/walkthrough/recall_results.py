"""The memory experiment of the text: its published table, what a uniform guess costs, and how large the models are."""

import torch
from torch.nn import functional

from clew.lab.recall import MODELS, PUBLISHED, recall_recipe
from clew.training import TrainConfig
from clew.walkthrough.items import Builder, Cell, Item, id_of

RECIPES = {"rnn": "RNN", "gru": "GRU", "transformer": "Transformer"}
DELAYS = (8, 16, 32)
DIRECTIONS = 4


def published_recall() -> Item:
    """Give the published table: mean and sample standard deviation of three initializations."""
    rows: list[list[Cell]] = []
    for name, title in RECIPES.items():
        rows.append([title, *(f"{mean:.3g} ± {spread:.3g}" for mean, spread in _published(name))])
    notes = [
        "As published, three significant digits: fractions of 1,024 test episodes, mean ± sample standard deviation "
        "over three initializations. The spreads are not confidence intervals.",
        "`clew recall` runs the experiment itself.",
    ]
    columns = ["Model", *(f"Delay {delay}" for delay in DELAYS)]
    return Item(id_of(published_recall), "Cue recall, as published", "Table 34", columns, rows, notes)


def _published(name: str) -> list[tuple[float, float]]:
    return [PUBLISHED[name, delay] for delay in DELAYS]


def uniform_movement() -> Item:
    """Score a predictor that gives every movement the same logit."""
    logits = torch.zeros(DIRECTIONS, DIRECTIONS, dtype=torch.float64)
    targets = torch.arange(DIRECTIONS)
    loss = functional.cross_entropy(logits, targets).item()
    accuracy = functional.softmax(logits, dim=-1).diagonal().mean().item()
    rows: list[list[Cell]] = [["uniform over four movements", accuracy, loss]]
    notes = ["Random movements cannot be predicted better than this, however good a memory is: 1/4 and log 4."]
    columns = ["Predictor", "Expected accuracy", "Cross-entropy, nats"]
    title = "What guessing a movement costs"
    return Item(id_of(uniform_movement), title, "Formula: uniform movement predictor", columns, rows, notes)


def recipe_sizes() -> Item:
    """Count the parameters of the three recipes."""
    rows: list[list[Cell]] = []
    for name, title in RECIPES.items():
        model = MODELS[name]
        count = recall_recipe(name, TrainConfig()).parameter_count()
        rows.append([title, model.get("embedding", model["hidden"]), model["hidden"], count])
    notes = ["Nearly equal counts make neither computation nor capacity equal."]
    columns = ["Model", "Embedding width", "Hidden width", "Parameters"]
    title = "Sizes of the compared models"
    return Item(id_of(recipe_sizes), title, "Formula: parameter counts", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (published_recall, uniform_movement, recipe_sizes)
