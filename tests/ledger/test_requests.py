"""Jacobians, paths, contributions of sources: what is computed when it is asked for."""

import re

import pytest
import torch

import clew
from clew.errors import LedgerError
from clew.layers import GRULayer, LSTMLayer, MultiHeadAttention, RNNLayer
from clew.layers.recurrent import RecurrentLayer
from clew.ledger import Ledger
from clew.models import build
from ledger.cases import assert_equal, valid_steps
from reference.weights import draw, randomized

LAYERS = {"rnn": RNNLayer, "gru": GRULayer, "lstm": LSTMLayer}
TIME, FEATURES, HIDDEN = 6, 2, 3


def recorded(cell: str, reverse: bool = False) -> tuple[RecurrentLayer, Ledger, torch.Tensor]:
    """Record a padded layer whose loss reads the last state of each row alone."""
    layer = randomized(LAYERS[cell](FEATURES, HIDDEN))
    inputs, valid = draw(3, TIME, FEATURES), valid_steps("gaps", 3, TIME)
    with clew.record(layer) as ledger:
        _, final = layer(inputs, valid, reverse=reverse)
        torch.cat(final, dim=1).square().sum().backward()
    return layer, ledger, inputs


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cell", LAYERS)
def test_a_jacobian_is_what_finite_differences_of_one_step_give(cell: str, reverse: bool) -> None:
    layer, ledger, inputs = recorded(cell, reverse)
    row, step = (0, 2) if not reverse else (0, 0)
    before = step + (2 if reverse else -2)  # step 1 of this row is a gap
    parts = layer.state_parts
    states = torch.cat([ledger.quantity(part).value[row, before] for part in parts])
    found = ledger.jacobian("", row, step)
    assert found.axes == ("new_state", "old_state")
    for column in range(len(states)):
        after = []
        for sign in (1, -1):
            moved = states.clone()
            moved[column] += sign * 1e-6
            initial = tuple(part.unsqueeze(0) for part in moved.split(HIDDEN))
            _, final = layer(inputs[row : row + 1, step : step + 1], initial=initial)
            after.append(torch.cat(final, dim=1)[0].detach())
        assert_equal(found.value[:, column], (after[0] - after[1]) / 2e-6, 1e-7)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cell", LAYERS)
def test_the_product_along_a_path_carries_the_sensitivity(cell: str, reverse: bool) -> None:
    _, ledger, _ = recorded(cell, reverse)
    start, end = (5, 2) if reverse else (2, 5)
    path = ledger.path("", 1, start, end)
    assert len(path["jacobians"]) == 2  # step 3 of this row is a gap
    # The loss reads the last state only, so that all that arrives at the earlier one came along the path.
    assert_equal(path["carried"][:HIDDEN], ledger.quantity("state").sensitivity[1, start])
    assert_equal(path["product"], path["jacobians"][1] @ path["jacobians"][0])
    assert_equal(path["norms"][0], torch.linalg.svdvals(path["jacobians"][0])[0])
    assert_equal(path["norm"], torch.linalg.svdvals(path["product"])[0])
    assert path["norm"] <= path["bound"] * (1 + 1e-12)
    gate = {"gru": "update_gate", "lstm": "forget_gate"}.get(cell)
    assert ("carry" in path) == (gate is not None)
    if gate is not None:
        assert_equal(path["carry"][-1], ledger.quantity(gate).value[1, end])


def test_the_carry_of_a_cell_stands_in_its_jacobian() -> None:
    _, ledger, _ = recorded("lstm")
    jacobian = ledger.jacobian("", 2, 3).value
    assert_equal(jacobian[HIDDEN:, HIDDEN:], torch.diag(ledger.quantity("forget_gate").value[2, 3]))


def test_contributions_of_sources_sum_to_the_context_of_their_query() -> None:
    model = randomized(build("transformer", vocab=7, outputs=7, hidden=6, heads=2, causal=True, layers=2))
    ids = torch.randint(0, 7, (3, 5), generator=torch.Generator().manual_seed(1))
    with clew.record(model) as ledger:
        model(ids, valid=valid_steps("left", 3, 5))
    name = "encoder.blocks.1.attention"
    found = ledger.sources(name, 0, 3)
    assert found.axes == ("heads", "source", "value_dim")
    assert found.shape == (2, 5, 3)
    assert_equal(found.value.sum(1), ledger.quantity(f"{name}.context").value[0, :, 3])
    assert bool((found.value[:, [0, 1, 4]] == 0).all())
    hidden = found.is_hidden()
    assert hidden is not None
    assert hidden[0, :, 0].tolist() == [True, True, False, False, True]


def test_a_dropped_source_contributes_nothing() -> None:
    layer = randomized(MultiHeadAttention(6, 2, dropout=0.5))
    with clew.record(layer) as ledger:
        layer(draw(2, 5, 6)).sum().backward()
    found = ledger.sources("", 1, 2)
    assert_equal(found.value.sum(1), ledger.quantity("context").value[1, :, 2])
    is_dropped = ledger.quantity("factor").value[1, :, 2] == 0
    assert bool((found.value[is_dropped] == 0).all())


REFUSED = [
    (lambda led: led.contributions("encoder.recurrent.0.weigt_hh"), "Did you mean 'encoder.recurrent.0.weight_hh'?"),
    (lambda led: led.contributions("encoder.recurrent.0.weight_hh", 7), "row must be in [0, 3), got 7."),
    (lambda led: led.contributions("head.linear.weight"), "must be used at several positions of a row"),
    (lambda led: led.jacobian("encoder.recurent.0", 0, 1), "Did you mean 'encoder.recurrent.0'?"),
    (lambda led: led.jacobian("encoder.recurrent.0", 0, 9), "step must be in [0, 5), got 9."),
    (lambda led: led.jacobian("encoder.recurrent.0", 3, 0), "row must be in [0, 3), got 3."),
    (lambda led: led.jacobian("encoder.recurrent.0", 0, 0), "step must be a valid one, got padding at 0."),
    (lambda led: led.path("encoder.recurrent.0", 1, 3, 3), "start must be read before the end, got start=3 and end=3."),
    (lambda led: led.sources("encoder.recurrent.0", 0, 0), "The model has no attention layer."),
    (lambda led: led["encoder.recurrent.0.update_gat"], "Did you mean 'encoder.recurrent.0.update_gate'?"),
]


@pytest.mark.parametrize(("ask", "text"), REFUSED)
def test_what_cannot_be_answered_is_refused_in_one_line(ask, text: str) -> None:
    model = build("gru", vocab=7, outputs=2, hidden=4, head="last")
    with clew.record(model) as ledger:
        model(torch.zeros(3, 5, dtype=torch.long), valid=valid_steps("left", 3, 5)).logits.sum().backward()
    with pytest.raises(LedgerError, match=re.escape(text)) as caught:
        ask(ledger)
    assert "\n" not in str(caught.value)


def test_contributions_need_a_backward_pass() -> None:
    layer = RNNLayer(2, 3)
    with clew.record(layer) as ledger:
        layer(torch.zeros(2, 4, 2))
    with pytest.raises(LedgerError, match=re.escape("Call loss.backward() first.")):
        ledger.contributions("weight_hh")
