"""What every recurrent layer promises, whatever its cell, direction, padding and kernel; a new cell is only listed."""

from types import ModuleType
from typing import NamedTuple

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from clew.errors import ConfigError, ShapeError
from clew.layers.gru import GRULayer
from clew.layers.lstm import LSTMLayer
from clew.layers.recurrent import KERNELS, RecurrentLayer
from clew.layers.rnn import RNNLayer
from reference import gru, lstm, rnn, through_time
from reference.weights import draw, randomized

FEATURES, HIDDEN, TIME = 3, 4, 6
CELLS = {"rnn": RNNLayer, "gru": GRULayer, "lstm": LSTMLayer}
TWINS: dict[str, ModuleType] = {"rnn": rnn, "gru": gru, "lstm": lstm}
TORCH = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
# nothing, all, padding on the right, on the left, gaps, one step
PATTERN = torch.tensor(
    [
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [1, 0, 1, 1, 0, 1],
        [0, 0, 0, 1, 0, 0],
    ]
).bool()
EXACT = {"rtol": 0.0, "atol": 1e-10}

every_cell = pytest.mark.parametrize("cell", CELLS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
both_directions = pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
more_and_as_many_steps_as_rows = pytest.mark.parametrize("batch", [5, 6])


class Case(NamedTuple):
    """A layer, what goes into it, and what its outputs are weighted with to make one number."""

    layer: RecurrentLayer
    inputs: Tensor
    valid: Tensor
    initial: tuple[Tensor, ...]
    rows_sensitivity: Tensor
    final_sensitivity: tuple[Tensor, ...]

    def value(self, rows: Tensor, final: tuple[Tensor, ...]) -> Tensor:
        parts = zip(final, self.final_sensitivity, strict=True)
        return (rows * self.rows_sensitivity).sum() + sum((part * weight).sum() for part, weight in parts)


def make_case(cell: str, batch: int = 6) -> Case:
    layer = randomized(CELLS[cell](FEATURES, HIDDEN))
    inputs = draw(batch, TIME, FEATURES).requires_grad_()
    parts = range(len(layer.state_parts))
    initial = tuple(draw(batch, HIDDEN, seed=10 + part).requires_grad_() for part in parts)
    final_sensitivity = tuple(draw(batch, HIDDEN, seed=20 + part) for part in parts)
    return Case(layer, inputs, PATTERN[:batch], initial, draw(batch, TIME, HIDDEN, seed=3), final_sensitivity)


def outcome(case: Case, **options: object) -> list[Tensor]:
    """Rows, final states, and the gradients of inputs, initial states and weights."""
    rows, final = case.layer(case.inputs, case.valid, case.initial, **options)
    sources = [case.inputs, *case.initial, *case.layer.weights]
    return [rows, *final, *torch.autograd.grad(case.value(rows, final), sources)]


def assert_close(first: list[Tensor], second: list[Tensor], **tolerance: float) -> None:
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other, **(tolerance or EXACT))


@every_cell
@every_kernel
@both_directions
@more_and_as_many_steps_as_rows
def test_values_and_gradients_are_those_of_the_numpy_twin(cell: str, kernel: str, reverse: bool, batch: int) -> None:
    case = make_case(cell, batch)
    twin = through_time.run(
        TWINS[cell],
        case.inputs.detach().numpy(),
        case.valid.numpy(),
        [part.detach().numpy() for part in case.initial],
        through_time.Weights(*(weight.detach().numpy() for weight in case.layer.weights)),
        case.rows_sensitivity.numpy(),
        [part.numpy() for part in case.final_sensitivity],
        reverse,
    )
    expected = [twin.rows, *twin.final, twin.inputs_gradient, *twin.initial_gradient, *twin.weights_gradient]
    assert_close(outcome(case, reverse=reverse, kernel=kernel), [torch.from_numpy(value) for value in expected])


