"""The scalar three-step model against plain arithmetic and finite differences."""

import math

import pytest

from clew.layers.rnn import RNNLayer
from clew.walkthrough import scalar_rnn
from walkthrough.reading import by_label

X, W_X, W_H, W_O, Y = (0.5, -1.0, 0.8), 0.7, 0.9, 1.2, 0.5


def loss_at(w_x: float = W_X, w_h: float = W_H, w_o: float = W_O) -> float:
    h = 0.0
    for x in X:
        h = math.tanh(w_x * x + w_h * h)
    return 0.5 * (w_o * h - Y) ** 2


def slope_of(name: str, step: float = 1e-6) -> float:
    base = {"w_x": W_X, "w_h": W_H, "w_o": W_O}
    up, down = (loss_at(**(base | {name: base[name] + change})) for change in (step, -step))
    return (up - down) / (2 * step)


def test_the_columns_are_those_of_plain_arithmetic() -> None:
    z, h = [], [0.0]
    for x in X:
        z.append(W_X * x + W_H * h[-1])
        h.append(math.tanh(z[-1]))
    prediction = W_O * h[3]
    g_z, g_h = {}, {2: (prediction - Y) * W_O}
    for step in (2, 1, 0):
        g_z[step] = g_h[step] * (1 - h[step + 1] ** 2)
        g_h[step - 1] = g_z[step] * W_H
    forward = [z[0], h[1], z[1], h[2], z[2], h[3], prediction, 0.5 * (prediction - Y) ** 2]
    backward = [g_h[-1], g_z[0], g_h[0], g_z[1], g_h[1], g_z[2], g_h[2], prediction - Y]
    rows = scalar_rnn.scalar_columns().rows
    assert [row[1] for row in rows] == pytest.approx(forward, abs=1e-12)
    assert [row[3] for row in rows] == pytest.approx(backward, abs=1e-12)


def test_contributions_add_up_to_the_layers_gradient_and_to_finite_differences() -> None:
    for row, name in zip(scalar_rnn.shared_weight_gradients().rows, ("w_x", "w_h", "w_o"), strict=True):
        assert row[4] == pytest.approx(row[5], abs=1e-14)
        assert row[5] == pytest.approx(slope_of(name), abs=1e-8)


def test_path_products_are_the_contributions() -> None:
    rows = scalar_rnn.path_products().rows
    assert [row[4] for row in rows] == pytest.approx([row[5] for row in rows], abs=1e-14)


def test_the_first_recurrent_use_is_zero_and_the_first_input_still_counts() -> None:
    values = by_label(scalar_rnn.first_recurrent_use())
    assert values["g^z_0 h_-1"] == 0
    assert values["dL/dx_0"] != 0


def test_the_update_is_gradient_descent_with_recomputed_states() -> None:
    item = scalar_rnn.gradient_descent_step()
    new = {name: value - 0.1 * slope_of(name) for name, value in (("w_x", W_X), ("w_h", W_H), ("w_o", W_O))}
    after, kept = by_label(item, 3), by_label(item, 4)
    assert [after[name] for name in new] == pytest.approx(list(new.values()), abs=1e-8)
    assert after["L"] == pytest.approx(loss_at(**new), abs=1e-8)
    assert kept["L"] != pytest.approx(after["L"], abs=1e-5)
    assert kept["h_2"] == by_label(item, 1)["h_2"]


def test_small_steps_lower_the_loss_and_the_largest_raises_it() -> None:
    changes = [row[3] for row in scalar_rnn.update_sizes().rows]
    assert all(isinstance(change, float) and change < 0 for change in changes[:4])
    assert isinstance(changes[4], float)
    assert changes[4] > 0


def test_a_changed_cell_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the walkthrough takes its numbers from the layer, so a broken one shows."""
    before = scalar_rnn.scalar_columns().rows
    step = RNNLayer.step
    monkeypatch.setattr(RNNLayer, "step", lambda self, projected, states: step(self, 2 * projected, states))
    changed = scalar_rnn.scalar_columns().rows
    assert changed[0][1] == pytest.approx(2 * float(before[0][1] or 0))
    assert changed[7][1] != before[7][1]
