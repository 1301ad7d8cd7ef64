"""The comparison protocol: sealed splits, recipes x seeds, run folders, statistics and verdicts.

Start with `compare`; `clew.lab.recall` is the memory experiment, one user of it.
"""

from clew.lab.comparison import Comparison, compare
from clew.lab.progress import Progress, SilentProgress
from clew.lab.recipe import Recipe
from clew.lab.splits import SealedSplit, Splits

__all__ = ["Comparison", "Progress", "Recipe", "SealedSplit", "SilentProgress", "Splits", "compare"]