def run_alone(module: nn.RNNBase, inputs: Tensor, steps: Tensor, initial: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """One row through torch.nn without its padding: rows of the given steps, and the final state parts stacked."""
    before = tuple(part.unsqueeze(0) for part in initial)
    rows, final = module(inputs[steps], before if len(before) > 1 else before[0])
    return rows, torch.cat(final if isinstance(final, tuple) else (final,))


@every_cell
@every_kernel
@both_directions
def test_values_and_gradients_are_those_of_torch_on_each_row_alone(cell: str, kernel: str, reverse: bool) -> None:
    case = make_case(cell)
    module = TORCH[cell](FEATURES, HIDDEN, batch_first=True).double()
    module.load_state_dict({f"{name}_l0": value for name, value in case.layer.state_dict().items()})
    rows = torch.zeros_like(case.rows_sensitivity)
    finals = [torch.stack([part[row] for part in case.initial]) for row in range(len(case.inputs))]
    for row, valid in enumerate(case.valid):
        steps = valid.nonzero().squeeze(1)
        steps = steps.flip(0) if reverse else steps
        if len(steps):
            initial = tuple(part[row] for part in case.initial)
            read, finals[row] = run_alone(module, case.inputs[row], steps, initial)
            rows = rows.index_put((torch.tensor(row), steps), read)
    final = tuple(torch.stack(finals, dim=1))
    sources = [case.inputs, *case.initial, *module.parameters()]
    expected = [rows, *final, *torch.autograd.grad(case.value(rows, final), sources)]
    assert_close(outcome(case, reverse=reverse, kernel=kernel), expected)


@every_cell
@both_directions
def test_kernels_agree_where_nothing_is_padded(cell: str, reverse: bool) -> None:
    case = make_case(cell)._replace(valid=None)
    expected = outcome(case, reverse=reverse, kernel="explicit")
    for kernel in ("derived", "fused", None):
        assert_close(outcome(case, reverse=reverse, kernel=kernel), expected)


@every_cell
def test_kernels_agree_in_single_precision(cell: str) -> None:
    double = make_case(cell)
    single = make_case(cell)
    single = single._replace(
        layer=single.layer.float(),
        inputs=single.inputs.detach().float().requires_grad_(),
        initial=tuple(part.detach().float().requires_grad_() for part in single.initial),
        rows_sensitivity=single.rows_sensitivity.float(),
        final_sensitivity=tuple(part.float() for part in single.final_sensitivity),
    )
    expected = [value.float() for value in outcome(double, kernel="explicit")]
    for kernel in KERNELS:
        assert_close(outcome(single, kernel=kernel), expected, rtol=1e-5, atol=1e-5)


@every_cell
def test_the_initial_state_is_zero_by_default(cell: str) -> None:
    case = make_case(cell)
    zeros = tuple(torch.zeros_like(part) for part in case.initial)
    rows, final = case.layer(case.inputs, case.valid)
    expected_rows, expected_final = case.layer(case.inputs, case.valid, zeros)
    assert torch.equal(rows, expected_rows)
    assert all(map(torch.equal, final, expected_final))


@every_cell
@every_kernel
@both_directions
@pytest.mark.parametrize("content", [float("nan"), -1e30])
def test_padding_content_changes_no_bit(cell: str, kernel: str, reverse: bool, content: float) -> None:
    case = make_case(cell)
    filled = torch.where(case.valid.unsqueeze(-1), case.inputs.detach(), content).requires_grad_()
    before = outcome(case, reverse=reverse, kernel=kernel)
    after = outcome(case._replace(inputs=filled), reverse=reverse, kernel=kernel)
    assert all(map(torch.equal, before, after))
    assert not before[0][~case.valid].any(), "rows at padding are zero"
    inputs_gradient = after[1 + len(case.initial)]
    assert not inputs_gradient[~case.valid].any(), "padding gets no gradient"


@every_cell
@every_kernel
@both_directions
def test_amount_and_side_of_padding_change_no_bit(cell: str, kernel: str, reverse: bool) -> None:
    case = make_case(cell)
    inputs, initial = case.inputs[:, :3].detach(), case.initial
    expected, expected_final = case.layer(inputs, PATTERN[:, 2:5], initial, reverse=reverse, kernel=kernel)
    for left, right in [(0, 4), (4, 0), (2, 5)]:
        padded = nn.functional.pad(inputs, (0, 0, left, right), value=7.0)
        valid = nn.functional.pad(PATTERN[:, 2:5], (left, right))
        rows, final = case.layer(padded, valid, initial, reverse=reverse, kernel=kernel)
        assert torch.equal(rows[:, left : left + 3], expected)
        assert all(map(torch.equal, final, expected_final))


@every_cell
@every_kernel
@both_directions
def test_a_row_alone_equals_the_row_in_the_batch(cell: str, kernel: str, reverse: bool) -> None:
    case = make_case(cell)
    rows, final = case.layer(case.inputs, case.valid, case.initial, reverse=reverse, kernel=kernel)
    for row in range(len(rows)):
        here = slice(row, row + 1)
        initial = tuple(part[here] for part in case.initial)
        alone, last = case.layer(case.inputs[here], case.valid[here], initial, reverse=reverse, kernel=kernel)
        assert_close([rows[here], *(part[here] for part in final)], [alone, *last], rtol=0, atol=1e-13)


@every_cell
@every_kernel
@both_directions
def test_a_row_without_steps_ends_where_it_started(cell: str, kernel: str, reverse: bool) -> None:
    case = make_case(cell)
    nothing = torch.zeros_like(case.valid)
    for valid, rows_without in [(case.valid, slice(0, 1)), (nothing, slice(None))]:
        rows, final = case.layer(case.inputs, valid, case.initial, reverse=reverse, kernel=kernel)
        assert not rows[rows_without].any()
        assert all(
            torch.equal(part[rows_without], first[rows_without])
            for part, first in zip(final, case.initial, strict=True)
        )
    gradients = torch.autograd.grad(case.value(rows, final), [*case.initial, *case.layer.weights])
    assert all(map(torch.equal, gradients, case.final_sensitivity)), "it passes through"
    assert not any(gradient.any() for gradient in gradients[len(case.initial) :])


@every_cell
@every_kernel
def test_going_on_from_a_final_state_equals_one_run(cell: str, kernel: str) -> None:
    case = make_case(cell)
    rows, final = case.layer(case.inputs, case.valid, case.initial, kernel=kernel)
    early, between = case.layer(case.inputs[:, :2], case.valid[:, :2], case.initial, kernel=kernel)
    late, after = case.layer(case.inputs[:, 2:], case.valid[:, 2:], between, kernel=kernel)
    assert_close([rows, *final], [torch.cat([early, late], dim=1), *after])


@every_cell
def test_the_derived_backward_passes_gradcheck(cell: str) -> None:
    assert torch.autograd.gradcheck(*small_function(cell, "derived", reverse=False))


@every_cell
def test_the_explicit_kernel_passes_the_second_order_gradcheck(cell: str) -> None:
    assert torch.autograd.gradgradcheck(*small_function(cell, "explicit", reverse=True), fast_mode=True)


@every_cell
def test_the_derived_kernel_refuses_a_second_derivative(cell: str) -> None:
    function, arguments = small_function(cell, "derived", reverse=False)
    (gradient,) = torch.autograd.grad(
        sum(part.square().sum() for part in function(*arguments)), arguments[0], create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def small_function(cell: str, kernel: str, reverse: bool) -> tuple:
    """A layer of two units over two rows of three steps, as a function of everything that can have a gradient."""
    layer = randomized(CELLS[cell](2, 2))
    names = [name for name, _ in layer.named_parameters()]
    valid = torch.tensor([[True, True, True], [True, False, True]])
    parts = len(layer.state_parts)

    def function(inputs: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(names, others[parts:], strict=True))
        options = (inputs, valid, others[:parts], reverse, kernel)
        rows, final = torch.func.functional_call(layer, weights, options)
        return rows, *final

    initial = [draw(2, 2, seed=10 + part).requires_grad_() for part in range(parts)]
    weights = [parameter.detach().clone().requires_grad_() for parameter in layer.parameters()]
    return function, (draw(2, 3, 2).requires_grad_(), *initial, *weights)


@every_cell
@both_directions
def test_quantities_satisfy_the_layer(cell: str, reverse: bool) -> None:
    case = make_case(cell)
    quantities = case.layer.quantities(case.inputs, case.valid, case.initial, reverse=reverse)
    rows, _ = case.layer(case.inputs, case.valid, case.initial, reverse=reverse)
    torch.testing.assert_close(quantities["state"], rows, **EXACT)
    for name, value in quantities.items():
        assert value.shape == rows.shape
        assert not value[~case.valid].any(), f"{name} is zero at padding"


@every_cell
@every_kernel
def test_one_step_of_one_row_leaves_inputs_and_weights_as_they_were(cell: str, kernel: str) -> None:
    case = make_case(cell)
    arguments = [case.inputs[1:2, :1], *(part[1:2] for part in case.initial), *case.layer.weights]
    before = [value.detach().clone() for value in arguments]
    for mode in (torch.enable_grad(), torch.no_grad()):
        with mode:
            case.layer(arguments[0], initial=tuple(arguments[1 : 1 + len(case.initial)]), kernel=kernel)
    assert all(map(torch.equal, arguments, before))


@every_cell
def test_values_without_gradients_are_the_same_bits(cell: str) -> None:
    case = make_case(cell)
    with_gradients = case.layer(case.inputs, case.valid, case.initial)
    with torch.no_grad():
        without = case.layer(case.inputs, case.valid, case.initial)
    case.layer.eval()
    in_evaluation = case.layer(case.inputs, case.valid, case.initial)
    for rows, final in (without, in_evaluation):
        assert torch.equal(rows, with_gradients[0])
        assert all(map(torch.equal, final, with_gradients[1]))


@every_cell
@every_kernel
def test_a_batch_without_rows_gives_none(cell: str, kernel: str) -> None:
    layer = CELLS[cell](FEATURES, HIDDEN)
    rows, final = layer(torch.zeros(0, TIME, FEATURES), torch.zeros(0, TIME, dtype=torch.bool), kernel=kernel)
    assert rows.shape == (0, TIME, HIDDEN)
    assert [part.shape for part in final] == [(0, HIDDEN)] * len(layer.state_parts)


@every_cell
def test_initial_weights_are_those_of_torch_for_an_equal_seed(cell: str) -> None:
    layer = CELLS[cell](FEATURES, HIDDEN, generator=torch.Generator().manual_seed(5))
    with torch.random.fork_rng():
        torch.manual_seed(5)
        module = TORCH[cell](FEATURES, HIDDEN)
    for weight, expected in zip(layer.weights, module.parameters(), strict=True):
        assert torch.equal(weight, expected)
    assert layer.multiply_adds(10) == 10 * (layer.weight_ih.numel() + layer.weight_hh.numel())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"inputs": torch.zeros(2, 5, 4)},
            "GRULayer: inputs must be (batch, time of at least 1, features=3), got (2, 5, 4) of float32.",
        ),
        (
            {"inputs": torch.zeros(2, 0, 3)},
            "GRULayer: inputs must be (batch, time of at least 1, features=3), got (2, 0, 3) of float32.",
        ),
        (
            {"inputs": torch.zeros(2, 5, 3).double()},
            "GRULayer: inputs must be torch.float32 as the weights, got torch.float64."
            " Convert the inputs or the layer with .to(dtype).",
        ),
        (
            {"inputs": torch.zeros(2, 5, 3), "valid": torch.ones(5, 2, dtype=torch.bool)},
            "GRULayer: valid must be of shape (batch=2, time=5), got (5, 2).",
        ),
        (
            {"inputs": torch.zeros(2, 5, 3), "initial": (torch.zeros(1, 2, 4),)},
            "GRULayer: initial must be (state), each of shape (batch, hidden) = (2, 4), got [(1, 2, 4)].",
        ),
        (
            {"inputs": torch.zeros(2, 5, 3), "initial": (torch.zeros(2, 4), torch.zeros(2, 4))},
            "GRULayer: initial must be (state), each of shape (batch, hidden) = (2, 4), got [(2, 4), (2, 4)].",
        ),
    ],
)
def test_misfits_are_named(arguments: dict, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for a user, who runs without checked shapes
    with pytest.raises(ShapeError) as caught:
        GRULayer(3, 4)(**arguments)
    assert str(caught.value) == message


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        GRULayer(3, 4)(torch.zeros(2, 5, 3), kernel="fusd")
    assert str(caught.value) == "GRULayer: kernel must be a known kernel, got 'fusd'. Did you mean 'fused'?"
