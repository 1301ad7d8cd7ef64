"""How a model of next tokens does on its own: it goes on greedily from true prompts, and reads its own tokens.

    text             t h e   l o r d   s a i d
    prompt           t h e   l o
    free running               r d   w a s _     each token after what the model itself has said
    teacher-forced             r d   s a i d     each token after the true ones

The two answer different questions: one wrong token moves all that follows it, and there is more than one good way to go
on. They share no key and stand in no common column.
"""

from typing import Any

import torch

from clew.data.batch import Batch
from clew.generation import generate
from clew.models.evaluation import evaluation
from clew.models.inputs import TokenInput
from clew.models.sequence_model import SequenceModel
from clew.tasks.sequences import Sequences

PROMPTS, TOKENS, LEAST_PROMPT = 64, 32, 8


def free_running(model: SequenceModel, data: Sequences) -> dict[str, Any] | None:
    """Go on from the beginnings of some windows, and count the tokens that are those of the text.

    Args:
        model: Predicts the next token.
        data: Windows of ids; at most `PROMPTS` of them, evenly spread, whose last `TOKENS` ids belong to one document
            with what is before them.

    Returns:
        `prompts`, `tokens` of each, `accuracy` (fraction of tokens that are those of the text), `first_accuracy` (of
        the first token, which still follows true ones alone), `teacher_forced_accuracy` on the same tokens, `words`;
        None where windows are too short, or a step is more than an id.
    """
    if not isinstance(model.inputs, TokenInput):
        return None
    whole = data.select(_spread(data)).to(next(model.parameters()).device)
    rows = [row for row in range(len(whole)) if _goes_on(whole, row)]
    if not rows:
        return None
    chosen = whole.select(torch.tensor(rows, device=whole.inputs.device))
    texts = [ids[valid] for ids, valid in zip(chosen.inputs, _valid(chosen), strict=True)]
    said = generate(model, [text[:-TOKENS].tolist() for text in texts], tokens=TOKENS)
    expected = torch.stack([text[-TOKENS:] for text in texts])
    hits = torch.tensor(said, device=expected.device) == expected
    with torch.no_grad(), evaluation(model):
        forced = torch.stack([_told(model, text) for text in texts]) == expected
    found = {
        "prompts": len(texts),
        "tokens": TOKENS,
        "accuracy": hits.double().mean().item(),
        "first_accuracy": hits[:, 0].double().mean().item(),
        "teacher_forced_accuracy": forced.double().mean().item(),
    }
    words = (
        f"of {TOKENS} tokens that it says greedily after each of {len(texts)} prompts, {found['accuracy']:.3f} are "
        f"those of the text; of the same tokens, after the true ones, {found['teacher_forced_accuracy']:.3f}"
    )
    return found | {"words": words}


def _spread(data: Sequences) -> torch.Tensor:
    count = min(len(data), PROMPTS)
    return torch.arange(count) * len(data) // count


def _valid(batch: Batch) -> torch.Tensor:
    return torch.ones_like(batch.inputs, dtype=torch.bool) if batch.valid is None else batch.valid


def _goes_on(batch: Batch, row: int) -> bool:
    """Say whether a row is long enough, and of one document."""
    valid = _valid(batch)[row]
    if int(valid.sum()) < LEAST_PROMPT + TOKENS:
        return False
    return batch.documents is None or len(batch.documents[row][valid].unique()) == 1


def _told(model: SequenceModel, text: torch.Tensor) -> torch.Tensor:
    """Give the most probable token at each of the last places, after the true ones."""
    return model(text[:-1].unsqueeze(0)).logits[0, -TOKENS:].argmax(dim=-1)
