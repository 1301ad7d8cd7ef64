"""The audit before the first step: what it refuses, what it excuses, and what a training against its advice shows."""

from pathlib import Path
from typing import Any

import pytest
import torch

from clew.data.batch import Batch
from clew.data.recall_episodes import sample_recall_splits
from clew.errors import AuditError, ConfigError, SealedError
from clew.lab import Comparison, Recipe, Splits, compare
from clew.lab.before_training import audit_recipe, audit_splits, expected_coincidences, is_coincidence
from clew.lab.progress import SilentProgress
from clew.lab.recall import MODELS, RecallConfig, recall_recipe, run_recall
from clew.tasks import CueRecall, NextToken
from clew.training import TrainConfig

TRAINING = TrainConfig(epochs=1, batch_size=32)
SIZES: dict[str, Any] = {"preset": "transformer", "vocab": 7, "outputs": 7, "hidden": 8, "heads": 2}
LEAKING = Recipe("leaking", SIZES | {"causal": False}, TRAINING)
CAUSAL = Recipe("causal", SIZES | {"causal": True}, TRAINING)
TASK = CueRecall(4)


def splits() -> Splits:
    return Splits(*sample_recall_splits(4, (64, 16, 32), seeds=(1, 2, 3)))


def with_a_shared_episode() -> Splits:
    """Splits whose test holds the training split's last episode."""
    parts = sample_recall_splits(4, (64, 16, 32), seeds=(1, 2, 3))
    return Splits(parts.train, parts.validation, Batch(torch.cat([parts.test.inputs, parts.train.inputs[-1:]])))


def run(out: Path, recipes: list[Recipe], data: Splits | None = None, **more: Any) -> Comparison:
    return compare(recipes, TASK, data or splits(), seeds=[1], out=out, workers=0, **more)


class Notes(SilentProgress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


def test_a_leaking_model_is_not_trained_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(AuditError) as caught:
        run(tmp_path / "out", [CAUSAL, LEAKING])
    said = str(caught.value)
    assert said.startswith("compare: model and data must be without a leak before they are trained on, got 1 of 3")
    assert "audit='warn'" in said and "leaking: future:" in said and "causal: " not in said
    assert said.endswith(". Mend it, or pass audit='warn' to train all the same, marked as leaking.")
    assert not (tmp_path / "out").exists()


def test_with_a_warning_a_leaking_model_is_trained_and_counts_as_a_leak(tmp_path: Path) -> None:
    comparison = run(tmp_path / "out", [CAUSAL, LEAKING], audit="warn")
    assert [row["status"] for row in comparison.rows] == ["finished", "finished"]
    assert [audit["status"] for audit in comparison.audits] == ["passed", "passed", "failed"]
    assert "reported as a leak on 1/1 seed" in comparison.cells[1]["verdict"]
    assert "leak" not in comparison.cells[0]["verdict"]
    assert "reported as a leak" in comparison.contrasts[0]["words"]
    assert any("the audit of leaking found future" in warning for warning in comparison.warnings)


def test_skipped_is_not_audited_and_an_unknown_rule_is_refused(tmp_path: Path) -> None:
    comparison = run(tmp_path / "out", [LEAKING], audit="skip")
    assert comparison.audits == [] and "leak" not in comparison.cells[0]["verdict"]
    with pytest.raises(ConfigError, match=r"audit must be refuse, warn or skip, got 'wran'\. Did you mean 'warn'\?"):
        run(tmp_path / "other", [CAUSAL], audit="wran")


def test_what_was_audited_is_said_with_its_cost(tmp_path: Path) -> None:
    notes = Notes()
    comparison = run(tmp_path / "out", [CAUSAL], progress=notes)
    assert len(notes.lines) == 1 and notes.lines[0].startswith("Audit before training, ")
    assert notes.lines[0].endswith("s: the data, delay 4 passed; causal passed")
    assert [audit["subject"] for audit in comparison.audits] == ["the data, delay 4", "causal"]


def test_an_episode_in_two_splits_refuses_the_training(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"the data, delay 4: duplicate_rows: row 32 of test equals row 63 of train"):
        run(tmp_path / "out", [CAUSAL], with_a_shared_episode())
    comparison = run(tmp_path / "out", [CAUSAL], with_a_shared_episode(), audit="warn")
    assert "reported as a leak" in comparison.cells[0]["verdict"]


def test_a_model_that_refuses_its_inputs_is_left_to_its_training(tmp_path: Path) -> None:
    small = Recipe("small", SIZES | {"causal": True, "vocab": 3}, TRAINING)
    comparison = run(tmp_path / "out", [small])
    assert comparison.audits[1]["status"] == "not made"
    assert comparison.rows[0]["status"] == "failed"
    assert any(warning.startswith("audit of small: not made. ") for warning in comparison.warnings)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_models_of_the_memory_experiment_pass(name: str) -> None:
    train = sample_recall_splits(4, (64, 16, 32), seeds=(1, 2, 3)).train
    audit = audit_recipe(recall_recipe(name, TRAINING), TASK, train, seed=1)
    assert (audit.status, audit.failures) == ("passed", [])


def test_the_memory_experiment_is_audited_before_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "transformer", MODELS["transformer"] | {"causal": False})
    config = RecallConfig(delays=(8,), seeds=(1,), recipes=("transformer",), epochs=1)
    with pytest.raises(AuditError, match="transformer: future"):
        run_recall(config, tmp_path / "out", workers=0)
    assert list((tmp_path / "out/runs").iterdir()) == []


