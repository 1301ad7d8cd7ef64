"""Elementwise activations, each with the slope that a derived backward multiplies by.

`ACTIVATIONS` lists them by name; `activation_named` looks one up and says what is known when the name is wrong.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from clew.errors import ConfigError, complain, did_you_mean


@dataclass(frozen=True)
class Activation:
    """A function of one preactivation and its derivative.

    Attributes:
        name: Key in `ACTIVATIONS`.
        value: Output for a preactivation, elementwise.
        slope: Derivative of the output for (preactivation, output). Where `overwrite` exists it follows from the
            output alone and the preactivation may be None.
        overwrite: The same as `value` in place, or None where the slope needs the preactivation, which must then stay.
    """

    name: str
    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor | None, Tensor], Tensor]
    overwrite: Callable[[Tensor], Tensor] | None


Values = Float[Tensor, "..."]


def _identity(preactivation: Values) -> Values:
    return preactivation


def _identity_slope(preactivation: Values | None, output: Values) -> Values:
    return torch.ones_like(output)


def _tanh_slope(preactivation: Values | None, output: Values) -> Values:
    return 1 - output * output


def _relu_slope(preactivation: Values | None, output: Values) -> Values:
    return (output > 0).to(output.dtype)  # 0 at 0, as torch has it


def _sigmoid_slope(preactivation: Values | None, output: Values) -> Values:
    return output * (1 - output)


def _gelu_slope(preactivation: Values | None, output: Values) -> Values:
    """Give the derivative of z P(z), where P is the normal distribution function and p its density: P(z) + z p(z)."""
    assert preactivation is not None
    distribution = 0.5 * (1 + torch.erf(preactivation / math.sqrt(2)))
    density = torch.exp(-0.5 * preactivation * preactivation) / math.sqrt(2 * math.pi)
    return distribution + preactivation * density


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation("identity", _identity, _identity_slope, _identity),
        Activation("tanh", torch.tanh, _tanh_slope, torch.tanh_),
        Activation("relu", torch.relu, _relu_slope, torch.relu_),
        Activation("sigmoid", torch.sigmoid, _sigmoid_slope, torch.sigmoid_),
        Activation("gelu", functional.gelu, _gelu_slope, None),
    )
}


def activation_named(name: str, where: str = "activation_named") -> Activation:
    """Look an activation up.

    Raises:
        ConfigError: If there is none of that name.

    >>> activation_named("tanh").slope(None, torch.tensor([0.0, 0.5]))
    tensor([1.0000, 0.7500])
    """
    if name not in ACTIVATIONS:
        remedy = did_you_mean(str(name), ACTIVATIONS)
        raise ConfigError(complain(where, "activation", "a known activation", f"'{name}'", remedy))
    return ACTIVATIONS[name]
