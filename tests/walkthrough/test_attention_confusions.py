"""Confusions 4 to 11: each demonstration tells the mistake from what is so."""

import pytest

from clew.walkthrough import attention_confusions as confusions


def test_the_eight_are_numbered_as_in_the_text() -> None:
    assert [builder().chapter for builder in confusions.ITEMS] == [f"Confusion {number}" for number in range(4, 12)]


def test_weights_follow_the_sources_and_features_do_not() -> None:
    rows = confusions.weights_index_sources().rows
    assert all(row[0] == row[1] and row[3] == 3 and row[2] == pytest.approx(1) for row in rows)


def test_the_two_softmaxes_have_axes_of_their_own() -> None:
    attention, classes, other = confusions.two_softmaxes().rows
    assert (attention[2], classes[2], other[2]) == (7, 9, 9)
    assert all(row[3] == pytest.approx(1, abs=1e-14) for row in (attention, classes, other))
    assert attention[4] == "6: begins" and classes[4] != other[4]


def test_every_head_reads_every_position_and_feature() -> None:
    for row in confusions.heads_read_everything().rows:
        assert row[1:3] == [7, 5] and row[3] > 0


def test_layer_norm_stays_in_the_row_and_batch_norm_does_not() -> None:
    layer, batch = confusions.normalization_stays_in_the_row().rows
    assert layer[1:] == [0, 0] and min(batch[1:]) > 0.1


def test_the_second_bypass_carries_the_first_sum() -> None:
    first_sum, block_input, normalized = (row[1] for row in confusions.second_bypass().rows)
    assert first_sum < 1e-15 and min(block_input, normalized) > 0.1


def test_masked_sources_mend_rows_and_neither_pooling_nor_loss() -> None:
    begins, real, everything, loss = confusions.masking_sources_is_not_enough().rows
    assert max(begins[1], real[1]) < 1e-14 and min(begins[2], real[2]) > 0.01
    assert min(everything[1:]) > 0.01 and min(loss[1:]) > 0.01


def test_a_late_mask_moves_earlier_rows() -> None:
    rows = confusions.last_layer_mask().rows
    assert [row[1] for row in rows[:6]] == [0] * 6
    assert min(row[2] for row in rows) > 0.01 and rows[6][1] > 0.01


def test_recorded_and_generated_prefixes_part() -> None:
    rows = confusions.known_record_or_generated_prefix().rows
    assert rows[0][5] < 1e-14 and rows[0][1] == rows[0][3]
    assert all(row[1] != row[3] and row[5] > 0.01 for row in rows[1:])
