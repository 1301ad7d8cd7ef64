"""Models as strangers bring them: convolutions, norms over time, sums, states, two inputs, narrow number types."""

from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from checks.models import Recurrent
from clew.checks import audit
from clew.errors import AuditError

torch.set_num_threads(1)
DRAWS = torch.Generator().manual_seed(1)
VALUES = torch.randn(3, 7, 4, generator=DRAWS)
SOURCE = torch.randn(3, 5, 8, generator=DRAWS)
TARGET = torch.randn(3, 7, 8, generator=DRAWS)


@pytest.fixture(autouse=True)
def as_a_user_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checked shapes: hundreds of passes each."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


class Convolutions(nn.Module):
    """Two dilated convolutions, padded by so many kernel steps on the left and on the right."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.convolutions = nn.ModuleList(nn.Conv1d(4, 4, 3, dilation=dilation) for dilation in (1, 2))

    def forward(self, values: Tensor) -> Tensor:
        rows = values.mT
        for layer in self.convolutions:
            around = (self.left * layer.dilation[0], self.right * layer.dilation[0])
            rows = rows + layer(functional.pad(rows, around)).tanh()
        return rows.mT


def test_a_causal_convolution_passes_and_one_of_equal_padding_reads_ahead() -> None:
    """locuslab/TCN #8: padding on both sides is no causal convolution."""
    assert audit(Convolutions(2, 0), VALUES).failures == []
    future = audit(Convolutions(1, 1), VALUES)
    assert future.failures == ["future"] and future["future"].module == "convolutions.0"
    assert audit(Convolutions(1, 1), VALUES, "full").failures == []


def again(model: nn.Module, new: Tensor, seen: Tensor | None) -> tuple[Tensor, Tensor]:
    """Compute everything again and give the last outputs."""
    seen = new if seen is None else torch.cat([seen, new], dim=1)
    return model(seen)[:, -new.shape[1] :], seen


@pytest.mark.slow
def test_a_convolution_must_remember_in_every_chunk() -> None:
    """facebookresearch/fairseq #3908: an incremental convolution that is right for chunks of one step only."""

    def single(model: nn.Module, new: Tensor, seen: Tensor | None) -> tuple[Tensor, Tensor]:
        outputs, joined = again(model, new, seen)
        return (outputs if seen is None else outputs[:, -1:].expand_as(outputs)), joined

    model = Convolutions(2, 0)
    assert audit(model, VALUES, step=again).failures == []
    assert audit(model, VALUES, step=lambda model, new, _: (model(new), None)).failures == ["cache"]
    report = audit(model, VALUES, step=single)
    assert report.failures == ["cache"] and "chunks of 3" in report["cache"].reason


class Normed(Recurrent):
    def __init__(self, norm: nn.Module) -> None:
        super().__init__(4, 5)
        self.norm = norm

    def before(self, rows: Tensor) -> Tensor:
        return self.norm(rows.mT).mT


def test_batch_statistics_are_a_remark_if_they_are_of_training_only() -> None:
    """Running statistics in evaluation pass; without them other rows and later steps move a row: two faults."""
    right = audit(Normed(nn.BatchNorm1d(5)), VALUES)
    assert right.failures == []
    assert right["future"].remarks and right["batch_mates"].remarks
    wrong = audit(Normed(nn.BatchNorm1d(5, track_running_stats=False)), VALUES)
    assert wrong.failures == ["batch_mates", "future"]


@pytest.mark.slow
@pytest.mark.parametrize("norm", [nn.InstanceNorm1d(5, affine=True), nn.GroupNorm(1, 5)], ids=["instance", "group"])
def test_a_norm_over_time_reads_ahead(norm: nn.Module) -> None:
    """Its mean and variance are taken over all steps, later ones too; the norm is where it shows."""
    report = audit(Normed(norm), VALUES)
    assert report.failures == ["future"] and report["future"].module == "norm"


