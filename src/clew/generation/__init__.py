"""Generation: a model of next tokens goes on from prompts, with a cache, by a declared rule of choice.

Start with `generate`. The rules, each a function of logits, are in `clew.generation.rules`; what a model keeps of the
steps that it has read is in `clew.models.decoding`. Not here: text and vocabularies, see `clew.data`.
"""

from clew.generation.generate import generate
from clew.generation.rules import RULES, Choice, forbid, keep_top_k, keep_top_p, pick

__all__ = ["RULES", "Choice", "forbid", "generate", "keep_top_k", "keep_top_p", "pick"]
