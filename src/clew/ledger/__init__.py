"""The ledger: what every layer really computed, forward and backward, by name, and checked against what ran.

Start with `clew.record`. Layers report through `clew.ledger.recording`; how an inside follows from a border is in
`explanation.py` and `recurrence.py`, how it is checked in `verification.py`.
"""

from clew.ledger.description import Described
from clew.ledger.ledger import Ledger, record
from clew.ledger.quantity import Quantity
from clew.ledger.verification import Distance

__all__ = ["Described", "Distance", "Ledger", "Quantity", "record"]
