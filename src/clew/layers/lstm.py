"""Long short-term memory: gates around a cell that is stored, and a state that is shown.

`lstm_step` states the equations. `_forward_through_time` computes the same in place and `_backward_through_time` is
derived from them; tests hold both against the equations, autograd, torch.nn and numpy. torch's own kernel is the
fastest in float32, and padding needs care there, see `LSTMLayer._fused`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from clew.layers.recurrent import Bias, RecurrentLayer, Sequence, State, Weight, fused_options, last_states
from clew.layers.through_time import Steps, project_all_steps, states_before, step_by_step, sum_over_uses, with_initial
from clew.layers.valid_steps import ValidSteps
from clew.ledger.description import Described

SATURATION = 1e4  # added to the preactivation of a gate, it makes its sigmoid exactly 1, subtracted exactly 0

AXES = ("batch", "time", "hidden")
SOURCE = "Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000"
VARIANT = "without peepholes; f near one retains"


class LSTMQuantities(NamedTuple):
    """The named quantities of one step, each (..., hidden)."""

    input_gate: Float[Tensor, "*steps hidden"]
    forget_gate: Float[Tensor, "*steps hidden"]
    cell_candidate: Float[Tensor, "*steps hidden"]
    output_gate: Float[Tensor, "*steps hidden"]
    cell: Float[Tensor, "*steps hidden"]
    state: Float[Tensor, "*steps hidden"]


def lstm_step(
    projected: Float[Tensor, "*steps gates_hidden"],
    state: Float[Tensor, "*steps hidden"],
    cell: Float[Tensor, "*steps hidden"],
    weight_hh: Float[Tensor, "gates_hidden hidden"],
    bias_hh: Bias,
) -> LSTMQuantities:
    """Advance an LSTM by one step.

        i = sigmoid(x W_xi' + b_xi + h W_hi' + b_hi)
        f = sigmoid(x W_xf' + b_xf + h W_hf' + b_hf)
        g = tanh(x W_xg' + b_xg + h W_hg' + b_hg)
        o = sigmoid(x W_xo' + b_xo + h W_ho' + b_ho)
        c' = f * c + i * g
        h' = o * tanh(c')

    Args:
        projected: `x W_x' + b_x`, the four gates i, f, g, o side by side.
        state: h, the state before the step.
        cell: c, the cell before the step.
        weight_hh: W_h, in the same order of gates.
        bias_hh: b_h.

    Source:
        Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000, without peepholes, as torch.nn.LSTM.
    """
    i, f, g, o = (projected + functional.linear(state, weight_hh, bias_hh)).chunk(4, dim=-1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    c = f * cell + i * g
    return LSTMQuantities(i, f, g, o, c, o * torch.tanh(c))


class _Trace(NamedTuple):
    """What the backward reads of every step: states h', cells c' and gates (i, f, g, o)."""

    states: Steps
    cells: Steps
    gates: Steps


def _forward_through_time(
    inputs: Steps,
    state: State,
    cell: State,
    weight_ih: Weight,
    weight_hh: Weight,
    bias_ih: Bias,
    bias_hh: Bias,
) -> _Trace:
    """Run all steps in place: what the inputs contribute becomes the gates."""
    time, batch, _ = inputs.shape
    hidden = state.shape[1]
    gates = project_all_steps(inputs, weight_ih, bias_ih + bias_hh)
    states, cells = (inputs.new_empty(time, batch, hidden) for _ in range(2))
    weight = weight_hh.t()
    h, c = state, cell
    every_step = step_by_step(gates, gates[..., : 2 * hidden], *gates.chunk(4, dim=-1), states, cells)
    for ifgo, in_and_forget, i, f, g, o, h_next, c_next in every_step:
        ifgo.addmm_(h, weight)
        in_and_forget.sigmoid_()
        g.tanh_()
        o.sigmoid_()
        c = torch.mul(f, c, out=c_next).addcmul_(i, g)
        h = torch.tanh(c, out=h_next).mul_(o)
    return _Trace(states, cells, gates)


class _Sensitivities(NamedTuple):
    """Of the states and cells (the initial ones first) and of the gates' preactivations, gate by gate."""

    states: Steps
    cells: Steps
    gates: Float[Tensor, "time batch 4 hidden"]


