"""A batch: the inputs of some sequences, which of their steps are real, and targets where a file brought some.

A whole split is one `Batch` too; the training loop takes parts of it with `select`. Tasks make the targets that can be
read off the inputs (the next token); what is stored here is only what the data brought.
"""

from dataclasses import dataclass
from hashlib import sha256

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from clew.errors import ShapeError, complain


@dataclass(frozen=True, eq=False)
class Batch:
    """Some sequences, side by side.

    Attributes:
        inputs: Token ids (batch, time), or real values (batch, time, features).
        valid: True at a real step, (batch, time); None where every step is real.
        targets: What is to be predicted, a row a sequence; None where the task reads it off the inputs. Targets of
            steps are (batch, time, ...), and hold -1 (classes, ids) or NaN (real values) where they do not count.
        documents: Number of the document of each step, (batch, time), where rows are packed documents.

    Raises:
        ShapeError: If the parts do not belong to the same sequences.
    """

    inputs: Shaped[Tensor, "batch *rest"]
    valid: Bool[Tensor, "_ time"] | None = None
    targets: Shaped[Tensor, "_ *coordinates"] | None = None
    documents: Int[Tensor, "_ _"] | None = None

    def __post_init__(self) -> None:
        if self.valid is not None and self.valid.shape != self.inputs.shape[:2]:
            got, rule = tuple(self.valid.shape), f"of shape (batch, time) = {tuple(self.inputs.shape[:2])}"
            raise ShapeError(complain("Batch", "valid", rule, got))
        if self.targets is not None and len(self.targets) != len(self.inputs):
            raise ShapeError(complain("Batch", "targets", f"{len(self.inputs)} rows, as inputs", len(self.targets)))
        if self.documents is not None and self.documents.shape != self.inputs.shape[:2]:
            got, rule = tuple(self.documents.shape), f"of shape (batch, time) = {tuple(self.inputs.shape[:2])}"
            raise ShapeError(complain("Batch", "documents", rule, got))

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.inputs)

    @property
    def lengths(self) -> Int[Tensor, " batch"]:
        """Real steps of each sequence; 1 for an image.

        >>> Batch(torch.tensor([[1, 2], [3, 0]]), torch.tensor([[True, True], [True, False]])).lengths.tolist()
        [2, 1]
        """
        if self.valid is not None:
            return self.valid.sum(dim=1)
        time = 1 if self.inputs.ndim in (1, 4) else self.inputs.shape[1]
        return torch.full((len(self),), time, device=self.inputs.device)

    def select(self, index: Int[Tensor, " chosen"] | Bool[Tensor, " batch"]) -> "Batch":
        """Take some sequences, in the order of `index`.

        >>> Batch(torch.tensor([[1, 2], [3, 4], [5, 6]])).select(torch.tensor([2, 0])).inputs.tolist()
        [[5, 6], [1, 2]]
        """
        return Batch(
            self.inputs[index],
            None if self.valid is None else self.valid[index],
            None if self.targets is None else self.targets[index],
            None if self.documents is None else self.documents[index],
        )

    def to(self, device: torch.device | str) -> "Batch":
        """Move every part to a device."""
        return Batch(
            self.inputs.to(device),
            None if self.valid is None else self.valid.to(device),
            None if self.targets is None else self.targets.to(device),
            None if self.documents is None else self.documents.to(device),
        )

    def fingerprint(self) -> str:
        """SHA-256 of the types, shapes and bytes of all parts: equal exactly for equal data, on any device.

        >>> batch = Batch(torch.tensor([[1, 2]]))
        >>> batch.fingerprint() == Batch(torch.tensor([[1, 2]])).fingerprint()
        True
        >>> batch.fingerprint() == Batch(torch.tensor([[1], [2]])).fingerprint()
        False
        """
        digest = sha256()
        parts = [("inputs", self.inputs), ("valid", self.valid), ("targets", self.targets)]
        if self.documents is not None:
            parts.append(("documents", self.documents))
        for name, part in parts:
            if part is None:
                digest.update(f"{name} absent;".encode())
                continue
            digest.update(f"{name} {part.dtype} {tuple(part.shape)};".encode())
            # Bytes are read through uint8, because numpy does not know every type of torch.
            digest.update(part.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()
