"""`ledger.compare` names where two runs part."""

import torch

from clew.ledger import Described, Quantity
from clew.ledger.comparing import first_difference
from ledger.recorded import record_pass, recorded, small_model


def made(name: str, value: torch.Tensor, sensitivity: torch.Tensor | None = None) -> Quantity:
    return Quantity(name, value, Described(("time", "features"), "x"), {}, lambda: sensitivity)


def test_equal_runs_do_not_differ() -> None:
    assert recorded("lstm").compare(record_pass(small_model("lstm"))) is None


def test_a_changed_weight_shows_at_the_first_quantity_that_it_reaches() -> None:
    model = small_model("transformer")
    with torch.no_grad():
        model.encoder.blocks[0].attention.input_map.weight[1, 2] += 1e-3  # pyright: ignore
    found = recorded("transformer").compare(record_pass(model))
    assert found is not None
    assert (found.name, found.what) == ("encoder.blocks.0.attention.input_map.output", "value")
    assert found.place["features"] == 1
    assert found.largest is not None and abs(float(found.first) - float(found.second)) == found.largest  # pyright: ignore
    assert str(found).startswith("the value of encoder.blocks.0.attention.input_map.output differs by up to ")


def test_values_come_first_and_sensitivities_in_the_order_of_the_backward_pass() -> None:
    zeros = torch.zeros(2, 3)
    changed = zeros.clone()
    changed[1, 2] = 0.5
    changed[0, 0] = 0.1
    first = [made("a", zeros, zeros), made("b", zeros, zeros)]
    by_value = first_difference(first, [made("a", zeros, changed), made("b", changed, zeros)])
    assert by_value is not None and (by_value.name, by_value.what, by_value.largest) == ("b", "value", 0.5)
    assert by_value.place == {"time": 1, "features": 2}
    by_sensitivity = first_difference(first, [made("a", zeros, changed), made("b", zeros, changed)])
    assert by_sensitivity is not None and (by_sensitivity.name, by_sensitivity.what) == ("b", "sensitivity")


def test_a_tolerance_lets_rounding_pass() -> None:
    zeros, near = torch.zeros(2, 3), torch.full((2, 3), 1e-9)
    assert first_difference([made("a", zeros)], [made("a", near)]) is not None
    assert first_difference([made("a", zeros)], [made("a", near)], tolerance=1e-8) is None


def test_nan_agrees_with_nan_and_differs_from_a_number() -> None:
    nan = torch.tensor([[float("nan"), float("inf")]])
    assert first_difference([made("a", nan)], [made("a", nan.clone())]) is None
    found = first_difference([made("a", nan)], [made("a", torch.tensor([[0.0, float("inf")]]))])
    assert found is not None and found.largest == float("inf") and found.place == {"time": 0, "features": 0}


def test_shapes_and_missing_names_are_differences() -> None:
    one, two = made("a", torch.zeros(2, 3)), made("a", torch.zeros(2, 4))
    found = first_difference([one], [two])
    assert str(found) == "a has shape (2, 3) in the first and (2, 4) in the second"
    extra = made("b", torch.zeros(1, 1))
    assert str(first_difference([one], [one, extra])) == "b is in only one of the two, the second"
    assert str(first_difference([one, extra], [one])) == "b is in only one of the two, the first"


def test_a_backward_pass_in_only_one_is_said() -> None:
    found = recorded("gru").compare(recorded("gru", backward=False))
    assert found is not None
    assert str(found) == "the sensitivity of loss.loss differs: computed and not computed"
