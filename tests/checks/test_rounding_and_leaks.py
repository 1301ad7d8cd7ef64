"""A leak of 1e-4 is seen, rounding is not, and the report knows which it can tell apart."""

import pytest
import torch
from torch import nn

from checks.models import BatchNormed, FourierConvolution, NarrowInside, Recurrent, Reused, RunningSum, TinyLeak
from clew.checks import audit

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
VALUES = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", [Recurrent, RunningSum, FourierConvolution, NarrowInside, BatchNormed])
def test_rounding_and_statistics_of_training_are_no_leak(kind: type[nn.Module]) -> None:
    report = audit(kind(), VALUES)
    assert report.failures == []
    assert report.power.was_seen is True


def test_a_leak_of_a_ten_thousandth_is_seen_and_located() -> None:
    report = audit(TinyLeak(), VALUES)
    future = report["future"]
    assert report.failures == ["future"]
    assert future.module == "recurrent"
    assert future.place is not None and future.place.arises_in == ""
    example = future.counterexample
    assert example is not None and isinstance(example.changed, int) and example.moved is not None
    assert example.moved < example.changed
    assert future.movement is not None and future.floor is not None and future.movement > 1e4 * future.floor


def test_narrow_arithmetic_inside_raises_the_floor() -> None:
    wide, narrow = audit(Recurrent(), VALUES), audit(NarrowInside(), VALUES)
    assert wide.precision == narrow.precision == "float64"
    assert wide.floor < 1e-12 < narrow.floor < 1e-4


def test_statistics_shared_in_training_are_told_as_remarks() -> None:
    report = audit(BatchNormed(), VALUES)
    assert any("batch statistics" in remark for remark in report["batch_mates"].remarks)
    assert any("batch statistics" in remark for remark in report["future"].remarks)


def test_a_reused_nested_layer_is_named_with_its_call() -> None:
    place = audit(Reused(), VALUES)["future"].place
    assert place is not None
    assert (place.module, place.kind, place.call, place.calls, place.arises_in) == ("block.inner", "Linear", 3, 3, "")


def test_the_influence_map_shows_who_reads_whom() -> None:
    report = audit(Recurrent(), VALUES)
    assert report.influence.shape == report.allowed.shape == (8, 8)
    assert ((report.influence > report.floor) == report.allowed).all()


def test_long_inputs_are_varied_in_blocks() -> None:
    values = torch.randn(2, 64, 4, generator=torch.Generator().manual_seed(2))
    report = audit(TinyLeak(), values)
    assert report.influence_step == 8
    assert report.failures == ["future"]
    example = report["future"].counterexample
    assert example is not None and isinstance(example.changed, int)


def test_a_leak_between_two_neighbours_of_a_long_input_is_found_at_a_cut() -> None:
    def model(values: torch.Tensor) -> torch.Tensor:
        out = values.cumsum(dim=1).tanh()
        out[:, 39] = out[:, 39] + 1e-4 * values[:, 40]
        return out

    values = torch.randn(2, 64, 4, generator=torch.Generator().manual_seed(2))
    assert "future" in audit(model, values, ordered=False).failures
