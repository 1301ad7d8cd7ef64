"""The memory experiment as one would write it without clew: torch.nn layers, one run after another, one process.

The yardstick for the speed of `clew recall`: same episodes, recipes, batch order, budget, selection rule and number of
runs; what is left out (checkpoints, interventions, memory signal, statistics, report) only makes it faster. Prints a
line a delay and model.

    python benchmarks/plain_recall.py [--epochs 60] [--seeds 6206 6207 6208] [--delays 8 16 32]
"""

import argparse
import time

import torch
from torch import nn

from clew.data.recall_episodes import VOCAB, sample_recall_splits


class Recurrent(nn.Module):
    """Embedding, one recurrent layer of torch.nn, a linear head."""

    def __init__(self, layer: type[nn.RNNBase], hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 16)
        self.layer = layer(16, hidden, batch_first=True)
        self.head = nn.Linear(hidden, VOCAB)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.layer(self.embedding(tokens))
        return self.head(states)


class Transformer(nn.Module):
    """One causal pre-norm block of width 12 with two heads, learned positions and a final LayerNorm."""

    def __init__(self, width: int = 12, heads: int = 2, mlp: int = 24, positions: int = 36) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, width)
        self.positions = nn.Embedding(positions, width)
        self.block = nn.TransformerEncoderLayer(
            width, heads, mlp, dropout=0.0, activation="relu", batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        time_steps = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(time_steps)
        rows = self.embedding(tokens) + self.positions.weight[:time_steps]
        return self.head(self.norm(self.block(rows, src_mask=mask, is_causal=True)))


MODELS = {"rnn": lambda: Recurrent(nn.RNN, 32), "gru": lambda: Recurrent(nn.GRU, 17), "transformer": Transformer}


def run(name: str, delay: int, seed: int, epochs: int) -> float:
    """Train, select on validation, score the test once; give the accuracy at the query."""
    train, validation, test = (split.inputs for split in sample_recall_splits(delay))
    query = delay + 2
    torch.manual_seed(seed)
    model = MODELS[name]()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    order = torch.Generator().manual_seed(0)
    best_loss, best_weights = float("inf"), {}
    for _ in range(epochs):
        for rows in torch.randperm(len(train), generator=order).split(64):
            tokens = train[rows]
            logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            cue_loss = nn.functional.cross_entropy(model(validation[:, :-1])[:, query], validation[:, query + 1]).item()
        if cue_loss < best_loss:
            best_loss = cue_loss
            best_weights = {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(best_weights)
    with torch.no_grad():
        answers = model(test[:, :-1])[:, query].argmax(dim=-1)
    return (answers == test[:, query + 1]).double().mean().item()


def main() -> None:
    """Run everything and print accuracies and seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[6206, 6207, 6208])
    parser.add_argument("--delays", type=int, nargs="+", default=[8, 16, 32])
    options = parser.parse_args()
    started = time.perf_counter()
    for delay in options.delays:
        for name in MODELS:
            begun = time.perf_counter()
            accuracies = [run(name, delay, seed, options.epochs) for seed in options.seeds]
            words = " ".join(f"{accuracy:.3f}" for accuracy in accuracies)
            print(f"delay {delay:2d}  {name:12s} {words}   {time.perf_counter() - begun:6.1f} s", flush=True)
    print(f"total {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
