"""The simple predictors of classes, tags and numbers on data whose figures are known by hand or by scipy."""

from math import log

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from clew.data import Batch
from clew.errors import ShapeError
from clew.tasks import Classification, Regression, Tagging
from clew.tasks.flat_features import flat_features
from clew.tasks.linear_classifier import fit_linear_classifier, linear_logits
from reference import class_metrics as twin


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_name(rows: list[dict]) -> dict[str, dict]:
    return {row["name"]: row for row in rows}


def test_the_linear_model_is_the_one_that_scipy_finds() -> None:
    features, targets = drawn(60, 4), torch.randint(0, 3, (60,), generator=torch.Generator().manual_seed(1))

    def penalised(flat: np.ndarray) -> float:
        weights = flat.reshape(5, 3)
        logits = features.numpy() @ weights[:-1] + weights[-1]
        shifted = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(60), targets.numpy()]
        return float(losses.sum() + 0.5 * (weights[:-1] ** 2).sum())

    expected = minimize(penalised, np.zeros(15), method="BFGS", options={"gtol": 1e-6}).x.reshape(5, 3)
    weights = fit_linear_classifier(features, targets, 3)
    assert torch.equal(weights, fit_linear_classifier(features, targets, 3))
    got, want = (linear_logits(part, features).softmax(dim=1) for part in (weights, torch.from_numpy(expected)))
    torch.testing.assert_close(got, want, atol=1e-4, rtol=0)


def test_class_references_see_what_they_may_see() -> None:
    """Class by the sign of the first step; the mean over steps is zero for all."""
    half = drawn(80, 1, 1).sign() * 2 + 0.1 * drawn(80, 1, 1, seed=1)
    inputs = torch.cat([half, -half], dim=1)
    targets = (half[:, 0, 0] > 0).long()
    train, test = Batch(inputs[:50], None, targets[:50]), Batch(inputs[50:], None, targets[50:])
    rows = by_name(Classification(2).references(train, test))
    assert list(rows) == ["majority", "nearest_neighbour", "linear_on_means", "linear_on_values"]
    common = int(torch.bincount(targets[:50]).argmax())
    assert rows["majority"]["accuracy"] == pytest.approx((targets[50:] == common).double().mean().item())
    shares = (torch.bincount(targets[:50]).double().numpy() + 1) / 52
    expected = twin.cross_entropy(np.tile(shares, (30, 1)), targets[50:].tolist())
    assert rows["majority"]["loss_nats"] == pytest.approx(expected)
    assert rows["nearest_neighbour"]["accuracy"] == 1.0 and rows["nearest_neighbour"]["loss_nats"] is None
    assert rows["linear_on_values"]["accuracy"] == 1.0
    assert rows["linear_on_means"]["accuracy"] < 0.75


def test_order_alone_helps_no_reference_on_means() -> None:
    inputs = torch.cat([drawn(40, 6, 2) + 1, drawn(40, 6, 2, seed=1) - 1])
    targets = torch.arange(80) // 40
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    part = torch.arange(80) % 2 == 0
    train = Batch(inputs[part], None, targets[part])
    plain, moved = (
        by_name(Classification(2).references(train, Batch(x[~part], None, targets[~part])))["linear_on_means"]
        for x in (inputs, inputs[:, order])
    )
    assert plain["accuracy"] > 0.9
    assert {k: pytest.approx(v) for k, v in plain.items() if k not in ("name", "words")} == {
        k: v for k, v in moved.items() if k not in ("name", "words")
    }


