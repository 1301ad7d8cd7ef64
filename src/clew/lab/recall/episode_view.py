"""One test episode seen from inside a trained model: the gates and state over time, or who attends to whom.

The numbers come from the layer's own equations, fed with what really enters the layer in evaluation mode. For a page
that shows how a model keeps its cue; it proves nothing by itself, the interventions do.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.data.recall_episodes import TOKEN_WORDS
from clew.errors import ConfigError, complain
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder
from clew.tasks.cue_recall import CueRecall
from clew.tasks.task import evaluation_mode


def view_episode(model: nn.Module, task: CueRecall, test: Batch, row: int = 0) -> dict[str, Any]:
    """Look at one episode.

    Args:
        model: A trained `SequenceModel`.
        task: The task of the episodes.
        test: Episodes.
        row: Which of them.

    Returns:
        Plain JSON values: `tokens` (a word an input step), `query` (the step of RECALL), `answer` and `target` (words);
        for a recurrent model `quantities`, name -> (time, hidden) of the first layer; for a Transformer `attention`,
        (heads, query, source) weights of the first block.

    Raises:
        ConfigError: If there is no such row, or nothing is known about the inside of the model.
    """
    if not 0 <= row < len(test):
        raise ConfigError(complain("view_episode", "row", f"in [0, {len(test)})", row))
    inputs = task.align(test).inputs[row : row + 1]
    if not isinstance(model, SequenceModel):
        raise ConfigError(complain("view_episode", "model", "a SequenceModel", type(model).__name__))
    with evaluation_mode(model), torch.no_grad():
        answer = model(inputs).logits[0, task.query].argmax().item()
        inside = _inside(model, inputs)
    return {
        "tokens": [TOKEN_WORDS[token] for token in inputs[0].tolist()],
        "query": task.query,
        "answer": TOKEN_WORDS[int(answer)],
        "target": TOKEN_WORDS[int(inputs[0, task.query + 1])],
        **inside,
    }


def _inside(model: SequenceModel, inputs: Int[Tensor, "one time"]) -> dict[str, Any]:
    encoder, rows = model.encoder, model.embed(inputs)
    if isinstance(encoder, RecurrentEncoder):
        return {"quantities": {name: value[0].tolist() for name, value in _recurrent_quantities(encoder, rows).items()}}
    return {"attention": _attention_weights(encoder, rows)[0].tolist()}


def _recurrent_quantities(
    encoder: RecurrentEncoder, rows: Float[Tensor, "one time width"]
) -> dict[str, Float[Tensor, "one time hidden"]]:
    """Give every gate and state of the first layer, of its forward direction if it has two."""
    layer = encoder.recurrent[0]
    return (layer.forward_layer if isinstance(layer, BidirectionalLayer) else layer).quantities(rows)


def _attention_weights(
    encoder: TransformerEncoder, rows: Float[Tensor, "one time width"]
) -> Float[Tensor, "one heads query source"]:
    """Give the weights of the first block, whose attention reads normalized rows if the block is pre-norm."""
    rows = rows if encoder.positions is None else encoder.positions(rows)
    block = encoder.blocks[0]
    rows = block.attention_norm(rows) if isinstance(block, PreNormBlock) else rows
    visible = causal(rows.shape[1]) if encoder.causal else full(rows.shape[1])
    return block.attention.quantities(rows, visible)["weights"]
