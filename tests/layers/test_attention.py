"""Multi-head attention against a numpy twin and torch.nn, its kernels against each other, and who may read whom."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from clew import visibility
from clew.errors import ConfigError, ShapeError
from clew.layers.attention import MultiHeadAttention
from clew.layers.attention_kernels import attention_step, derived_context
from reference.attention import attention, attention_backward, stacked, weights_of
from reference.weights import arrays, draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)
KERNELS = ("derived", "fused", "explicit")
SIZES = [(3, 4), (4, 4), (2, 5)]  # (batch, time)


def odd_layer() -> MultiHeadAttention:
    """Three heads whose widths have nothing to do with width / heads."""
    return randomized(MultiHeadAttention(5, 3, head_dim=2, value_dim=4))


def ragged(batch: int, time: int) -> Tensor:
    """Random visibility with one query that reads nothing, and one row without any source."""
    visible = torch.rand(batch, time, time, generator=torch.Generator().manual_seed(5)) < 0.6
    visible |= torch.eye(time, dtype=torch.bool)
    visible[0, 1] = False
    visible[-1] = False
    return visible


def run(
    layer: MultiHeadAttention, rows: Tensor, visible: Tensor | None, kernel: str, sensitivity: Tensor
) -> list[Tensor]:
    """Output, and the gradients of rows and weights."""
    rows = rows.clone().requires_grad_()
    output = layer(rows, visible, kernel=kernel)
    return [output.detach(), *torch.autograd.grad(output, [rows, *layer.parameters()], sensitivity)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("batch", "time"), SIZES)
def test_output_and_gradients_equal_the_numpy_twin(batch: int, time: int, kernel: str) -> None:
    layer, rows, visible = odd_layer(), draw(batch, time, 5), ragged(batch, time)
    sensitivity = draw(batch, time, 5, seed=7)
    names = ("input_map.weight", "input_map.bias", "output_map.weight", "output_map.bias")
    weights = weights_of(*(arrays(layer)[name] for name in names), heads=3, head_dim=2)
    expected, mixing = attention(rows.numpy(), visible.numpy(), weights)
    gradients = attention_backward(rows.numpy(), visible.numpy(), weights, sensitivity.numpy())
    found = run(layer, rows, visible, kernel, sensitivity)
    for ours, theirs in zip(found, [expected, gradients.rows, *stacked(gradients.weights)], strict=True):
        close(ours, torch.from_numpy(theirs))
    close(layer.quantities(rows, visible)["weights"].detach(), torch.from_numpy(mixing))


@pytest.mark.parametrize("visible", [None, visibility.causal(4), ragged(3, 4)], ids=["all", "causal", "ragged"])
def test_every_kernel_gives_what_the_equations_give(visible: Tensor | None) -> None:
    layer, rows, sensitivity = odd_layer(), draw(3, 4, 5), draw(3, 4, 5, seed=7)
    explicit = run(layer, rows, visible, "explicit", sensitivity)
    for kernel in ("derived", "fused"):
        for ours, theirs in zip(run(layer, rows, visible, kernel, sensitivity), explicit, strict=True):
            close(ours, theirs)
    close(layer.quantities(rows, visible)["output"].detach(), explicit[0])


def test_the_fastest_kernel_is_one_of_them_at_every_size() -> None:
    for batch, time, heads, head_dim in ((2, 4, 2, 3), (64, 36, 2, 6), (8, 12, 2, 12)):
        layer = randomized(MultiHeadAttention(5, heads, head_dim))
        rows, visible = draw(batch, time, 5), visibility.causal(time)
        close(layer(rows, visible), layer(rows, visible, kernel="explicit"))


@pytest.mark.parametrize("visible", [None, visibility.causal(2, sources=3), ragged(3, 3)[:2, [0, 2]]])
def test_the_derived_backward_passes_gradcheck(visible: Tensor | None) -> None:
    parts = [draw(2, 2, 2, 3), draw(2, 2, 3, 3, seed=3), draw(2, 2, 3, 4, seed=4)]
    run = partial(derived_context, visible=visible)
    assert torch.autograd.gradcheck(run, [part.requires_grad_() for part in parts])
    close(run(*parts), attention_step(*parts, visible).context)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("batch", "time"), SIZES)
def test_output_and_gradients_equal_torch(batch: int, time: int, kernel: str) -> None:
    layer = randomized(MultiHeadAttention(6, 2))
    module = nn.MultiheadAttention(6, 2, batch_first=True).double()
    pairs = [
        (module.in_proj_weight, layer.input_map.weight),
        (module.in_proj_bias, layer.input_map.bias),
        (module.out_proj.weight, layer.output_map.weight),
        (module.out_proj.bias, layer.output_map.bias),
    ]
    with torch.no_grad():
        for theirs, ours in pairs:
            theirs.copy_(ours)
    rows, sensitivity = draw(batch, time, 6).requires_grad_(), draw(batch, time, 6, seed=7)
    lengths = torch.arange(batch) % time + 1
    visible = visibility.from_lengths(lengths, time) & visibility.causal(time)
    hidden = visibility.to_multihead_attention(visible, heads=2)
    output, weights = module(rows, rows, rows, attn_mask=hidden, average_attn_weights=False)
    expected = [output, *torch.autograd.grad(output, [rows, *(theirs for theirs, _ in pairs)], sensitivity)]
    for ours, theirs in zip(run(layer, rows.detach(), visible, kernel, sensitivity), expected, strict=True):
        close(ours, theirs.detach())
    close(layer.quantities(rows, visible)["weights"], weights)


def test_initial_weights_have_the_distribution_of_torch() -> None:
    layer = MultiHeadAttention(64, 4, generator=torch.Generator().manual_seed(1))
    module = nn.MultiheadAttention(64, 4)
    for ours, theirs in ((layer.input_map, module.in_proj_weight), (layer.output_map, module.out_proj.weight)):
        bound = theirs.abs().max()
        assert 0.98 * bound < ours.weight.abs().max() < 1.02 * bound
        assert abs(ours.weight.std() / theirs.std() - 1) < 0.05
        assert not ours.bias.any()
    other = MultiHeadAttention(64, 4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(layer.input_map.weight, other.input_map.weight)
    assert not torch.equal(layer.input_map.weight, MultiHeadAttention(64, 4).input_map.weight)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_no_step_of_the_backward_gives_nan_for_a_query_that_reads_nothing(kernel: str) -> None:
    with torch.autograd.detect_anomaly(check_nan=True):
        run(odd_layer(), draw(3, 4, 5), ragged(3, 4), kernel, draw(3, 4, 5, seed=7))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_query_that_reads_nothing_is_zero_and_moves_no_gradient(kernel: str) -> None:
    layer, visible = odd_layer(), ragged(3, 4)
    is_empty = ~visible.any(dim=-1)
    everywhere = draw(3, 4, 5, seed=7)
    only_full = everywhere.masked_fill(is_empty.unsqueeze(-1), 0)
    found = run(layer, draw(3, 4, 5), visible, kernel, everywhere)
    assert not found[0][is_empty].any()
    for first, second in zip(found, run(layer, draw(3, 4, 5), visible, kernel, only_full), strict=True):
        assert torch.equal(first, second)
        assert first.isfinite().all()
    for gradient in run(layer, draw(3, 4, 5), visible, kernel, everywhere - only_full)[1:]:
        assert not gradient.any()


def test_the_empty_row_does_not_change_its_neighbours() -> None:
    layer, rows, sensitivity = odd_layer(), draw(3, 4, 5), draw(3, 4, 5, seed=7)
    together = run(layer, rows, ragged(3, 4), "fused", sensitivity)
    alone = run(layer, rows[:2], ragged(3, 4)[:2], "fused", sensitivity[:2])
    close(together[0][:2], alone[0])
    for first, second in zip(together[2:], alone[2:], strict=True):
        close(first, second)


def test_values_of_the_three_token_example() -> None:
    """Equal scores over the values 1, 2, 9: the mean of what is visible; the other reading of the mask gives 9."""
    zeros, values = torch.zeros(1, 1, 3, 2), torch.tensor([1.0, 2.0, 9.0]).view(1, 1, 3, 1)
    step = attention_step(zeros, zeros, values, torch.tensor([[True, True, False]]).expand(3, 3))
    assert step.context[0, 0, 0].item() == 1.5
    cached = attention_step(zeros[:, :, :1], zeros, values, visibility.causal(1, sources=3))
    assert cached.context.item() == 4.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_hidden_source_cannot_change_a_query_and_a_visible_one_does(kernel: str) -> None:
    layer, rows, visible = odd_layer(), draw(3, 4, 5), ragged(3, 4)
    before = layer(rows, visible, kernel=kernel)
    for source in range(4):
        changed = rows.clone()
        changed[:, source] += 1000
        after = layer(changed, visible, kernel=kernel)
        moved = ~torch.isclose(before, after, rtol=0, atol=1e-9).all(dim=-1)
        is_own = (torch.arange(4) == source).expand(3, 4) & visible.any(dim=-1)
        assert torch.equal(moved, visible[:, :, source] | is_own)


def test_quantities_have_names_shapes_and_agree() -> None:
    layer, rows = odd_layer(), draw(2, 4, 5)
    found = layer.quantities(rows, visibility.causal(4))
    shapes = {name: tuple(value.shape) for name, value in found.items()}
    cells = (2, 3, 4, 4)
    assert shapes == {
        "query": (2, 3, 4, 2),
        "key": (2, 3, 4, 2),
        "value": (2, 3, 4, 4),
        "scores": cells,
        "scaled_scores": cells,
        "weights": cells,
        "context": (2, 3, 4, 4),
        "joined": (2, 4, 12),
        "output": (2, 4, 5),
    }
    close(found["scaled_scores"], found["scores"] / 2**0.5)
    close(found["weights"].sum(dim=-1), torch.ones(2, 3, 4, dtype=torch.float64))
    close(found["joined"][..., 4:8], found["context"][:, 1])


def test_dropout_of_weights_follows_its_generator_and_ends_with_training() -> None:
    layer = randomized(MultiHeadAttention(6, 2, dropout=0.5))
    rows, visible = draw(2, 4, 6), visibility.causal(4)
    layer.weights_dropout.generator.manual_seed(3)
    first, second = layer(rows, visible), layer(rows, visible)
    layer.weights_dropout.generator.manual_seed(3)
    assert torch.equal(layer(rows, visible), first)
    assert not torch.equal(first, second)
    with pytest.raises(ConfigError, match="kernel must be 'explicit' with dropout, got 'fused'"):
        layer(rows, visible, kernel="fused")
    layer.eval()
    close(layer(rows, visible), layer.quantities(rows, visible)["output"])


def test_work_and_state_are_counted_from_the_shapes() -> None:
    layer = MultiHeadAttention(5, 3, head_dim=2, value_dim=4)
    maps = 5 * (6 + 6 + 12) + 12 * 5
    assert layer.multiply_adds(7) == 7 * maps + 49 * 3 * 2 + 49 * 3 * 4
    assert layer.state_size(7) == 7 * 3 * (2 + 4)


def test_wrong_sizes_and_masks_are_refused() -> None:
    with pytest.raises(ConfigError) as refusal:
        MultiHeadAttention(5, 2)
    assert str(refusal.value) == (
        "MultiHeadAttention: heads must be a divisor of width=5, got 2. Give head_dim, which need not be width / heads."
    )
    with pytest.raises(ConfigError, match="sizes must be at least 1, got width=4, heads=2, head_dim=2, value_dim=0"):
        MultiHeadAttention(4, 2, value_dim=0)
    with pytest.raises(ShapeError, match="MultiHeadAttention: visible must be bool"):
        odd_layer()(draw(2, 4, 5), visibility.to_additive(visibility.causal(4)))
