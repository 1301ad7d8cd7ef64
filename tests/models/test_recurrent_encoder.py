"""Recurrent encoders: layers, directions, lengths, initial states, dropout, and what they count."""

import pytest
import torch
from torch import Tensor, nn

from clew.errors import ConfigError, ShapeError
from clew.models.interchange.recurrent import recurrent_to_torch
from clew.models.recurrent_encoder import CELLS, RecurrentEncoder
from reference.weights import draw, randomized

FEATURES, HIDDEN, TIME = 3, 4, 6
LENGTHS = torch.tensor([6, 2, 5, 1, 3, 6])

every_cell = pytest.mark.parametrize("cell", CELLS)
both_widths = pytest.mark.parametrize("bidirectional", [False, True], ids=["one direction", "two directions"])


def initial_states(encoder: RecurrentEncoder, batch: int) -> list[tuple[Tensor, ...]]:
    parts = 2 if encoder.cell == "lstm" else 1
    return [
        tuple(draw(batch, encoder.width, seed=10 * index + part).requires_grad_() for part in range(parts))
        for index in range(len(encoder.recurrent))
    ]


def for_torch(states: list[tuple[Tensor, ...]], directions: int) -> tuple[Tensor, ...]:
    """Each part of the states as torch.nn wants it: (layers * directions, batch, hidden), forward before backward."""
    return tuple(
        torch.cat([torch.stack(state[part].chunk(directions, dim=-1)) for state in states])
        for part in range(len(states[0]))
    )


@every_cell
@both_widths
@pytest.mark.parametrize("batch", [5, 6])
def test_two_layers_are_those_of_torch_with_lengths_and_initial_states(
    cell: str, bidirectional: bool, batch: int
) -> None:
    encoder = randomized(RecurrentEncoder(cell, FEATURES, HIDDEN, layers=2, bidirectional=bidirectional))
    module = recurrent_to_torch(encoder)
    inputs, lengths, initial = (
        draw(batch, TIME, FEATURES).requires_grad_(),
        LENGTHS[:batch],
        initial_states(encoder, batch),
    )
    directions = 1 + bidirectional

    encoded = encoder(inputs, torch.arange(TIME) < lengths.unsqueeze(1), initial=initial)
    before = for_torch(initial, directions)
    packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    packed_rows, after = module(packed, before if cell == "lstm" else before[0])
    rows, _ = nn.utils.rnn.pad_packed_sequence(packed_rows, batch_first=True)
    expected = [rows, *(after if cell == "lstm" else (after,))]
    found = [encoded.rows, *for_torch(encoded.final, directions)]

    sources = [inputs, *(part for state in initial for part in state)]
    weight = [draw(*value.shape, seed=5 + index) for index, value in enumerate(expected)]
    for parameters, values in [(encoder.parameters(), found), (module.parameters(), expected)]:
        loss = sum((value * by).sum() for value, by in zip(values, weight, strict=True))
        values += torch.autograd.grad(loss, [*sources, *parameters])
    for value, other in zip(found, expected, strict=True):
        torch.testing.assert_close(value, other, rtol=0, atol=1e-10)


@every_cell
@both_widths
def test_padding_anywhere_changes_no_bit(cell: str, bidirectional: bool) -> None:
    encoder = randomized(RecurrentEncoder(cell, FEATURES, HIDDEN, layers=2, bidirectional=bidirectional))
    inputs = draw(3, TIME, FEATURES)
    valid = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0]]).bool()
    expected = encoder(inputs, valid)
    found = encoder(torch.where(valid.unsqueeze(-1), inputs, torch.nan), valid)
    assert torch.equal(found.rows, expected.rows)
    assert not found.rows[~valid].any()
    for state, other in zip(found.final, expected.final, strict=True):
        assert all(map(torch.equal, state, other))


@every_cell
def test_going_on_from_the_final_states_equals_one_run(cell: str) -> None:
    encoder = randomized(RecurrentEncoder(cell, FEATURES, HIDDEN, layers=2))
    inputs = draw(5, TIME, FEATURES)
    whole, early = encoder(inputs), encoder(inputs[:, :2])
    late = encoder(inputs[:, 2:], initial=early.final)
    torch.testing.assert_close(torch.cat([early.rows, late.rows], dim=1), whole.rows, rtol=0, atol=1e-12)
    for state, expected in zip(late.final, whole.final, strict=True):
        torch.testing.assert_close(state, expected, rtol=0, atol=1e-12)


