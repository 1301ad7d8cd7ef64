"""What comes before any formula: which task may read what, and what a forecast must not."""

import torch

from clew.visibility import causal, full
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.scalar_rnn import INPUTS, scalar_layers
from clew.walkthrough.unrolled import derivative, rows_of

FUTURE = 0.9


def sequence_tasks() -> Item:
    """List tasks with what their predictions may read, as a visibility matrix has it for four steps."""
    steps = 4
    everything, prefix = (int(rule(steps).sum()) for rule in (full, causal))
    rows: list[list[Cell]] = [
        ["classify a recording", "one label", "the whole recording", everything],
        [
            "label the words of a sentence",
            "one label a word",
            "the whole sentence, if it is there at that time",
            everything,
        ],
        ["forecast the next measurement", "one future value", "what was measured before it", prefix],
    ]
    notes = [f"The last column counts the pairs (query, source) that may be read in {steps} steps."]
    columns = ["Task", "Prediction", "What it may read", "Readable pairs"]
    return Item(id_of(sequence_tasks), "Tasks and what they may read", "Table 1", columns, rows, notes)


def forecast_inputs() -> Item:
    """Answer the pause: the next value is a target; a model that reads it depends on it."""
    layer, head = scalar_layers()
    inputs = rows_of(*INPUTS, FUTURE).requires_grad_()
    states, _ = layer(inputs.reshape(1, -1, 1))
    rows: list[list[Cell]] = []
    for words, step in (("forecast of x_3 from the state at step 2", 2), ("leak: the state at step 3 is read", 3)):
        prediction = head(states[:, step])
        slopes = derivative(prediction, inputs, torch.ones_like(prediction)).tolist()
        rows.append([words, *slopes, prediction.item()])
    notes = [
        f"The scalar model with a fourth value x_3 = {FUTURE}. A forecast may depend on x_0, x_1 and x_2; x_3 belongs "
        "in the loss. The second row depends on the value that it should forecast.",
    ]
    columns = ["Prediction", *(f"dŷ/dx_{step}" for step in range(4)), "ŷ"]
    title = "A forecast may not read what it forecasts"
    chapter = "Pause: what may a forecast use?"
    return Item(id_of(forecast_inputs), title, chapter, columns, rows, notes)


ITEMS: tuple[Builder, ...] = (sequence_tasks, forecast_inputs)
