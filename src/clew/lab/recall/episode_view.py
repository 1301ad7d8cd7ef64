"""One test episode seen from inside a trained model: the gates and state over time, or who attends to whom.

The numbers come from the layer's own equations, fed with what really enters the layer in evaluation mode. For a page
that shows how a model keeps its cue; it proves nothing by itself, the interventions do.
"""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.data.recall_episodes import TOKEN_WORDS
from clew.errors import ConfigError, complain
from clew.models.sequence_model import SequenceModel
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
    named = model.encoder.quantities(model.embed(inputs))
    if "blocks.0.attention.weights" in named:
        return {"attention": named["blocks.0.attention.weights"][0].tolist()}
    # Of a layer that reads both ways, the forward direction.
    named = {name.replace("forward_layer.", ""): value for name, value in named.items()}
    first = {name.removeprefix("recurrent.0."): value for name, value in named.items() if "recurrent.0." in name}
    return {"quantities": {name: value[0].tolist() for name, value in first.items() if "." not in name}}
