"""Packed documents: each gets what it gets alone, values and gradients, in every model; and the ledger sees how."""

import pytest
import torch
from torch import Tensor

import clew
from clew.errors import ConfigError, ShapeError
from clew.layers import PackedDocuments
from clew.models import SequenceModel, build
from reference.weights import randomized

CASES = {
    "rnn": {"layers": 2},
    "gru": {"layers": 2, "bidirectional": True},
    "lstm": {"layers": 2},
    "lstm both": {"bidirectional": True},
    "transformer": {"layers": 2, "heads": 2, "mlp": 12, "max_positions": 5},
    "transformer causal": {"layers": 2, "heads": 2, "causal": True, "norm": "post", "positions": "sinusoidal"},
}
DOCUMENTS = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 2], [5, 5, 3, 3, 3, 3, -1, -1], [-1, 0, 0, 1, 0, 1, 1, -1]])


def make(case: str) -> SequenceModel:
    return randomized(build(case.split()[0], **({"features": 3, "outputs": 2, "hidden": 8} | CASES[case])))


def inputs() -> Tensor:
    found = torch.randn(3, 8, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return found.masked_fill(DOCUMENTS.unsqueeze(-1) < 0, torch.nan)


def alone(values: Tensor) -> list[tuple[int, Tensor, Tensor]]:
    """Give each document as a row by itself, with where it stood."""
    found = []
    for row in range(3):
        for document in sorted(set(DOCUMENTS[row].tolist()) - {-1}):
            where = DOCUMENTS[row] == document
            found.append((row, where, values[row : row + 1, where]))
    return found


@pytest.mark.parametrize("case", CASES)
def test_each_document_gets_what_it_gets_alone(case: str) -> None:
    model, values = make(case), inputs()
    output = model(values, documents=DOCUMENTS)
    assert bool((output.rows[DOCUMENTS < 0] == 0).all())
    for row, where, document in alone(values):
        torch.testing.assert_close(output.logits[row, where], model(document).logits[0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_documents_alone(case: str) -> None:
    model, values = make(case), inputs().requires_grad_()
    scale = torch.randn(3, 8, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    real = DOCUMENTS >= 0
    (model(values, documents=DOCUMENTS).logits * scale)[real].sum().backward()
    found = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    at_inputs = values.grad.clone()
    model.zero_grad()
    values.grad = None
    sum((model(part).logits[0] * scale[row, where]).sum() for row, where, part in alone(values)).backward()
    torch.testing.assert_close(at_inputs, values.grad, atol=1e-11, rtol=1e-11)
    assert found.keys() == dict(model.named_parameters()).keys()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, atol=1e-11, rtol=1e-11, msg=name)


@pytest.mark.parametrize("case", CASES)
def test_one_document_a_row_is_no_packing(case: str) -> None:
    model = make(case)
    values, documents = inputs().nan_to_num()[:, :5], torch.tensor([[4] * 5, [0] * 3 + [-1] * 2, [1] * 5])
    packed = model(values, documents=documents)
    plain = model(values, valid=documents >= 0)
    assert torch.equal(packed.logits[documents >= 0], plain.logits[documents >= 0])
    directly = model.encoder(model.embed(values, documents >= 0), documents=documents).rows
    torch.testing.assert_close(directly, plain.rows, atol=1e-12, rtol=0)


def test_padding_is_what_either_says() -> None:
    model, values = make("gru"), inputs()
    valid = DOCUMENTS >= 0
    valid[0, 4] = False
    values[0, 4] = torch.nan
    documents = DOCUMENTS.clone()
    documents[0, 4] = -7
    expected = model(values, documents=documents).logits
    assert torch.equal(model(values, documents=DOCUMENTS, valid=valid).logits, expected)


@pytest.mark.parametrize("case", CASES)
def test_a_recorded_pass_over_documents_is_explained(case: str) -> None:
    model, values = make(case), inputs().nan_to_num()
    with clew.record(model) as ledger:
        (model(values, documents=DOCUMENTS).logits[DOCUMENTS >= 0] ** 2).sum().backward()
    assert max(distance.relative for distance in ledger.distances) < 1e-12
    if case.startswith("transformer"):
        weights = ledger["encoder.blocks.0.attention.weights"]
        assert {"document", "padding"} <= weights.hidden_by.keys()
        assert bool(((weights.value == 0) == weights.is_hidden()).all())
    else:
        assert ledger["encoder.by_document"].shape == (7, 4, 3)


def test_a_row_of_padding_alone_is_harmless() -> None:
    documents = torch.full((2, 3), -1)
    for case in CASES:
        output = make(case)(torch.full((2, 3, 3), torch.nan, dtype=torch.float64), documents=documents)
        assert bool((output.rows == 0).all())
    assert not PackedDocuments(documents).valid.any()


def test_what_cannot_be_packed_is_told() -> None:
    values = inputs().nan_to_num()
    for head in ("last", "mean", "class_token"):
        model = build("transformer", features=3, outputs=2, hidden=8, head=head).double()
        with pytest.raises(ConfigError, match="documents must be left out, or head='rows'"):
            model(values, documents=DOCUMENTS)
    vit = build("vit", image=4, patch=2, outputs=2, hidden=8)
    with pytest.raises(ConfigError, match="documents must be left out"):
        vit(torch.zeros(3, 1, 4, 4), documents=torch.zeros(3, 4, dtype=torch.long))
    model = make("gru")
    with pytest.raises(ShapeError, match=r"documents must be whole numbers of shape \(batch=3, time=8\)"):
        model(values, documents=DOCUMENTS.double())
    with pytest.raises(ConfigError, match="initial must be None with documents"):
        encoder = make("rnn").encoder
        encoder(values, documents=DOCUMENTS, initial=encoder(values).final)
    with pytest.raises(ShapeError, match="max_positions=5, got 6 at row 0"):
        make("transformer")(values[:1], documents=torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1]]))
