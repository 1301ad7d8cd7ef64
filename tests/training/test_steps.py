"""A step: accumulated parts give the gradient of the whole, rates follow the schedule, stopping has its reasons."""

import math

import pytest
import torch
from torch import Tensor

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.errors import ConfigError, DataError
from clew.models import build
from clew.tasks import Classification, NextToken, Tagging
from clew.training import TrainConfig, TrainingState, optimizers, train_epoch, weighted

VALID = torch.arange(6) < torch.tensor([6, 2, 5, 3, 6, 4, 2, 3]).unsqueeze(1)


def ragged(targets: Tensor) -> Batch:
    generator = torch.Generator().manual_seed(2)
    return Batch(torch.randn(8, 6, 3, generator=generator), VALID, targets)


def tagged() -> Batch:
    tags = torch.randint(0, 3, (8, 6), generator=torch.Generator().manual_seed(4))
    tags[2] = -1
    tags[6] = -1
    return ragged(tags)


def classified() -> Batch:
    return ragged(torch.tensor([0, 1, -1, 2, 2, 2, -1, 0]))


def after_one_epoch(task, batch, head="rows", preset="gru", **settings):
    """Train one step of all eight sequences in double precision; give the weights and the record."""
    config = TrainConfig(epochs=1, batch_size=8, group_by_length=False, **settings)
    model = build(preset, features=3, outputs=3, hidden=5, head=head).double()
    state = TrainingState.start(model, config, order_seed=0, dropout_seed=0)
    double = Batch(batch.inputs.double(), batch.valid, batch.targets)
    record = train_epoch(state, task, double, double, config)
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    return torch.cat([gradient.flatten() for gradient in gradients]), record


@pytest.mark.parametrize("parts", [2, 3, 8])
@pytest.mark.parametrize("class_weights", [None, [0.5, 1.0, 4.0]])
def test_accumulated_parts_give_the_gradient_of_the_whole_step(parts, class_weights):
    """Rows 2 and 6 have no target: with eight parts two of them are empty."""
    for task, batch, head in (
        (Tagging(3, class_weights=class_weights), tagged(), "rows"),
        (Classification(3, class_weights=class_weights), classified(), "last"),
    ):
        whole, record = after_one_epoch(task, batch, head)
        split, again = after_one_epoch(task, batch, head, accumulate=parts)
        assert torch.allclose(split, whole, rtol=1e-10, atol=1e-12)
        assert again.train_loss_nats == pytest.approx(record.train_loss_nats, abs=1e-12)
        assert again.clipped_fraction == record.clipped_fraction


def test_the_mean_of_the_means_of_the_parts_would_be_another_gradient():
    """The parts hold different numbers of targets, so that the weighting of the test above matters."""
    weights = [
        NextToken(3).loss_weight(Batch(torch.zeros(1, 6, dtype=torch.int64), VALID[row : row + 1])) for row in (0, 1)
    ]
    assert weights == [5.0, 1.0]


def test_clipping_looks_at_the_whole_step():
    whole, _ = after_one_epoch(Tagging(3), tagged(), clip_norm=1e-3)
    split, record = after_one_epoch(Tagging(3), tagged(), clip_norm=1e-3, accumulate=4)
    assert record.clipped_fraction == 1.0
    assert torch.allclose(split, whole, rtol=1e-10, atol=1e-15)
    assert split.norm() == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_step_without_any_target_says_where(parts):
    batch = tagged()
    empty = Batch(batch.inputs, batch.valid, torch.full((8, 6), -1))
    with pytest.raises(DataError) as caught:
        after_one_epoch(Tagging(3), empty, accumulate=parts)
    assert str(caught.value) == (
        "training: scored targets of a step must be at least 1, got none in epoch 1, step 1, of 8 sequences. "
        "Drop sequences without a target, or take larger batches."
    )


def rates(**settings) -> list[float]:
    """Give the rate of each of the 2 x 4 steps."""
    config = TrainConfig(epochs=2, batch_size=2, learning_rate=0.5, **settings)
    state = TrainingState.start(build("rnn", features=3, outputs=3, hidden=4), config, 0, 0)
    found: list[float] = []

    def note() -> bool:
        found.append(state.optimizer.param_groups[-1]["lr"])
        return False

    for _ in range(2):
        train_epoch(state, Tagging(3), ragged(torch.zeros(8, 6, dtype=torch.int64)), tagged(), config, note)
    return found