def test_padding_is_part_of_a_models_audit() -> None:
    ids = torch.randint(0, 7, (6, 8), generator=torch.Generator().manual_seed(0))
    valid = torch.arange(8) < torch.tensor([8, 5, 6, 8, 3, 8]).unsqueeze(1)
    assert audit_recipe(CAUSAL, NextToken(7), Batch(ids, valid), seed=1).status == "passed"


# Which equal sequences are a fault


def tokens(rows: int, steps: int, vocab: int, seed: int) -> Batch:
    return Batch(torch.randint(0, vocab, (rows, steps), generator=torch.Generator().manual_seed(seed)))


def test_coincidences_of_short_sequences_are_excused_and_copies_of_long_ones_are_not() -> None:
    short = Splits(tokens(40, 3, 6, 1), tokens(10, 3, 6, 2), tokens(10, 3, 6, 3))
    hashes = short.sequence_hashes()
    assert set(hashes["train"]) & {*hashes["validation"], *hashes["test"]}
    assert audit_splits(NextToken(6), short).status == "passed"
    train = tokens(40, 12, 6, 1)
    copied = Splits(train, tokens(10, 12, 6, 2), Batch(train.inputs[:1]))
    assert audit_splits(NextToken(6), copied).failures == ["duplicate_rows"]


def test_sequences_that_repeat_by_nature_are_excused() -> None:
    row = torch.arange(12).repeat(20, 1)
    data = Splits(row, row[:3], row[:3])
    assert audit_splits(NextToken(12), data).status == "passed"


def test_real_values_never_coincide() -> None:
    values = torch.randn(20, 3, 2, generator=torch.Generator().manual_seed(0))
    data = Splits(values[:10], values[10:15], torch.cat([values[15:], values[:1]]))
    assert expected_coincidences(data) == 0.0
    assert audit_splits(NextToken(2), data).failures == ["duplicate_rows"]


@pytest.mark.parametrize(
    ("count", "expected", "excused"),
    [(0, 0.0, True), (1, 0.0, False), (1, 0.01, True), (2, 0.01, False), (30, 20.0, True)],
)
def test_a_coincidence_is_what_is_not_rare(count: int, expected: float, excused: bool) -> None:
    assert is_coincidence(count, expected) is excused


def test_what_stands_at_padding_makes_no_sequence_new_and_targets_do() -> None:
    valid = torch.tensor([[True, True, False]])
    first, second = Batch(torch.tensor([[1, 2, 9]]), valid), Batch(torch.tensor([[1, 2, 7]]), valid)
    parts = Splits(first, second, Batch(torch.tensor([[1, 2]])))
    assert parts.sequence_hashes()["train"] == parts.sequence_hashes()["validation"] == parts.sequence_hashes()["test"]
    labelled = [Batch(torch.tensor([[1, 2]]), None, torch.tensor([label])) for label in (0, 1)]
    parts = Splits(labelled[0], labelled[1], labelled[0])
    assert parts.sequence_hashes()["train"] != parts.sequence_hashes()["validation"]


def test_hashes_do_not_open_the_sealed_test() -> None:
    sealed = splits().test
    assert len(sealed.sequence_hashes()) == len(sealed)
    with pytest.raises(SealedError):
        _ = sealed.inputs