def _backward_through_time(
    direct: Steps, direct_cell: Steps, cells_before: Steps, weight_hh: Weight, trace: _Trace
) -> _Sensitivities:
    """Carry sensitivities from the last step to the first; g[v] is dL/dv, a preactivation is named by its gate.

        g[h'] = direct + what later steps send back
        g[c'] = direct + what later steps send back + g[h'] * o * (1 - y^2)        where y = tanh(c')
        g[i] = g[c'] * g * i (1 - i)
        g[f] = g[c'] * c * f (1 - f)
        g[g] = g[c'] * i * (1 - g^2)
        g[o] = g[h'] * y * o (1 - o)
        sent back to h: (g[i], g[f], g[g], g[o]) W_h
        sent back to c: g[c'] * f

    The factors behind g[c'] and g[h'] do not depend on later steps and are computed for all steps first.
    """
    i, f, g, o = trace.gates.chunk(4, dim=-1)
    y = torch.tanh(trace.cells)
    shown_factor = o * (1 - y * y)
    gates = torch.stack([g * i * (1 - i), cells_before * f * (1 - f), i * (1 - g * g), y * o * (1 - o)], dim=2)
    states, cells = with_initial(direct), with_initial(direct_cell)
    parts = (gates[:, :, :3], gates[:, :, 3], gates.flatten(2), shown_factor, f, states[1:], cells[1:])
    every_step = step_by_step(*parts, states[:-1], cells[:-1])
    for to_ifg, to_o, ifgo, to_c, f_t, own_h, own_c, earlier_h, earlier_c in reversed(every_step):
        own_c.addcmul_(own_h, to_c)
        to_ifg.mul_(own_c.unsqueeze(1))
        to_o.mul_(own_h)
        earlier_h.addmm_(ifgo, weight_hh)
        earlier_c.addcmul_(own_c, f_t)
    return _Sensitivities(states, cells, gates)


