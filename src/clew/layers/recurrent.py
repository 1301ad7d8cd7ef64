"""What simple RNN, GRU and LSTM layers share: one layer, one direction, padding, initial states, the choice of kernel.

A cell (`rnn.py`, `gru.py`, `lstm.py`) brings its step equations, its derived backward and torch's kernel for it. A
kernel sees rows without gaps and knows nothing of padding or direction; the moves are in `valid_steps.py`. Several
layers are `clew.models.RecurrentEncoder`, two directions `clew.layers.BidirectionalLayer`.

Kernels, which agree to rounding:
    derived: an autograd function whose backward through time is written out; first derivatives only
    fused: torch's own kernel; for an LSTM on a CPU it rounds differently where no gradient is asked for
    explicit: plain autograd through the step equations; can be differentiated any number of times
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from clew.errors import ConfigError, ShapeError, complain, did_you_mean
from clew.layers.valid_steps import ValidSteps
from clew.ledger import recording
from clew.ledger.description import Described
from clew.shapes import describe, resolve_valid

KERNELS = ("derived", "fused", "explicit")

Sequence = Float[Tensor, "batch steps _"]
State = Float[Tensor, "batch hidden"]
Weight = Float[Tensor, "gates_hidden _"]
Bias = Float[Tensor, " gates_hidden"]


class RecurrentLayer(nn.Module, ABC):
    """A recurrent layer over batch-first rows; abstract: `RNNLayer`, `GRULayer` and `LSTMLayer` are the final classes.

    Parameters are named, laid out and initialized as in torch.nn: `weight_ih` (gates * hidden, features), `weight_hh`
    (gates * hidden, hidden), `bias_ih`, `bias_hh`, all uniform in +-1/sqrt(hidden).

    Args:
        features: Width of the rows that come in.
        hidden: Width of the state, and so of the rows that go out.
        generator: Draws the initial weights; None for a new one seeded 0.
    """

    gates: ClassVar[int]
    described: ClassVar[Mapping[str, Described]] = {}
    state_parts: ClassVar[tuple[str, ...]] = ("state",)
    has_fused_kernel: bool = True

    def __init__(self, features: int, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        self.features = features
        self.hidden = hidden
        self.width = hidden
        bound = 1 / math.sqrt(hidden)

        def draw(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))

        self.weight_ih = draw(self.gates * hidden, features)
        self.weight_hh = draw(self.gates * hidden, hidden)
        self.bias_ih = draw(self.gates * hidden)
        self.bias_hh = draw(self.gates * hidden)

    def forward(
        self,
        inputs: Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        initial: tuple[Tensor, ...] | None = None,
        reverse: bool = False,
        kernel: str | None = None,
    ) -> tuple[Float[Tensor, "batch time hidden"], tuple[State, ...]]:
        """Run over the valid steps of each row.

        Args:
            inputs: Observations; what stands at padding is never read.
            valid: True at real steps; padding and gaps may stand anywhere. None if every step is real.
            initial: The state before the first valid step, one (batch, hidden) tensor for each of `state_parts`;
                zeros if None.
            reverse: Run from the last valid step to the first.
            kernel: "derived", "fused" or "explicit"; None for the fastest right one for the device.

        Returns:
            The state after each step, zero at padding; and the state after the last valid step that was read, which is
            the initial state for a row without one.

        Raises:
            ShapeError: If shapes or types do not fit the layer or each other, or there is no time step.
            ConfigError: If the kernel is unknown, or torch has no fused one for this cell.
        """
        self._check(inputs, valid)
        initial = self._initial_states(inputs, initial)
        steps = _steps_to_gather(valid, reverse)
        kernel = self._kernel(inputs, kernel)
        read = _in_reading_order(inputs, steps, reverse)
        states, final = self._run(kernel, read, initial, steps)
        rows = _in_given_order(states, steps, reverse)
        if recording.is_on():
            self._report(inputs, read, initial, states, final, rows, steps, reverse)
        return rows, final

    def quantities(
        self,
        inputs: Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        initial: tuple[Tensor, ...] | None = None,
        reverse: bool = False,
    ) -> dict[str, Float[Tensor, "batch time hidden"]]:
        """Give every named quantity of every step, zero at padding; arguments as for the call.

        The step equations are applied to all steps at once, each to the state that went into it in the derived kernel,
        so rounding does not build up along time.
        """
        self._check(inputs, valid)
        initial = self._initial_states(inputs, initial)
        steps = _steps_to_gather(valid, reverse)
        inputs = _in_reading_order(inputs, steps, reverse)
        before = tuple(
            torch.cat([first.unsqueeze(1), after[:, :-1]], dim=1)
            for first, after in zip(initial, self._derived(inputs, initial), strict=True)
        )
        named = self.step(self.project(inputs), before)._asdict()
        return {name: _in_given_order(value, steps, reverse) for name, value in named.items()}

    def project(self, inputs: Float[Tensor, "*steps features"]) -> Float[Tensor, "*steps gates_hidden"]:
        """Give what the inputs contribute to the gates: `x W_ih' + b_ih` for every step at once."""
        return functional.linear(inputs, self.weight_ih, self.bias_ih)

    @abstractmethod
    def step(self, projected: Float[Tensor, "*steps gates_hidden"], states: tuple[Tensor, ...]) -> Any:
        """Apply the cell's equations once: the named quantities after reading `projected` in `states`."""

    @abstractmethod
    def _through_time(
        self, inputs: Float[Tensor, "steps batch features"], initial: tuple[State, ...]
    ) -> tuple[Float[Tensor, "steps batch hidden"], ...]:
        """Run the derived kernel, time-major: each part of the state after each step."""

    @abstractmethod
    def _fused(
        self, inputs: Sequence, initial: tuple[State, ...], steps: ValidSteps | None
    ) -> tuple[Sequence, tuple[State, ...]]:
        """Run torch's kernel: the state after each step, and each part of the state after the last."""

    def _derived(self, inputs: Sequence, initial: tuple[State, ...]) -> tuple[Sequence, ...]:
        inputs = inputs.to(self.weight_ih.dtype)  # under autocast they may be narrower
        after = self._through_time(inputs.transpose(0, 1), initial)
        return tuple(part.transpose(0, 1) for part in after)

    def _explicit(self, inputs: Sequence, initial: tuple[State, ...]) -> tuple[Sequence, ...]:
        states = initial
        after = []
        for projected in self.project(inputs).unbind(1):
            quantities = self.step(projected, states)
            states = tuple(getattr(quantities, part) for part in self.state_parts)
            after.append(states)
        return tuple(torch.stack(part, dim=1) for part in zip(*after, strict=True))

    def _run(
        self, kernel: str, inputs: Sequence, initial: tuple[State, ...], steps: ValidSteps | None
    ) -> tuple[Sequence, tuple[State, ...]]:
        if kernel == "fused":
            return self._fused(inputs, initial, steps)
        after = self._derived(inputs, initial) if kernel == "derived" else self._explicit(inputs, initial)
        return after[0], last_states(after, initial, steps)

    def _fastest_kernel(self, inputs: Tensor) -> str:
        """Name the kernel that was measured fastest, forward and backward, by `benchmarks/recurrent_layers.py`."""
        return "derived" if inputs.device.type == "cpu" or not self.has_fused_kernel else "fused"

    def _kernel(self, inputs: Tensor, kernel: str | None) -> str:
        if kernel is None:
            return self._fastest_kernel(inputs)
        if kernel not in KERNELS:
            remedy = did_you_mean(str(kernel), KERNELS)
            raise ConfigError(complain(self._name, "kernel", "a known kernel", f"'{kernel}'", remedy))
        if kernel == "fused" and not self.has_fused_kernel:
            remedy = "torch has no fused kernel for this activation."
            raise ConfigError(complain(self._name, "kernel", "'derived' or 'explicit'", "'fused'", remedy))
        return kernel

    def _report(
        self,
        inputs: Tensor,
        read: Tensor,
        initial: tuple[Tensor, ...],
        states: Tensor,
        final: tuple[Tensor, ...],
        rows: Tensor,
        steps: ValidSteps | None,
        reverse: bool,
    ) -> None:
        """Tell the ledger what the kernel read and gave, and the moves before and behind it."""
        if read is not inputs:
            recording.report(self, "gather", {"rows": inputs}, {"read": read}, steps=steps, reverse=reverse)
        before = {f"initial_{part}": value for part, value in zip(self.state_parts, initial, strict=True)}
        stored = {f"final_{part}": value for part, value in list(zip(self.state_parts, final, strict=True))[1:]}
        batch, longest, _ = states.shape
        last = torch.full((batch,), longest - 1, device=states.device) if steps is None else steps.lengths - 1
        facts = {"last_step": last, "filled": None if steps is None else steps.filled}
        facts["place"] = None if rows is states else partial(_in_given_order, steps=steps, reverse=reverse)
        recording.report(self, "", {"inputs": read, **before}, {"state": states, **stored}, **facts)
        inside = {"states": states, "initial": initial[0]}
        recording.report(self, "final", inside, {"final_state": final[0]}, steps=steps)
        if rows is not states:
            recording.report(self, "place", {"states": states}, {"output": rows}, steps=steps, reverse=reverse)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain the moves around the kernel to the ledger; `clew.ledger.recurrence` explains the kernel."""
        if part == "gather":
            return {"read": _in_reading_order(inputs["rows"], facts["steps"], facts["reverse"])}
        if part == "place":
            return {"output": _in_given_order(inputs["states"], facts["steps"], facts["reverse"])}
        (final,) = last_states((inputs["states"],), (inputs["initial"],), facts["steps"])
        return {"final_state": final}

    def states_before(self, projected: Tensor, rows: Tensor, initial: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Give the state that went into each step, from the states that came out of the kernel."""
        return (torch.cat([initial[0].unsqueeze(1), rows[:, :-1]], dim=1),)

    @abstractmethod
    def carry_back(
        self, direct: tuple[Tensor, ...], before: tuple[Tensor, ...], values: Mapping[str, Tensor]
    ) -> tuple[Tensor, ...]:
        """Give the sensitivity of each part of the state after each step, by the derived backward.

        Args:
            direct: What reaches each part of the state at each step from outside the layer, (batch, time, hidden).
            before: The state before each step.
            values: The named quantities of each step.
        """

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The parameters in torch.nn's order."""
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _check(self, inputs: Tensor, valid: Tensor | None) -> None:
        if inputs.ndim != 3 or inputs.shape[2] != self.features or inputs.shape[1] == 0:
            rule = f"(batch, time of at least 1, features={self.features})"
            raise ShapeError(complain(self._name, "inputs", rule, describe(inputs)))
        if inputs.dtype != self.weight_ih.dtype and not torch.is_autocast_enabled(inputs.device.type):
            rule = f"{self.weight_ih.dtype} as the weights"
            remedy = "Convert the inputs or the layer with .to(dtype)."
            raise ShapeError(complain(self._name, "inputs", rule, inputs.dtype, remedy))
        resolve_valid(self._name, inputs.shape[0], inputs.shape[1], valid=valid)

    def _initial_states(self, inputs: Tensor, initial: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
        shape = (len(inputs), self.hidden)
        if initial is None:
            return tuple(self.weight_hh.new_zeros(shape) for _ in self.state_parts)
        if len(initial) != len(self.state_parts) or any(part.shape != shape for part in initial):
            rule = f"({', '.join(self.state_parts)}), each of shape (batch, hidden) = {shape}"
            raise ShapeError(complain(self._name, "initial", rule, [tuple(part.shape) for part in initial]))
        return initial

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the matrix products for one sequence of `time` steps, forward."""
        return time * self.gates * self.hidden * (self.features + self.hidden)

    def extra_repr(self) -> str:
        return f"features={self.features}, hidden={self.hidden}"


def last_states(after: tuple[Sequence, ...], initial: tuple[State, ...], steps: ValidSteps | None) -> tuple[State, ...]:
    """Give each part of the state after the last valid step."""
    if steps is None:
        return tuple(part[:, -1] for part in after)
    return tuple(steps.last(part, first) for part, first in zip(after, initial, strict=True))


def fused_options() -> tuple[bool, int, float, bool, bool, bool]:
    """Give what torch.gru and its siblings want to know: biases, layers, dropout, train, bidirectional, batch_first.

    `train` only says that a backward may follow, which it may in evaluation too; there is no dropout inside.
    """
    return True, 1, 0.0, torch.is_grad_enabled(), False, True


def _steps_to_gather(valid: Bool[Tensor, "batch time"] | None, reverse: bool) -> ValidSteps | None:
    return None if valid is None or bool(valid.all()) else ValidSteps(valid, reverse)


def _in_reading_order(
    inputs: Float[Tensor, "batch time width"], steps: ValidSteps | None, reverse: bool
) -> Float[Tensor, "batch steps width"]:
    if steps is None:
        return inputs.flip(1) if reverse else inputs
    return steps.gather(inputs)


def _in_given_order(
    rows: Float[Tensor, "batch steps width"], steps: ValidSteps | None, reverse: bool
) -> Float[Tensor, "batch time width"]:
    if steps is None:
        return rows.flip(1) if reverse else rows
    return steps.scatter(rows)
