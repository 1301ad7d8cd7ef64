"""The worked example of the course text: every table, formula, figure and exercise, recomputed by the library itself.

A subject has a file; its functions arrange what layers, models, losses and autograd give, and compute nothing by rules
of their own. Start with `build_items`; `clew walkthrough` prints what it gives.
"""

from clew.walkthrough.catalogue import PARTS, Part, build_items, known_ids
from clew.walkthrough.items import Item

__all__ = ["PARTS", "Item", "Part", "build_items", "known_ids"]
