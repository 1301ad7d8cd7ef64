"""Ways to look at a ledger and to hand it on: as a table, in words, as files, beside another one.

They are methods of `clew.ledger.Ledger`, which says where the quantities come from.
"""

from abc import ABC, abstractmethod
from pathlib import Path

from clew.files import write_atomically
from clew.ledger.comparing import Difference, first_difference
from clew.ledger.export import csv_text, json_text, safetensors_bytes
from clew.ledger.quantity import Quantity
from clew.ledger.reading import PassReader
from clew.ledger.verification import Distance


class LedgerViews(ABC):
    """What a ledger shows of itself; `Ledger` is the final class."""

    @abstractmethod
    def quantities(self) -> list[Quantity]:
        """All quantities, in the order of computation."""

    @property
    @abstractmethod
    def distances(self) -> list[Distance]:
        """How far each explained array lies from what really ran."""

    @property
    @abstractmethod
    def _last(self) -> PassReader:
        """The last call of the model."""

    def table(self) -> str:
        """Write all quantities as a table of at most 100 columns."""
        from clew.ledger.tables import quantities_text

        return quantities_text(self.quantities())

    def explain(self, name: str, **places: int) -> str:
        """Write the arithmetic of one number in words, such as `explain("head.linear.output", step=3, features=0)`.

        Raises:
            LedgerError: If there is no such quantity, axis or place, or an axis has no place.
        """
        from clew.ledger.words import explain_cell

        return explain_cell(self._last, name, places)

    def explain_sensitivity(self, name: str, **places: int) -> str:
        """Write the arithmetic of one sensitivity: what was computed from the number sends this back to it.

        Empty where no backward pass has run, or there is no rule that says more than the number.

        Raises:
            LedgerError: If there is no such quantity, axis or place, or an axis has no place.
        """
        from clew.ledger.backward_words import explain_sensitivity

        return explain_sensitivity(self._last, name, places)

    def to_json(self, path: Path | str | None = None) -> str:
        """Give everything as strict JSON, described in `clew.ledger.export`, and write it to a file if there is a path.

        Raises:
            RunError: If the file cannot be written.
        """
        text = json_text(self.quantities(), self.distances)
        if path is not None:
            write_atomically(Path(path), text)
        return text

    def to_csv(self, path: Path | str) -> None:
        """Write a file with a line for each number.

        Raises:
            RunError: If the file cannot be written.
        """
        write_atomically(Path(path), csv_text(self.quantities()))

    def to_safetensors(self, path: Path | str) -> None:
        """Write values and sensitivities by name.

        Raises:
            RunError: If the file cannot be written.
        """
        write_atomically(Path(path), safetensors_bytes(self.quantities()))

    def to_html(self, path: Path | str | None = None, row: int = 0) -> str:
        """Give a self-contained page that shows one row of the batch, and write it to a file if there is a path.

        Raises:
            LedgerError: If there is no such row.
            RunError: If the file cannot be written.
        """
        from clew.ledger.page import ledger_page

        page = ledger_page(self.quantities(), self.distances, row)
        if path is not None:
            write_atomically(Path(path), page)
        return page

    def compare(self, other: "LedgerViews", tolerance: float = 0.0) -> Difference | None:
        """Find the first quantity in which another ledger differs; None if none does.

        Args:
            other: Of the same model, or of another one with the same names.
            tolerance: Absolute difference that is let pass.
        """
        return first_difference(self.quantities(), other.quantities(), tolerance)

    def _repr_html_(self) -> str:
        """Show the page in a notebook; of many quantities the table alone."""
        from clew.ledger.notebook import ledger_in_notebook

        return ledger_in_notebook(self.quantities(), self.distances)