class LinearAttention(nn.Module):
    """Running sums of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Linear(4, 12)

    def forward(self, values: Tensor, sums: tuple[Tensor, Tensor] | None = None) -> Any:
        query, key, value = self.maps(values).chunk(3, dim=-1)
        query, key = functional.elu(query) + 1, functional.elu(key) + 1
        products, keys = (key.unsqueeze(3) * value.unsqueeze(2)).cumsum(dim=1), key.cumsum(dim=1)
        if sums is not None:
            products, keys = products + sums[0], keys + sums[1]
        mixed = (query.unsqueeze(2) @ products).squeeze(2) / (query * keys).sum(dim=2, keepdim=True)
        return mixed, (products[:, -1:], keys[:, -1:])


def test_running_sums_pass_with_their_sums_as_cache() -> None:
    """A running sum moves by rounding alone when later steps change."""
    step = lambda model, new, sums: model(new, sums)  # noqa: E731
    assert audit(LinearAttention(), VALUES, step=step, ordered=False).failures == []


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, values: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.last(self.first(values).tanh().cumsum(dim=1)).float()


@pytest.mark.parametrize("dtype", [torch.bfloat16, pytest.param(torch.float16, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kind", [Recurrent, LinearAttention, pytest.param(lambda: Convolutions(2, 0), marks=pytest.mark.slow)]
)
def test_narrow_weights_do_not_cry_wolf(kind: Any, dtype: torch.dtype) -> None:
    """Rounding of 16 bits is no leak (huggingface/transformers #25420); the judgement is made in float64."""
    report = audit(kind().to(dtype), VALUES.to(dtype), ordered=kind is not LinearAttention)
    assert report.failures == [] and report.power.was_seen is True


@pytest.mark.slow
def test_a_leak_in_narrow_weights_is_still_seen() -> None:
    assert audit(Convolutions(1, 1).half(), VALUES.half()).failures == ["future"]


@pytest.mark.slow
def test_where_narrow_arithmetic_hides_a_small_leak_the_report_says_so() -> None:
    report = audit(Autocast(), VALUES, ordered=False)
    assert report.failures == [] and report.power.was_seen is False


def decoded(model: nn.Module, inputs: dict[str, Tensor], _: None) -> Tensor:
    rows = inputs["inputs_embeds"]
    mask = nn.Transformer.generate_square_subsequent_mask(rows.shape[1]).to(rows)
    return model(inputs["source"], rows, tgt_mask=mask)


def test_an_encoder_and_a_decoder_are_judged_on_the_input_that_is_named() -> None:
    """Another entry belongs to the rows: it is read freely, goes along with its row, and is never varied."""
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    inputs = {"inputs_embeds": TARGET, "source": SOURCE}
    report = audit(model, inputs, call=decoded, ordered=False)
    assert report.failures == [] and report.precision == "float64"
    unmasked = lambda model, inputs, _: model(inputs["source"], inputs["inputs_embeds"])  # noqa: E731
    assert audit(model, inputs, call=unmasked, ordered=False).failures == ["future"]
    with pytest.raises(AuditError, match="got 2 such in"):
        audit(model, {"source": SOURCE, "target": TARGET})


class WithLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.recurrent = nn.Embedding(9, 4), nn.GRU(4, 5, batch_first=True)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        rows, _ = self.recurrent(self.table(ids))
        return rows.mean(), rows


@pytest.mark.slow
def test_a_tuple_that_begins_with_a_loss_needs_a_word() -> None:
    ids = torch.randint(0, 9, (3, 6), generator=DRAWS)
    with pytest.raises(AuditError, match=r"without axes. Name the tensor to judge with outputs="):
        audit(WithLoss(), ids)
    assert audit(WithLoss(), ids, outputs=lambda result: result[1]).failures == []
    assert audit(WithLoss(), ids.int(), outputs=lambda result: result[1]).failures == []


class Frames(nn.Module):
    """Each step is a small picture."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.recurrent = nn.Conv2d(2, 3, 3, padding=1), nn.GRU(48, 5, batch_first=True)

    def forward(self, frames: Tensor) -> Tensor:
        batch, time = frames.shape[:2]
        return self.recurrent(self.convolution(frames.flatten(0, 1)).reshape(batch, time, -1))[0]


@pytest.mark.slow
def test_steps_of_any_shape_are_read() -> None:
    frames = torch.randn(3, 5, 2, 4, 4, generator=DRAWS)
    assert audit(Frames(), frames).failures == []
    through_time = nn.Conv3d(2, 3, 3, padding=1)
    call = lambda model, frames, _: model(frames.transpose(1, 2)).transpose(1, 2)  # noqa: E731
    assert audit(through_time, frames, call=call, ordered=False).failures == ["future"]
    assert audit(lambda numbers: numbers.cumsum(dim=1).tanh(), VALUES[:, :, 0], ordered=False).failures == []


class Carrying(Recurrent):
    """Keeps its state in a buffer from call to call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(1, 1, 5))

    def forward(self, values: Tensor) -> Tensor:
        state = self.state.expand(1, len(values), 5).contiguous()
        rows, state = self.recurrent(self.first(values), state)
        self.state = state.mean(dim=1, keepdim=True).detach()
        return rows


@pytest.mark.slow
def test_a_state_in_a_buffer_is_told_unless_it_is_meant() -> None:
    """karpathy/char-rnn #78: a state that is kept from one call changes the next."""
    assert audit(Carrying(), VALUES).failures == ["state_carry"]
    assert audit(Carrying(), VALUES, stateful=True).failures == []


@pytest.mark.slow
def test_one_output_a_row_has_no_time_axis() -> None:
    class Last(Recurrent):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(values)[:, -1]

    report = audit(Last(), VALUES)
    assert report.failures == [] and report.influence.shape == (1, 7)
