"""The Transformer encoder against a numpy twin, and the laws of padding, causality, packing and order."""

import copy
from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from clew import visibility
from clew.errors import ConfigError, ShapeError
from clew.models.transformer_encoder import TransformerEncoder
from reference import transformer
from reference.weights import arrays, draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)
VARIANTS = [
    {"causal": causal, "norm": norm, "positions": positions}
    for causal, norm, positions in (
        (True, "pre", "learned"),
        (False, "pre", "sinusoidal"),
        (True, "post", "sinusoidal"),
        (False, "post", "learned"),
    )
]
variants = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())))


def make(**options) -> TransformerEncoder:
    """Two blocks of three heads whose widths have nothing to do with width / heads."""
    settings = {"layers": 2, "head_dim": 2, "value_dim": 4, "max_positions": 8} | options
    return randomized(TransformerEncoder(5, 3, 7, **settings))


def gradients(encoder: TransformerEncoder, rows: Tensor, sensitivity: Tensor, **options: Tensor) -> list[Tensor]:
    """Output, and the gradients of rows and weights."""
    rows = rows.clone().requires_grad_()
    output = encoder(rows, **options).rows
    return [output.detach(), *torch.autograd.grad(output, [rows, *encoder.parameters()], sensitivity)]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("batch", "activation"), [(3, "relu"), (4, "gelu")])
def test_rows_equal_the_numpy_twin(norm: str, causal: bool, batch: int, activation: str) -> None:
    encoder, rows = make(norm=norm, causal=causal, activation=activation), draw(batch, 4, 5)
    valid = torch.tensor([[True, True, False, False], [False, True, False, True], [True] * 4, [False] * 4])[:batch]
    twin = partial(transformer.encoder, state=arrays(encoder), norm=norm, heads=3, head_dim=2, activation=activation)
    for mask in (valid, torch.ones_like(valid)):
        expected = twin(rows.numpy(), mask.numpy(), causal=causal)
        close(encoder(rows, valid=mask).rows.detach(), torch.from_numpy(expected))
    close(encoder(rows).rows, encoder(rows, valid=torch.ones_like(valid)).rows)
    assert encoder(rows).final is None


@variants
def test_quantities_hold_what_runs(variant: dict) -> None:
    encoder, rows = make(**variant), draw(3, 4, 5)
    valid = torch.tensor([[True, True, False, False], [False, True, True, True], [True] * 4])
    found = encoder.quantities(rows, valid=valid)
    close(found["output"], encoder(rows, valid=valid).rows)
    assert found["blocks.1.attention.weights"].shape == (3, 3, 4, 4)
    hidden = ~encoder.combine_visibility(3, 4, valid).unsqueeze(1).expand(3, 3, 4, 4)
    assert not found["blocks.1.attention.weights"][hidden].any()


@variants
def test_content_of_padding_is_never_read(variant: dict) -> None:
    encoder, rows, sensitivity = make(**variant), draw(3, 5, 5), draw(3, 5, 5, seed=7)
    valid = torch.tensor([[True] * 3 + [False] * 2, [False] * 2 + [True] * 3, [True, False, True, False, False]])
    first = gradients(encoder, rows.masked_fill(~valid.unsqueeze(-1), 0), sensitivity, valid=valid)
    for content in (7.0, torch.nan, torch.inf, -torch.inf):
        filled = rows.masked_fill(~valid.unsqueeze(-1), content)
        for ours, theirs in zip(gradients(encoder, filled, sensitivity, valid=valid), first, strict=True):
            assert torch.equal(ours, theirs)
    assert not first[0][~valid].any() and first[0][valid].any()
    assert not first[1][~valid].any() and first[1][valid].any()


