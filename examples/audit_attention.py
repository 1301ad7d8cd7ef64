"""A small language model with a last-layer-only causal mask, and the same model with the mask in every layer.

`leaking` looks right from its last layer, where every step reads only itself and what came before. But what it reads
there has passed a layer without a mask, which mixed later steps in. `clew audit` names that layer.
"""

import torch
from torch import Tensor, nn

VOCAB, WIDTH, HEADS, LAYERS, LONGEST = 23, 16, 2, 3, 64


class LanguageModel(nn.Module):
    """Token ids (batch, time) to scores of the next token (batch, time, vocab).

    Args:
        masked_layers: Indices of the layers that get the causal mask.
    """

    def __init__(self, masked_layers: set[int]) -> None:
        super().__init__()
        self.masked_layers = masked_layers
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Parameter(torch.randn(LONGEST, WIDTH) / WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.1, batch_first=True) for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids: Tensor) -> Tensor:
        """Give the scores."""
        time = ids.shape[1]
        hidden = torch.ones(time, time, dtype=torch.bool, device=ids.device).triu(1)  # torch hides where True
        rows = self.tokens(ids) + self.positions[:time]
        for index, layer in enumerate(self.layers):
            rows = layer(rows, src_mask=hidden if index in self.masked_layers else None)
        return self.head(rows)


def leaking() -> LanguageModel:
    """Build the model with a mask in its last layer only."""
    return LanguageModel({LAYERS - 1})


def repaired() -> LanguageModel:
    """Build the model with a mask in every layer."""
    return LanguageModel(set(range(LAYERS)))