class _DerivedLSTM(torch.autograd.Function):
    """The LSTM over all steps, time-major, with the derived backward; differentiable once."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        state: Tensor,
        cell: Tensor,
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Tensor,
        bias_hh: Tensor,
    ) -> tuple[Tensor, Tensor]:
        trace = _forward_through_time(inputs, state, cell, weight_ih, weight_hh, bias_ih, bias_hh)
        ctx.save_for_backward(inputs, state, cell, weight_ih, weight_hh, *trace)
        return trace.states, trace.cells

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, direct: Tensor, direct_cell: Tensor
    ) -> tuple[Tensor | None, ...]:
        inputs, state, cell, weight_ih, weight_hh, *saved = ctx.saved_tensors
        trace = _Trace(*saved)
        cells_before = states_before(cell, trace.cells)
        states, cells, gates = _backward_through_time(direct, direct_cell, cells_before, weight_hh, trace)
        at_gates = gates.flatten(2)
        before = states_before(state, trace.states)
        shared = sum_over_uses(at_gates, at_gates, inputs, before, weight_ih, ctx.needs_input_grad[0])
        return shared.inputs, states[0], cells[0], *shared[1:]


class LSTMLayer(RecurrentLayer):
    """One LSTM layer in one direction; see `RecurrentLayer` for the arguments and `lstm_step` for the equations.

    >>> rows, (final, cell) = LSTMLayer(features=3, hidden=4)(torch.zeros(2, 5, 3))
    >>> rows.shape, final.shape, cell.shape
    (torch.Size([2, 5, 4]), torch.Size([2, 4]), torch.Size([2, 4]))
    """

    gates = 4
    described: ClassVar[Mapping[str, Described]] = {
        "input_gate": Described(AXES, "i = sigmoid(x W_xi' + b_xi + h W_hi' + b_hi)", SOURCE, VARIANT),
        "forget_gate": Described(AXES, "f = sigmoid(x W_xf' + b_xf + h W_hf' + b_hf)", SOURCE, VARIANT),
        "cell_candidate": Described(AXES, "g = tanh(x W_xg' + b_xg + h W_hg' + b_hg)", SOURCE, VARIANT),
        "output_gate": Described(AXES, "o = sigmoid(x W_xo' + b_xo + h W_ho' + b_ho)", SOURCE, VARIANT),
        "cell": Described(AXES, "c' = f * c + i * g", SOURCE, VARIANT),
        "state": Described(AXES, "h' = o * tanh(c')", SOURCE, VARIANT),
    }
    state_parts = ("state", "cell")

    def step(self, projected: Float[Tensor, "*steps gates_hidden"], states: tuple[Tensor, ...]) -> LSTMQuantities:
        state, cell = states
        return lstm_step(projected, state, cell, self.weight_hh, self.bias_hh)

    def states_before(self, projected: Tensor, rows: Tensor, initial: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Give state and cell before each step; kernels show no cells, so these follow from the gates step by step."""
        (states,) = super().states_before(projected, rows, initial)
        gates = self.step(projected, (states, torch.zeros_like(states)))
        written = gates.input_gate * gates.cell_candidate
        cells = [initial[1]]
        for kept, new in zip(gates.forget_gate.unbind(1), written.unbind(1), strict=True):
            cells.append(torch.addcmul(new, kept, cells[-1]))
        return states, torch.stack(cells[:-1], dim=1)

    def carry_back(
        self, direct: tuple[Tensor, ...], before: tuple[Tensor, ...], values: Mapping[str, Tensor]
    ) -> tuple[Tensor, ...]:
        names = ("input_gate", "forget_gate", "cell_candidate", "output_gate")
        gates = torch.cat([values[name] for name in names], dim=-1).transpose(0, 1)
        trace = _Trace(values["state"].transpose(0, 1), values["cell"].transpose(0, 1), gates)
        at_states, at_cells = (part.transpose(0, 1) for part in direct)
        found = _backward_through_time(at_states, at_cells, before[1].transpose(0, 1), self.weight_hh, trace)
        return tuple(part[1:].transpose(0, 1) for part in (found.states, found.cells))

    def _through_time(self, inputs: Steps, initial: tuple[State, ...]) -> tuple[Steps, ...]:
        state, cell = initial
        if torch.is_grad_enabled():
            return _DerivedLSTM.apply(inputs, state, cell, *self.weights)
        return _forward_through_time(inputs, state, cell, *self.weights)[:2]

    def _fused(
        self, inputs: Sequence, initial: tuple[State, ...], steps: ValidSteps | None
    ) -> tuple[Sequence, tuple[State, ...]]:
        """Run torch's kernel; with padding, let it hold the cell still there.

        torch gives the cell after the last step only. So padded steps get a feature of their own that closes the input
        gate and opens the forget gate, exactly, and the cell after the last step is the one after the last valid step.
        """
        weight_ih = self.weight_ih
        if steps is not None:
            is_padding = (~steps.filled).to(inputs.dtype)
            inputs = torch.cat([inputs, is_padding], dim=-1)
            hold = torch.tensor([-SATURATION, SATURATION, 0.0, 0.0]).to(inputs).repeat_interleave(self.hidden)
            weight_ih = torch.cat([weight_ih, hold.unsqueeze(1)], dim=1)
        before = [part.unsqueeze(0) for part in initial]
        weights = [weight_ih, *self.weights[1:]]
        rows, _, final_cell = torch.lstm(inputs, before, weights, *fused_options())
        return rows, (*last_states((rows,), initial[:1], steps), final_cell.squeeze(0))

    def _fastest_kernel(self, inputs: Tensor) -> str:
        if inputs.device.type == "cpu":
            # torch's CPU kernel is a single one only through oneDNN, and there only in single precision.
            one_kernel = inputs.dtype == torch.float32 and torch.backends.mkldnn.is_available()
            return "fused" if one_kernel else "derived"
        return "fused"