@every_cell
@both_widths
def test_quantities_go_by_the_address_of_their_layer(cell: str, bidirectional: bool) -> None:
    encoder = randomized(RecurrentEncoder(cell, FEATURES, HIDDEN, layers=2, bidirectional=bidirectional))
    inputs, valid = draw(6, TIME, FEATURES), torch.arange(TIME) < LENGTHS.unsqueeze(1)
    quantities = encoder.quantities(inputs, valid, initial_states(encoder, 6))
    rows = encoder(inputs, valid, initial=initial_states(encoder, 6)).rows
    names = (
        ["recurrent.1.forward_layer.state", "recurrent.1.backward_layer.state"]
        if bidirectional
        else ["recurrent.1.state"]
    )
    torch.testing.assert_close(torch.cat([quantities[name] for name in names], dim=-1), rows, rtol=0, atol=1e-12)


def test_dropout_stands_between_layers_and_draws_from_its_generator() -> None:
    encoder = RecurrentEncoder("gru", FEATURES, HIDDEN, layers=2, dropout=0.5)
    one_layer = RecurrentEncoder("gru", FEATURES, HIDDEN, dropout=0.5)
    inputs = draw(5, TIME, FEATURES).float()

    def rows(model: RecurrentEncoder, seed: int) -> Tensor:
        model.dropout.generator = torch.Generator().manual_seed(seed)
        return model(inputs).rows

    assert torch.equal(rows(encoder, 1), rows(encoder, 1))
    assert not torch.equal(rows(encoder, 1), rows(encoder, 2))
    assert torch.equal(rows(one_layer, 1), rows(one_layer, 2)), "no layer follows the last"
    encoder.eval()
    assert torch.equal(rows(encoder, 1), rows(encoder, 2))


@pytest.mark.parametrize(
    ("options", "parameters", "state", "products"),
    [
        (("rnn", 16, 32), 32 * (16 + 32 + 2), 32, 32 * (16 + 32)),
        (("gru", 16, 17), 3 * 17 * (16 + 17 + 2), 17, 3 * 17 * (16 + 17)),
        (("lstm", 16, 14), 4 * 14 * (16 + 14 + 2), 28, 4 * 14 * (16 + 14)),
    ],
)
def test_sizes_and_counts(options: tuple, parameters: int, state: int, products: int) -> None:
    encoder = RecurrentEncoder(*options)
    assert sum(parameter.numel() for parameter in encoder.parameters()) == parameters
    assert encoder.state_size(10) == encoder.state_size(1000) == state
    assert encoder.multiply_adds(10) == 10 * products
    both = RecurrentEncoder(*options, layers=2, bidirectional=True)
    hidden = options[2]
    assert both.width == 2 * hidden
    assert both.state_size(10) == 10 * 16, "a backward direction has to read everything again"
    gates = products // (hidden * (16 + hidden))
    assert both.multiply_adds(10) == 10 * (2 * products + 2 * gates * hidden * (2 * hidden + hidden))


def test_equal_seeds_give_equal_weights_and_layers_differ() -> None:
    first, second = (
        RecurrentEncoder("gru", 4, 4, layers=2, generator=torch.Generator().manual_seed(seed)) for seed in (0, 0)
    )
    assert all(map(torch.equal, first.parameters(), second.parameters()))
    assert not torch.equal(first.recurrent[0].weight_ih, first.recurrent[1].weight_ih)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "gur"}, "RecurrentEncoder: cell must be a known cell, got 'gur'. Did you mean 'gru'?"),
        ({"hidden": 0}, "RecurrentEncoder: hidden must be a whole number of at least 1, got 0."),
        ({"layers": 0}, "RecurrentEncoder: layers must be a whole number of at least 1, got 0."),
        (
            {"activation": "relu"},
            "RecurrentEncoder: activation must be left out for gru, got 'relu'."
            " Only the cell 'rnn' has a choice of activation.",
        ),
        ({"dropout": 1.0}, "Dropout: fraction must be in [0, 1), got 1.0."),
    ],
)
def test_wrong_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RecurrentEncoder(**({"cell": "gru", "features": 3, "hidden": 4} | options))
    assert str(caught.value) == message


def test_a_visibility_mask_is_refused() -> None:
    with pytest.raises(ConfigError, match="RecurrentEncoder: visible must be None, got a mask"):
        RecurrentEncoder("gru", 3, 4)(torch.zeros(2, 5, 3), visible=torch.ones(5, 5, dtype=torch.bool))


def test_initial_states_are_one_a_layer() -> None:
    with pytest.raises(ShapeError) as caught:
        RecurrentEncoder("gru", 3, 4, layers=2)(torch.zeros(2, 5, 3), initial=[(torch.zeros(2, 4),)])
    assert str(caught.value) == "RecurrentEncoder: initial must be a list of 2 tuples, one a layer, got 1."
