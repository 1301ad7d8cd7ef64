"""Three splits, of which the test is sealed: what trains and selects cannot read it, because it is never handed over.

`Splits.train` and `Splits.validation` are plain batches. `Splits.test` is a `SealedSplit`: it tells its size and its
fingerprint, and gives its sequences only to `open_after`, which asks for the selection that was made without it.
"""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from clew.data.batch import Batch
from clew.errors import DataError, SealedError, complain
from clew.runs.auditing import sequence_hashes


class SealedSplit:
    """Sequences that may be read only after a selection stands on disk."""

    def __init__(self, batch: Batch) -> None:
        self.__batch = batch

    def __len__(self) -> int:
        return len(self.__batch)

    def __repr__(self) -> str:
        return f"SealedSplit({len(self)} sequences)"

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        raise SealedError(
            f"Splits: the test split is sealed and its '{name}' cannot be read. It is scored once, after selection; "
            "keep sequences that you want to look at in the validation split."
        )

    def fingerprint(self) -> str:
        """SHA-256 of the sequences, which identifies them without showing them."""
        return self.__batch.fingerprint()

    def sequence_hashes(self) -> list[str]:
        """A hash of each sequence: equal exactly for equal ones, which can be found so without being shown."""
        return sequence_hashes(self.__batch)

    def open_after(self, selection: Path) -> Batch:
        """Give the sequences, once the selected weights exist as a file.

        Args:
            selection: `best.safetensors` of the run that is to be scored, whose training is over.

        Raises:
            SealedError: If there is no such file.
        """
        if not selection.exists():
            remedy = "Train and select first."
            raise SealedError(complain("Splits", "test", "opened after selection", f"no file {selection}", remedy))
        return self.__batch


@dataclass(frozen=True)
class Splits:
    """Training, validation and sealed test sequences.

    Attributes:
        train: What models are fitted on.
        validation: What checkpoints are selected on.
        test: What is scored once; a `Batch` given here is sealed.

    A plain tensor of inputs may stand for a batch without padding and targets.
    """

    train: Batch
    validation: Batch
    test: SealedSplit

    def __init__(self, train: Batch | Tensor, validation: Batch | Tensor, test: Batch | SealedSplit | Tensor) -> None:
        train, validation = (Batch(part) if isinstance(part, Tensor) else part for part in (train, validation))
        test = Batch(test) if isinstance(test, Tensor) else test
        sealed = test if isinstance(test, SealedSplit) else SealedSplit(test)
        for name, part in (("train", train), ("validation", validation), ("test", sealed)):
            if len(part) == 0:
                raise DataError(complain("Splits", name, "at least one sequence", "none"))
        object.__setattr__(self, "train", train)
        object.__setattr__(self, "validation", validation)
        object.__setattr__(self, "test", sealed)

    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of each split."""
        return {
            "train": self.train.fingerprint(),
            "validation": self.validation.fingerprint(),
            "test": self.test.fingerprint(),
        }

    def sequence_hashes(self) -> dict[str, list[str]]:
        """Hashes of the sequences of each split, the sealed one too."""
        return {
            "train": sequence_hashes(self.train),
            "validation": sequence_hashes(self.validation),
            "test": self.test.sequence_hashes(),
        }
