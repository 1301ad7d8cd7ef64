"""Next-token prediction: from each token and what came before it, the token that follows.

    token ids   4 2 0 1 6 2 5
    inputs      4 2 0 1 6 2
    targets     2 0 1 6 2 5

A target counts where it and the input that it is predicted from are real, wherever padding stands.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, ShapeError, complain
from clew.ledger import recording
from clew.tasks.task import Aligned, Task, evaluation_mode
from clew.tasks.token_loss import TOKEN_LOSS

# torch would otherwise leave out a target of -100 silently; what does not count is said by `scored` alone.
NOTHING_IGNORED = torch.iinfo(torch.int64).min


class TokenScores(NamedTuple):
    """How each target was predicted; both are zero or False where a target is not scored.

    Attributes:
        losses_nats: Cross-entropy in float64.
        hits: True where the target is the most probable token.
        targets: The target ids.
        scored: True where a target counts.
    """

    losses_nats: Float[Tensor, "batch time"]
    hits: Bool[Tensor, "batch time"]
    targets: Int[Tensor, "batch time"]
    scored: Bool[Tensor, "batch time"]


class NextToken(Task):
    """Predict the next token at every position.

    A uniform predictor has loss log(vocab) and a perfect one 0, unless the data are random.

    Args:
        vocab: Number of token ids.

    Raises:
        ConfigError: If `vocab` is not a whole number of at least 2.
    """

    name: ClassVar[str] = "next_token"
    boundary: ClassVar[Literal["causal", "full"]] = "causal"
    selection: ClassVar[str] = "loss_nats"
    metrics: ClassVar[tuple[str, ...]] = ("loss_nats", "accuracy")

    def __init__(self, vocab: int) -> None:
        if isinstance(vocab, bool) or not isinstance(vocab, int) or vocab < 2:
            raise ConfigError(complain("NextToken", "vocab", "a whole number of at least 2", repr(vocab)))
        self.vocab = vocab

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        return {"vocab": self.vocab}

    def align(self, batch: Batch) -> Aligned:
        """Shift the ids by one step, once.

        Raises:
            ShapeError: If the inputs are not ids of shape (batch, time) with at least two steps.
        """
        ids, valid = batch.inputs, batch.valid
        if ids.ndim != 2 or ids.shape[1] < 2 or ids.is_floating_point():
            got = f"{tuple(ids.shape)} of {ids.dtype}"
            raise ShapeError(complain("NextToken", "inputs", "token ids (batch, time) with at least 2 steps", got))
        if valid is None:
            return Aligned(ids[:, :-1], None, ids[:, 1:], None)
        return Aligned(ids[:, :-1], valid[:, :-1], ids[:, 1:], valid[:, 1:] & valid[:, :-1])

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Mean cross-entropy of the scored targets, in nats.

        Raises:
            DataError: If no target is scored, or a target is outside the vocabulary.
            ShapeError: If the model does not give a row of `vocab` logits for each input.
        """
        aligned = self.align(batch)
        if aligned.targets.numel() == 0 or (aligned.scored is not None and not bool(aligned.scored.any())):
            got = f"none in {len(batch)} sequences"
            remedy = "A target counts where it and the input before it are real."
            raise DataError(complain("NextToken", "scored targets of a batch", "at least 1", got, remedy))
        logits = self._logits(model, aligned)
        if aligned.scored is None:
            loss = self._cross_entropy(logits.flatten(0, 1), aligned.targets.flatten(), "mean")
        else:
            loss = self._cross_entropy(logits[aligned.scored], aligned.targets[aligned.scored], "mean")
        if recording.is_on():
            facts = {"targets": aligned.targets, "scored": aligned.scored}
            recording.report(TOKEN_LOSS, "", {"logits": logits}, {"loss": loss}, **facts)
        return loss

    def evaluate(self, model: nn.Module, batch: Batch, chunk: int = 512) -> dict[str, float]:
        """Give `loss_nats` and `accuracy` (most probable token right) over all scored targets."""
        scores = self.score(model, batch, chunk)
        count = scores.scored.sum().item()
        return {"loss_nats": scores.losses_nats.sum().item() / count, "accuracy": scores.hits.sum().item() / count}

    def score(self, model: nn.Module, batch: Batch, chunk: int = 512) -> TokenScores:
        """Score every target in evaluation mode, without gradients.

        Raises:
            DataError: If no target is scored, or a target is outside the vocabulary.
        """
        with evaluation_mode(model), torch.no_grad():
            parts = [self._score_chunk(model, self.align(part)) for part in chunks(batch, chunk)]
        scores = TokenScores(*(torch.cat(tensors) for tensors in zip(*parts, strict=True))) if parts else None
        if scores is None or not bool(scores.scored.any()):
            raise DataError(complain("NextToken", "scored targets", "at least 1", f"none in {len(batch)} sequences"))
        return scores

    def _score_chunk(self, model: nn.Module, aligned: Aligned) -> TokenScores:
        targets = aligned.targets
        scored = torch.ones_like(targets, dtype=torch.bool) if aligned.scored is None else aligned.scored
        # In float64, because a perfect predictor must not seem to fall below a known floor by rounding.
        logits = self._logits(model, aligned)[scored].double()
        losses = logits.new_zeros(targets.shape)
        losses[scored] = self._cross_entropy(logits, targets[scored], "none")
        hits = torch.zeros_like(scored)
        # NaN would count as the largest logit of all, hence as an answer.
        hits[scored] = (logits.argmax(dim=-1) == targets[scored]) & ~logits.isnan().any(dim=-1)
        return TokenScores(losses, hits, targets, scored)

    def _logits(self, model: nn.Module, aligned: Aligned) -> Float[Tensor, "batch time vocab"]:
        valid = aligned.valid
        logits = model(aligned.inputs).logits if valid is None else model(aligned.inputs, valid=valid).logits
        expected = (*aligned.inputs.shape, self.vocab)
        if logits.shape != expected:
            rule = f"of shape (batch, time, vocab) = {expected}"
            remedy = 'Build the model with outputs=vocab and head="rows".'
            raise ShapeError(complain("NextToken", "logits", rule, tuple(logits.shape), remedy))
        return logits

    def _cross_entropy(
        self, logits: Float[Tensor, "scored vocab"], targets: Int[Tensor, " scored"], reduction: str
    ) -> Float[Tensor, "*scored"]:
        # The ids are looked at only once the loss has failed: a check of every batch would cost more than the loss.
        try:
            return cross_entropy(logits, targets.long(), reduction=reduction, ignore_index=NOTHING_IGNORED)
        except IndexError as error:
            wrong = targets[(targets < 0) | (targets >= self.vocab)]
            if len(wrong) == 0:
                raise
            remedy = "Check the data, or mark padding as not valid."
            message = complain("NextToken", "targets", f"in [0, vocab={self.vocab})", int(wrong[0]), remedy)
            raise DataError(message) from error


def chunks(batch: Batch, size: int) -> Iterator[Batch]:
    """Cut a batch into parts of at most `size` sequences.

    Raises:
        ConfigError: If `size` is below 1.
    """
    if size < 1:
        raise ConfigError(complain("evaluate", "chunk", "at least 1", size))
    for start in range(0, len(batch), size):
        yield batch.select(torch.arange(start, min(start + size, len(batch)), device=batch.inputs.device))
