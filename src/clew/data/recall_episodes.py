"""Episodes of the cue-recall experiment: a cue, random moves, the request to recall the cue, and the cue.

    fixed    BOS cue m1 ... md RECALL cue EOS
    random   m1 ... mj BOS cue m(j+1) ... md RECALL cue EOS       j uniform in 0 ... d // 2

`sample_recall_splits` makes the three splits of an experiment: no episode occurs twice, the cues of validation and test
are balanced. Data depends on the data seeds alone. In the random variant BOS marks the cue, so that no position does.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, complain, did_you_mean

MOVES = 4
BOS, EOS, RECALL = 4, 5, 6
VOCAB = 7
TOKEN_WORDS = ("up", "right", "down", "left", "BOS", "EOS", "RECALL")
EXTRA_TOKENS = 5  # BOS, cue, RECALL, cue, EOS

CuePosition = Literal["fixed", "random"]


class RecallSizes(NamedTuple):
    """Episodes a split."""

    train: int = 4096
    validation: int = 512
    test: int = 1024


class RecallSeeds(NamedTuple):
    """Seeds of the generators that draw the splits; nothing else enters the data."""

    train: int = 62061
    validation: int = 62062
    test: int = 62063


DEFAULT_SIZES = RecallSizes()
DEFAULT_SEEDS = RecallSeeds()


class RecallSplits(NamedTuple):
    """The three splits; inputs are int64 (episodes, delay + 5)."""

    train: Batch
    validation: Batch
    test: Batch


def sample_recall_splits(
    delay: int,
    sizes: RecallSizes | tuple[int, int, int] = DEFAULT_SIZES,
    seeds: RecallSeeds | tuple[int, int, int] = DEFAULT_SEEDS,
    cue_position: str = "fixed",
) -> RecallSplits:
    """Draw training, validation and test episodes, all distinct, the cues of validation and test balanced.

    Test is drawn first and training last, each from its own generator: a larger training split or another training
    seed leaves the test episodes as they are.

    Args:
        delay: Random moves between cue and request, at least 1.
        sizes: Episodes a split; validation and test are divisible by 4.
        seeds: Three different seeds, in the order training, validation, test.
        cue_position: "fixed", or "random" for the control without an absolute place of the cue.

    Raises:
        ConfigError: If delay, seeds or cue position are out of range.
        DataError: If a split cannot be balanced, or the delay has too few distinct episodes.

    >>> sample_recall_splits(8).test.inputs.shape
    torch.Size([1024, 13])
    """
    sizes, seeds = RecallSizes(*sizes), RecallSeeds(*seeds)
    check_delay("sample_recall_splits", delay)
    check_cue_position("sample_recall_splits", cue_position)
    _check_seeds(seeds)
    _check_sizes(delay, sizes, cue_position)
    test = _draw_distinct(sizes.test, delay, seeds.test, cue_position, taken=None, is_balanced=True)
    validation = _draw_distinct(sizes.validation, delay, seeds.validation, cue_position, taken=test, is_balanced=True)
    taken = torch.cat([test, validation])
    train = _draw_distinct(sizes.train, delay, seeds.train, cue_position, taken=taken, is_balanced=False)
    assert bool(_is_first_occurrence(torch.cat([train, validation, test])).all()), "an episode occurs twice"
    return RecallSplits(Batch(train), Batch(validation), Batch(test))


def sample_episodes(
    count: int, delay: int, generator: torch.Generator, cue_position: str = "fixed"
) -> Int[Tensor, "count time"]:
    """Draw episodes with balanced cues in shuffled order; moves are independent, so episodes may repeat.

    Raises:
        ConfigError: If delay or cue position are out of range.
        DataError: If `count` is not divisible by 4.
    """
    check_delay("sample_episodes", delay)
    check_cue_position("sample_episodes", cue_position)
    _check_balance("sample_episodes", "count", count)
    return _compose(_balanced_cues(count, generator), delay, generator, cue_position)


def cue_places(inputs: Int[Tensor, "episodes time"]) -> Int[Tensor, " episodes"]:
    """Index of the cue in each episode: the step after BOS.

    Raises:
        DataError: If an episode has no BOS.

    >>> cue_places(torch.tensor([[4, 2, 0, 1, 6], [3, 4, 2, 1, 6]])).tolist()
    [1, 2]
    """
    is_begin = inputs == BOS
    if not bool(is_begin.any(dim=1).all()):
        row = int((~is_begin.any(dim=1)).nonzero()[0])
        got = f"{inputs[row].tolist()} at row {row}"
        raise DataError(complain("cue_places", "every episode", f"one with BOS ({BOS}) before its cue", got))
    return is_begin.int().argmax(dim=1) + 1


def distinct_episodes(delay: int, cue_position: str = "fixed") -> int:
    """How many different episodes there are: 4 cues, 4^delay moves, and the places of the cue in the random variant.

    >>> distinct_episodes(8), distinct_episodes(8, "random")
    (262144, 1310720)
    """
    return lead_choices(delay, cue_position) * MOVES ** (delay + 1)


def lead_choices(delay: int, cue_position: str = "fixed") -> int:
    """How many numbers of moves can stand before BOS: 1, or delay // 2 + 1 in the random variant."""
    return delay // 2 + 1 if cue_position == "random" else 1


