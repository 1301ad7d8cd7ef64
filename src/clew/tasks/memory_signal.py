"""The learning signal that reaches the cue, beside the gradient that the shared weights get in all.

    cue_signal            mean over episodes of | d(cue loss) / d(representation at the cue) |
    shared_gradient_norm  | d(mean cue loss) / d(weights that all steps share) |

Both belong to the same loss, that of the recall query. A recurrent layer uses its weights at every step, and the uses
just before the query can give them a large gradient although nothing arrives at the cue: then the first number is dead
and the second is not. A nonzero gradient of shared weights alone says nothing about long-range learning.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from clew.data.recall_episodes import cue_places
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder
from clew.tasks.task import evaluation_mode


class _Path(NamedTuple):
    """A query's logits, with what they were computed from: the tensors at the cue, a row an episode each."""

    logits: Float[Tensor, "episodes vocab"]
    at_cue: Sequence[Tensor]
    shared_weights: Sequence[Tensor]


def memory_signal(model: nn.Module, inputs: Int[Tensor, "episodes time"], query: int) -> dict[str, float]:
    """Measure how much of the recall loss arrives at the cue.

    The representation at the cue is what alone carries it onwards: for a recurrent encoder the state right after the
    cue was read (all layers, the cell of an LSTM too); for a Transformer the row at the cue that enters the first
    block, of which embedding and position are summands, so that its derivative is that of the encoder's input row.
    Shared weights are those of the recurrent layers, or of all attention layers.

    Runs in evaluation mode and leaves gradients, modes and random numbers as they were.

    Args:
        model: A `SequenceModel` with a prediction a row.
        inputs: Episodes without their last token; the answer stands right after the query.
        query: Step of RECALL.

    Returns:
        `cue_signal` (nats per unit of the representation) and `shared_gradient_norm` (nats per unit of weight); nothing
        for a model that reads both directions, or of another kind, where no single representation carries the cue.
    """
    if not isinstance(model, SequenceModel):
        return {}
    with evaluation_mode(model), torch.enable_grad():
        path = _path(model, inputs, query)
        if path is None:
            return {}
        loss = cross_entropy(path.logits, inputs[:, query + 1], reduction="sum")
        gradients = torch.autograd.grad(loss, [*path.at_cue, *path.shared_weights])
    # Episodes do not read each other: the derivative of the summed loss holds each episode's own in its row.
    at_cue, shared = gradients[: len(path.at_cue)], gradients[len(path.at_cue) :]
    signal = torch.cat(at_cue, dim=1).norm(dim=1).mean()
    norm = torch.cat([gradient.flatten() for gradient in shared]).norm() / len(inputs)
    return {"cue_signal": signal.item(), "shared_gradient_norm": norm.item()}


def _path(model: SequenceModel, inputs: Int[Tensor, "episodes time"], query: int) -> _Path | None:
    encoder, cues = model.encoder, cue_places(inputs)
    rows = model.embed(inputs[:, : query + 1])
    if isinstance(encoder, RecurrentEncoder) and not encoder.bidirectional:
        return _through_states(model, encoder, rows, cues)
    if isinstance(encoder, TransformerEncoder) and encoder.causal:
        return _through_rows(model, encoder, rows, cues)
    return None


def _through_states(
    model: SequenceModel,
    encoder: RecurrentEncoder,
    rows: Float[Tensor, "episodes time width"],
    cues: Int[Tensor, " episodes"],
) -> _Path:
    """Read up to the cue, then go on from the state that was reached."""
    first, last = int(cues.min()), int(cues.max())
    if first == last:
        reached = encoder(rows[:, : last + 1]).final
        read = encoder(rows[:, last + 1 :], initial=reached).rows
    else:
        # The state passes a step that is not valid unchanged, so that one call serves cues at different places.
        is_after = torch.arange(rows.shape[1], device=rows.device) > cues.unsqueeze(1)
        reached = encoder(rows[:, : last + 1], valid=~is_after[:, : last + 1]).final
        read = encoder(rows[:, first + 1 :], valid=is_after[:, first + 1 :], initial=reached).rows
    states = [part for layer in reached for part in layer]
    return _Path(model.head(read[:, -1:])[:, 0], states, [*encoder.recurrent.parameters()])


def _through_rows(
    model: SequenceModel,
    encoder: TransformerEncoder,
    rows: Float[Tensor, "episodes time width"],
    cues: Int[Tensor, " episodes"],
) -> _Path:
    """Take the row at the cue out of the input, and put it back as the variable of the derivative."""
    at_cue = rows[torch.arange(len(rows), device=rows.device), cues]
    is_cue = torch.arange(rows.shape[1], device=rows.device) == cues.unsqueeze(1)
    rows = torch.where(is_cue.unsqueeze(-1), at_cue.unsqueeze(1), rows)
    weights = [weight for name, weight in encoder.named_parameters() if ".attention." in name]
    return _Path(model.head(encoder(rows).rows[:, -1:])[:, 0], [at_cue], weights)
