"""Layer normalization against a numpy twin and torch.nn, and what it must not mix."""

from functools import partial

import pytest
import torch
from torch import nn

from clew.layers.normalization import LayerNorm
from reference.transformer import layer_norm, layer_norm_backward
from reference.weights import draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 4, 5), (4, 4, 6), (2, 1)])
@pytest.mark.parametrize("epsilon", [1e-5, 0.3])
def test_output_and_gradients_equal_the_numpy_twin_and_torch(shape: tuple[int, ...], epsilon: float) -> None:
    layer = randomized(LayerNorm(shape[-1], epsilon))
    module = nn.LayerNorm(shape[-1], epsilon).double()
    module.load_state_dict(layer.state_dict())
    rows, sensitivity = draw(*shape).requires_grad_(), draw(*shape, seed=7)
    arrays = [value.detach().numpy() for value in (rows, layer.weight, layer.bias)]
    twin = layer_norm_backward(arrays[0], arrays[1], sensitivity.numpy(), epsilon)
    for candidate in (layer, module):
        output = candidate(rows)
        close(output.detach(), torch.from_numpy(layer_norm(*arrays, epsilon)))
        gradients = torch.autograd.grad(output, [rows, candidate.weight, candidate.bias], sensitivity)
        for ours, theirs in zip(gradients, twin, strict=True):
            close(ours, torch.from_numpy(theirs))


def test_the_equations_give_what_runs_and_their_gradients_too() -> None:
    layer, sensitivity = randomized(LayerNorm(5)), draw(3, 4, 5, seed=7)
    rows = draw(3, 4, 5).requires_grad_()
    found = layer.quantities(rows)
    assert [*found] == ["mean", "variance", "normalized", "output"]
    assert found["mean"].shape == found["variance"].shape == (3, 4, 1)
    close(found["output"], layer(rows))
    for ours, theirs in zip(
        torch.autograd.grad(found["output"], [rows, *layer.parameters()], sensitivity),
        torch.autograd.grad(layer(rows), [rows, *layer.parameters()], sensitivity),
        strict=True,
    ):
        close(ours, theirs)
    close(found["variance"].squeeze(-1), rows.var(dim=-1, correction=0))
    close(found["normalized"].mean(dim=-1), torch.zeros(3, 4, dtype=torch.float64))


def test_a_constant_row_gives_the_shift() -> None:
    layer = randomized(LayerNorm(5))
    close(layer(torch.full((2, 5), 3.0, dtype=torch.float64)), layer.bias.expand(2, 5))


def test_rows_do_not_mix() -> None:
    layer, rows = randomized(LayerNorm(5)), draw(3, 4, 5)
    changed = rows.clone()
    changed[1, 2] = 1000
    is_changed = torch.zeros(3, 4, dtype=torch.bool)
    is_changed[1, 2] = True
    moved = (layer(rows) != layer(changed)).any(dim=-1)
    assert torch.equal(moved, is_changed)