def expected_shared_moves(delay: int, sizes: RecallSizes = DEFAULT_SIZES, cue_position: str = "fixed") -> float:
    """Expected number of test episodes whose moves also stand in a training episode, under another cue.

    Each of the three episodes with the same moves and another cue is in training with probability
    p = train / distinct; so test * (1 - (1 - p)^3) are expected.

    >>> round(expected_shared_moves(8), 1)
    47.3
    """
    fraction = sizes.train / distinct_episodes(delay, cue_position)
    return sizes.test * (1 - (1 - fraction) ** (MOVES - 1))


def describe_disjointness(delay: int, sizes: RecallSizes = DEFAULT_SIZES, cue_position: str = "fixed") -> str:
    """Say in words what the disjointness of the splits means at this delay, and what it does not.

    Since no episode occurs twice, moves that a model has memorised from training tell it one cue that the test
    episode does not have, never the one that it has.
    """
    expected = expected_shared_moves(delay, sizes, cue_position)
    amount = f"about {expected:.0f}" if expected >= 1 else "fewer than one"
    return (
        f"No episode (cue and moves) occurs twice, neither within a split nor across splits. The same moves may occur "
        f"in two splits under different cues: at delay {delay}, where {distinct_episodes(delay, cue_position):,} "
        f"distinct episodes exist, this is expected of {amount} of the {sizes.test:,} test episodes."
    )


def check_delay(where: str, delay: int) -> None:
    """Raise ConfigError unless the delay is a whole number of at least 1."""
    if isinstance(delay, bool) or not isinstance(delay, int) or delay < 1:
        remedy = "A delay counts the random moves between cue and request."
        raise ConfigError(complain(where, "delay", "a whole number of at least 1", repr(delay), remedy))


def check_cue_position(where: str, cue_position: str) -> None:
    """Raise ConfigError unless the name is that of a variant."""
    known = get_args(CuePosition)
    if cue_position not in known:
        remedy = did_you_mean(str(cue_position), known)
        raise ConfigError(complain(where, "cue_position", "'fixed' or 'random'", repr(cue_position), remedy))


def _check_seeds(seeds: RecallSeeds) -> None:
    if len(set(seeds)) < len(seeds):
        remedy = "Equal seeds would draw the same moves for two splits."
        raise ConfigError(complain("sample_recall_splits", "seeds", "three different numbers", tuple(seeds), remedy))


def _check_balance(where: str, what: str, count: int) -> None:
    if count < MOVES or count % MOVES:
        remedy = f"Use {max(MOVES, round(count / MOVES) * MOVES)}."
        raise DataError(complain(where, what, "a positive multiple of 4, for balanced cues", count, remedy))


