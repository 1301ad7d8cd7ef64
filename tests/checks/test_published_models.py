"""Verdicts on models that others wrote: right ones pass, known traps of the installed torch are told.

Numbers such as pytorch/pytorch #41508 name the public thread in which the fault was first reported.
"""

from functools import partial
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clew.checks import audit
from clew.checks.report import AuditReport

torch.set_num_threads(1)
DRAWS = torch.Generator().manual_seed(2)
VALUES = torch.randn(3, 6, 8, generator=DRAWS)
LENGTHS = torch.tensor([6, 4, 5])
VALID = torch.arange(6) < LENGTHS.unsqueeze(1)
IDS = torch.randint(2, 50, (2, 8), generator=DRAWS)
MASK = (torch.arange(8) < torch.tensor([[8], [6]])).long()
MASKED = {"input_ids": IDS, "attention_mask": MASK}


@pytest.fixture(autouse=True)
def as_a_user_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checked shapes: hundreds of passes each."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def slow(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def hidden(values: Tensor, valid: Tensor) -> Tensor:
    return values.masked_fill(~valid.unsqueeze(2), 0)


def later(time: int) -> Tensor:
    return torch.ones(time, time, dtype=torch.bool).triu(1)


def packed(model: nn.Module, values: Tensor, lengths: Tensor) -> Tensor:
    rows = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(model(rows)[0], batch_first=True, total_length=values.shape[1])[0]


@pytest.mark.parametrize("kind", [slow(nn.RNN), nn.GRU, slow(nn.LSTM)])
def test_a_packed_bidirectional_layer_passes_and_an_unpacked_one_reads_padding(kind: type[nn.Module]) -> None:
    """pytorch/pytorch #1811: without packing, the backward direction starts in padding."""
    model = kind(8, 5, batch_first=True, bidirectional=True)
    assert audit(model, VALUES, "full", lengths=LENGTHS, call=packed).failures == []
    unpacked = audit(model, VALUES, "full", lengths=LENGTHS, call=lambda m, x, lengths: m(x))
    assert unpacked.failures == ["padding_content"]


@pytest.mark.parametrize("kind", [slow(nn.RNN), slow(nn.GRU), slow(nn.LSTM)])
def test_recurrent_layers_go_on_from_their_state(kind: type[nn.Module]) -> None:
    """Two layers; the state is all that later steps need."""
    model = kind(8, 5, num_layers=2, batch_first=True)
    assert audit(model, VALUES, step=lambda model, new, state: model(new, state)).failures == []


@pytest.mark.slow
def test_the_last_column_is_padding_and_the_packed_state_is_not() -> None:
    """bentrevett/pytorch-sentiment-analysis #86: the last column of a padded row is no last step."""
    model = nn.GRU(8, 5, batch_first=True)
    last = lambda model, values, lengths: model(values)[0][:, -1]  # noqa: E731
    assert audit(model, VALUES, lengths=LENGTHS, call=last).failures == ["padding_content"]

    def state(model: nn.Module, values: Tensor, lengths: Tensor) -> Tensor:
        return model(pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False))[1][-1]

    assert audit(model, VALUES, lengths=LENGTHS, call=state).failures == []


@pytest.mark.slow
def test_rows_that_are_sorted_and_not_put_back_are_told() -> None:
    """pytorch/pytorch #4582 and its kin: sorted by length for packing, and never unsorted."""

    def call(model: nn.Module, values: Tensor, lengths: Tensor) -> Tensor:
        order = lengths.argsort(descending=True)
        return model(pack_padded_sequence(values[order], lengths[order], batch_first=True))[1][-1]

    lengths = torch.tensor([4, 6, 5])
    assert audit(nn.GRU(8, 5, batch_first=True), VALUES, lengths=lengths, call=call).failures == ["batch_order"]


