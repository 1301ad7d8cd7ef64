"""`clew.record` and the `Ledger`: every quantity of a forward and a backward pass, by name.

    with clew.record(model) as ledger:
        loss = task.loss(model, batch)
        loss.backward()
    ledger["encoder.recurrent.0.update_gate"].value

Leaving the `with` block computes the inside of every layer from what really went in and compares it with what really
came out; sensitivities are compared as soon as there are some. A disagreement beyond rounding is a `LedgerError`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial

from torch import Tensor, nn

from clew.errors import LedgerError, complain, did_you_mean
from clew.ledger import recording, requests
from clew.ledger.quantity import Quantity
from clew.ledger.reading import PassReader
from clew.ledger.recorder import Recorder
from clew.ledger.verification import Distance, require_agreement
from clew.ledger.views import LedgerViews


class Ledger(LedgerViews):
    """Quantities by name, in the order of computation.

    A ledger of several calls of the model shows the last one; `passes` has them all.
    """

    def __init__(self, readers: Callable[[], list[PassReader]], pattern: str = "*") -> None:
        self._read = readers
        self._pattern = pattern

    def __getitem__(self, name: str) -> "Quantity | Ledger":
        """Give the quantity of a name, or all quantities that match a pattern with `*`, `?` or `[...]`.

        Raises:
            LedgerError: If there is none, with the nearest name.
        """
        known = self.names()
        if name in known:
            return self._last.quantity(name)
        if any(fnmatchcase(key, name) for key in known):
            return Ledger(self._read, name)
        remedy = did_you_mean(name, known) if known else "Call the model while it is recorded."
        raise LedgerError(complain("ledger", "name", "that of a recorded quantity", f"'{name}'", remedy))

    def quantity(self, name: str) -> Quantity:
        """Give one quantity by its exact name.

        Raises:
            LedgerError: If there is none.
        """
        found = self[name]
        if isinstance(found, Quantity):
            return found
        raise LedgerError(complain("ledger", "name", "that of one quantity", f"a pattern, '{name}'"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def names(self) -> list[str]:
        """All names, in the order of computation."""
        readers = self._read()
        found = readers[-1].index() if readers else {}
        return [name for name in found if fnmatchcase(name, self._pattern)]

    def quantities(self) -> list[Quantity]:
        """All quantities, in the order of computation."""
        return [self._last.quantity(name) for name in self.names()]

    @property
    def passes(self) -> "list[Ledger]":
        """One ledger for each call of the model."""
        return [Ledger(partial(list, [reader])) for reader in self._read()]

    @property
    def distances(self) -> list[Distance]:
        """How far each explained array lies from what really ran, forward and, if it has run, backward."""
        return [distance for reader in self._read() for distance in reader.distances()]

    def verify(self) -> "Ledger":
        """Compare every explanation with what really ran.

        Raises:
            LedgerError: If one is further away than rounding.
        """
        require_agreement(self.distances)
        return self

    def contributions(self, parameter: str, row: int | None = None) -> Quantity:
        """Give what each step or position contributes to a shared parameter: they sum to its gradient.

        That is its part of the gradient: what this call of the model adds, without terms of the caller's own loss. A
        parameter that several layers share has the positions of one use after those of the other.

        Args:
            parameter: Name of the parameter in the model, such as "encoder.recurrent.0.weight_hh".
            row: One row of the batch; by default all rows summed.

        Returns:
            A quantity of shape (time, *shape of the parameter).

        Raises:
            LedgerError: If there is no such parameter, it is not used at positions, or no backward pass has run.
        """
        return requests.contributions(self._last, parameter, row)

    def jacobian(self, layer: str, row: int, step: int) -> Quantity:
        """Differentiate the state after a step of a recurrent layer with respect to the state before it.

        Entry (i, j) of the value is d new state_i / d old state_j; an LSTM's state is (state, cell) joined. The state
        before is the one of the step that the layer read before: a later one, if it reads from the end.

        Raises:
            LedgerError: If there is no such recurrent layer, row or valid step.
        """
        return requests.jacobian(self._last, layer, row, step)

    def path(self, layer: str, row: int, start: int, end: int) -> "dict[str, Tensor]":
        """Follow a sensitivity from the state after `end` back to the state after `start`, which is read earlier.

        Returns:
            `jacobians` (steps, state, state) of the steps read after start, up to end; their `product`; each one's
            spectral norm (`norms`), the `bound` that is the product of norms, the `norm` of the product itself, and
            `carry` (steps, hidden): the carry-only derivative, the diagonal of the update or forget gate, where the
            cell has one. After a backward pass also `carried` (state,): the part of the sensitivity of the state
            after `start` that comes along this path from the state after `end`.

        Raises:
            LedgerError: If there is no such recurrent layer, row or valid step, or start is not read before end.
        """
        return requests.path(self._last, layer, row, start, end)

    def sources(self, layer: str, row: int, query: int) -> Quantity:
        """Give what each source contributes to one query of an attention layer: weight times value, by head.

        Returns:
            A quantity of shape (heads, source, value_dim); its sum over sources is the context of the query.

        Raises:
            LedgerError: If there is no such attention layer, row or query.
        """
        return requests.sources(self._last, layer, row, query)

    @property
    def _last(self) -> PassReader:
        readers = self._read()
        if not readers:
            raise LedgerError(complain("ledger", "model", "called while it is recorded", "no call"))
        return readers[-1]


@contextmanager
def record(model: nn.Module) -> Iterator[Ledger]:
    """Record a model while the block runs.

    Args:
        model: A model of this package, or any module that has its layers inside.

    Raises:
        LedgerError: At the end of the block, if an explanation does not agree with what really ran.
    """
    recorder = Recorder(model)
    readers: list[PassReader] = []

    def read() -> list[PassReader]:
        readers.extend(PassReader(recorder, one) for one in recorder.passes[len(readers) :])
        return readers

    ledger = Ledger(read)
    recording.attach(recorder)
    try:
        yield ledger
    finally:
        recording.detach(recorder)
        recorder.close()
    ledger.verify()
