"""Who is read, which targets count, how lengths are weighed, and what True means where."""

import math

import pytest

from clew.walkthrough import padding_rules


def test_padded_sources_are_hidden_and_padded_queries_still_read() -> None:
    item = padding_rules.padded_weights()
    for row in item.rows:
        assert row[3:] == ["hidden", "hidden"]
        assert sum(row[1:3]) == pytest.approx(1, abs=1e-15)
    assert "Queries at padding are computed all the same" in item.notes[0]


def test_padding_and_causality_are_combined() -> None:
    hidden = [[math.isinf(value) for value in row[1:]] for row in padding_rules.combined_visibility().rows]
    assert hidden[:4] == [[False, False, False, True]] * 4
    assert hidden[4:] == [[source > query or source == 3 for source in range(4)] for query in range(4)]


def test_the_last_real_word_is_valid_and_not_scored() -> None:
    rows = padding_rules.target_validity().rows
    valid, scored = [row[2] for row in rows], [row[4] for row in rows]
    assert valid == [1] * 8 + [1] * 3 + [0] * 5
    assert scored == [1] * 7 + [0] + [1] * 2 + [0] * 6
    assert all((row[3] is None) == (row[4] == 0) for row in rows)


def test_the_loss_weighs_targets_and_not_sequences() -> None:
    long, short, batch, of_means = padding_rules.loss_weighting().rows
    assert (long[1], short[1], batch[1]) == (7, 2, 9)
    assert batch[2] == pytest.approx((7 * long[2] + 2 * short[2]) / 9, abs=1e-12)
    assert of_means[2] == pytest.approx((long[2] + short[2]) / 2, abs=1e-12)
    assert abs(batch[2] - of_means[2]) > 0.01


def test_an_id_at_padding_is_never_an_index() -> None:
    clean, spoiled, afterwards = (row[1] for row in padding_rules.invalid_targets().rows)
    assert clean == spoiled
    assert afterwards == "IndexError: Target 99 is out of bounds."


def test_masks_agree_once_they_are_converted() -> None:
    clew, converted, as_it_is, functional = (row[3] for row in padding_rules.mask_conventions().rows)
    assert max(clew, converted, functional) < 1e-14
    assert not as_it_is < 0.01  # a distance, or NaN where a query is left without any source
