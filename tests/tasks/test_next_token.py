from collections.abc import Callable
from math import log

import pytest
import torch
from torch import Tensor, nn

from clew.data import Batch
from clew.errors import ConfigError, DataError, ShapeError
from clew.tasks import NextToken, evaluation_mode

VOCAB = 6
IDS = torch.tensor([[0, 1, 2, 3, 4], [3, 4, 5, 0, 1], [5, 0, 1, 2, 3]])


def random_model(predictor: Callable[..., nn.Module]) -> nn.Module:
    table = torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(0))
    model = predictor(lambda ids: model.weight[ids.clamp(0, VOCAB - 1)])
    model.weight = nn.Parameter(table)
    return model


def test_targets_are_shifted_by_one_step_once() -> None:
    aligned = NextToken(7).align(Batch(torch.tensor([[4, 2, 0, 1, 6, 2, 5]])))
    assert aligned.inputs.tolist() == [[4, 2, 0, 1, 6, 2]]
    assert aligned.targets.tolist() == [[2, 0, 1, 6, 2, 5]]
    assert aligned.valid is None and aligned.scored is None


@pytest.mark.parametrize(
    ("valid", "scored"),
    [([1, 1, 1, 0, 0], [1, 1, 0, 0]), ([0, 0, 1, 1, 1], [0, 0, 1, 1]), ([1, 1, 0, 1, 1], [1, 0, 0, 1])],
)
def test_a_target_counts_where_it_and_its_input_are_real(valid: list[int], scored: list[int]) -> None:
    aligned = NextToken(VOCAB).align(Batch(IDS[:1], torch.tensor([valid]).bool()))
    assert aligned.scored is not None and aligned.scored[0].int().tolist() == scored
    assert aligned.valid is not None and aligned.valid[0].int().tolist() == valid[:-1]


def test_a_perfect_and_a_uniform_predictor_score_as_known(
    uniform: Callable[[int], nn.Module], counting: Callable[[int], nn.Module]
) -> None:
    task, batch = NextToken(VOCAB), Batch(IDS)
    assert task.evaluate(counting(VOCAB), batch) == {"loss_nats": pytest.approx(0.0, abs=1e-12), "accuracy": 1.0}
    assert task.evaluate(uniform(VOCAB), batch)["loss_nats"] == pytest.approx(log(VOCAB))
    assert task.loss(uniform(VOCAB), batch).item() == pytest.approx(log(VOCAB))


def test_loss_is_the_sum_over_scored_targets_divided_by_their_number(predictor: Callable[..., nn.Module]) -> None:
    model, task = random_model(predictor), NextToken(VOCAB)
    valid = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 0, 1, 1], [1, 1, 1, 0, 0]]).bool()
    log_probabilities = model.weight.log_softmax(-1)
    terms = [
        -log_probabilities[IDS[row, step], IDS[row, step + 1]].item()
        for row in range(3)
        for step in range(4)
        if valid[row, step] and valid[row, step + 1]
    ]
    batch = Batch(IDS, valid)
    assert len(terms) == 7 == task.scored_targets(batch)
    assert task.input_positions(batch) == 4 + 1 + 3
    assert task.loss(model, batch).item() == pytest.approx(sum(terms) / 7, abs=1e-6)
    assert task.evaluate(model, batch)["loss_nats"] == pytest.approx(sum(terms) / 7, abs=1e-6)
    parts = [batch.select(torch.tensor([row])) for row in range(3)]
    weighted = sum(task.loss(model, part) * task.scored_targets(part) for part in parts) / 7
    torch.testing.assert_close(weighted, task.loss(model, batch))


def test_evaluation_is_the_same_in_every_chunk(predictor: Callable[..., nn.Module]) -> None:
    model, task = random_model(predictor), NextToken(VOCAB)
    batch = Batch(IDS, torch.tensor([[1, 1, 1, 1, 1], [0, 0, 0, 0, 1], [1, 1, 0, 0, 0]]).bool())
    whole = task.evaluate(model, batch)
    for chunk in (1, 2, 3, 100):
        assert task.evaluate(model, batch, chunk) == pytest.approx(whole, abs=1e-12)
    with pytest.raises(ConfigError, match="chunk must be at least 1, got 0"):
        task.evaluate(model, batch, 0)


