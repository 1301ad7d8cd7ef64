"""Documents that stand in one row, one behind the other, and how each becomes a row of its own and goes back.

A recurrence must not carry its state from one document into the next. So the encoder reads each document as a sequence
by itself, from the declared initial state, and puts what it gives back to where the document stood. Attention needs no
such move, it hides documents from each other by `clew.visibility.from_documents`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


class PackedDocuments:
    """Where the steps of each document stand. Equal ids in one row are one document, even with something between.

    Attributes:
        valid: True where a document's own row holds a step, (document, longest).

    >>> packed = PackedDocuments(torch.tensor([[0, 0, 0, 1, -1]]))
    >>> packed.gather(torch.tensor([[[1.0], [2.0], [3.0], [4.0], [9.0]]])).squeeze(-1)
    tensor([[1., 2., 3.],
            [4., 0., 0.]])
    """

    def __init__(self, documents: Int[Tensor, "batch time"]) -> None:
        batch, time = documents.shape
        flat = documents.flatten()
        places = (flat >= 0).nonzero().squeeze(1)
        pairs = torch.stack([places // time, flat[places]], dim=1)
        _, which, counts = torch.unique(pairs, dim=0, return_inverse=True, return_counts=True)
        if len(places) == 0:  # so that a kernel has something to run
            counts = counts.new_zeros(1)
        longest = max(1, int(counts.max()))
        order = which.argsort(stable=True)
        number = torch.empty_like(which)
        number[order] = torch.arange(len(which), device=which.device) - (counts.cumsum(0) - counts)[which[order]]
        slots = which * longest + number
        self.valid = torch.arange(longest, device=flat.device) < counts.unsqueeze(1)
        self._sources = slots.new_zeros(len(counts) * longest)  # where nothing is filled: any step
        self._sources[slots] = places
        self._slots = slots.new_zeros(batch * time)  # at padding: any slot
        self._slots[places] = slots
        self._is_real = (documents >= 0).unsqueeze(-1)

    def gather(self, rows: Float[Tensor, "batch time width"]) -> Float[Tensor, "document longest width"]:
        """Give each document a row of its own; zeros behind its last step."""
        gathered = rows.flatten(0, 1).index_select(0, self._sources).unflatten(0, tuple(self.valid.shape))
        return torch.where(self.valid.unsqueeze(-1), gathered, 0.0)

    def scatter(self, gathered: Float[Tensor, "document longest width"]) -> Float[Tensor, "batch time width"]:
        """Put each document back to where it stood; zeros at padding."""
        rows = gathered.flatten(0, 1).index_select(0, self._slots).unflatten(0, tuple(self._is_real.shape[:2]))
        return torch.where(self._is_real, rows, 0.0)
