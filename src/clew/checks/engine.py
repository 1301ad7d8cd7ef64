"""One model in one number type, ready to be called again and again without one call touching the next.

An engine owns a copy of the module where it can be copied. Before each call it puts back hidden state and seeds every
random generator, so that what moves between two calls moved because of what was changed. `determinism` and
`state_carry` ask for calls without that.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from clew.checks.preserving import HiddenState, generators_in, seed_everything
from clew.checks.results import Chooser, choose_output
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, Setting, applied
from clew.errors import AuditError, ClewError, complain

Call = Callable[[Any, Any, Any], Any]
Leak = Callable[[Sample, Tensor], Tensor]
SEED = 20_011


class Engine:
    """Runs a model.

    Args:
        model: The module or callable.
        dtype: Number type to run in; None to run in the model's own.
        call: How to call it, if not in the usual way.
        chosen: Which tensor of the result to judge.

    Attributes:
        model: The copy that is run, or the model itself.
        is_single: Whether an output belongs to a whole row rather than to a step. Set once by the examination.
        leak: What is added to the outputs to measure the power of an audit; None otherwise.
        follows_time: Whether the output has a step for each step of the input, or for each up to the last real one.
    """

    def __init__(self, model: Any, dtype: torch.dtype | None, call: Call | None, chosen: Chooser) -> None:
        self.model = _copy_of(model, dtype)
        self.dtype = dtype
        self.is_single = True
        self.follows_time = False
        self.leak: Leak | None = None
        self._call = call
        self._chosen = chosen
        self._state = HiddenState(self.model)
        self._generators = generators_in(self.model)

    def result(
        self, sample: Sample, setting: Setting = EVALUATION, *, seed: int | None = SEED, restores: bool = True
    ) -> Any:
        """Call the model and give what it gives.

        Args:
            sample: Inputs.
            setting: Mode of the model.
            seed: For every random generator before the call; None to let them run on.
            restores: Whether hidden state is put back before the call.

        Raises:
            AuditError: If the model raises.
        """
        if restores:
            self._state.restore(random_too=seed is not None)
        if seed is not None:
            seed_everything(seed, self._generators)
        with applied(self.model, setting):
            return self._called(sample, setting)

    def _called(self, sample: Sample, setting: Setting) -> Any:
        inputs, told = sample.arguments(self.dtype)
        return self.call_with(inputs, told, setting)

    def call_with(self, inputs: Any, told: Any, setting: Setting) -> Any:
        """Call the model with arguments as they are, in the mode that it is in."""
        extra = {setting.keyword: True} if setting.keyword else {}
        try:
            if self._call is not None:
                return self._call(self.model, inputs, told)
            if isinstance(inputs, dict):
                return self.model(**inputs, **extra)
            return self.model(inputs, **extra) if told is None else self.model(inputs, told, **extra)
        except Exception as error:
            what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no text'}"
            message = complain("audit", "the model", "callable on these inputs", what, "Say how with call=.")
            raise RefusedError(message, what) from error

    def chosen(self, sample: Sample, setting: Setting = EVALUATION, **how: Any) -> Shaped[Tensor, "batch *rest"]:
        """Call the model and give the tensor to judge, as it came out.

        Raises:
            AuditError: If the model raises, or gives no such tensor.
        """
        tensor = choose_output(self.result(sample, setting, **how), self._chosen)
        if tensor.shape[0] != sample.batch:
            rule = f"of shape (batch={sample.batch}, ...)"
            raise AuditError(complain("audit", "the output", rule, tuple(tensor.shape), "Put the batch first."))
        return tensor

    def pick(self, result: Any) -> Tensor:
        """Choose the tensor to judge from a result."""
        return choose_output(result, self._chosen)

    def outputs(
        self, sample: Sample, setting: Setting = EVALUATION, **how: Any
    ) -> Float[Tensor, "batch outputs coordinates"]:
        """Call the model and give its judged outputs in float64, one row of coordinates for each output.

        Raises:
            AuditError: If the model raises, or gives no such tensor.
        """
        found = self.arranged(self.chosen(sample, setting, **how).detach(), sample.time)
        return found if self.leak is None else self.leak(sample, found)

    def arranged(self, tensor: Tensor, time: int) -> Float[Tensor, "batch outputs coordinates"]:
        """Bring an output into three axes; outputs that stop at the last real step are followed by zeros."""
        values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        values = values.double()
        if self.is_single:
            return values.reshape(len(values), 1, -1)
        values = values.reshape(*values.shape[:2], -1)
        if values.shape[1] < time and self.follows_time:
            return torch.nn.functional.pad(values, (0, 0, 0, time - values.shape[1]))
        return values


class RefusedError(AuditError):
    """The model under audit raised an error.

    Attributes:
        what: Its class and first line.
    """

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what


def _copy_of(model: Any, dtype: torch.dtype | None) -> Any:
    if not isinstance(model, nn.Module):
        return model
    try:
        duplicate = copy.deepcopy(model)
    except ClewError:
        raise
    except Exception:
        if dtype is not None:
            raise
        return model
    return duplicate if dtype is None else duplicate.to(dtype)


def precise_engine(model: Any, call: Call | None, chosen: Chooser, sample: Sample) -> Engine | None:
    """Make an engine in float64 on the CPU, or give None where the model cannot be run so."""
    if not isinstance(model, nn.Module) and sample.is_ids:
        return None
    try:
        engine = Engine(model, torch.float64, call, chosen)
        found = engine.chosen(sample)
    except Exception:
        return None
    return engine if found.dtype in (torch.float64, torch.complex128) else None
