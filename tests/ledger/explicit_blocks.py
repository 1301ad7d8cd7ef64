"""An encoder of Transformer blocks in plain torch operations, every intermediate kept with its gradient.

Nothing is shared with the package but the names; the softmax is written out, and masks are numbers that are multiplied.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ledger.explicit_cells import kept


class ExplicitEncoder:
    """Rows without positions through blocks, then a head on every row and a mean cross-entropy.

    Attributes:
        found: Intermediates, by the names of the ledger.
    """

    def __init__(self, state: Mapping[str, Tensor], heads: int, norm: str, visible: Tensor) -> None:
        self.state, self.heads, self.norm = state, heads, norm
        self.visible = visible.unsqueeze(1).double()
        self.found: dict[str, Tensor] = {}

    def encode(self, rows: Tensor, layers: int) -> Tensor:
        for index in range(layers):
            rows = self._block(rows, f"encoder.blocks.{index}")
        return self._normalize(rows, "encoder.final_norm") if self.norm == "pre" else rows

    def loss(self, rows: Tensor, targets: Tensor, scored: Tensor) -> Tensor:
        logits = self._keep("head.linear.output", self._map(rows, "head.linear"))
        exponentials = torch.exp(logits)
        probabilities = self._keep("loss.probabilities", exponentials / exponentials.sum(-1, keepdim=True))
        # The probabilities are on the way to the loss here, so that their gradient is that of -log p.
        picked = probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        per_position = self._keep("loss.per_position", torch.where(scored, -torch.log(picked), 0.0))
        return per_position.sum() / scored.sum()

    def _block(self, rows: Tensor, name: str) -> Tensor:
        if self.norm == "pre":
            branch = self._attend(self._normalize(rows, f"{name}.attention_norm"), f"{name}.attention")
            rows = self._sum(rows, branch, f"{name}.attention")
            branch = self._transform(self._normalize(rows, f"{name}.mlp_norm"), f"{name}.mlp")
            return self._sum(rows, branch, f"{name}.mlp")
        branch = self._attend(rows, f"{name}.attention")
        rows = self._normalize(self._sum(rows, branch, f"{name}.attention"), f"{name}.attention_norm")
        branch = self._transform(rows, f"{name}.mlp")
        return self._normalize(self._sum(rows, branch, f"{name}.mlp"), f"{name}.mlp_norm")

    def _sum(self, bypass: Tensor, branch: Tensor, name: str) -> Tensor:
        return self._keep(f"{name}_sum", bypass + self._keep(f"{name}_branch", branch))

    def _attend(self, rows: Tensor, name: str) -> Tensor:
        mapped = self._keep(f"{name}.input_map.output", self._map(rows, f"{name}.input_map"))
        batch, time, _ = rows.shape
        parts = [part.reshape(batch, time, self.heads, -1).transpose(1, 2) for part in mapped.chunk(3, dim=-1)]
        q, k, v = (
            self._keep(f"{name}.{what}", part) for what, part in zip(("query", "key", "value"), parts, strict=True)
        )
        scores = self._keep(f"{name}.scores", torch.einsum("bhqd,bhsd->bhqs", q, k))
        scaled = self._keep(f"{name}.scaled_scores", scores / math.sqrt(q.shape[-1]))
        exponentials = torch.exp(scaled) * self.visible
        sums = exponentials.sum(-1, keepdim=True)
        weights = self._keep(f"{name}.weights", exponentials / torch.where(sums > 0, sums, 1.0))
        context = self._keep(f"{name}.context", torch.einsum("bhqs,bhsd->bhqd", weights, v))
        joined = self._keep(f"{name}.joined", context.transpose(1, 2).reshape(batch, time, -1))
        output = self._keep(f"{name}.output_map.output", self._map(joined, f"{name}.output_map"))
        reads = (self.visible.sum(-1) > 0).double().squeeze(1).unsqueeze(-1)
        return output * reads

    def _transform(self, rows: Tensor, name: str) -> Tensor:
        z = self._keep(f"{name}.preactivation", self._map(rows, f"{name}.hidden_map"))
        hidden = self._keep(f"{name}.hidden", z * (z > 0))
        return self._keep(f"{name}.output_map.output", self._map(hidden, f"{name}.output_map"))

    def _normalize(self, rows: Tensor, name: str) -> Tensor:
        mean = self._keep(f"{name}.mean", rows.sum(-1, keepdim=True) / rows.shape[-1])
        variance = ((rows - mean) ** 2).sum(-1, keepdim=True) / rows.shape[-1]
        variance = self._keep(f"{name}.variance", variance)
        normalized = self._keep(f"{name}.normalized", (rows - mean) * (variance + 1e-5) ** -0.5)
        return self._keep(f"{name}.output", normalized * self.state[f"{name}.weight"] + self.state[f"{name}.bias"])

    def _map(self, rows: Tensor, name: str) -> Tensor:
        return rows @ self.state[f"{name}.weight"].T + self.state[f"{name}.bias"]

    def _keep(self, name: str, tensor: Tensor) -> Tensor:
        self.found[name] = kept(tensor)
        return tensor