@pytest.mark.slow
def test_states_of_layers_and_directions_must_be_transposed_before_they_are_joined() -> None:
    """pytorch/pytorch #34036: a view of (layers, batch, hidden) as (batch, ...) mixes rows."""
    model = nn.GRU(8, 5, num_layers=2, batch_first=True, bidirectional=True)
    viewed = lambda model, values, _: model(values)[1].view(len(values), -1)  # noqa: E731
    assert audit(model, VALUES, "full", call=viewed).failures == ["batch_mates"]
    moved = lambda model, values, _: model(values)[1].transpose(0, 1).flatten(1)  # noqa: E731
    assert audit(model, VALUES, "full", call=moved).failures == []


@pytest.mark.slow
def test_time_first_layers_mix_rows() -> None:
    """pytorch/pytorch #19675: time stands first unless batch_first is said."""
    assert "batch_mates" in audit(nn.GRU(8, 5), VALUES, "full", ordered=False).failures


@pytest.mark.slow
def test_a_hint_of_causality_alone_reads_ahead_on_the_fast_path() -> None:
    """pytorch/pytorch #96941: is_causal is a hint; without a mask the path of evaluation reads all steps."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def hinted(model: nn.Module, values: Tensor, _: None) -> Tensor:
        own = later(values.shape[1])
        return model(values, src_mask=own if torch.is_grad_enabled() else None, is_causal=torch.is_grad_enabled())

    assert audit(layer, VALUES, call=hinted, ordered=False).failures == ["future"]
    right = audit(layer, VALUES, call=lambda model, x, _: model(x, src_mask=later(x.shape[1])), ordered=False)
    assert right.failures == []


@pytest.mark.parametrize("weights", [slow(True), False])
def test_attention_gives_nan_in_an_empty_row_with_and_without_weights(weights: bool) -> None:
    """pytorch/pytorch #41508: a softmax over -inf alone; without weights too, on the fast path of no_grad."""
    layer = nn.MultiheadAttention(8, 2, batch_first=True)

    def attended(model: nn.Module, values: Tensor, valid: Tensor) -> Tensor:
        rows = hidden(values, valid)
        return model(rows, rows, rows, key_padding_mask=~valid, need_weights=weights)[0]

    report = audit(layer, VALUES, "full", valid=VALID, call=attended, ordered=False)
    assert report.failures == ["empty_row"]


@pytest.mark.slow
def test_queries_that_see_only_left_padding_give_nan_and_are_told_once() -> None:
    """pytorch/pytorch #103963: causal and padded on the left, the first queries read nothing; gradients follow."""

    def attended(model: nn.Module, values: Tensor, valid: Tensor) -> Tensor:
        rows = hidden(values, valid)
        return model(rows, rows, rows, key_padding_mask=~valid, attn_mask=later(values.shape[1]))[0]

    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    report = audit(layer, VALUES, valid=VALID.flip(1), call=attended, ordered=False)
    assert report.failures == ["empty_row"]
    assert "told under empty_row" in report["gradients"].reason


class Attention(nn.Module):
    """Causal attention of the installed torch, with earlier keys and values."""

    def __init__(self, is_aligned: bool) -> None:
        super().__init__()
        self.maps, self.is_aligned = nn.Linear(8, 24), is_aligned

    def forward(self, values: Tensor, past: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Any]:
        query, key, value = self.maps(values).chunk(3, dim=-1)
        if past is not None:
            key, value = torch.cat([past[0], key], dim=1), torch.cat([past[1], value], dim=1)
        return self.mix(query, key, value), (key, value)

    def mix(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if not self.is_aligned:
            return scaled_dot_product_attention(query, key, value, is_causal=True)
        sources = torch.arange(key.shape[1])
        visible = sources <= sources[-query.shape[1] :].unsqueeze(1)
        return scaled_dot_product_attention(query, key, value, attn_mask=visible)


@pytest.mark.parametrize(("is_aligned", "failures"), [(True, []), (False, ["cache"])])
def test_is_causal_with_a_cache_reads_the_first_keys_only(is_aligned: bool, failures: list[str]) -> None:
    """pytorch/pytorch #144858: the triangle is aligned with the first key, so that a new query sees one source."""
    step = lambda model, new, past: model(new, past)  # noqa: E731
    assert audit(Attention(is_aligned), VALUES, step=step, ordered=False).failures == failures


@pytest.mark.parametrize(("is_aligned", "failures"), [(True, []), (False, ["position"])])
def test_is_causal_for_the_last_queries_reads_less_than_their_boundary(is_aligned: bool, failures: list[str]) -> None:
    """pytorch/pytorch #108108: for three queries at six keys, what may be read and what is read differ."""

    class Last(Attention):
        def forward(self, values: Tensor) -> Tensor:
            query, key, value = self.maps(values).chunk(3, dim=-1)
            return self.mix(query[:, -3:], key, value)

    boundary = ~later(6)[-3:]
    assert audit(Last(is_aligned), VALUES, boundary, ordered=False).failures == failures


def encoder(nested: bool = True) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested)


