"""Verdicts on models that others wrote: right ones pass, known traps of the installed torch are told."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import clew
from clew.checks import audit

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
DRAWS = torch.Generator().manual_seed(2)
VALUES = torch.randn(3, 6, 8, generator=DRAWS)
IDS = torch.randint(0, 11, (3, 7), generator=DRAWS)
LENGTHS = torch.tensor([6, 4, 5])
VALID = torch.arange(6) < LENGTHS.unsqueeze(1)


@pytest.mark.parametrize("preset", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("more", [{}, {"head": "last"}, {"bidirectional": True}])
def test_recurrent_models_of_the_project_pass(preset: str, more: dict) -> None:
    if more.get("bidirectional") and preset != "gru":
        pytest.skip("one cell is enough for both directions")
    model = clew.models.build(preset, vocab=11, outputs=5, hidden=6, **more)
    valid = torch.arange(7) < torch.tensor([[7], [4], [5]])
    call = lambda model, ids, valid: model(ids, valid=valid)  # noqa: E731
    boundary = "full" if more.get("bidirectional") else "causal"
    report = audit(model, IDS, boundary, valid=valid, call=call)
    assert report.failures == []
    assert report["padding_side"].status == report["empty_row"].status == "passed"


@pytest.mark.parametrize("more", [{"causal": True}, {"head": "mean"}, {"head": "class_token"}, {"norm": "post"}])
def test_transformers_of_the_project_pass(more: dict) -> None:
    model = clew.models.build("transformer", vocab=11, outputs=5, hidden=8, heads=2, **more)
    report = audit(model, IDS, "causal" if more.get("causal") else "full", lengths=torch.tensor([7, 4, 5]))
    assert report.failures == []


def test_real_values_with_nan_in_padding_do_no_harm_to_the_project() -> None:
    model = clew.models.build("transformer", features=8, outputs=5, hidden=8, heads=2)
    assert audit(model, VALUES, "full", valid=VALID, call=lambda m, x, v: m(x, valid=v)).failures == []


def packed(model: nn.Module, values: Tensor, lengths: Tensor) -> Tensor:
    rows = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(model(rows)[0], batch_first=True, total_length=values.shape[1])[0]


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_packed_bidirectional_layer_passes_and_an_unpacked_one_reads_padding(kind: type[nn.Module]) -> None:
    model = kind(8, 5, batch_first=True, bidirectional=True)
    assert audit(model, VALUES, "full", lengths=LENGTHS, call=packed).failures == []
    unpacked = audit(model, VALUES, "full", lengths=LENGTHS, call=lambda m, x, lengths: m(x))
    assert unpacked.failures == ["padding_content"]


def test_time_first_layers_mix_rows() -> None:
    assert "batch_mates" in audit(nn.GRU(8, 5), VALUES, "full", ordered=False).failures


def test_a_hint_of_causality_alone_reads_ahead_on_the_fast_path() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask

    def hinted(model: nn.Module, values: Tensor, _: None) -> Tensor:
        own = mask(values.shape[1]).to(values)
        return model(values, src_mask=own if torch.is_grad_enabled() else None, is_causal=torch.is_grad_enabled())

    assert audit(layer, VALUES, call=hinted, ordered=False).failures == ["future"]
    right = audit(layer, VALUES, call=lambda m, x, _: m(x, src_mask=mask(x.shape[1]).to(x)), ordered=False)
    assert right.failures == []


def test_attention_asked_for_weights_gives_nan_in_an_empty_row() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)

    def attended(model: nn.Module, values: Tensor, valid: Tensor, weights: bool) -> Tensor:
        values = values.masked_fill(~valid.unsqueeze(2), 0)
        return model(values, values, values, key_padding_mask=~valid, need_weights=weights)[0]

    with_weights = audit(layer, VALUES, "full", valid=VALID, call=lambda *given: attended(*given, True), ordered=False)
    assert with_weights.failures == ["empty_row"]


def small_published(name: str) -> nn.Module:
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    if name == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1
        )
        return transformers.GPT2LMHeadModel(config)
    if name == "bert":
        return transformers.BertModel(transformers.BertConfig(**sizes, intermediate_size=32))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, intermediate_size=32))


@pytest.mark.parametrize(
    ("name", "boundary", "failures"),
    [("gpt2", "causal", ["padding_side"]), ("bert", "full", ["padding_side"]), ("llama", "causal", [])],
)
def test_published_architectures(name: str, boundary: str, failures: list[str]) -> None:
    """Without position ids, GPT-2 and BERT count positions from the first column: padding on the left moves them."""
    ids = torch.randint(2, 50, (2, 8), generator=torch.Generator().manual_seed(3))
    mask = (torch.arange(8) < torch.tensor([[8], [6]])).long()
    report = audit(small_published(name), {"input_ids": ids, "attention_mask": mask}, boundary, vocab=50)
    assert report.failures == failures
