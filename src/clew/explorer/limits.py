"""How much one request may ask for; beyond each limit stands a message, never a crash.

Start with `clew.explorer.address`, which holds an address to these, and `clew.explorer.studio`, which holds models.
"""

MOST_QUERY_BYTES = 32_768
"""Of an address: a text of that many characters fits in any alphabet, at up to twelve bytes a character."""
MOST_TEXT = 2000
"""Characters of a text."""
MOST_STEPS = 512
MOST_ROWS = 64
"""Lines of a text."""
MOST_EDITS = 50
MOST_EDIT = 200
"""Characters of one edit."""
MOST_SHOWN = 40
"""Parameters of a view."""
MOST_VALUE = 400
"""Characters of one of them."""
MOST_ROW = 999_999
MOST_MULTIPLY_ADDS = 10_000_000_000
"""Of one forward pass over everything that is read."""
MOST_PAIRS = 30_000_000
"""Pairs of a query and a source, over rows, layers and heads."""
MOST_JACOBIAN_WORK = 2_500_000_000
"""Steps times the cube of a state's size: each step's Jacobian is multiplied, and decomposed for its norm."""
MOST_CONTRIBUTED = 50_000_000
"""Numbers of what all steps contribute to one shared weight, a matrix a step."""
MOST_SCENES = 8
"""That are kept in memory."""
MOST_SECONDS = 20.0
"""For one answer."""
MOST_KEPT_PAIRS = 60_000_000
"""Of all scenes that are kept, beyond two."""
