import pytest
import torch

from clew.data import (
    RecallSeeds,
    RecallSizes,
    RecallSplits,
    describe_disjointness,
    sample_episodes,
    sample_recall_splits,
)
from clew.data.recall_episodes import (
    BOS,
    EOS,
    MOVES,
    RECALL,
    cue_places,
    distinct_episodes,
    expected_shared_moves,
    lead_choices,
)
from clew.errors import ConfigError, DataError

SMALL = RecallSizes(train=300, validation=40, test=80)


def rows_of(splits: RecallSplits) -> list[tuple[int, ...]]:
    return [tuple(row) for split in splits for row in split.inputs.tolist()]


def cues_of(inputs: torch.Tensor) -> torch.Tensor:
    return inputs.gather(1, cue_places(inputs).unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize("cue_position", ["fixed", "random"])
@pytest.mark.parametrize("delay", [1, 2, 9])
def test_every_episode_follows_the_grammar(delay: int, cue_position: str) -> None:
    inputs = sample_episodes(400, delay, torch.Generator().manual_seed(3), cue_position)
    assert inputs.shape == (400, delay + 5) and inputs.dtype == torch.int64
    leads = set()
    for row in inputs.tolist():
        lead = row.index(BOS)
        leads.add(lead)
        cue = row[lead + 1]
        moves = row[:lead] + row[lead + 2 : delay + 2]
        assert row[delay + 2 :] == [RECALL, cue, EOS]
        assert len(moves) == delay and all(0 <= move < MOVES for move in [cue, *moves])
    assert leads == set(range(lead_choices(delay, cue_position)))


def test_the_default_sizes_and_the_balance_of_validation_and_test() -> None:
    splits = sample_recall_splits(8)
    assert [len(split) for split in splits] == [4096, 512, 1024]
    for split in (splits.validation, splits.test):
        cues = cues_of(split.inputs)
        assert torch.bincount(cues).tolist() == [len(split) // 4] * 4
        steps = torch.bincount((cues[1:] - cues[:-1]) % 4, minlength=4) / len(split)
        assert (steps - 0.25).abs().max() < 0.1, "cues stand in an order"
    counts = torch.bincount(cues_of(splits.train.inputs))
    assert len(counts) == 4 and (counts - 1024).abs().max() < 5 * (4096 * 3 / 16) ** 0.5


@pytest.mark.parametrize("cue_position", ["fixed", "random"])
@pytest.mark.parametrize(("delay", "sizes"), [(4, SMALL), (6, RecallSizes()), (32, SMALL), (40, SMALL)])
def test_no_episode_occurs_twice(delay: int, sizes: RecallSizes, cue_position: str) -> None:
    rows = rows_of(sample_recall_splits(delay, sizes, cue_position=cue_position))
    assert len(set(rows)) == len(rows) == sum(sizes)


def test_half_of_all_episodes_can_be_drawn_and_leave_the_cues_balanced() -> None:
    splits = sample_recall_splits(3, RecallSizes(train=96, validation=16, test=16))
    assert len(set(rows_of(splits))) == 128 == distinct_episodes(3) // 2
    assert torch.bincount(cues_of(splits.test.inputs)).tolist() == [4] * 4


def test_moves_are_uniform_and_independent_of_the_cue() -> None:
    inputs = sample_recall_splits(16).train.inputs
    cues, moves = inputs[:, 1], inputs[:, 2:18]
    joint = torch.stack([torch.bincount(cues * 4 + column, minlength=16) for column in moves.T])
    expected, deviation = 4096 / 16, (4096 * 15 / 256) ** 0.5
    assert (joint - expected).abs().max() < 5 * deviation


def test_data_depend_on_the_data_seeds_only() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = sample_recall_splits(8, SMALL)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second = sample_recall_splits(8, SMALL)
    assert [split.fingerprint() for split in first] == [split.fingerprint() for split in second]


def test_test_episodes_do_not_depend_on_the_training_split() -> None:
    first = sample_recall_splits(8, SMALL)
    second = sample_recall_splits(8, SMALL._replace(train=500), RecallSeeds(train=5))
    assert first.test.fingerprint() == second.test.fingerprint()
    assert first.validation.fingerprint() == second.validation.fingerprint()
    assert first.train.fingerprint() != second.train.fingerprint()
    third = sample_recall_splits(8, SMALL, RecallSeeds(test=5))
    assert third.test.fingerprint() != first.test.fingerprint()


def test_the_number_of_shared_moves_is_as_told() -> None:
    splits = sample_recall_splits(8)
    known = {tuple(row[2:10]) for row in splits.train.inputs.tolist()}
    shared = sum(tuple(row[2:10]) in known for row in splits.test.inputs.tolist())
    assert expected_shared_moves(8) == pytest.approx(1024 * (1 - (1 - 4096 / 262144) ** 3))
    assert abs(shared - expected_shared_moves(8)) < 4 * expected_shared_moves(8) ** 0.5
    assert describe_disjointness(8) == (
        "No episode (cue and moves) occurs twice, neither within a split nor across splits. The same moves may occur "
        "in two splits under different cues: at delay 8, where 262,144 distinct episodes exist, this is expected of "
        "about 47 of the 1,024 test episodes."
    )
    assert "of fewer than one of the 1,024 test episodes" in describe_disjointness(16)


def test_too_few_distinct_episodes_are_refused_with_the_delay_that_is_enough() -> None:
    with pytest.raises(DataError) as error:
        sample_recall_splits(4)
    assert str(error.value) == (
        "sample_recall_splits: the number of episodes of all splits must be at most 512, half of the 1024 distinct "
        "episodes of delay 4, got 5632 (4096 + 512 + 1024). Use delay >= 6 or fewer episodes."
    )
    sample_recall_splits(6)


def test_sizes_that_cannot_be_balanced_are_refused() -> None:
    with pytest.raises(DataError) as error:
        sample_recall_splits(8, RecallSizes(test=1022))
    assert str(error.value) == (
        "sample_recall_splits: the number of test episodes must be a positive multiple of 4, for balanced cues, "
        "got 1022. Use 1024."
    )
    for sizes in (RecallSizes(validation=0), RecallSizes(validation=3), RecallSizes(test=-4), RecallSizes(train=0)):
        with pytest.raises(DataError):
            sample_recall_splits(8, sizes)
    with pytest.raises(DataError):
        sample_episodes(6, 8, torch.Generator())


@pytest.mark.parametrize("delay", [0, -1, True])
def test_a_delay_below_one_is_refused(delay: int) -> None:
    with pytest.raises(ConfigError) as error:
        sample_recall_splits(delay)
    assert str(error.value) == (
        f"sample_recall_splits: delay must be a whole number of at least 1, got {delay}. "
        "A delay counts the random moves between cue and request."
    )


def test_equal_seeds_and_unknown_variants_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"seeds must be three different numbers, got \(1, 2, 1\)"):
        sample_recall_splits(8, SMALL, (1, 2, 1))
    with pytest.raises(
        ConfigError, match=r"cue_position must be 'fixed' or 'random', got 'fixd'. Did you mean 'fixed'"
    ):
        sample_recall_splits(8, SMALL, cue_position="fixd")


def test_an_episode_without_its_mark_has_no_cue_place() -> None:
    with pytest.raises(DataError, match=r"one with BOS \(4\) before its cue, got \[1, 2\] at row 1"):
        cue_places(torch.tensor([[4, 1], [1, 2]]))
