"""The worked example at all digits, against numpy twins that share nothing with the package."""

import numpy as np
import pytest

from clew.walkthrough import encoder_block, tokens, two_heads
from clew.walkthrough.items import Item
from clew.walkthrough.proverb import EMBEDDINGS, PREFIX, attention, block, encoder
from reference.attention import attention as twin_attention
from reference.attention import weights_of
from reference.transformer import block as twin_block
from reference.transformer import layer_norm, sinusoids
from reference.weights import arrays

EVERYTHING = np.ones((1, 7, 7), dtype=bool)


def numbers(item: Item) -> np.ndarray:
    return np.array([row[1:] for row in item.rows], dtype=float)


def twin_rows() -> np.ndarray:
    return np.array([EMBEDDINGS[word] for word in PREFIX]) + sinusoids(7, 5)


def test_positioned_rows_are_the_twins() -> None:
    assert numbers(tokens.positioned_inputs()) == pytest.approx(twin_rows(), abs=1e-14)


def test_attention_branch_is_the_twins() -> None:
    state = arrays(attention())
    names = ("input_map.weight", "input_map.bias", "output_map.weight", "output_map.bias")
    output, mixing = twin_attention(twin_rows()[None], EVERYTHING, weights_of(*(state[name] for name in names), 2, 3))
    assert numbers(two_heads.attention_branch()) == pytest.approx(output[0], abs=1e-14)
    assert pytest.approx(mixing[0, :, 6], abs=1e-14) == numbers(two_heads.two_mixtures()).T


def test_block_and_stack_are_the_twins() -> None:
    output = twin_block(twin_rows()[None], EVERYTHING, arrays(block()), "", "pre", 2, 3, "relu")
    assert numbers(encoder_block.stage_output()) == pytest.approx(output[0], abs=1e-13)
    final = layer_norm(output, np.ones(5), np.zeros(5))
    assert numbers(encoder_block.stage_final()) == pytest.approx(final[0], abs=1e-13)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_two_blocks_are_the_twins(norm: str, causal: bool) -> None:
    visible = np.tril(EVERYTHING) if causal else EVERYTHING
    rows = twin_rows()[None]
    for _ in range(2):
        rows = twin_block(rows, visible, arrays(block(norm)), "", norm, 2, 3, "relu")
    if norm == "pre":
        rows = layer_norm(rows, np.ones(5), np.zeros(5))
    found = encoder(layers=2, causal=causal, norm=norm)(tokens.embedded_rows()).rows
    assert found[0].tolist() == pytest.approx(rows[0], abs=1e-13)
