"""Which id follows, given the scores of all ids: the most probable one, or one drawn at random.

A rule works on one row of scores and knows nothing of other rows or of the model. Where ids are equally probable, the
lower one comes first. What is dropped gets a score of -inf, so that rules can follow each other.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clew.errors import ConfigError, DataError, complain, did_you_mean

RULES = ("greedy", "sample")
Scores = Float[Tensor, "batch ids"]


@dataclass(frozen=True)
class Choice:
    """How the next id is chosen. In this order: forbid, divide by the temperature, keep top k, keep top p, draw.

    Attributes:
        rule: "greedy" takes the most probable id; "sample" draws one by its probability.
        temperature: Divides the scores; below 1 the probable ids become more probable. For "sample" only.
        top_k: Draw among this many most probable ids only.
        top_p: Draw among the fewest most probable ids whose probabilities add up to at least this.
        forbidden: Ids that are never chosen.

    Raises:
        ConfigError: If a name is unknown, a value is out of range, or a value of "sample" is given for "greedy".
    """

    rule: str = "greedy"
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    forbidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        where = "generate"
        if self.rule not in RULES:
            remedy = did_you_mean(self.rule, RULES)
            raise ConfigError(complain(where, "rule", "'greedy' or 'sample'", f"'{self.rule}'", remedy))
        if not 0 < self.temperature < float("inf"):
            remedy = "For the most probable id each time use rule='greedy'."
            raise ConfigError(complain(where, "temperature", "greater than 0 and finite", self.temperature, remedy))
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(complain(where, "top_k", "at least 1, or left out", self.top_k))
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(complain(where, "top_p", "in (0, 1], or left out", self.top_p))
        extra = {"temperature": self.temperature != 1, "top_k": self.top_k is not None, "top_p": self.top_p is not None}
        if self.rule == "greedy" and any(extra.values()):
            given = ", ".join(name for name, is_given in extra.items() if is_given)
            remedy = "They change what is drawn, not which id is the most probable; use rule='sample'."
            raise ConfigError(complain(where, given, "left out for rule='greedy'", "a value", remedy))

    def probabilities(self, logits: Scores) -> Float[Tensor, "batch ids"]:
        """Give the probability of each id by this rule, in double precision; 1 for a greedy choice.

        Raises:
            DataError: If a score is NaN or +inf.
        """
        wrong = (logits.isnan() | (logits == torch.inf)).nonzero()
        if len(wrong):
            row, place = wrong[0].tolist()
            remedy = "The model's weights are probably not finite."
            got = f"{logits[row, place].item()} for id {place} of row {row}"
            raise DataError(complain("generate", "scores", "numbers below infinity", got, remedy))
        scores = forbid(logits.double(), self.forbidden)
        if self.rule == "greedy":
            return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).double()
        scores = scores / self.temperature
        scores = scores if self.top_k is None else keep_top_k(scores, self.top_k)
        scores = scores if self.top_p is None else keep_top_p(scores, self.top_p)
        return torch.softmax(scores, dim=-1)


def forbid(scores: Scores, ids: tuple[int, ...]) -> Scores:
    """Drop ids; at least one must be left."""
    if not ids:
        return scores
    dropped = torch.zeros(scores.shape[-1], dtype=torch.bool, device=scores.device)
    dropped[list(ids)] = True
    return scores.masked_fill(dropped, -torch.inf)


def keep_top_k(scores: Scores, count: int) -> Scores:
    """Keep the `count` ids of the highest scores.

    >>> keep_top_k(torch.tensor([[1.0, 3.0, 3.0, 2.0]]), 1)
    tensor([[-inf, 3., -inf, -inf]])
    """
    return scores.masked_fill(_ranks(scores) >= count, -torch.inf)


def keep_top_p(scores: Scores, mass: float) -> Scores:
    """Keep the fewest ids of the highest scores whose probabilities add up to at least `mass`; always one.

    >>> keep_top_p(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.6).isfinite()
    tensor([[ True,  True, False]])
    """
    order = scores.argsort(dim=-1, descending=True, stable=True)
    ordered = torch.softmax(scores, dim=-1).gather(-1, order)
    before = ordered.cumsum(dim=-1) - ordered
    is_kept = before < mass
    is_kept[..., 0] = True
    return scores.masked_fill(~torch.zeros_like(is_kept).scatter(-1, order, is_kept), -torch.inf)


def pick(probabilities: Float[Tensor, "batch ids"], uniform: Float[Tensor, " batch"]) -> Int[Tensor, " batch"]:
    """Draw an id in each row: the first one up to which the probabilities add up to more than `uniform`, in [0, 1).

    >>> pick(torch.tensor([[0.2, 0.0, 0.8]]).double(), torch.tensor([0.2]).double())
    tensor([2])
    """
    upto = probabilities.cumsum(dim=-1)
    found = torch.searchsorted(upto, (uniform * upto[:, -1]).unsqueeze(-1), right=True).squeeze(-1)
    last_possible = probabilities.shape[-1] - 1 - (probabilities > 0).flip(-1).to(torch.uint8).argmax(dim=-1)
    return torch.minimum(found, last_possible)


def _ranks(scores: Scores) -> Int[Tensor, "batch ids"]:
    """Number the ids of each row from the highest score to the lowest."""
    return scores.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1, stable=True)