def test_features_are_standardized_by_training_and_padding_is_the_mean() -> None:
    train = Batch(drawn(5, 4, 2) * 3 + 7, torch.tensor([[1, 1, 1, 0]] * 5).bool())
    test = Batch(drawn(3, 6, 2, seed=2) * 100, torch.tensor([[0, 1, 1, 1, 1, 1]] * 3).bool())
    features = flat_features(train, test)
    real = train.inputs[:, :3].reshape(-1, 2)
    mean, spread = real.mean(dim=0), real.std(dim=0, correction=0)
    assert features.train_values.shape == (5, 8) and features.test_values.shape == (3, 8)
    assert (features.train_values[:, 6:] == 0).all()
    torch.testing.assert_close(features.train_values.reshape(5, 4, 2)[:, :3], (train.inputs[:, :3] - mean) / spread)
    torch.testing.assert_close(features.test_values.reshape(3, 4, 2), (test.inputs[:, 1:5] - mean) / spread)
    torch.testing.assert_close(features.test_last, (test.inputs[:, 5] - mean) / spread)
    torch.testing.assert_close(features.test_means, (test.inputs[:, 1:].mean(dim=1) - mean) / spread)


def test_ids_and_images_are_features_too() -> None:
    ids = torch.tensor([[1, 1, 2], [2, 2, 2], [1, 1, 1], [2, 1, 2]])
    targets = torch.tensor([0, 1, 0, 1])
    rows = by_name(Classification(2).references(Batch(ids, None, targets), Batch(ids, None, targets)))
    assert rows["nearest_neighbour"]["accuracy"] == rows["linear_on_means"]["accuracy"] == 1.0
    images = torch.zeros(4, 1, 2, 3)
    images[1::2, :, 0, 0] = 1
    rows = by_name(Classification(2).references(Batch(images, None, targets), Batch(images, None, targets)))
    assert rows["linear_on_values"]["accuracy"] == 1.0


@pytest.mark.parametrize("kind", ["ids", "column"])
def test_each_word_gets_its_most_frequent_tag(kind: str) -> None:
    words = torch.tensor([[3, 3, 3, 5, 5, 4], [3, 5, 4, 4, 0, 0]])
    tags = torch.tensor([[1, 1, 2, 0, 0, 2], [1, 0, 2, -1, 1, 1]])
    asked, truth = torch.tensor([[3, 5, 4, 9, 0]]), torch.tensor([[1, 0, 2, 1, 1]])
    if kind == "column":
        words, asked = (torch.stack([drawn(*part.shape), part.double()], dim=2) for part in (words, asked))
    task = Tagging(3, word=None if kind == "ids" else 1)
    rows = by_name(task.references(Batch(words, None, tags), Batch(asked, None, truth)))
    # Tag 1 is the most frequent of all; of words 3, 5 and 4 it is 1, 0 and 2; 9 was never seen.
    assert rows["most_frequent_per_word"]["accuracy"] == 1.0
    assert rows["majority"]["accuracy"] == 0.6
    losses = [-log((3 + 1) / (4 + 3)), -log((3 + 1) / (3 + 3)), -log((2 + 1) / (2 + 3))]
    shares = {0: 4 / 14, 1: 6 / 14, 2: 4 / 14}
    unknown = [-log(shares[1])] * 2 if kind == "column" else [-log(shares[1]), -log((2 + 1) / (2 + 3))]
    expected = (sum(losses) + sum(unknown)) / 5
    assert rows["most_frequent_per_word"]["loss_nats"] == pytest.approx(expected, abs=1e-5)


def test_words_that_are_not_known_have_no_reference() -> None:
    batch = Batch(drawn(2, 3, 2), None, torch.tensor([[0, 1, 1], [1, 0, 0]]))
    assert list(by_name(Tagging(2).references(batch, batch))) == ["majority"]
    with pytest.raises(ShapeError, match="word must be below the 2 columns of the inputs, got 2"):
        Tagging(2, word=2).references(batch, batch)


def test_numbers_have_their_mean_and_a_line() -> None:
    inputs = drawn(50, 5, 3)
    targets = inputs[:, -1] @ torch.tensor([[2.0], [0.0], [-1.0]]).double() + 4
    train, test = Batch(inputs[:30], None, targets[:30]), Batch(inputs[30:], None, targets[30:])
    rows = by_name(Regression().references(train, test))
    mean = targets[:30].mean()
    assert rows["train_mean"]["mae"] == pytest.approx((targets[30:] - mean).abs().mean().item())
    assert rows["train_mean"]["r2"] < 0.1
    assert rows["last_value_linear"]["r2"] > 0.999999