def encoded(model: nn.Module, values: Tensor, valid: Tensor) -> Tensor:
    return model(hidden(values, valid), src_key_padding_mask=~valid)


@pytest.mark.slow
def test_an_encoder_passes_on_rows_padded_right_and_its_other_path_gives_nan_for_an_empty_row() -> None:
    """pytorch/pytorch #41508 again: nested tensors hide it, the fast path without them does not."""
    assert audit(encoder(), VALUES, "full", valid=VALID, call=encoded, ordered=False).failures == []
    plain = audit(encoder(nested=False), VALUES, "full", valid=VALID, call=encoded, ordered=False)
    assert plain.failures == ["empty_row"]


@pytest.mark.slow
def test_what_stands_in_padding_must_be_finite_for_an_encoder() -> None:
    """A hidden source has weight zero, and zero times NaN is NaN: only NaN and infinity in padding are read."""
    call = lambda model, values, valid: model(values, src_key_padding_mask=~valid)  # noqa: E731
    report = audit(encoder(), VALUES, "full", valid=VALID, call=call, ordered=False)
    assert report.failures == ["padding_content"] and "NaN in padding" in report["padding_content"].reason


@pytest.mark.slow
def test_a_mean_over_padded_rows_differs_between_the_paths_of_an_encoder() -> None:
    """pytorch/pytorch #86120: without gradients padded rows come out as zeros, with gradients they do not."""
    call = lambda model, values, valid: encoded(model, values, valid).mean(dim=1)  # noqa: E731
    report = audit(encoder(), VALUES, "full", valid=VALID, call=call, ordered=False)
    assert "padding_amount" in report.failures and set(report.failures) <= {"modes", "padding_amount"}


def test_an_inverted_padding_mask_is_named_as_such() -> None:
    """pytorch/pytorch #33763: True means hidden for src_key_padding_mask."""
    call = lambda model, values, valid: model(values, src_key_padding_mask=valid)  # noqa: E731
    valid = VALID & (torch.arange(6) < 5)  # every row has padding: else nothing at all is left to read
    report = audit(encoder(), VALUES, "full", valid=valid, call=call, ordered=False)
    assert "mask_polarity" in report.failures and "padding_content" not in report.failures


@pytest.mark.slow
def test_a_mask_that_is_dropped_when_weights_are_asked_for_is_found() -> None:
    """pytorch/pytorch #160064: asking for weights is another path."""

    class Asked(nn.Module):
        def __init__(self, keeps: bool) -> None:
            super().__init__()
            self.attention, self.keeps = nn.MultiheadAttention(8, 2, batch_first=True), keeps

        def forward(self, values: Tensor, need_weights: bool = False) -> Tensor:
            mask = later(values.shape[1]) if self.keeps or not need_weights else None
            return self.attention(values, values, values, attn_mask=mask, need_weights=need_weights)[0]

    assert audit(Asked(True), VALUES, ordered=False).failures == []
    future = audit(Asked(False), VALUES, ordered=False)
    assert future.failures == ["future"] and "need_weights=True" in future["future"].reason


def small_published(name: str, **more: Any) -> nn.Module:
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2}
    attention = {"num_attention_heads": 2, "intermediate_size": 32}
    if name == "gpt2":
        widths = {"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": 1, "eos_token_id": 1}
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(**{"n_positions": 32} | widths | more))
    if name == "bert":
        return transformers.BertModel(transformers.BertConfig(**sizes, **attention, **more))
    if name == "mamba":
        return transformers.MambaForCausalLM(transformers.MambaConfig(**sizes, state_size=4, time_step_rank=2))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **attention, **more))


