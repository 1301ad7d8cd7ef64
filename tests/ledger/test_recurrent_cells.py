"""Values, sensitivities, terms and contributions of recurrent layers, against cells written out step by step."""

from functools import cache

import pytest
import torch
from torch import Tensor

import clew
from clew.layers import GRULayer, LSTMLayer, RNNLayer
from clew.layers.recurrent import KERNELS, RecurrentLayer
from clew.ledger import Ledger
from ledger.cases import PADDINGS, assert_equal, valid_steps
from ledger.explicit_cells import Unrolled
from reference.weights import draw, randomized

LAYERS = {"rnn": RNNLayer, "gru": GRULayer, "lstm": LSTMLayer}
BATCH, TIME, FEATURES, HIDDEN = 3, 5, 2, 3
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


@cache
def both_of(cell: str, padding: str, reverse: bool = False) -> "Both":
    return Both(cell, padding, reverse)


class Both:
    """The same loss, a weighted sum of rows and final states, from a recorded layer and from its unrolled twin."""

    def __init__(self, cell: str, padding: str, reverse: bool = False, kernel: str | None = None) -> None:
        self.layer: RecurrentLayer = randomized(LAYERS[cell](FEATURES, HIDDEN))
        self.valid = valid_steps(padding, BATCH, TIME)
        inputs = draw(BATCH, TIME, FEATURES).masked_fill(~self.valid.unsqueeze(-1), torch.nan)
        parts = len(self.layer.state_parts)
        initial = tuple(draw(BATCH, HIDDEN, seed=4 + part) for part in range(parts))
        self.at_rows = draw(BATCH, TIME, HIDDEN, seed=8)
        self.at_final = [draw(BATCH, HIDDEN, seed=9 + part) for part in range(parts)]
        with clew.record(self.layer) as ledger:
            rows, final = self.layer(inputs, self.valid, initial, reverse, kernel)
            self._loss(rows, final).backward()
        self.ledger: Ledger = ledger
        weights = {name: getattr(self.layer, name) for name in WEIGHTS}
        self.twin = Unrolled(cell, inputs, self.valid, initial, weights, reverse)
        self._loss(self.twin.rows, self.twin.final[:parts]).backward()

    def _loss(self, rows: Tensor, final: tuple[Tensor, ...]) -> Tensor:
        return (rows * self.at_rows).sum() + sum(
            (part * at).sum() for part, at in zip(final, self.at_final, strict=True)
        )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("cell", LAYERS)
def test_every_quantity_has_the_value_and_the_sensitivity_of_the_unrolled_cell(
    cell: str, padding: str, reverse: bool
) -> None:
    both = both_of(cell, padding, reverse)
    assert both.ledger.names() == both.twin.names()
    for name in both.twin.names():
        quantity = both.ledger.quantity(name)
        at_valid = both.valid.unsqueeze(-1)
        assert_equal(torch.where(at_valid, quantity.value, 0.0), both.twin.values(name))
        assert_equal(quantity.sensitivity, both.twin.gradients(name))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cell", LAYERS)
def test_every_kernel_is_explained(cell: str, kernel: str) -> None:
    both = Both(cell, "gaps", kernel=kernel)
    for name in both.twin.names():
        assert_equal(both.ledger.quantity(name).sensitivity, both.twin.gradients(name))
    assert {distance.what for distance in both.ledger.distances} == {"value", "sensitivity", "gradient"}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padding", ["none", "gaps", "empty row"])
@pytest.mark.parametrize("cell", LAYERS)
def test_the_terms_of_a_state_are_what_the_head_and_what_later_steps_send(
    cell: str, padding: str, reverse: bool
) -> None:
    both = both_of(cell, padding, reverse)
    direct = torch.where(both.valid.unsqueeze(-1), both.at_rows, 0.0)
    steps = torch.arange(TIME).expand(BATCH, TIME)
    for row in range(BATCH):
        read = steps[row][both.valid[row]].tolist()
        if read:
            direct[row, read[0] if reverse else read[-1]] += both.at_final[0][row]
    quantity = both.ledger.quantity("state")
    assert list(quantity.terms) == ["direct", "later"]
    assert_equal(quantity.terms["direct"], direct)
    assert_equal(quantity.terms["direct"] + quantity.terms["later"], quantity.sensitivity)
    if cell == "lstm":
        terms = both.ledger.quantity("cell").terms
        shown = both.twin.values("output_gate") * (1 - torch.tanh(both.twin.values("cell")) ** 2)
        assert_equal(terms["own state"], both.twin.gradients("state") * shown)
        assert_equal(torch.stack(list(terms.values())).sum(0), both.twin.gradients("cell"))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padding", ["none", "gaps", "empty row"])
@pytest.mark.parametrize("cell", LAYERS)
def test_contributions_of_steps_stand_at_their_places_and_sum_to_the_gradient(
    cell: str, padding: str, reverse: bool
) -> None:
    both = both_of(cell, padding, reverse)
    for name in WEIGHTS:
        expected = both.twin.contributions(name)
        found = both.ledger.contributions(name)
        assert found.axes[0] == "time"
        assert_equal(found.value, expected.sum(0))
        assert_equal(both.ledger.contributions(name, row=1).value, expected[1])
        assert_equal(found.value.sum(0), getattr(both.layer, name).grad)


@pytest.mark.parametrize("cell", LAYERS)
def test_a_sensitivity_is_what_finite_differences_of_the_loss_give(cell: str) -> None:
    layer = randomized(LAYERS[cell](FEATURES, HIDDEN))
    model = clew.models.RecurrentEncoder(cell, FEATURES, HIDDEN).double()
    model.recurrent[0] = layer
    inputs, valid = draw(2, TIME, FEATURES), valid_steps("gaps", 2, TIME)
    with clew.record(model) as ledger:
        model(inputs, valid).rows.square().sum().backward()
    gradient = ledger.contributions("recurrent.0.weight_hh").value.sum(0)
    for place in ((0, 0), (HIDDEN - 1, 1)):
        shifted = []
        for sign in (1, -1):
            with torch.no_grad():
                layer.weight_hh[place] += sign * 1e-6
                shifted.append(model(inputs, valid).rows.square().sum().item())
                layer.weight_hh[place] -= sign * 1e-6
        assert abs((shifted[0] - shifted[1]) / 2e-6 - gradient[place].item()) < 1e-6
