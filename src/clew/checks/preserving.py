"""A model's hidden state: put back before each call where calls must not depend on each other, and after the audit.

State is what a forward pass can write: buffers, other attributes of modules, modes, gradients, and random generators
(torch's, Python's, numpy's and those that modules hold). Parameters are put back after the audit.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy
import torch
from torch import Tensor, nn

MACHINERY = frozenset(vars(nn.Module())) - {"training"}


def modules_behind(model: Any) -> list[nn.Module]:
    """Find the modules that a model consists of, or that a plain function holds on to."""
    found: dict[int, nn.Module] = {}
    _collect(model, found, depth=3)
    return list(found.values())


def _collect(thing: Any, found: dict[int, nn.Module], depth: int) -> None:
    if isinstance(thing, nn.Module):
        found.update((id(module), module) for module in thing.modules())
    elif depth and isinstance(thing, partial):
        for part in (thing.func, *thing.args, *thing.keywords.values()):
            _collect(part, found, depth - 1)
    elif depth and callable(thing):
        cells = getattr(thing, "__closure__", None) or ()
        parts = [cell.cell_contents for cell in cells if _is_filled(cell)] + [getattr(thing, "__self__", None)]
        parts += list(getattr(thing, "__dict__", {}).values())
        for part in parts:
            _collect(part, found, depth - 1)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


class HiddenState:
    """What a forward pass may write, as it was when this was made.

    Args:
        model: A module or another callable.
    """

    def __init__(self, model: Any) -> None:
        self._modules = modules_behind(model)
        self._attributes = [
            {name: _kept(value) for name, value in vars(module).items() if name not in MACHINERY}
            for module in self._modules
        ]
        self._buffers = [{n: _kept(buffer) for n, buffer in module._buffers.items()} for module in self._modules]
        self._generators = [(generator, generator.get_state()) for generator in generators_in(model)]

    def restore(self, random_too: bool = True) -> None:
        """Put everything back, in the same objects, so that whoever else holds one sees the old values.

        Args:
            random_too: Whether generators that modules hold are put back too.
        """
        for module, attributes, buffers in zip(self._modules, self._attributes, self._buffers, strict=True):
            current = vars(module)
            for name in [name for name in current if name not in attributes and name not in MACHINERY]:
                del current[name]
            current.update({name: put_back() for name, put_back in attributes.items()})
            module._buffers.update({name: put_back() for name, put_back in buffers.items()})
        if random_too:
            for generator, state in self._generators:
                generator.set_state(state)


def _kept(value: Any, depth: int = 4) -> Callable[[], Any]:
    """Remember a value; what is given back puts it, and what it contains, into its old state and returns it."""
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter) and not value.is_inference():
        return partial(_restored_tensor, value, value.detach().clone(), value._version)
    if depth and isinstance(value, list | tuple):
        return partial(_restored_list, value, [_kept(part, depth - 1) for part in value])
    if depth and isinstance(value, dict):
        return partial(_restored_dict, value, {key: _kept(part, depth - 1) for key, part in value.items()})
    if isinstance(value, set):
        return partial(_restored_set, value, set(value))
    return lambda: value


def _restored_tensor(tensor: Tensor, values: Tensor, version: int) -> Tensor:
    if tensor._version != version:
        with torch.no_grad():
            tensor.copy_(values)
    return tensor


def _restored_list(parts: Any, kept: list[Callable[[], Any]]) -> Any:
    restored = [put_back() for put_back in kept]
    if isinstance(parts, list):
        parts[:] = restored
    return parts


def _restored_dict(parts: dict[Any, Any], kept: dict[Any, Callable[[], Any]]) -> dict[Any, Any]:
    restored = {key: put_back() for key, put_back in kept.items()}
    parts.clear()
    parts.update(restored)
    return parts


def _restored_set(parts: set[Any], kept: set[Any]) -> set[Any]:
    parts.clear()
    parts.update(kept)
    return parts


@contextmanager
def preserved(model: Any) -> Iterator[None]:
    """Leave a model and the random generators as they were found, also after an error."""
    hidden = HiddenState(model)
    modules = modules_behind(model)
    modes = [(module, module.training) for module in modules]
    parameters = [parameter for module in modules for parameter in module._parameters.values() if parameter is not None]
    kept = [(p, p.detach().clone(), p.grad, None if p.grad is None else p.grad.clone()) for p in parameters]
    randomness = (torch.get_rng_state(), random.getstate(), numpy.random.get_state())
    try:
        yield
    finally:
        hidden.restore()
        for module, is_training in modes:
            module.training = is_training
        for parameter, value, gradient, gradient_value in kept:
            _restore_parameter(parameter, value, gradient, gradient_value)
        torch.set_rng_state(randomness[0])
        random.setstate(randomness[1])
        numpy.random.set_state(randomness[2])


def _restore_parameter(
    parameter: nn.Parameter, value: Tensor, gradient: Tensor | None, gradient_value: Tensor | None
) -> None:
    with torch.no_grad():
        if not torch.equal(parameter, value):
            parameter.copy_(value)
        if gradient is not None and gradient_value is not None:
            gradient.copy_(gradient_value)
        parameter.grad = gradient


def seed_everything(seed: int, generators: list[torch.Generator]) -> None:
    """Set every source of random numbers that a model may draw from."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)
    for generator in generators:
        generator.manual_seed(seed)


def generators_in(model: Any) -> list[torch.Generator]:
    """Give the random generators that modules of a model hold."""
    values: list[Any] = [value for module in modules_behind(model) for value in vars(module).values()]
    return [value for value in values if isinstance(value, torch.Generator)]
