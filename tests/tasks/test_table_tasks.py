"""What classification, tagging and regression have of their own, beside `test_conformance`."""

from math import log

import numpy as np
import pytest
import torch

import clew
from clew.data import Batch
from clew.errors import ConfigError, DataError, ShapeError
from clew.models import build
from clew.tasks import Classification, Regression, Tagging, balanced_weights
from reference import class_metrics as twin
from tasks.members import Function, one_hot

TAGS = torch.tensor([[1, 0, 2, 1, 2], [2, 1, 0, -1, -1]])
VALID = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
READER = Function(lambda x, valid: one_hot(x, 3))


def test_the_weighted_loss_is_that_of_the_twin_and_figures_are_not_weighted() -> None:
    inputs, targets = torch.randn(12, 4, 2, generator=torch.Generator().manual_seed(0)), torch.arange(12) % 4 // 2
    model = build("gru", features=2, outputs=2, hidden=3, head="mean")
    weights = balanced_weights(targets[:9], 2)
    plain, weighted = Classification(2), Classification(2, weights)
    batch = Batch(inputs, None, targets)
    probabilities = plain.predict(model, batch)["probabilities"]
    expected = twin.cross_entropy(probabilities, targets.tolist(), list(weights))
    assert weighted.loss(model, batch).item() == pytest.approx(expected, abs=1e-6)
    assert weighted.evaluate(model, batch) == plain.evaluate(model, batch)
    parts = [batch.select(rows) for rows in torch.arange(12).split(5)]
    shares = [weighted.loss_weight(part) for part in parts]
    total = sum(weighted.loss(model, part).item() * share for part, share in zip(parts, shares, strict=True))
    assert total / sum(shares) == pytest.approx(expected, abs=1e-6)


def test_confusion_and_answers_belong_to_the_rows() -> None:
    targets = torch.tensor([0, 2, 1, -1, -2])
    batch = Batch(torch.tensor([[0], [1], [1], [2], [2]]), None, targets)
    task, model = Classification(3), Function(lambda x, valid: one_hot(x[:, 0], 3))
    assert task.confusion(model, batch).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert task.correct(model, batch).tolist() == [True, False, True, False, False]
    assert task.evaluate(model, batch)["accuracy"] == 0.5
    assert task.predict(model, batch)["classes"].tolist() == [0, 1, 1, 2, 2]
    with pytest.raises(DataError, match="It is a class that training never saw"):
        task.loss(model, batch)


def test_what_a_tagger_cannot_read_is_counted() -> None:
    inputs = torch.where(TAGS < 0, 0, TAGS)
    figures = Tagging(3, max_steps=3).evaluate(READER, Batch(inputs, VALID, TAGS))
    assert figures["truncated_fraction"] == figures["accuracy"] - 0.5 == 0.25
    assert figures["loss_nats"] == pytest.approx(2 * log(3) / 8)
    assert figures["macro_f1"] == pytest.approx((1.0 + 0.8 + 0.8) / 3)
    task = Tagging(3, max_steps=3)
    assert task.scored_targets(Batch(inputs, VALID, TAGS)) == 6 == task.loss_weight(Batch(inputs, VALID, TAGS))
    predicted = task.predict(READER, Batch(inputs, VALID, TAGS))
    assert predicted["classes"].tolist() == [[1, 0, 2, -1, -1], [2, 1, 0, -1, -1]]
    assert np.isnan(predicted["probabilities"]).any(axis=2).tolist() == [[False] * 3 + [True] * 2] * 2
    assert task.confusion(READER, Batch(inputs, VALID, TAGS)).sum() == 8
    short = build("transformer", vocab=3, outputs=3, hidden=4, max_positions=3)
    with pytest.raises(ShapeError):
        Tagging(3).evaluate(short, Batch(inputs, VALID, TAGS))
    left = Batch(inputs.flip(1), VALID.flip(1), TAGS.flip(1))
    assert task.evaluate(short, left)["truncated_fraction"] == 0.25


def test_a_tagger_says_whether_it_may_look_ahead() -> None:
    assert (Tagging(3).boundary, Tagging(3, causal=True).boundary) == ("full", "causal")


