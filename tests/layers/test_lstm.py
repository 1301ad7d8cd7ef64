"""The LSTM: its step, its cell where rows are padded, and the choice of its kernel."""

import pytest
import torch

from clew.layers.lstm import LSTMLayer, lstm_step
from clew.layers.recurrent import KERNELS
from reference.weights import draw, randomized


def test_two_steps_follow_the_equations() -> None:
    layer = randomized(LSTMLayer(2, 3))
    inputs, h, c = draw(4, 2, 2), draw(4, 3, seed=3), draw(4, 3, seed=4)
    rows, (final, cell) = layer(inputs, initial=(h, c))
    for step in range(2):
        quantities = lstm_step(layer.project(inputs[:, step]), h, c, layer.weight_hh, layer.bias_hh)
        stored = quantities.forget_gate * c + quantities.input_gate * quantities.cell_candidate
        torch.testing.assert_close(quantities.cell, stored)
        torch.testing.assert_close(quantities.state, quantities.output_gate * stored.tanh())
        torch.testing.assert_close(rows[:, step], quantities.state, rtol=0, atol=1e-12)
        h, c = quantities.state, quantities.cell
    torch.testing.assert_close(final, h, rtol=0, atol=1e-12)
    torch.testing.assert_close(cell, c, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_final_cell_is_that_of_the_last_valid_step(kernel: str, dtype: torch.dtype) -> None:
    """The cell at a padded step moves on in a kernel that does not know about padding."""
    layer = randomized(LSTMLayer(2, 3)).to(dtype)
    inputs = draw(2, 20, 2).to(dtype)
    valid = torch.arange(20) < torch.tensor([[4], [9]])
    _, (_, cell) = layer(inputs, valid, kernel=kernel)
    tolerance = {"rtol": 0, "atol": 1e-6 if dtype == torch.float32 else 1e-12}
    for row, length in enumerate([4, 9]):
        _, (_, alone) = layer(inputs[row : row + 1, :length], kernel=kernel)
        _, (_, too_far) = layer(inputs[row : row + 1], kernel=kernel)
        torch.testing.assert_close(cell[row], alone[0], **tolerance)
        assert (cell[row] - too_far[0]).abs().max() > 1e-2


def test_no_gradient_reaches_what_holds_the_cell_still() -> None:
    layer = randomized(LSTMLayer(2, 3))
    inputs = draw(2, 20, 2).requires_grad_()
    valid = torch.arange(20) < torch.tensor([[4], [9]])
    gradients = []
    for kernel in KERNELS:
        _, (_, cell) = layer(inputs, valid, kernel=kernel)
        gradients.append(torch.autograd.grad(cell.square().sum(), [inputs, *layer.parameters()]))
    for others in gradients[1:]:
        for gradient, other in zip(gradients[0], others, strict=True):
            torch.testing.assert_close(gradient, other, rtol=0, atol=1e-10)


def test_the_fastest_kernel_depends_on_the_precision() -> None:
    layer = LSTMLayer(2, 3)
    single = "fused" if torch.backends.mkldnn.is_available() else "derived"
    assert layer._fastest_kernel(torch.zeros(1)) == single
    assert layer._fastest_kernel(torch.zeros(1).double()) == "derived"
    assert layer._fastest_kernel(torch.zeros(1, device="meta")) == "fused"