@variants
def test_amount_and_side_of_padding_do_not_matter(variant: dict) -> None:
    encoder, rows, sensitivity = make(**variant), draw(3, 4, 5), draw(3, 4, 5, seed=7)
    alone = gradients(encoder, rows, sensitivity)
    for before, after in ((0, 1), (1, 0), (0, 5), (5, 0), (3, 4)):
        widen = partial(torch.nn.functional.pad, pad=(0, 0, before, after))
        valid = torch.ones(3, 4, dtype=torch.bool)
        valid = torch.nn.functional.pad(valid, (before, after), value=False)
        padded = gradients(encoder, widen(rows, value=9.0), widen(sensitivity, value=3.0), valid=valid)
        for place in (0, 1):
            close(padded[place][:, before : before + 4], alone[place])
        for ours, theirs in zip(padded[2:], alone[2:], strict=True):
            close(ours, theirs)


@variants
def test_a_row_alone_equals_the_row_in_a_batch(variant: dict) -> None:
    encoder, rows = make(**variant), draw(4, 4, 5)
    lengths = [2, 4, 1, 3]
    together = encoder(rows, valid=torch.arange(4) < torch.tensor(lengths).unsqueeze(1)).rows
    for row, length in enumerate(lengths):
        close(encoder(rows[row : row + 1, :length]).rows[0], together[row, :length])


@variants
def test_the_order_of_rows_does_not_matter(variant: dict) -> None:
    encoder, rows = make(**variant), draw(4, 4, 5)
    close(encoder(rows.flip(0)).rows.flip(0), encoder(rows).rows)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("padded", [False, True])
def test_the_future_cannot_change_the_past(norm: str, padded: bool) -> None:
    encoder, rows = make(norm=norm, causal=True), draw(3, 5, 5)
    valid = torch.ones(3, 5, dtype=torch.bool)
    if padded:
        valid[0, 0] = valid[1, 3:] = False
    before = encoder(rows, valid=valid).rows
    for step in range(5):
        changed = rows.clone()
        changed[:, step, 0] += 100
        after = encoder(changed, valid=valid).rows
        assert torch.equal(before[:, :step], after[:, :step])
        reads = valid[:, step].unsqueeze(1) & valid & (torch.arange(5) >= step)
        assert torch.equal((before != after).any(dim=-1), reads), "every real later step must read the changed one"


def test_without_causality_every_step_reads_every_other() -> None:
    encoder, rows = make(), draw(3, 4, 5)
    for step in range(4):
        changed = rows.clone()
        changed[:, step, 0] += 1
        assert (encoder(rows).rows != encoder(changed).rows).any(dim=-1).all()


@variants
def test_packed_documents_equal_separate_ones(variant: dict) -> None:
    encoder = make(**(variant | {"positions": None}))
    documents = [draw(1, length, 5, seed=length) for length in (2, 4, 1)]
    packed = torch.cat([*documents, draw(1, 2, 5)], dim=1)
    ids = torch.tensor([[0, 0, 1, 1, 1, 1, 2, -1, -1]])
    found = encoder(packed, valid=ids >= 0, visible=visibility.from_documents(ids)).rows
    ends = [0, 2, 6, 7]
    for document, (start, stop) in zip(documents, pairwise(ends), strict=True):
        close(found[:, start:stop], encoder(document).rows)
    assert not found[:, 7:].any()


def test_given_visibility_is_combined_with_padding_and_causality() -> None:
    encoder = make(causal=True)
    valid = torch.tensor([[True, True, True], [False, True, True]])
    visible = visibility.windowed(3, 2, causal=False)
    expected = visibility.from_valid(valid) & visible & visibility.causal(3)
    assert torch.equal(encoder.combine_visibility(2, 3, valid, visible), expected)
    rows = draw(2, 3, 5)
    close(encoder(rows, valid=valid, visible=visible).rows, encoder(rows, valid=valid, visible=expected).rows)
    assert make().combine_visibility(2, 3) is None


def test_order_is_unknown_without_positions_and_known_with_them() -> None:
    order, rows = torch.tensor([2, 0, 3, 1]), draw(3, 4, 5)
    blind = make(positions=None)
    close(blind(rows[:, order]).rows, blind(rows).rows[:, order])
    for positions in ("learned", "sinusoidal"):
        sighted = make(positions=positions)
        difference = sighted(rows[:, order]).rows - sighted(rows).rows[:, order]
        assert difference.abs().amax(dim=(1, 2)).min() > 1e-3
    causal = make(positions=None, causal=True)
    assert not torch.allclose(causal(rows[:, order]).rows, causal(rows).rows[:, order])


