"""The test split is out of reach until a selection stands on disk."""

import pytest
import torch

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, SealedError
from clew.lab import Recipe, SealedSplit, Splits


def batch(rows: int = 4) -> Batch:
    return Batch(torch.arange(rows * 3).reshape(rows, 3))


def test_a_sealed_test_tells_its_size_and_nothing_else(tmp_path):
    splits = Splits(batch(), batch(), batch(8))
    assert isinstance(splits.test, SealedSplit)
    assert len(splits.test) == 8
    assert splits.test.fingerprint() == batch(8).fingerprint()
    for name in ("inputs", "select", "valid", "targets"):
        with pytest.raises(SealedError, match="sealed"):
            getattr(splits.test, name)


def test_a_sealed_test_opens_after_selection_only(tmp_path):
    splits = Splits(batch(), batch(), batch())
    selection = tmp_path / "best.safetensors"
    with pytest.raises(SealedError, match=r"Splits: test must be opened after selection, got no file"):
        splits.test.open_after(selection)
    selection.touch()
    assert torch.equal(splits.test.open_after(selection).inputs, batch().inputs)


def test_an_empty_split_is_refused():
    with pytest.raises(DataError, match="Splits: validation must be at least one sequence, got none"):
        Splits(batch(), Batch(torch.zeros(0, 3, dtype=torch.long)), batch())


def test_a_recipe_refuses_unknown_keys_with_the_nearest_ones():
    with pytest.raises(ConfigError, match=r"Recipe 'x': unknown key 'hiden'\. Did you mean 'hidden'\?"):
        Recipe("x", {"preset": "gru", "vocab": 7, "outputs": 7, "hiden": 8})
    with pytest.raises(ConfigError, match=r"Recipe: unknown key 'trainin'\. Did you mean 'training'\?"):
        Recipe.from_mapping({"name": "x", "model": {"preset": "gru"}, "trainin": {}})
    with pytest.raises(ConfigError, match="model must be a mapping with 'preset'"):
        Recipe("x", {"vocab": 7})


def test_plain_tensors_stand_for_batches():
    tokens = torch.arange(12).reshape(4, 3)
    splits = Splits(tokens[:2], tokens[2:3], tokens[3:])
    assert splits.train.inputs.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert len(splits.test) == 1


def test_a_recipe_survives_plain_values():
    values = {"name": "x", "model": {"preset": "gru", "vocab": 7, "outputs": 7}, "training": {"epochs": 3}}
    assert Recipe.from_mapping(values).training.epochs == 3