def test_warm_up_and_decay_go_by_optimizer_steps():
    assert rates() == [0.5] * 8
    assert rates(warmup_steps=4) == [0.125, 0.25, 0.375, 0.5] + [0.5] * 4
    assert rates(decay="linear") == pytest.approx([0.5 * (8 - step) / 8 for step in range(8)])
    cosine = [0.25, 0.5, *(0.25 * (1 + math.cos(math.pi * step / 6)) for step in range(6))]
    assert rates(decay="cosine", warmup_steps=2) == pytest.approx(cosine)
    assert rates(decay="cosine", accumulate=2) == rates(decay="cosine")


def test_weight_decay_shrinks_matrices_and_leaves_biases():
    config = TrainConfig(weight_decay=0.5, learning_rate=0.1)
    model = build("gru", features=3, outputs=3, hidden=4)
    state = TrainingState.start(model, config, 0, 0)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    state.optimizer.step()
    for name, weight in model.named_parameters():
        factor = 0.95 if weight.ndim == 2 else 1.0
        assert torch.allclose(weight, factor * before[name]), name


def test_patience_stops_after_epochs_without_a_better_value(monkeypatch):
    config = TrainConfig(epochs=9, batch_size=8, patience=2)
    state = TrainingState.start(build("rnn", features=3, outputs=3, hidden=4), config, 0, 0)
    values = iter([3.0, 2.0, 2.5, 2.0, 1.0])
    task = Tagging(3)
    monkeypatch.setattr(task, "monitor", lambda model, batch: {"loss_nats": next(values)})
    records = []
    while not state.progress.stopped:
        records.append(train_epoch(state, task, tagged(), tagged(), config))
    assert [record.stopped for record in records] == ["", "", "", "patience"]
    assert state.progress.best_epoch == 2


def test_a_step_after_which_nobody_wants_to_go_on_ends_the_epoch():
    config = TrainConfig(epochs=3, batch_size=2)
    state = TrainingState.start(build("rnn", features=3, outputs=3, hidden=4), config, 0, 0)
    data = SequenceData.from_batch(tagged())
    record = train_epoch(state, Tagging(3), data, data, config, lambda: state.progress.step == 2)
    assert (record.stopped, record.steps, record.epoch) == ("max_minutes", 2, 1)
    assert 0 < record.tokens_seen < int(VALID.sum())


def test_balanced_classes_count_alike():
    targets = torch.tensor([0, 0, 0, 0, 1, 1, 2, -1])
    task = weighted(Classification(3), ragged(targets), TrainConfig(class_weights="balanced"))
    assert isinstance(task, Classification) and task.class_weights is not None
    totals = [weight * count for weight, count in zip(task.class_weights, (4, 2, 1), strict=True)]
    assert totals == pytest.approx([7 / 3] * 3)
    assert weighted(Classification(3), ragged(targets), TrainConfig()).config()["class_weights"] is None


def test_balanced_weights_are_refused_where_they_mean_nothing():
    config = TrainConfig(class_weights="balanced")
    with pytest.raises(ConfigError, match="class_weights must be left out for a task without classes"):
        weighted(NextToken(3), Batch(torch.zeros(2, 3, dtype=torch.int64)), config)
    with pytest.raises(ConfigError, match="class_weights must be given once"):
        weighted(Classification(3, class_weights=[1.0, 2.0, 3.0]), classified(), config)


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_mixed_precision_is_refused_on_a_cpu(precision):
    with pytest.raises(ConfigError) as caught:
        TrainingState.start(build("rnn", features=3, outputs=3, hidden=4), TrainConfig(precision=precision), 0, 0)
    assert str(caught.value) == (
        f"TrainConfig: precision must be 'float32' on a CPU, got '{precision}'. Mixed precision needs a GPU."
    )


def test_mixed_precision_computes_the_loss_in_the_short_type(monkeypatch):
    """The refusal is lifted, so that the path that a GPU takes runs here."""
    config = TrainConfig(epochs=1, batch_size=8, precision="bfloat16")
    model = build("transformer", features=3, outputs=3, hidden=4)
    plain = TrainConfig(epochs=1, batch_size=8)
    state = TrainingState.start(model, plain, 0, 0)
    kinds = []
    model.head.register_forward_hook(lambda module, given, logits: kinds.append(logits.dtype))
    assert not optimizers.mixed_precision(state.device, plain)._enabled
    record = train_epoch(state, Tagging(3), tagged(), tagged(), config)
    assert kinds[0] == torch.bfloat16 and kinds[-1] == torch.float32
    assert record.train_loss_nats == pytest.approx(math.log(3), abs=0.5)
    assert all(weight.dtype == torch.float32 for weight in model.parameters())