@pytest.mark.parametrize("garbage", [-100, -1, 999])
def test_an_id_that_is_not_scored_is_never_used(predictor: Callable[..., nn.Module], garbage: int) -> None:
    model, task = random_model(predictor), NextToken(VOCAB)
    valid = torch.tensor([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1]]).bool()
    losses, gradients = [], []
    for ids in (IDS, torch.where(valid, IDS, garbage)):
        loss = task.loss(model, Batch(ids, valid))
        losses.append(loss.item())
        gradients.append(torch.autograd.grad(loss, model.weight)[0])
        task.evaluate(model, Batch(ids, valid))
    assert losses[0] == losses[1]
    assert torch.equal(*gradients)


def test_what_is_not_scored_has_no_gradient_even_from_nan(predictor: Callable[..., nn.Module]) -> None:
    logits = torch.zeros(1, 4, VOCAB)
    logits[0, 2:] = float("nan")
    logits.requires_grad_()
    batch = Batch(IDS[:1], torch.tensor([[1, 1, 1, 0, 0]]).bool())
    loss = NextToken(VOCAB).loss(predictor(lambda ids: logits), batch)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(log(VOCAB))
    assert (gradient[0, :2] != 0).all() and (gradient[0, 2:] == 0).all()


def test_nan_is_no_answer(predictor: Callable[..., nn.Module]) -> None:
    scores = NextToken(VOCAB).score(predictor(lambda ids: torch.full((*ids.shape, VOCAB), float("nan"))), Batch(IDS))
    assert not scores.hits.any()
    assert scores.losses_nats.isnan().all()


@pytest.mark.parametrize("wrong", [-100, -1, VOCAB])
def test_a_scored_target_outside_the_vocabulary_is_an_error(uniform: Callable[[int], nn.Module], wrong: int) -> None:
    ids = IDS.clone()
    ids[1, 4] = wrong
    for use in (NextToken(VOCAB).loss, NextToken(VOCAB).evaluate):
        with pytest.raises(DataError) as error:
            use(uniform(VOCAB), Batch(ids))
        assert str(error.value) == (
            f"NextToken: targets must be in [0, vocab=6), got {wrong}. Check the data, or mark padding as not valid."
        )


def test_a_batch_without_scored_targets_is_an_error(uniform: Callable[[int], nn.Module]) -> None:
    batch = Batch(IDS, torch.tensor([[1, 0, 0, 0, 0]] * 3).bool())
    with pytest.raises(DataError) as error:
        NextToken(VOCAB).loss(uniform(VOCAB), batch)
    assert str(error.value) == (
        "NextToken: scored targets of a batch must be at least 1, got none in 3 sequences. "
        "A target counts where it and the input before it are real."
    )
    with pytest.raises(DataError):
        NextToken(VOCAB).evaluate(uniform(VOCAB), batch)
    with pytest.raises(DataError):
        NextToken(VOCAB).evaluate(uniform(VOCAB), Batch(IDS[:0]))


def test_wrong_shapes_say_what_is_expected(uniform: Callable[[int], nn.Module]) -> None:
    with pytest.raises(ShapeError) as error:
        NextToken(VOCAB).loss(uniform(9), Batch(IDS))
    assert str(error.value) == (
        "NextToken: logits must be of shape (batch, time, vocab) = (3, 4, 6), got (3, 4, 9). "
        'Build the model with outputs=vocab and head="rows".'
    )
    for inputs in (IDS[:, :1], IDS.float(), torch.zeros(2, 3, 4)):
        with pytest.raises(ShapeError):
            NextToken(VOCAB).align(Batch(inputs))
    for vocab in (1, 2.0, True):
        with pytest.raises((ConfigError, TypeError)):
            NextToken(vocab)  # pyright: ignore[reportArgumentType]


def test_evaluation_restores_each_modules_mode_and_draws_no_random_numbers(predictor: Callable[..., nn.Module]) -> None:
    model = random_model(predictor)
    model.frozen = nn.Dropout(0.5).eval()
    model.train()
    model.frozen.eval()
    before = torch.get_rng_state()
    NextToken(VOCAB).evaluate(model, Batch(IDS))
    assert model.seen[-1][2] is False
    assert model.training and not model.frozen.training
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(RuntimeError), evaluation_mode(model):
        raise RuntimeError
    assert model.training and not model.frozen.training


def test_the_model_is_given_the_valid_steps_of_its_inputs(uniform: Callable[[int], nn.Module]) -> None:
    model = uniform(VOCAB)
    valid = torch.tensor([[0, 1, 1, 1, 1]] * 3).bool()
    NextToken(VOCAB).loss(model, Batch(IDS, valid))
    inputs, given, _ = model.seen[-1]
    assert isinstance(given, Tensor)
    assert torch.equal(inputs, IDS[:, :-1]) and torch.equal(given, valid[:, :-1])
