"""BERT's encoder by itself: the laws of padding and position, segments, sequence vectors, what it refuses."""

import pytest
import torch

from clew.errors import DataError, ShapeError
from clew.models import BertInput, BertModel, MeanHead, SequenceModel, masked_mean
from clew.models.pooling import unit_vectors
from reference.weights import randomized

IDS = torch.tensor([[5, 2, 7, 1], [1, 3, 0, 0], [8, 0, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]])
LENGTHS = torch.tensor([4, 2, 1])
VALID = torch.arange(4) < LENGTHS.unsqueeze(1)


@pytest.fixture
def model() -> BertModel:
    return randomized(BertModel(vocab=9, width=6, heads=3, mlp=8, layers=2, max_positions=6))


def test_content_of_padding_is_never_read(model: BertModel) -> None:
    rows = model(IDS, LENGTHS, token_types=SEGMENTS)
    strange = torch.where(VALID, IDS, -7), torch.where(VALID, SEGMENTS, 99)
    assert torch.equal(model(strange[0], LENGTHS, token_types=strange[1]), rows)
    assert not rows[~VALID].any()
    rows.square().sum().backward()
    table = model.inputs.embedding.weight.grad
    assert table is not None
    assert not table[0].any() and table[1].any()


def test_side_and_amount_of_padding_move_no_row(model: BertModel) -> None:
    right = model(IDS, LENGTHS, token_types=SEGMENTS)
    left_ids, left_segments = torch.zeros(3, 6, dtype=torch.long), torch.zeros(3, 6, dtype=torch.long)
    left_valid = torch.arange(6) >= 6 - LENGTHS.unsqueeze(1)
    left_ids[left_valid], left_segments[left_valid] = IDS[VALID], SEGMENTS[VALID]
    left = model(left_ids, valid=left_valid, token_types=left_segments)
    torch.testing.assert_close(left[left_valid], right[VALID], rtol=0, atol=1e-12)


def test_a_row_alone_equals_the_row_in_a_batch(model: BertModel) -> None:
    rows = model(IDS, LENGTHS, token_types=SEGMENTS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = model(IDS[row : row + 1, :length], token_types=SEGMENTS[row : row + 1, :length])
        torch.testing.assert_close(alone[0], rows[row, :length], rtol=0, atol=1e-12)


def test_segments_and_order_matter(model: BertModel) -> None:
    rows = model(IDS, LENGTHS)
    assert not torch.allclose(model(IDS, LENGTHS, token_types=SEGMENTS), rows)
    assert not torch.allclose(model(IDS[:1].flip(1)).flip(1), rows[:1])


def test_quantities_hold_what_runs(model: BertModel) -> None:
    found = model.encoder.quantities(model.inputs(IDS, VALID, SEGMENTS), valid=VALID)
    torch.testing.assert_close(found["output"], model(IDS, LENGTHS, token_types=SEGMENTS), rtol=0, atol=1e-12)
    entry = found["entry_norm.output"]
    torch.testing.assert_close(entry, model.encoder.entry_norm(found["positioned"]), rtol=0, atol=1e-12)
    assert found["blocks.1.attention.weights"].shape == (3, 3, 4, 4)


def test_sequence_vectors_are_means_of_valid_rows(model: BertModel) -> None:
    rows = model(IDS, LENGTHS)
    means = torch.stack([rows[row, :length].mean(dim=0) for row, length in enumerate(LENGTHS.tolist())])
    torch.testing.assert_close(model.sequence_vectors(IDS, LENGTHS, unit_length=False), means)
    torch.testing.assert_close(masked_mean(rows, VALID), means)
    vectors = model.sequence_vectors(IDS, valid=VALID)
    torch.testing.assert_close(vectors, means / means.norm(dim=1, keepdim=True))
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(3, dtype=torch.float64))


def test_unit_vectors_of_zeros_are_zeros() -> None:
    assert torch.equal(unit_vectors(torch.tensor([[3.0, 4.0], [0.0, 0.0]])), torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_a_head_makes_it_a_sequence_model(model: BertModel) -> None:
    whole = SequenceModel(model.inputs, model.encoder, MeanHead(6, 2).double())
    out = whole(IDS, LENGTHS)
    assert torch.equal(out.rows, model(IDS, LENGTHS))
    assert out.logits.shape == (3, 2)
    assert whole.multiply_adds(4) == model.multiply_adds(4) + 12
    assert whole.state_size(4) == model.state_size(4) == 2 * 2 * 4 * 6
    assert whole.parameter_count() == model.parameter_count() + 14


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"inputs": torch.zeros(2, 7, dtype=torch.long)}, ShapeError, "steps must be at most max_positions=6, got 7."),
        ({"inputs": torch.tensor([[9]])}, DataError, "ids must be in [0, vocab=9), got 9 at index (0, 0)."),
        (
            {"inputs": IDS, "token_types": SEGMENTS[:1]},
            ShapeError,
            "token_types must be integer ids of shape (3, 4), got (1, 4) of int64.",
        ),
        (
            {"inputs": IDS, "token_types": SEGMENTS.double()},
            ShapeError,
            "token_types must be integer ids of shape (3, 4), got (3, 4) of float64.",
        ),
        ({"inputs": IDS, "lengths": LENGTHS, "valid": VALID}, ShapeError, "padding must be given by at most one of"),
    ],
)
def test_bad_inputs_are_refused(model: BertModel, arguments: dict, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        model(**arguments)
    assert said in str(caught.value)


def test_real_valued_inputs_are_refused() -> None:
    with pytest.raises(ShapeError) as caught:
        BertInput(9, 6)(torch.zeros(2, 3, 6))
    assert str(caught.value) == (
        "BertInput: inputs must be integer ids of shape (batch, time), got (2, 3, 6) of float32."
    )
