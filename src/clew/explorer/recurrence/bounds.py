"""What of a recurrence takes too long or too much memory where its state is wide: it is refused, and the rest shown.

Start with `require_followed` and `require_contributed`.
"""

from clew.errors import complain
from clew.explorer import limits
from clew.explorer.address import WHERE
from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.choice import Choice


def require_followed(choice: Choice, steps: int, remedy: str) -> None:
    """Refuse to multiply and decompose the Jacobians of so many steps.

    Raises:
        ExplorerError: If steps times the cube of the state's size are too many.
    """
    size = choice.hidden * len(choice.module.state_parts)
    if steps * size**3 > limits.MOST_JACOBIAN_WORK:
        rule = f"at most {limits.MOST_JACOBIAN_WORK:,} as steps x (numbers of a state) cubed"
        got = f"{steps} x {size} cubed = {steps * size**3:,}"
        raise ExplorerError(complain(WHERE, "Jacobians along time", rule, got, remedy), 413)


def require_contributed(choice: Choice) -> None:
    """Refuse to list what each step contributes to the chosen shared weight.

    Raises:
        ExplorerError: If the contributions have too many numbers.
    """
    steps, size = len(choice.scene.tokens), choice.module.get_parameter(choice.weight).numel()
    if steps * size > limits.MOST_CONTRIBUTED:
        rule = f"at most {limits.MOST_CONTRIBUTED:,} numbers, one weight a step"
        got, remedy = f"{steps} x {size:,} = {steps * size:,}", "Choose a bias, a shorter input or a narrower model."
        raise ExplorerError(complain(WHERE, f"contributions to {choice.weight}", rule, got, remedy), 413)
