"""Where the valid steps of padded rows stand, so that a recurrence can read them without a gap.

The one rule for padding: the valid steps of a row move to its front, in the order in which they are read; a kernel that
knows nothing of padding runs over them; what it gives for each valid step goes back to its place, with zeros elsewhere;
the final state is the one after the last valid step. Here are the moves; `clew.layers.recurrent` makes them.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class ValidSteps:
    """The valid steps of each row, numbered in the order in which they are read.

    Attributes:
        lengths: Number of valid steps of each row, (batch,).
        longest: Steps that a kernel has to run: the greatest length, but at least one, so that it has something to run.
        filled: True where gathered rows hold a valid step, (batch, longest, 1).

    >>> steps = ValidSteps(torch.tensor([[False, True, True], [True, False, False]]), reverse=True)
    >>> steps.gather(torch.tensor([[[9.0], [1.0], [2.0]], [[3.0], [9.0], [9.0]]])).squeeze(-1)
    tensor([[2., 1.],
            [3., 0.]])
    """

    def __init__(self, valid: Bool[Tensor, "batch time"], reverse: bool = False) -> None:
        batch, time = valid.shape
        counted = valid.cumsum(1)
        lengths = counted[:, -1:]
        self.lengths = lengths.squeeze(1)
        self.longest = max(1, int(self.lengths.max()))
        self.filled = (torch.arange(self.longest, device=valid.device) < lengths).unsqueeze(-1)
        self._valid = valid.unsqueeze(-1)
        self._rows = torch.arange(batch, device=valid.device)

        number = lengths - counted if reverse else counted - 1
        first_slot = self._rows.unsqueeze(1) * self.longest
        self._slots = (first_slot + number.clamp(0, self.longest - 1)).flatten()  # at padding: any slot of the row
        self._sources = self._slots.new_zeros(batch * self.longest)  # where nothing is filled: any source
        flat_valid = valid.flatten()
        self._sources[self._slots[flat_valid]] = torch.arange(batch * time, device=valid.device)[flat_valid]

    def gather(self, rows: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch longest width"]:
        """Move the valid steps of each row to its front, in reading order; zeros behind them.

        What stands at padding is replaced, not multiplied: NaN there reaches neither the values nor the gradients.
        """
        gathered = rows.flatten(0, 1).index_select(0, self._sources).unflatten(0, (len(rows), self.longest))
        return torch.where(self.filled, gathered, 0.0)

    def scatter(self, gathered: Float[Tensor, "batch longest width"]) -> Float[Tensor, "batch time width"]:
        """Put what belongs to each valid step back to its place; zeros at padding."""
        rows = gathered.flatten(0, 1).index_select(0, self._slots).unflatten(0, self._valid.shape[:2])
        return torch.where(self._valid, rows, 0.0)

    def last(
        self, gathered: Float[Tensor, "batch longest width"], initial: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch width"]:
        """Give what belongs to each row's last valid step, or its initial value if it has none."""
        at_last = gathered[self._rows, (self.lengths - 1).clamp(min=0)]
        return torch.where(self.lengths.unsqueeze(1) > 0, at_last, initial)
