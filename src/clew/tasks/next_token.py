"""Next-token prediction: from each token and what came before it, the token that follows.

    token ids   4 2 0 1 6 2 5
    inputs      4 2 0 1 6 2
    targets     2 0 1 6 2 5

A target counts where it and the input that it is predicted from are real, wherever padding stands, and belong to the
same document where several are packed in a row.
"""

from collections.abc import Sequence
from math import log
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, ShapeError, complain
from clew.ledger import recording
from clew.tasks.sequences import Sequences, chunks, device_of, put_together
from clew.tasks.task import Aligned, Task, evaluation_mode
from clew.tasks.token_loss import TOKEN_LOSS
from clew.tasks.token_references import count_bytes, token_references

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
        token_bytes: Bytes of the text of each id, where they are known; then bits a byte are reported too, the only
            figure that compares models with different vocabularies.

    Raises:
        ConfigError: If `vocab` is not a whole number of at least 2, or `token_bytes` does not fit it.
    """

    name: ClassVar[str] = "next_token"
    kind_of_head: ClassVar[Literal["sequence", "rows"]] = "rows"
    boundary: Literal["causal", "full"] = "causal"
    selection: str = "loss_nats"
    metrics: tuple[str, ...] = ("loss_nats", "accuracy")

    def __init__(self, vocab: int, token_bytes: Sequence[int] | None = None) -> None:
        if isinstance(vocab, bool) or not isinstance(vocab, int) or vocab < 2:
            raise ConfigError(complain("NextToken", "vocab", "a whole number of at least 2", repr(vocab)))
        if token_bytes is not None and (len(token_bytes) != vocab or min(token_bytes) < 0):
            got = f"{len(token_bytes)} numbers, the least {min(token_bytes, default=0)}"
            raise ConfigError(complain("NextToken", "token_bytes", f"vocab={vocab} numbers of at least 0", got))
        self.vocab = vocab
        self.token_bytes = None if token_bytes is None else tuple(token_bytes)
        if token_bytes is not None:
            self.metrics = (*type(self).metrics, "bits_per_byte")

    @property
    def outputs(self) -> int:
        """Number of logits: one a token."""
        return self.vocab

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        return {"vocab": self.vocab} | ({} if self.token_bytes is None else {"token_bytes": list(self.token_bytes)})

    def align(self, batch: Batch) -> Aligned:
        """Shift the ids by one step, once; the first token of a packed document is predicted by nothing.

        Raises:
            ShapeError: If the inputs are not ids of shape (batch, time) with at least two steps.
        """
        ids, valid = batch.inputs, batch.valid
        if ids.ndim != 2 or ids.shape[1] < 2 or ids.is_floating_point():
            got = f"{tuple(ids.shape)} of {ids.dtype}"
            raise ShapeError(complain("NextToken", "inputs", "token ids (batch, time) with at least 2 steps", got))
        scored = None if valid is None else valid[:, 1:] & valid[:, :-1]
        documents = batch.documents
        if documents is not None:
            is_within = documents[:, 1:] == documents[:, :-1]
            scored = is_within if scored is None else scored & is_within
            documents = documents[:, :-1]
        return Aligned(ids[:, :-1], None if valid is None else valid[:, :-1], ids[:, 1:], scored, documents)

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
        loss = self.loss_of(logits, aligned.targets, aligned.scored)
        if recording.is_on():
            facts = {"targets": aligned.targets, "scored": aligned.scored}
            recording.report(TOKEN_LOSS, "", {"logits": logits}, {"loss": loss}, **facts)
        return loss

    def loss_of(
        self,
        logits: Float[Tensor, "batch time vocab"],
        targets: Int[Tensor, "batch time"],
        scored: Bool[Tensor, "batch time"] | None = None,
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy of logits at the scored targets that stand beside them, in nats.

        Raises:
            DataError: If a scored target is outside the vocabulary.
        """
        if scored is None:
            return self._cross_entropy(logits.flatten(0, 1), targets.flatten(), "mean")
        return self._cross_entropy(logits[scored], targets[scored], "mean")

    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Give `loss_nats` and `accuracy` (most probable token right) over all scored targets, teacher-forced.

        With `token_bytes` also `bits_per_byte`: the sum of the losses in bits over the bytes of the scored targets.
        """
        losses, hits = torch.zeros(len(batch), dtype=torch.float64), 0
        counts = np.zeros(self.vocab, np.int64)
        with evaluation_mode(model), torch.no_grad():
            for index, part in chunks(batch, chunk, device_of(model)):
                scores = self._score_chunk(model, self.align(part))
                # A number a sequence is kept, so that neither memory nor the size of chunks has a say in the sum.
                losses[index] = scores.losses_nats.sum(dim=1).cpu()
                hits += int(scores.hits.sum())
                counts += np.bincount(scores.targets[scores.scored].cpu().numpy(), minlength=self.vocab)
        _require_scored(count := int(counts.sum()), batch)
        total = losses.sum().item()
        figures = {"loss_nats": total / count, "accuracy": hits / count}
        if self.token_bytes is not None:
            figures["bits_per_byte"] = total / log(2) / count_bytes(counts, self.token_bytes)
        return figures

    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give `probabilities` of each target, (batch, time - 1, vocab); NaN where a step has no target."""
        parts = []
        with evaluation_mode(model), torch.no_grad():
            for index, part in chunks(batch, chunk, device_of(model)):
                aligned = self.align(part)
                probabilities = self._logits(model, aligned).double().softmax(dim=-1)
                if aligned.scored is not None:
                    probabilities[~aligned.scored] = torch.nan
                parts.append((index, probabilities.cpu()))
        return {"probabilities": put_together(parts, torch.nan).numpy() if parts else np.zeros((0, 0, self.vocab))}

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score a uniform, a unigram and an interpolated Witten-Bell 5-gram predictor on the test targets."""
        return token_references(self.vocab, self.token_bytes, train, test)

    def score(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> TokenScores:
        """Score every target in evaluation mode, without gradients.

        Raises:
            DataError: If no target is scored, or a target is outside the vocabulary.
        """
        index, parts = [], []
        with evaluation_mode(model), torch.no_grad():
            for rows, part in chunks(batch, chunk, device_of(model)):
                index.append(rows)
                parts.append(self._score_chunk(model, self.align(part)))
        scores = None
        if parts:
            columns = zip(*parts, strict=True)
            scores = TokenScores(*(put_together(list(zip(index, column, strict=True)), 0) for column in columns))
        _require_scored(0 if scores is None else int(scores.scored.sum()), batch)
        assert scores is not None
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
        given = {"valid": aligned.valid, "documents": aligned.documents}
        logits = model(aligned.inputs, **{name: part for name, part in given.items() if part is not None}).logits
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


def _require_scored(count: int, data: Sequences) -> None:
    if count == 0:
        raise DataError(complain("NextToken", "scored targets", "at least 1", f"none in {len(data)} sequences"))
