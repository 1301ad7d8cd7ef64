"""How the ledger reads a mean cross-entropy: probabilities and the loss of every position, from the real logits."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from clew.ledger.description import Described


class TokenLoss:
    """Explains the loss of next-token prediction; a recorded model's names begin with "loss" here."""

    recorded_name = "loss"
    described: ClassVar[Mapping[str, Described]] = {
        "logits": Described(("batch", "time", "classes"), "s, the class scores"),
        "probabilities": Described(("batch", "time", "classes"), "p_c = exp(s_c) / sum_r exp(s_r)"),
        "per_position": Described(("batch", "time"), "-log p_target in nats; 0 where no target is scored"),
        "loss": Described((), "sum over scored targets of -log p_target / their number"),
    }

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Compute the named quantities; differentiable."""
        logits, targets, scored = inputs["logits"], facts["targets"], facts["scored"]
        scored = torch.ones_like(targets, dtype=torch.bool) if scored is None else scored
        log_probabilities = torch.log_softmax(logits, dim=-1)
        probabilities = log_probabilities.exp()
        # An id at an unscored target may be anything and is never used as an index.
        index = torch.where(scored, targets, 0).long().unsqueeze(-1)
        at_target, log_at_target = (part.gather(-1, index).squeeze(-1) for part in (probabilities, log_probabilities))
        # The loss goes through the probabilities, so that they have a sensitivity, unless one is too small to hold.
        is_held = at_target > torch.finfo(logits.dtype).tiny
        log_at_target = torch.where(is_held, torch.where(is_held, at_target, 1.0).log(), log_at_target)
        per_position = torch.where(scored, -log_at_target, 0.0)
        return {
            "logits": logits,
            "probabilities": probabilities,
            "per_position": per_position,
            "loss": per_position.sum() / scored.sum(),
        }


TOKEN_LOSS = TokenLoss()