def counted(model: nn.Module, inputs: dict[str, Tensor], _: None) -> Any:
    """Number the real steps, as position ids."""
    positions = (inputs["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)
    return model(**inputs, position_ids=positions)


@pytest.mark.parametrize(
    ("name", "boundary", "failures"),
    [("gpt2", "causal", ["padding_side"]), slow("bert", "full", ["padding_side"]), slow("llama", "causal", [])],
)
def test_published_attention_reads_its_mask(name: str, boundary: str, failures: list[str]) -> None:
    """huggingface/transformers #3021: GPT-2 and BERT count positions from the first column, padding or not; Llama's
    rotary positions are relative."""
    assert audit(small_published(name), MASKED, boundary, vocab=50).failures == failures


@pytest.mark.slow
@pytest.mark.parametrize(("name", "boundary"), [("gpt2", "causal"), ("bert", "full"), ("llama", "causal")])
def test_published_attention_passes_everything_with_counted_positions(name: str, boundary: str) -> None:
    """With position ids that number the real steps, the side of padding is nothing to them."""
    assert audit(small_published(name), MASKED, boundary, vocab=50, call=counted).failures == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "bert", "llama"])
def test_another_kernel_for_attention_changes_no_verdict(name: str) -> None:
    """Llama's softmax in float32 over the lowest number of float64 is NaN: an artefact of float64, and no finding."""
    model = small_published(name, attn_implementation="eager")
    assert audit(model, MASKED, "full" if name == "bert" else "causal", vocab=50, call=counted).failures == []


@pytest.mark.slow
def test_a_mask_that_is_dropped_or_inverted_is_told_for_bert() -> None:
    """ariecattan/SciCo #2: the mask never reaches the model; rasbt/LLMs-from-scratch #1061: it means the opposite."""
    dropped = lambda model, inputs, _: model(input_ids=inputs["input_ids"])  # noqa: E731
    assert audit(small_published("bert"), MASKED, "full", vocab=50, call=dropped).failures == ["padding_content"]
    inverted = lambda model, inputs, _: model(inputs["input_ids"], 1 - inputs["attention_mask"])  # noqa: E731
    assert audit(small_published("bert"), MASKED, "full", vocab=50, call=inverted).failures == ["mask_polarity"]


def cached(model: nn.Module, new: Any, past: Any, **more: Any) -> tuple[Tensor, Any]:
    result = model(input_ids=new, past_key_values=past, use_cache=True, **more)
    return result.logits, result.past_key_values


@pytest.mark.parametrize("name", [slow("gpt2"), slow("llama")])
def test_published_caches_give_the_full_pass(name: str) -> None:
    """In chunks of one and of several, and up to the longest input that a full pass takes."""
    assert audit(small_published(name), IDS, vocab=50, step=cached).failures == []
    if name == "gpt2":
        assert audit(small_published(name, n_positions=9), IDS, vocab=50, step=cached)["cache"].status == "passed"


@pytest.mark.slow
def test_positions_that_start_again_in_each_chunk_are_told() -> None:
    """huggingface/transformers #18478 and its kin: a chunk's positions must go on from the cache."""
    again = lambda model, new, past: cached(model, new, past, position_ids=torch.arange(new.shape[1])[None])  # noqa: E731
    assert audit(small_published("gpt2"), IDS, vocab=50, step=again).failures == ["cache"]


@pytest.mark.slow
def test_labels_are_shifted_once_by_whoever_shifts_them() -> None:
    """huggingface/transformers #27517: published causal losses shift inside; shifted labels are then shifted twice."""
    inside = lambda outputs, labels: cross_entropy(outputs[:, :-1].flatten(0, 1), labels[:, 1:].flatten())  # noqa: E731
    plain = lambda outputs, labels: cross_entropy(outputs.flatten(0, 1), labels.flatten())  # noqa: E731
    audited = partial(audit, small_published("gpt2"), vocab=50)
    assert audited(IDS, loss=inside, targets=IDS).failures == []
    assert audited(IDS[:, :-1], loss=plain, targets=IDS[:, 1:]).failures == []
    assert audited(IDS, loss=plain, targets=IDS).failures == ["target_shift"]
    assert audited(IDS[:, :-1], loss=inside, targets=IDS[:, 1:]).failures == ["target_shift"]


