"""What attention costs grows as the items say."""

from itertools import pairwise

from clew.walkthrough import attention_cost
from clew.walkthrough.attention_cost import HEAD_DIM, HEADS, TIMES


def test_pairs_grow_by_four_and_maps_by_two() -> None:
    rows = attention_cost.attention_counts().rows
    for before, after in pairwise(rows):
        assert [late / early for early, late in zip(before, after, strict=True)] == [2, 4, 4, 2, 2]
    assert rows[0][1:3] == [HEADS * TIMES[0] ** 2, 2 * HEADS * TIMES[0] ** 2 * HEAD_DIM]


def test_the_tiled_kernel_keeps_no_pairs() -> None:
    for time, pairs, materialized, explicit, tiled, gap in attention_cost.attention_memory().rows:
        assert materialized == 3 * 4 * pairs
        assert explicit >= 4 * pairs
        assert tiled <= 4 * HEADS * time * (4 * HEAD_DIM + 2)  # queries, keys, values, outputs, a number a query
        assert gap < 1e-5


def test_times_are_measured() -> None:
    rows = attention_cost.attention_time().rows
    assert [row[0] for row in rows] == list(TIMES)
    assert all(row[1] > 0 and row[2] > 0 for row in rows)
