"""Training stopped anywhere goes on to the same bits; what is damaged says so."""

import pytest
import torch

from clew.data.batch import Batch
from clew.errors import ConfigError, RunError
from clew.models import build
from clew.tasks import NextToken
from clew.training import TrainConfig, TrainingError, TrainingState, load_weights, save_weights, train_epoch

CONFIG = TrainConfig(epochs=4, batch_size=8)


def data() -> tuple[Batch, Batch]:
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(0, 5, (40, 7), generator=generator)
    return Batch(tokens[:28]), Batch(tokens[28:])


def start(preset: str = "gru", dropout: float = 0.3) -> TrainingState:
    extra = {"heads": 2, "causal": True} if preset == "transformer" else {}
    model = build(preset, vocab=5, outputs=5, hidden=6, layers=2, dropout=dropout, **extra)
    return TrainingState.start(model, CONFIG, order_seed=0, dropout_seed=1)


@pytest.mark.parametrize("preset", ["rnn", "lstm", "transformer"])
def test_resuming_gives_the_same_bits_as_never_stopping(preset, tmp_path):
    train, validation = data()
    whole = start(preset)
    records = [train_epoch(whole, NextToken(5), train, validation, CONFIG) for _ in range(4)]
    stopped = start(preset)
    for _ in range(2):
        train_epoch(stopped, NextToken(5), train, validation, CONFIG)
    stopped.save(tmp_path / "last.safetensors")
    resumed = start(preset)
    resumed.restore(tmp_path / "last.safetensors")
    again = [train_epoch(resumed, NextToken(5), train, validation, CONFIG) for _ in range(2)]
    assert again == records[2:]
    weights = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(torch.equal(first, second) for first, second in weights)


def test_dropout_is_drawn_from_its_own_generator():
    train, validation = data()
    one, other = start(), start()
    other.dropout_generator.manual_seed(77)
    assert train_epoch(one, NextToken(5), train, validation, CONFIG) != train_epoch(
        other, NextToken(5), train, validation, CONFIG
    )


def test_training_leaves_the_global_generator_alone():
    train, validation = data()
    before = torch.get_rng_state()
    train_epoch(start(), NextToken(5), train, validation, CONFIG)
    assert torch.equal(before, torch.get_rng_state())


def test_a_loss_that_is_not_finite_is_an_error_with_its_place():
    train, validation = data()
    state = start()
    with torch.no_grad():
        state.model.head.linear.weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match=r"got a loss of nan .* in epoch 1, step 1\. Lower the learning rate\."):
        train_epoch(state, NextToken(5), train, validation, CONFIG)


@pytest.mark.parametrize("cut", [0, 10, 400])
def test_a_truncated_checkpoint_names_the_folder_to_delete(cut, tmp_path):
    path = tmp_path / "last.safetensors"
    start().save(path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(RunError, match=r"must be whole and of this run, got a damaged one .* Delete the folder"):
        start().restore(path)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    start("gru").save(tmp_path / "last.safetensors")
    with pytest.raises(RunError, match="of this run"):
        start("lstm").restore(tmp_path / "last.safetensors")


def test_selected_weights_come_back_with_their_epoch(tmp_path):
    state = start()
    save_weights(state.model.state_dict(), tmp_path / "best.safetensors", 3)
    other = start()
    with torch.no_grad():
        other.model.head.linear.weight.zero_()
    assert load_weights(other.model, tmp_path / "best.safetensors") == 3
    assert torch.equal(other.model.head.linear.weight, state.model.head.linear.weight)


def test_a_misspelt_key_is_refused_with_the_nearest_one():
    with pytest.raises(ConfigError) as error:
        TrainConfig.from_mapping({"learning_rat": 0.1})
    assert str(error.value) == "TrainConfig: unknown key 'learning_rat'. Did you mean 'learning_rate'?"


def test_all_wrong_values_are_told_at_once():
    with pytest.raises(ConfigError) as error:
        TrainConfig(epochs=0, batch_size=-1, learning_rate=0.0, clip_norm=0.0)
    assert all(name in str(error.value) for name in ("epochs", "batch_size", "learning_rate", "clip_norm"))


def test_clipping_bounds_the_step_that_plain_descent_would_take():
    train, validation = data()
    state = start(dropout=0.0)
    record = train_epoch(state, NextToken(5), train, validation, TrainConfig(epochs=1, batch_size=8, clip_norm=1e-6))
    assert record.clipped_fraction == 1.0
    norm = torch.cat([weight.grad.flatten() for weight in state.model.parameters()]).norm()
    assert norm <= 1e-6 * 1.001