def test_a_state_space_model_reads_its_mask_on_both_sides() -> None:
    """huggingface/transformers #31540 is repaired in the installed version: padding is zeroed before and after the
    short convolution, so that left padding leaves the state where it was."""
    report = audit(small_published("mamba"), MASKED, vocab=50)
    assert report.failures == []
    assert report["padding_side"].status == report["padding_content"].status == "passed"


@pytest.mark.slow
def test_a_state_space_cache_takes_one_step_at_a_time() -> None:
    """huggingface/transformers #46190: for a chunk of several the installed scan starts from an empty state again."""

    def step(model: nn.Module, new: Tensor, past: Any) -> tuple[Tensor, Any]:
        result = model(input_ids=new, cache_params=past, use_cache=True)
        return result.logits, result.cache_params

    def single(model: nn.Module, new: Tensor, past: Any) -> tuple[Tensor, Any]:
        outputs = []
        for place in range(new.shape[1]):
            logits, past = step(model, new[:, place : place + 1], past)
            outputs.append(logits)
        return torch.cat(outputs, dim=1), past

    report = audit(small_published("mamba"), IDS, vocab=50, step=step)
    assert report.failures == ["cache"] and "chunks of 3" in report["cache"].reason
    assert audit(small_published("mamba"), IDS, vocab=50, step=single).failures == []


def wrapped(kind: str, **more: Any) -> nn.Module:
    """A small model of the package x-transformers."""
    package = pytest.importorskip("x_transformers")
    torch.manual_seed(0)
    layers = getattr(package, kind)(dim=16, depth=2, heads=2, attn_dim_head=8, **more)
    absolute = not more.keys() & {"rotary_pos_emb", "alibi_pos_bias"}
    return package.TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers, use_abs_pos_emb=absolute)


def masked(model: nn.Module, ids: Tensor, valid: Tensor) -> Tensor:
    return model(ids, mask=valid)


def go_on(model: nn.Module, new: Tensor, past: Any) -> tuple[Tensor, Any]:
    """This package wants all ids so far, and to be told how many of them are new."""
    ids, cache = (new, None) if past is None else (torch.cat([past[0], new], dim=1), past[1])
    outputs, cache = model(ids, return_intermediates=True, cache=cache, cache_age=new.shape[1])
    return outputs[:, -new.shape[1] :], (ids, cache)


def of_wrapped(kind: str, valid: Tensor, **more: Any) -> AuditReport:
    boundary = "causal" if kind == "Decoder" else "full"
    return audit(wrapped(kind, **more), IDS, boundary, valid=valid, call=masked, vocab=50)


@pytest.mark.parametrize("more", [{}, slow({"attn_flash": True}), slow({"rotary_pos_emb": True})])
def test_a_decoder_of_x_transformers_passes_with_its_cache(more: dict) -> None:
    """lucidrains/x-transformers #187 is repaired in the installed version: chunks of several give the full pass."""
    assert audit(wrapped("Decoder", **more), IDS, vocab=50, step=go_on).failures == []


@pytest.mark.slow
def test_shifted_tokens_of_x_transformers_are_forgotten_by_its_cache() -> None:
    """A shift by one step reads the step before, which its cache of keys and values does not hold."""
    report = audit(wrapped("Decoder", shift_tokens=1), IDS, vocab=50, step=go_on)
    assert report.failures == ["cache"]


@pytest.mark.slow
@pytest.mark.parametrize("valid", [MASK.bool(), MASK.bool().flip(1)], ids=["right", "left"])
@pytest.mark.parametrize("kind", ["Decoder", "Encoder"])
def test_x_transformers_read_their_mask(kind: str, valid: Tensor) -> None:
    """Learned positions count from the first column, rotary ones are relative; the mask is kept by both."""
    assert of_wrapped(kind, valid).failures == ["padding_side"]
    assert of_wrapped(kind, valid, rotary_pos_emb=True).failures == []
