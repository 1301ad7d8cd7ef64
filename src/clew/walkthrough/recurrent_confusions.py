"""Those of the text's twelve confusions that concern recurrence and training, each with numbers that resolve it."""

from itertools import pairwise

import torch

from clew.lab.recall import PUBLISHED
from clew.layers import Linear, RNNLayer
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.path_sensitivity import INPUT_WEIGHT, RECURRENT_WEIGHT
from clew.walkthrough.recall_results import DELAYS, RECIPES
from clew.walkthrough.scalar_rnn import INPUTS, TARGET, scalar_layers
from clew.walkthrough.unrolled import half_squared_error, half_squared_pass, head_with, rnn_with, rows_of

LONG = 20


def feature_or_prediction() -> Item:
    """Confusion 1: read one hidden feature with several heads, against several targets."""
    layer, _ = scalar_layers()
    _, (state,) = layer(rows_of(*INPUTS).reshape(1, -1, 1))
    rows: list[list[Cell]] = []
    for weight in (1.2, -0.5, 3.0):
        prediction = head_with([[weight]])(state)
        losses = [half_squared_error(prediction, rows_of([target])).item() for target in (TARGET, -TARGET)]
        rows.append([f"w_o = {weight:g}", state.item(), prediction.item(), *losses])
    notes = ["One hidden feature gives as many predictions as there are heads; only head, target and loss make it one."]
    columns = ["Head", "Hidden feature h_2", "Prediction", f"Loss, target {TARGET}", f"Loss, target {-TARGET}"]
    title = "A hidden feature is no prediction"
    return Item(id_of(feature_or_prediction), title, "Confusion 1", columns, rows, notes)


def longer_without_parameters() -> Item:
    """Confusion 2: lengthen a sequence and count parameters and uses."""
    features, hidden = 2, 3
    rows: list[list[Cell]] = []
    for time in (3, 6, 12, 100):
        layer, flat = RNNLayer(features, hidden).double(), Linear(time * features, hidden)
        inputs = torch.randn(1, time, features, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        model = half_squared_pass(layer, head_with([[1.0] * hidden]), inputs, {time - 1: rows_of([0.5])})
        uses = torch.stack([model.contribution(step, "weight_hh") for step in range(time)])
        counts = [sum(parameter.numel() for parameter in part.parameters()) for part in (layer, flat)]
        nonzero = int((uses.flatten(1).abs().sum(1) > 0).sum())
        rows.append([time, *counts, len(uses), nonzero])
    notes = [
        "A longer sequence uses the same cell more often, and each use adds to one gradient; the first use of W_h adds "
        "zero, since h_-1 = 0. A linear map of the whole flattened sequence grows with its length.",
    ]
    columns = ["Steps", "RNN parameters", "Flat map's parameters", "Uses of W_h", "Uses that add something"]
    title = "A longer RNN has no new parameters"
    return Item(id_of(longer_without_parameters), title, "Confusion 2", columns, rows, notes)


def gradient_from_late_uses() -> Item:
    """Confusion 3: a shared gradient that is far from zero and comes from the last steps alone."""
    layer, head = rnn_with([[INPUT_WEIGHT]], [[RECURRENT_WEIGHT]]), head_with([[1.0]])
    inputs = torch.ones(1, LONG, 1, dtype=torch.float64)
    model = half_squared_pass(layer, head, inputs, {LONG - 1: rows_of([-1.0])})
    uses = torch.stack([model.contribution(step, "weight_hh").flatten() for step in range(LONG)]).flatten()
    whole = uses.sum().item()
    signals = [model.sensitivity(state).item() for state in model.steps.states]
    rows: list[list[Cell]] = [
        [f"step {step}", signals[step], uses[step].item(), uses[step].item() / whole]
        for step in (0, 1, 5, 10, 15, LONG - 2, LONG - 1)
    ]
    rows.append(["all steps", "", whole, 1.0])
    notes = [
        f"{LONG} steps of a saturated tanh layer, w_h = {RECURRENT_WEIGHT}, inputs 1. The gradient of w_h is as large "
        "as its last use makes it; from the first ten steps nothing arrives that an optimizer could follow.",
    ]
    columns = ["Use", "dL/dh_t", "Contribution to dL/dw_h", "Share"]
    title = "A nonzero shared gradient is no proof of long range"
    return Item(id_of(gradient_from_late_uses), title, "Confusion 3", columns, rows, notes)


def toy_ranking() -> Item:
    """Confusion 12: the published accuracies rank the models differently at each delay."""
    rows: list[list[Cell]] = []
    for delay in DELAYS:
        means = {title: PUBLISHED[name, delay][0] for name, title in RECIPES.items()}
        ordered = sorted(means, key=lambda title: -means[title])
        gap = means["GRU"] - means["RNN"]
        spread = max(PUBLISHED[name, delay][1] for name in ("rnn", "gru"))
        rows.append([f"delay {delay}", *means.values(), _ranking(ordered, means), gap, spread])
    notes = [
        "One task, three seeds, one budget, one selection rule: at delay 8 nobody is ahead, at delay 32 the gap "
        "between GRU and RNN is smaller than the spread of the seeds. The table ranks nothing beyond its own protocol.",
    ]
    columns = ["Delay", *RECIPES.values(), "Order", "GRU - RNN", "Larger spread of the two"]
    title = "One toy task ranks no architectures"
    return Item(id_of(toy_ranking), title, "Confusion 12", columns, rows, notes)


def _ranking(ordered: list[str], means: dict[str, float]) -> str:
    words = ordered[0]
    for first, second in pairwise(ordered):
        words += f"{' = ' if means[first] == means[second] else ' > '}{second}"
    return words


ITEMS: tuple[Builder, ...] = (feature_or_prediction, longer_without_parameters, gradient_from_late_uses)
AFTER_ATTENTION: tuple[Builder, ...] = (toy_ranking,)
