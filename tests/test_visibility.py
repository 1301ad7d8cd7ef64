"""Who may read whom: the rules against their definition, every border there and back, every refusal."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from clew import visibility
from clew.errors import ConfigError, ShapeError


def test_causal_permits_exactly_what_is_not_later() -> None:
    for query, row in enumerate(visibility.causal(5).tolist()):
        assert row == [source <= query for source in range(5)]


def test_queries_after_a_cache_are_the_last_positions() -> None:
    assert torch.equal(visibility.causal(2, sources=7), visibility.causal(7)[-2:])
    assert visibility.causal(1, sources=4).all(), "one query after a cache reads everything, not only the first source"
    assert torch.equal(visibility.windowed(2, 3, sources=7), visibility.windowed(7, 3)[-2:])
    assert visibility.full(2, sources=7).shape == (2, 7)


def test_a_window_counts_the_position_itself() -> None:
    for is_causal in (True, False):
        for query, row in enumerate(visibility.windowed(6, 3, causal=is_causal).tolist()):
            assert row == [abs(query - source) < 3 and (source <= query or not is_causal) for source in range(6)]
    assert torch.equal(visibility.windowed(4, 1), torch.eye(4, dtype=torch.bool))
    assert torch.equal(visibility.windowed(4, 4), visibility.causal(4))
    assert torch.equal(visibility.windowed(4, 4, causal=False), visibility.full(4))


def test_lengths_and_valid_hide_padded_sources_from_every_query() -> None:
    visible = visibility.from_lengths([1, 3], 3)
    assert torch.equal(visible, visibility.from_valid(torch.tensor([[True, False, False], [True, True, True]])))
    assert visible[0].tolist() == [[True, False, False]] * 3


def test_documents_read_themselves_and_padding_reads_nothing() -> None:
    ids = torch.tensor([[0, 0, 1, -1, -1], [5, -1, 5, 7, 7]])
    visible = visibility.from_documents(ids)
    for row in range(2):
        for query in range(5):
            for source in range(5):
                expected = ids[row, query] == ids[row, source] and ids[row, query] >= 0
                assert visible[row, query, source] == expected


def test_rules_combine() -> None:
    combined = visibility.from_lengths([2, 3], 3) & visibility.causal(3)
    assert combined.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 0]], [[1, 0, 0], [1, 1, 0], [1, 1, 1]]]


def random_visible(batch: int = 3, time: int = 4) -> torch.Tensor:
    return torch.rand(batch, time, time, generator=torch.Generator().manual_seed(3)) < 0.5


@pytest.mark.parametrize("heads", [1, 2])
def test_the_border_to_multihead_attention_inverts_and_returns(heads: int) -> None:
    visible = random_visible()
    mask = visibility.to_multihead_attention(visible, heads)
    assert mask.shape == (3 * heads, 4, 4)
    for row in range(3):
        for head in range(heads):
            assert torch.equal(mask[row * heads + head], ~visible[row])
    assert torch.equal(visibility.from_multihead_attention(mask, heads), visible)
    assert torch.equal(visibility.from_multihead_attention(visibility.to_multihead_attention(visible[0])), visible[0])


def test_the_other_borders_return_what_they_got() -> None:
    visible, valid = random_visible(), torch.tensor([[True, False], [True, True]])
    assert torch.equal(visibility.from_additive(visibility.to_additive(visible, torch.float16)), visible)
    assert torch.equal(visibility.from_key_padding_mask(visibility.to_key_padding_mask(valid)), valid)
    assert visibility.to_key_padding_mask(valid).tolist() == [[False, True], [False, False]]
    for kind in (torch.int64, torch.uint8, torch.bool):
        assert torch.equal(visibility.from_attention_mask(valid.to(kind)), valid)


def test_functional_attention_takes_the_same_meaning() -> None:
    values = torch.tensor([1.0, 2.0, 9.0]).view(1, 1, 3, 1).expand(2, 2, 3, 1)
    visible = visibility.from_lengths([2, 3], 3)
    zeros = torch.zeros(2, 2, 3, 1)
    mask = visibility.to_scaled_dot_product_attention(visible)
    mixed = scaled_dot_product_attention(zeros, zeros, values, attn_mask=mask)
    torch.testing.assert_close(mixed[:, 0, 0, 0], torch.tensor([1.5, 4.0]))
    assert torch.equal(visibility.to_scaled_dot_product_attention(visible[0]), visible[0])


def test_additive_masks_in_use_are_read() -> None:
    lowest = torch.finfo(torch.float16).min
    mask = torch.tensor([[0.0, -10000.0, -math.inf, lowest, -0.0]], dtype=torch.float16)
    assert visibility.from_additive(mask).tolist() == [[True, False, False, False, True]]


REFUSALS = [
    (
        lambda: visibility.from_attention_mask(torch.tensor([[1, 1], [1, 2]])),
        "from_attention_mask: mask must be 0 or 1 everywhere, got 2 at row 1, step 1.",
    ),
    (
        lambda: visibility.from_attention_mask(torch.tensor([[0.0, -math.inf]])),
        "from_attention_mask: mask must be integers or bool of shape (batch, time), 1 = keep, got (1, 2) of float32. "
        "A float mask is additive, 0 = keep: read it with from_additive.",
    ),
    (
        lambda: visibility.from_attention_mask(torch.ones(1, 2, 2, dtype=torch.int64)),
        "from_attention_mask: mask must be integers or bool of shape (batch, time), 1 = keep, got (1, 2, 2) of int64.",
    ),
    (
        lambda: visibility.from_additive(torch.tensor([[0.0, 1.0]])),
        "from_additive: mask must be 0, or at most -10000, everywhere, got 1 at (0, 1). "
        "0 may be read and -inf is hidden; for 0/1 flags use from_attention_mask or bool.",
    ),
    (
        lambda: visibility.from_additive(torch.tensor([math.nan])),
        "from_additive: mask must be 0, or at most -10000, everywhere, got nan at (0,). "
        "0 may be read and -inf is hidden; for 0/1 flags use from_attention_mask or bool.",
    ),
    (
        lambda: visibility.from_additive(torch.ones(2, 2, dtype=torch.bool)),
        "from_additive: mask must be float, added to the scores, got (2, 2) of bool.",
    ),
    (
        lambda: visibility.from_multihead_attention(torch.zeros(2, 2)),
        "from_multihead_attention: attn_mask must be bool, True = hidden, got (2, 2) of float32. "
        "Read a float mask that is added with from_additive, integers with 1 = keep with from_attention_mask.",
    ),
    (
        lambda: visibility.from_key_padding_mask(torch.zeros(2, 2, dtype=torch.int64)),
        "from_key_padding_mask: mask must be bool, True = hidden, got (2, 2) of int64. "
        "Read a float mask that is added with from_additive, integers with 1 = keep with from_attention_mask.",
    ),
    (
        lambda: visibility.from_multihead_attention(torch.eye(4).bool().unflatten(0, (2, 2)), heads=2),
        "from_multihead_attention: attn_mask must be equal in all heads of a row, got a difference.",
    ),
    (
        lambda: visibility.from_multihead_attention(torch.ones(3, 2, 2, dtype=torch.bool), heads=2),
        "from_multihead_attention: attn_mask must be (query, source), or (batch * heads, query, source) with heads= "
        "given, got (3, 2, 2) with heads=2.",
    ),
    (
        lambda: visibility.to_multihead_attention(torch.ones(3, 2, 2, dtype=torch.bool)),
        "to_multihead_attention: visible must be (query, source), or (batch, query, source) with heads= given, "
        "got (3, 2, 2) with heads=None.",
    ),
    (
        lambda: visibility.causal(3, sources=2),
        "causal: sources must be at least time=3, got 2. The queries are the last of the sources.",
    ),
    (
        lambda: visibility.from_lengths([2, 4], 3),
        "from_lengths: lengths must be in [1, time=3], got 4 at row 1. Pad the inputs to 4 or clip the lengths.",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSALS)
def test_what_is_not_certain_is_refused(call, text: str) -> None:
    with pytest.raises(ShapeError) as refusal:
        call()
    assert str(refusal.value) == text


def test_a_window_without_the_position_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"windowed: window must be at least 1, the position itself, got 0\."):
        visibility.windowed(3, 0)
