"""What every task must do; a new one is tested by a member in `members.py`."""

import json

import numpy as np
import pytest
import torch

from clew.errors import DataError
from clew.tasks import TASKS, task_from_config
from tasks.members import MEMBERS, Member, Rows, padded_left


@pytest.fixture(params=sorted(MEMBERS))
def member(request: pytest.FixtureRequest) -> Member:
    return MEMBERS[request.param]()


def test_every_task_has_a_member() -> None:
    assert sorted(TASKS) == sorted(MEMBERS)


def test_a_task_is_made_again_from_its_configuration(member: Member) -> None:
    stored = json.loads(json.dumps(member.task.config()))
    again = task_from_config(member.task.name, stored)
    assert again.config() == member.task.config()
    assert repr(again) == repr(member.task)
    assert again.evaluate(member.model, member.batch) == member.task.evaluate(member.model, member.batch)


def test_a_task_says_what_it_needs(member: Member) -> None:
    task = member.task
    assert task.boundary in ("causal", "full") and task.kind_of_head in ("rows", "sequence")
    figures = task.evaluate(member.model, member.batch)
    assert tuple(figures) == task.metrics and all(isinstance(value, float) for value in figures.values())
    assert task.selection in task.monitor(member.model, member.batch)
    aligned = task.align(member.batch)
    given = {} if aligned.valid is None else {"valid": aligned.valid}
    logits = member.model(aligned.inputs, **given).logits
    assert logits.shape[-1] == task.outputs
    assert logits.ndim == (3 if task.kind_of_head == "rows" else 2)


def test_the_worked_row_is_aligned_as_the_docstring_says(member: Member) -> None:
    batch, inputs, targets, scored = member.worked
    if inputs is None:
        pytest.skip("has a test of its own")
    aligned = member.task.align(batch)
    np.testing.assert_allclose(aligned.inputs.double(), inputs)
    np.testing.assert_allclose(aligned.targets.double(), targets)
    assert (None if aligned.scored is None else aligned.scored.tolist()) == scored


def test_a_perfect_predictor_scores_as_known(member: Member) -> None:
    figures = member.task.evaluate(member.perfect, member.batch)
    assert {name: figures[name] for name in member.perfect_figures} == pytest.approx(member.perfect_figures, abs=1e-9)


def test_a_chance_predictor_scores_as_known(member: Member) -> None:
    figures = member.task.evaluate(member.chance, member.batch)
    assert {name: figures[name] for name in member.chance_figures} == pytest.approx(member.chance_figures, abs=1e-9)


@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("kind", ["batch", "rows"])
def test_the_size_of_chunks_changes_nothing(member: Member, chunk: int, kind: str) -> None:
    data = member.batch if kind == "batch" else Rows(member.batch)
    task = member.task
    assert task.evaluate(member.model, data, chunk) == close(task.evaluate(member.model, member.batch))
    same_predictions(task.predict(member.model, data, chunk), task.predict(member.model, member.batch))


def test_the_order_of_rows_changes_nothing(member: Member) -> None:
    task, order = member.task, torch.randperm(len(member.batch), generator=torch.Generator().manual_seed(0))
    for data in (member.batch.select(order), Rows(member.batch.select(order))):
        assert task.evaluate(member.model, data, 7) == close(task.evaluate(member.model, member.batch))
        expected = {name: rows[order] for name, rows in task.predict(member.model, member.batch).items()}
        same_predictions(task.predict(member.model, data, 7), expected)


def test_the_side_of_padding_and_what_stands_there_change_nothing(member: Member) -> None:
    if not member.is_ragged:
        pytest.skip("takes no padding")
    task, moved = member.task, padded_left(member.batch)
    assert task.evaluate(member.model, moved) == close(task.evaluate(member.model, member.batch))
    assert task.loss(member.model, moved).item() == close(task.loss(member.model, member.batch).item())
    assert task.scored_targets(moved) == task.scored_targets(member.batch)
    expected, got = task.predict(member.model, member.batch), task.predict(member.model, moved)
    for name, rows in expected.items():
        for one, other in zip(rows, got[name], strict=True):
            np.testing.assert_allclose(real(one), real(other), atol=1e-12)


def test_padding_gets_no_gradient(member: Member) -> None:
    if not member.is_ragged:
        pytest.skip("takes no padding")
    gradients = []
    for batch in (member.batch, padded_left(member.batch)):
        loss = member.task.loss(member.model, batch)
        gradients.append(torch.autograd.grad(loss, list(member.model.parameters())))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


def test_the_loss_is_the_weighted_mean_of_its_parts(member: Member) -> None:
    task, batch = member.task, member.batch
    parts = [batch.select(rows) for rows in torch.arange(len(batch)).split(7)]
    weights = [task.loss_weight(part) for part in parts]
    total = sum(task.loss(member.model, part).item() * weight for part, weight in zip(parts, weights, strict=True))
    assert total / sum(weights) == pytest.approx(task.loss(member.model, batch).item(), abs=1e-12)
    assert sum(weights) == task.scored_targets(batch) == task.scored_targets(Rows(batch))
    assert task.input_positions(Rows(batch)) == task.input_positions(batch)


def test_looking_leaves_modes_and_random_numbers_alone(member: Member) -> None:
    member.model.train()
    before = torch.get_rng_state()
    member.task.evaluate(member.model, member.batch)
    member.task.predict(member.model, member.batch)
    assert member.model.training and torch.equal(torch.get_rng_state(), before)


def test_a_batch_without_sequences_is_an_error(member: Member) -> None:
    with pytest.raises(DataError):
        member.task.evaluate(member.model, member.batch.select(torch.arange(0)))


def test_references_are_rows_with_the_metrics_of_the_task(member: Member) -> None:
    train, test = (member.batch.select(rows) for rows in torch.arange(len(member.batch)).split(8))
    rows = member.task.references(train, test)
    assert len(rows) >= 2 and len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert row["words"]
        if member.task.name != "cue_recall":
            assert set(row) <= {"name", "words", *member.task.metrics}
    sequences = member.task.references(Rows(train), Rows(test))
    for row, other in zip(rows, sequences, strict=True):
        for name, value in row.items():
            assert other[name] == (pytest.approx(value, abs=1e-6, nan_ok=True) if isinstance(value, float) else value)


def close(value):
    return pytest.approx(value, abs=1e-12, rel=1e-12)


def real(rows: np.ndarray) -> np.ndarray:
    """Leave out steps without a prediction."""
    if rows.ndim == 0:
        return rows
    steps = rows if rows.ndim == 1 else rows.reshape(len(rows), -1)
    return steps[(steps != -1) & ~np.isnan(steps.astype(float))]


def same_predictions(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert set(got) == set(expected)
    for name, rows in expected.items():
        assert len(got[name]) == len(rows)
        for one, other in zip(got[name], rows, strict=True):
            np.testing.assert_allclose(real(one), real(other), atol=1e-12)
