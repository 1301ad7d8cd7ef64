"""Losses, reductions, biases and the identity against the derived rules."""

import pytest
import torch

import clew
from clew.walkthrough import scalar_rnn, scalar_variants
from clew.walkthrough.unrolled import half_squared_error, rows_of
from walkthrough.reading import by_label

W_O, Y = 1.2, 0.5


def test_direct_and_later_terms_add_up_before_the_slope() -> None:
    for item in (scalar_variants.final_only_loss(), scalar_variants.every_step_losses()):
        for row in item.rows:
            direct, later, total = (float(value) for value in row[3:6] if isinstance(value, float))
            assert direct + later == pytest.approx(total, abs=1e-14)
    assert [row[3] == 0 for row in scalar_variants.final_only_loss().rows] == [True, True, False]


def test_a_reduction_scales_every_sensitivity_once() -> None:
    first, *others, wrong = scalar_variants.loss_reductions().rows
    for row in others:
        assert isinstance(row[1], float)
        expected = [float(value) * row[1] for value in first[2:] if isinstance(value, float)]
        assert row[2:] == pytest.approx(expected, abs=1e-14)
    mean_over_time = others[0]
    assert wrong[7] == pytest.approx(mean_over_time[7], abs=1e-14)  # nothing comes later than the last step
    assert wrong[5] != pytest.approx(mean_over_time[5], abs=1e-3)


def test_a_mean_over_time_is_what_torch_reduces_to() -> None:
    layer, head = scalar_rnn.scalar_layers()
    inputs = rows_of(scalar_variants.INPUTS, scalar_variants.SECOND_INPUTS).unsqueeze(-1)
    targets = rows_of([Y] * 3, [scalar_variants.SECOND_TARGET] * 3).unsqueeze(-1)
    loss = 0.5 * torch.nn.functional.mse_loss(head(layer(inputs)[0]), targets)  # over two examples and three steps
    weights = [layer.weight_ih, layer.weight_hh, head.weight]
    norm = torch.cat([gradient.flatten() for gradient in torch.autograd.grad(loss, weights)]).norm().item()
    assert scalar_variants.loss_reductions().rows[3][-1] == pytest.approx(norm, abs=1e-14)


def test_a_zero_bias_learns_only_if_it_may() -> None:
    rows = {row[0]: row[1:] for row in scalar_variants.cell_and_head_biases().rows}
    assert rows["ŷ"][0] == rows["ŷ"][1]
    assert rows["dL/db_o = e"][0] == "fixed"
    assert rows["dL/db_o = e"][1] == pytest.approx(scalar_rnn.scalar_columns().rows[-1][3], abs=1e-14)
    assert rows["dL/db_h = Σ g^z_t"][1] == pytest.approx(sum(_backward_z()), abs=1e-12)


def _backward_z() -> list[float]:
    rows = scalar_rnn.scalar_columns().rows
    return [float(row[3]) for row in rows[1:6:2] if isinstance(row[3], float)]


def test_exercise_one_follows_the_derived_rule() -> None:
    values = by_label(scalar_variants.earlier_readout(), 1)
    direct, later = values["direct contribution e_1 w_o to g^h_1"], values["later contribution g^z_2 w_h to g^h_1"]
    assert isinstance(direct, float)
    assert isinstance(later, float)
    assert values["g^h_1"] == pytest.approx(direct + later, abs=1e-14)
    model = scalar_rnn.scalar_pass((1, 2))
    e_1 = model.predictions[1].item() - Y
    assert direct == pytest.approx(e_1 * W_O, abs=1e-14)
    uses = [values["e_1 h_1, from the use of w_o at step 1"], values["e_2 h_2, from the use of w_o at step 2"]]
    assert values["dL/dw_o"] == pytest.approx(sum(float(use) for use in uses if use is not None), abs=1e-14)


def test_only_the_identity_is_affine() -> None:
    gaps = by_label(scalar_variants.identity_is_affine())
    assert gaps["identity"] == pytest.approx(0, abs=1e-14)
    assert all(abs(float(gaps[name] or 0)) > 1e-3 for name in ("tanh", "sigmoid", "relu"))


def test_the_ledger_of_a_whole_model_tells_the_same() -> None:
    """The walkthrough's terms, from copies of a layer, against those of a recorded model with equal weights."""
    model = clew.models.build("rnn", features=1, outputs=1, hidden=1, head="rows").double()
    weights = {
        "weight_ih": scalar_rnn.INPUT_WEIGHT,
        "weight_hh": scalar_rnn.RECURRENT_WEIGHT,
        "head.linear.weight": W_O,
    }
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(next((value for key, value in weights.items() if name.endswith(key)), 0.0))
    with clew.record(model) as ledger:
        logits = model(rows_of(*scalar_rnn.INPUTS).reshape(1, -1, 1)).logits
        half_squared_error(logits[0], torch.full_like(logits[0], Y)).backward()
    state = ledger["encoder.recurrent.0.state"]
    recorded = [state.terms["direct"], state.terms["later"], state.sensitivity]
    for step, row in enumerate(scalar_variants.every_step_losses().rows):
        assert row[3:6] == pytest.approx([value[0, step, 0].item() for value in recorded], abs=1e-12)
