"""The ledger and its quantities in a notebook: the page of `clew.ledger.page` in a frame.

A notebook keeps what it shows, so the numbers of a large ledger are left to those who ask for some of them.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.ledger.page import TITLE, ledger_page, overview_page, quantity_page
from clew.ledger.quantity import Quantity
from clew.ledger.verification import Distance
from clew.rendering.markup import element
from clew.rendering.notebook import framed
from clew.rendering.page import paragraph

MOST_SHOWN = 16
"""Quantities whose numbers are shown at once."""


def ledger_in_notebook(quantities: Sequence[Quantity], distances: Sequence[Distance]) -> Markup:
    """Show a ledger: of up to `MOST_SHOWN` quantities all numbers of the first row, of more the table alone."""
    if len(quantities) <= MOST_SHOWN:
        return framed(ledger_page(quantities, distances), TITLE)
    words = [
        f"The numbers of {len(quantities)} quantities would fill the notebook. See some with ",
        element("code", None, 'ledger["*.state"]'),
        ", one by its name, or all in a file: ",
        element("code", None, 'ledger.to_html("ledger.html")'),
        ".",
    ]
    return framed(overview_page(quantities, distances, paragraph(*words)), TITLE)


def quantity_in_notebook(quantity: Quantity) -> Markup:
    """Show one quantity: its equation, and the numbers of the first row."""
    return framed(quantity_page(quantity), quantity.name)
