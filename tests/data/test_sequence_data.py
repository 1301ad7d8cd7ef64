from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.data import UNSCORED, Batch, SequenceData
from clew.errors import ConfigError, DataError, RunError, ShapeError


def ragged(per_step: bool = False) -> SequenceData:
    inputs = np.arange(12, dtype=np.float32).reshape(6, 2)
    targets = [3, -1, 0, 1, 2, 0] if per_step else [4, 5, 6]
    return SequenceData(inputs, [0, 2, 5, 6], targets, targets_per_step=per_step, ids=["a", "b", "c"])


def test_select_pads_on_the_right_to_the_longest_chosen_and_keeps_the_order_of_the_index() -> None:
    batch = ragged().select(torch.tensor([2, 0]))
    assert batch.inputs.tolist() == [[[10, 11], [0, 0]], [[0, 1], [2, 3]]]
    assert batch.valid is not None and batch.valid.tolist() == [[True, False], [True, True]]
    assert batch.targets is not None and batch.targets.tolist() == [6, 4] and batch.targets.dtype == torch.int64


def test_valid_is_none_where_nothing_is_padded() -> None:
    assert ragged().select([1]).valid is None
    assert ragged().select(torch.tensor([False, False, True])).valid is None


def test_step_targets_at_padding_are_not_scored() -> None:
    targets = ragged(per_step=True).select([2, 1]).targets
    assert targets is not None and targets.tolist() == [[0, UNSCORED, UNSCORED], [0, 1, 2]]
    real = SequenceData([1, 2, 3], [0, 1, 3], [0.5, 1.5, 2.5], targets_per_step=True).whole().targets
    assert real is not None and real.isnan().tolist() == [[False, True], [False, False]]


def test_ids_become_long_and_images_need_no_offsets() -> None:
    assert SequenceData([5, 6, 7], [0, 1, 3]).whole().inputs.dtype == torch.int64
    images = SequenceData(torch.arange(12.0).reshape(3, 1, 2, 2), targets=[0, 1, 2])
    assert images.select([2]).inputs.tolist() == [[[[8, 9], [10, 11]]]]
    assert images.lengths.tolist() == [1, 1, 1] and images.select([0, 1]).valid is None


def test_documents_follow_the_steps() -> None:
    batch = SequenceData([5, 6, 7], [0, 1, 3], documents=[0, 0, 1]).whole()
    assert batch.documents is not None and batch.documents.tolist() == [[0, -1], [0, 1]]


def test_a_part_is_a_view_with_the_same_invariants() -> None:
    for per_step in (False, True):
        part = ragged(per_step).part([2, 1])
        assert list(part.ids) == ["c", "b"] and part.lengths.tolist() == [1, 3] and part.offsets.tolist() == [0, 1, 4]
        assert np.shares_memory(part._inputs, part.part([1])._inputs)
        assert part.inputs[:, 0].tolist() == [10, 4, 6, 8]
        assert part.whole().inputs.equal(ragged(per_step).select([2, 1]).inputs)
        expected = [0, 0, 1, 2] if per_step else [6, 5]
        assert part.targets is not None and part.targets.tolist() == expected


def test_windows_overlap_without_copying() -> None:
    data = SequenceData.windows(np.arange(5, dtype=np.int32), [0, 1, 3], 2)
    assert data.whole().inputs.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert data.inputs.tolist() == [0, 1, 1, 2, 3, 4]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.randoms())
@settings(max_examples=25, deadline=None)
def test_a_batch_there_and_back_is_the_same(lengths: list[int], random: object) -> None:
    time = max(lengths) + 1
    valid = torch.arange(time) >= time - torch.tensor(lengths).unsqueeze(1)  # padding on the left
    inputs = torch.arange(len(lengths) * time * 2.0).reshape(len(lengths), time, 2)
    targets = torch.arange(len(lengths) * time).reshape(len(lengths), time)
    data = SequenceData.from_batch(Batch(inputs, valid, targets))
    assert data.lengths.tolist() == lengths and data.targets_per_step
    assert torch.equal(torch.from_numpy(data.inputs), inputs[valid])
    again = SequenceData.from_batch(data.whole())
    if len(lengths) > 1 or lengths[0] > 1:
        assert again.fingerprint() == data.fingerprint()


def test_the_fingerprint_sees_every_part_and_not_how_the_data_is_kept(tmp_path: Path) -> None:
    data = ragged()
    others = [
        SequenceData(data.inputs, [0, 3, 5, 6], data.targets),
        SequenceData(data.inputs + 1, data.offsets, data.targets),
        SequenceData(data.inputs, data.offsets, [4, 5, 7]),
        SequenceData(data.inputs, data.offsets),
        SequenceData(data.inputs, data.offsets, data.targets, documents=[0] * 6),
        ragged(per_step=True),
        data.part([0, 2, 1]),
    ]
    prints = [other.fingerprint() for other in (data, *others)]
    assert len(set(prints)) == len(prints)
    data.save(tmp_path / "kept")
    assert SequenceData.open(tmp_path / "kept").fingerprint() == data.fingerprint()
    assert data.part([1, 2, 0]).part([2, 0, 1]).fingerprint() == data.fingerprint()


@pytest.mark.parametrize("per_step", [False, True])
def test_a_saved_folder_is_opened_memory_mapped(tmp_path: Path, per_step: bool) -> None:
    data = ragged(per_step)
    data.part([2, 1]).save(tmp_path / "kept")
    opened = SequenceData.open(tmp_path / "kept")
    assert isinstance(opened._inputs, np.memmap) and list(opened.ids) == ["c", "b"]
    one, other = opened.whole(), data.select([2, 1])
    assert one.fingerprint() == other.fingerprint()
    assert not list(tmp_path.glob(".*")), "nothing temporary is left"


def test_a_folder_that_exists_is_left_alone_and_a_failure_leaves_none(tmp_path: Path) -> None:
    ragged().save(tmp_path / "kept")
    with pytest.raises(RunError, match="folder must be absent, got one that exists"):
        ragged(per_step=True).save(tmp_path / "kept")
    assert not SequenceData.open(tmp_path / "kept").targets_per_step
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]


def test_damaged_folders_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be one of sequences"):
        SequenceData.open(tmp_path / "none")
    ragged().save(tmp_path / "kept")
    path = tmp_path / "kept" / "inputs.npy"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=r"inputs\.npy: file must be a whole array"):
        SequenceData.open(tmp_path / "kept")
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"inputs\.npy: file must be a whole array"):
        SequenceData.open(tmp_path / "kept")


def test_parts_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"offsets must be \(n \+ 1,\) whole numbers from 0 to 3 steps"):
        SequenceData([1, 2, 3], [0, 2])
    with pytest.raises(ShapeError, match="every sequence must be at least one step of inputs"):
        SequenceData([1, 2, 3], [0, 2, 2, 3])
    with pytest.raises(ShapeError, match="targets must be 2 rows, one a sequence, got 3"):
        SequenceData([1, 2, 3], [0, 2, 3], [1, 2, 3])
    with pytest.raises(ConfigError, match="index must be below the 3 sequences, got 3"):
        ragged().select([3])