def test_a_row_that_reads_nothing_gives_finite_gradients() -> None:
    encoder, rows, sensitivity = make(causal=True), draw(3, 4, 5), draw(3, 4, 5, seed=7)
    valid = torch.tensor([[False, False, True, True], [False] * 4, [True] * 4])
    found = gradients(encoder, rows, sensitivity, valid=valid)
    assert all(value.isfinite().all() for value in found)
    kept = gradients(encoder, rows[[0, 2]], sensitivity[[0, 2]], valid=valid[[0, 2]])
    for ours, theirs in zip(found[2:], kept[2:], strict=True):
        close(ours, theirs)


def test_the_causal_rule_is_made_once_and_cut_to_size() -> None:
    encoder = make(causal=True)
    first = encoder.combine_visibility(2, 6)
    assert torch.equal(first, visibility.causal(6))
    assert torch.equal(encoder.combine_visibility(2, 4), visibility.causal(4))
    assert encoder.combine_visibility(2, 6).data_ptr() == first.data_ptr()
    assert torch.equal(encoder.combine_visibility(2, 8), visibility.causal(8))
    assert not any("causal" in name for name in encoder.state_dict())


def test_dropout_is_reproducible_and_absent_in_evaluation() -> None:
    encoder, rows = make(dropout=0.4, causal=True), draw(3, 4, 5)
    twin = copy.deepcopy(encoder)
    first, second = encoder(rows).rows, encoder(rows).rows
    assert not torch.equal(first, second)
    assert torch.equal(twin(rows).rows, first)
    encoder.eval()
    close(encoder(rows).rows, encoder.quantities(rows)["output"])
    plain = make(causal=True)
    plain.load_state_dict(encoder.state_dict())
    close(encoder(rows).rows, plain(rows).rows)


def test_work_and_state_are_those_of_the_recall_experiment() -> None:
    encoder = TransformerEncoder(12, 2, 24, causal=True, max_positions=36)
    time = 35
    attention = time * 4 * 144 + 2 * time * time * 12
    assert encoder.multiply_adds(time) == attention + time * 2 * 12 * 24
    assert encoder.state_size(time) == time * 24
    assert make().state_size(4) == 2 * 4 * 3 * (2 + 4)
    block_and_norm = 2 * 24 + 4 * (144 + 12) + 2 * 12 * 24 + 24 + 12 + 24
    assert sum(parameter.numel() for parameter in encoder.parameters()) == 36 * 12 + block_and_norm
    assert encoder.width == 12


def test_equal_generators_give_equal_weights() -> None:
    first, second = (TransformerEncoder(6, 2, 8, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    for ours, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    two = TransformerEncoder(6, 2, 8, layers=2)
    assert not torch.equal(two.blocks[0].attention.input_map.weight, two.blocks[1].attention.input_map.weight)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"norm": "none"}, "TransformerEncoder: norm must be 'pre' or 'post', got 'none'."),
        (
            {"positions": "learnt"},
            "TransformerEncoder: positions must be known, or None, got 'learnt'. Did you mean 'learned'?",
        ),
        ({"layers": 0}, "TransformerEncoder: sizes must be at least 1, got layers=0, mlp=7."),
    ],
)
def test_wrong_options_are_refused(options: dict, text: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        make(**options)
    assert str(refusal.value) == text


def test_wrong_calls_are_refused() -> None:
    encoder, rows = make(), draw(2, 4, 5)
    with pytest.raises(ConfigError, match=r"TransformerEncoder: initial must be None, got list\."):
        encoder(rows, initial=[])
    with pytest.raises(ShapeError, match=r"TransformerEncoder: visible must be bool, got .* of float32"):
        encoder(rows, visible=torch.zeros(4, 4))
    with pytest.raises(ShapeError, match="TransformerEncoder: valid must be bool"):
        encoder(rows, valid=torch.ones(2, 4, dtype=torch.int64))
    with pytest.raises(ShapeError, match="LearnedPositions: steps must be at most max_positions=8, got 9"):
        encoder(draw(2, 9, 5))