def test_a_target_at_padding_is_never_looked_at() -> None:
    garbage = torch.where(VALID, TAGS, 99)
    inputs = torch.where(TAGS < 0, 0, TAGS)
    assert Tagging(3).evaluate(READER, Batch(inputs, VALID, garbage)) == Tagging(3).evaluate(
        READER, Batch(inputs, VALID, TAGS)
    )
    with pytest.raises(DataError, match=r"targets must be in \[0, classes=3\), got 99"):
        Tagging(3).evaluate(READER, Batch(inputs, None, garbage))


def test_the_ledger_explains_the_losses() -> None:
    inputs = torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(0))
    for task, head, targets in ((Tagging(3), "rows", TAGS), (Classification(3), "last", torch.tensor([2, 0]))):
        model = build("gru", features=2, outputs=3, hidden=3, head=head)
        with clew.record(model) as ledger:
            loss = task.loss(model, Batch(inputs, VALID, targets))
            loss.backward()
        assert ledger["loss.loss"].value.item() == pytest.approx(loss.item())
        assert ledger["loss.probabilities"].sensitivity is not None


def test_regression_is_trained_scaled_and_scored_in_its_own_units() -> None:
    targets = torch.tensor([1000.0, 1010.0, 1020.0, float("nan")])
    batch = Batch(torch.zeros(4, 2, 1), None, targets)
    task = Regression.scaled_to(batch)
    assert task.config() == {"outputs": 1, "center": [1010.0], "scale": [pytest.approx(np.std([0, 10, 20]))]}
    zero = Function(lambda x, valid: torch.zeros(len(x), 1))
    assert task.loss(zero, batch).item() == pytest.approx(1.0)
    assert task.scored_targets(batch) == 3
    figures = task.evaluate(zero, batch)
    assert figures["mae"] == pytest.approx(20 / 3) and figures["squared_error"] == pytest.approx(200 / 3)
    assert task.predict(zero, batch)["values"].tolist() == [[1010.0]] * 4
    constant = task.evaluate(zero, batch.select(torch.tensor([1])))
    assert np.isnan(constant["r2"])


def test_the_loss_of_several_numbers_is_their_sum() -> None:
    targets = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    zero = Function(lambda x, valid: torch.zeros(len(x), 2))
    assert Regression(2).loss(zero, Batch(torch.zeros(2, 1, 1), None, targets)).item() == pytest.approx((5 + 25) / 2)


def test_wrong_targets_and_arguments_are_errors() -> None:
    inputs = torch.zeros(2, 3, 1)
    with pytest.raises(DataError, match="Classification: targets must be given"):
        Classification(2).align(Batch(inputs))
    with pytest.raises(ShapeError, match=r"Classification: targets must be whole numbers \(batch,\)"):
        Classification(2).align(Batch(inputs, None, torch.zeros(2)))
    with pytest.raises(DataError, match=r"targets must be in \[0, classes=2\), got 5. Check the labels."):
        Classification(2).align(Batch(inputs, None, torch.tensor([0, 5])))
    with pytest.raises(ShapeError, match=r"Tagging: targets must be whole numbers \(batch, time\) = \(2, 3\)"):
        Tagging(2).align(Batch(inputs, None, torch.tensor([0, 1])))
    with pytest.raises(ShapeError, match=r"Regression: targets must be of shape \(batch, outputs=1\)"):
        Regression().align(Batch(inputs, None, torch.zeros(2, 2)))
    with pytest.raises(DataError, match="got infinity at row 1"):
        Regression().align(Batch(inputs, None, torch.tensor([0.0, float("inf")])))
    with pytest.raises(ShapeError, match="Build the model with outputs=2 and head='last', 'mean' or 'class_token'"):
        Classification(2).loss(build("gru", features=1, outputs=2), Batch(inputs, None, torch.tensor([0, 1])))
    for make in (
        lambda: Classification(1),
        lambda: Tagging(1),
        lambda: Tagging(2, max_steps=0),
        lambda: Regression(0),
        lambda: Regression(1, scale=[0.0]),
        lambda: Regression(2, center=[0.0]),
    ):
        with pytest.raises(ConfigError):
            make()