def _check_sizes(delay: int, sizes: RecallSizes, cue_position: str) -> None:
    where = "sample_recall_splits"
    if sizes.train < 1:
        raise DataError(complain(where, "the number of training episodes", "at least 1", sizes.train))
    _check_balance(where, "the number of validation episodes", sizes.validation)
    _check_balance(where, "the number of test episodes", sizes.test)
    # At most half of what exists: then each round of rejection below succeeds for half of the episodes or more.
    total, distinct = sum(sizes), distinct_episodes(delay, cue_position)
    if 2 * total > distinct:
        enough = next(d for d in range(delay, 64) if 2 * total <= distinct_episodes(d, cue_position))
        rule = f"at most {distinct // 2}, half of the {distinct} distinct episodes of delay {delay}"
        got = f"{total} ({sizes.train} + {sizes.validation} + {sizes.test})"
        remedy = f"Use delay >= {enough} or fewer episodes."
        raise DataError(complain(where, "the number of episodes of all splits", rule, got, remedy))


def _draw_distinct(
    count: int, delay: int, seed: int, cue_position: str, taken: Int[Tensor, "taken time"] | None, is_balanced: bool
) -> Int[Tensor, "count time"]:
    """Draw episodes until all differ from each other and from `taken`; a rejected one is drawn anew."""
    generator = torch.Generator().manual_seed(seed)
    cues = _balanced_cues(count, generator) if is_balanced else _random_tokens((count,), generator)
    episodes = _compose(cues, delay, generator, cue_position)
    taken = episodes[:0] if taken is None else taken
    while True:
        rejected = ~_is_first_occurrence(torch.cat([taken, episodes]))[len(taken) :]
        if not bool(rejected.any()):
            return episodes
        cues = cues if is_balanced else torch.where(rejected, _random_tokens((count,), generator), cues)
        episodes[rejected] = _compose(cues[rejected], delay, generator, cue_position)


def _is_first_occurrence(rows: Int[Tensor, "rows time"]) -> Bool[Tensor, " rows"]:
    """True at the first of equal rows; the bytes of a row are its key, which has no limit on the delay."""
    keys = np.ascontiguousarray(rows.to(torch.uint8).numpy()).view(f"V{rows.shape[1]}").ravel()
    _, first = np.unique(keys, return_index=True)
    is_first = torch.zeros(len(rows), dtype=torch.bool)
    is_first[torch.from_numpy(first)] = True
    return is_first


def _balanced_cues(count: int, generator: torch.Generator) -> Int[Tensor, " count"]:
    return torch.arange(count)[torch.randperm(count, generator=generator)] % MOVES


def _random_tokens(shape: tuple[int, ...], generator: torch.Generator) -> Int[Tensor, "..."]:
    return torch.randint(0, MOVES, shape, generator=generator)


def _compose(
    cues: Int[Tensor, " episodes"], delay: int, generator: torch.Generator, cue_position: str
) -> Int[Tensor, "episodes time"]:
    """Put episodes together from cues and freshly drawn moves (and places of the cue)."""
    count = len(cues)
    moves = _random_tokens((count, delay), generator)
    lead = torch.randint(0, lead_choices(delay, cue_position), (count, 1), generator=generator)
    # Step t of the part before RECALL is a lead move, BOS, the cue, or a later move, which stands two steps behind.
    step = torch.arange(delay + 2).expand(count, -1)
    source = torch.where(step < lead, step, step - 2).clamp(0, delay - 1)
    part = moves.gather(1, source)
    part = torch.where(step == lead, BOS, part)
    part = torch.where(step == lead + 1, cues.unsqueeze(1), part)
    end = torch.stack([torch.full_like(cues, RECALL), cues, torch.full_like(cues, EOS)], dim=1)
    return torch.cat([part, end], dim=1)
