"""The worked example's data: what the loaders put where, and what they refuse."""

import pytest
import torch

from clew.errors import DataError
from clew.models.blocks import TransformerBlock
from clew.walkthrough.proverb import (
    CONTINUATION,
    EMBEDDINGS,
    HEAD_ONE,
    HEAD_TWO,
    LABELS,
    PREFIX,
    VOCABULARY,
    attention,
    block,
    embedding,
    encoder,
    ids_of,
    positioned_rows,
    proverb_model,
    words_of,
)
from walkthrough.published import PUBLISHED, at_three_digits


def test_words_are_lowercase_and_without_punctuation() -> None:
    assert words_of("A single, STEP.") == ("a", "single", "step")
    assert (*PREFIX, *words_of(CONTINUATION))[6:] == ("begins", "with", "a", "single", "step")
    assert LABELS[6] == "6: begins"


def test_vocabulary_and_embeddings_are_those_of_the_text() -> None:
    stated = [[index, word, *row] for index, (word, row) in enumerate(EMBEDDINGS.items())]
    assert [at_three_digits(row) for row in stated] == PUBLISHED["Table 8"]
    assert embedding().weight.dtype == torch.float64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("a", "jorney"),
            "proverb: text must be words of the worked example, which has no token for unknown ones, "
            "got 'jorney' at position 1. Did you mean 'journey'?",
        ),
        (
            (),
            "proverb: text must be at least one known word, got none. "
            "Known words: a, journey, of, thousand, miles, begins, with, single, step.",
        ),
    ],
)
def test_unknown_words_and_empty_texts_are_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(DataError) as raised:
        ids_of(words)
    assert str(raised.value) == said


def test_each_head_of_the_joint_layer_is_the_head_alone() -> None:
    rows = positioned_rows()
    joint = attention().quantities(rows)
    for index, head in enumerate((HEAD_ONE, HEAD_TWO)):
        alone = attention((head,)).quantities(rows)
        for name in ("query", "key", "value", "scores", "weights", "context"):
            assert torch.equal(joint[name][:, index], alone[name][:, 0]), name


def test_blocks_of_a_stack_have_equal_weights() -> None:
    expected = block().state_dict()
    for part in encoder(layers=3).blocks:
        assert isinstance(part, TransformerBlock)
        assert all(torch.equal(value, expected[name]) for name, value in part.state_dict().items())


def test_the_whole_model_runs_what_the_parts_run() -> None:
    output = proverb_model()(ids_of(PREFIX))
    expected = encoder(positions=None)(positioned_rows()).rows
    assert torch.equal(output.rows, expected)
    assert output.logits.shape == (1, len(PREFIX), len(VOCABULARY))
    assert output.logits.dtype == torch.float64


def test_head_seed_changes_the_head_alone() -> None:
    one, other = proverb_model(head_seed=0), proverb_model(head_seed=1)
    differing = [name for name, value in one.state_dict().items() if not torch.equal(value, other.state_dict()[name])]
    assert differing == ["head.linear.weight", "head.linear.bias"]
