"""What a reader is told about a quantity beside its numbers: its axes, its equation, where that comes from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Described:
    """One named quantity of a layer.

    Attributes:
        axes: Name of each axis of its value; "..." stands for the axes of the rows that came in.
        equation: How it is computed, in the letters of the layer's docstring.
        source: Where the equation is from.
        variant: Which of several variants of the same name this is, such as "reset after the recurrent product".
    """

    axes: tuple[str, ...]
    equation: str
    source: str = ""
    variant: str = ""
