"""`generate`: go on from prompts, token by token.

Each row is what its prompt gives alone: rows do not see each other, and each draws from a generator of its own. With a
cache or without, the same ids come out; where the context is full, both read the last `model.context_limit` tokens
anew for each further one (`clew.models.decoding`).
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clew.errors import ConfigError, DataError, complain
from clew.generation.rules import Choice, pick
from clew.models.decoding import Cache
from clew.models.evaluation import evaluation
from clew.models.inputs import TokenInput
from clew.models.sequence_model import SequenceModel

Prompts = Sequence[Sequence[int]] | Sequence[Int[Tensor, " time"]] | Int[Tensor, "batch time"]
Progress = Callable[[int, int], None]


def generate(
    model: SequenceModel,
    prompts: Prompts,
    *,
    tokens: int,
    rule: str = "greedy",
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    stop: int | Sequence[int] = (),
    forbidden: Sequence[int] = (),
    generator: torch.Generator | Sequence[torch.Generator] | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> list[list[int]]:
    """Go on from each prompt.

    The model is set to evaluation and put back as it was found.

    Args:
        model: A model of next tokens that reads in one direction: token ids in, a score for each id at each position.
        prompts: Ids, at least one a prompt, of unequal lengths if need be.
        tokens: Most ids to add to each prompt.
        rule, temperature, top_k, top_p: How an id is chosen; see `clew.generation.Choice`.
        stop: Ids that end a row; the one that ended it is the last that is given back.
        forbidden: Ids that are never given.
        generator: Draws for rule "sample". One draws a seed for each prompt in turn; a sequence has one a prompt, so
            that a prompt gets alone, with its generator, what it gets here. By default a new one seeded with 0.
        use_cache: Whether the steps that were read are kept; without, all are read anew for each id.
        progress: Called after each id with the number of ids so far and `tokens`.

    Returns:
        The new ids of each prompt, without the prompt.

    Raises:
        ConfigError: If the model cannot generate, or an option is unknown or out of range.
        DataError: If there is no prompt, a prompt is empty, or an id is not of the vocabulary.

    >>> from clew.models import build
    >>> model = build("gru", vocab=5, outputs=5, hidden=4)
    >>> [len(ids) for ids in generate(model, [[1, 2], [3]], tokens=3)]
    [3, 3]
    """
    vocab = _vocabulary(model)
    if tokens < 1:
        raise ConfigError(complain("generate", "tokens", "at least 1", tokens))
    stops = (stop,) if isinstance(stop, int) else tuple(stop)
    choice = Choice(rule, float(temperature), top_k, None if top_p is None else float(top_p), tuple(forbidden))
    _check_options(stops, choice.forbidden, vocab)
    texts = _read(prompts, vocab)
    generators = _generators(generator, len(texts))
    reader = _Reader(model, use_cache)
    found: list[list[int]] = [[] for _ in texts]
    is_active = [True] * len(texts)
    with torch.no_grad(), evaluation(model):
        new = texts
        for done in range(tokens):
            logits = reader.read(new, is_active)
            chosen = _choose(choice, logits, generators, is_active)
            for row in range(len(texts)):
                if is_active[row]:
                    found[row].append(chosen[row])
            is_active = [alive and chosen[row] not in stops for row, alive in enumerate(is_active)]
            if progress is not None:
                progress(done + 1, tokens)
            if not any(is_active):
                break
            new = [[identifier] for identifier in chosen]
    return found


class _Reader:
    """Gives the scores of what follows, from what is new to each row."""

    def __init__(self, model: SequenceModel, use_cache: bool) -> None:
        self.model, self.use_cache = model, use_cache
        self.cache: Cache = model.start_cache()
        self.texts: list[list[int]] = []

    def read(self, new: list[list[int]], is_active: list[bool]) -> Float[Tensor, "batch ids"]:
        """Read what is new; rows that have ended get no new step, and what is said of them means nothing."""
        if not self.use_cache:
            self.texts = [old + more for old, more in zip(self.texts or [[]] * len(new), new, strict=True)]
            inputs, valid = self._padded([self._cut(text) for text in self.texts], [True] * len(new))
            return _last(self.model(inputs, valid=valid).logits, valid)
        inputs, valid = self._padded([self._cut(text) for text in new], is_active)
        output, self.cache = self.model.step(inputs, self.cache, valid)
        return _last(output.logits, valid)

    def _cut(self, text: list[int]) -> list[int]:
        limit = self.model.context_limit
        return text if limit is None else text[-limit:]

    def _padded(self, rows: list[list[int]], is_active: list[bool]) -> tuple[Tensor, Tensor | None]:
        device = next(self.model.parameters()).device
        longest = max(len(row) for row in rows)
        inputs = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=device)
        counts = torch.tensor([len(row) * alive for row, alive in zip(rows, is_active, strict=True)], device=device)
        valid = torch.arange(longest, device=device) < counts.unsqueeze(1)
        return inputs, None if bool(valid.all()) else valid


def _last(logits: Tensor, valid: Tensor | None) -> Tensor:
    if valid is None:
        return logits[:, -1]
    rows = torch.arange(len(logits), device=logits.device)
    return logits[rows, (valid.sum(dim=1) - 1).clamp_min(0)]


def _choose(choice: Choice, logits: Tensor, generators: list[torch.Generator], is_active: list[bool]) -> list[int]:
    """Choose an id for each row; only rows that go on draw."""
    probabilities = choice.probabilities(logits.masked_fill(~_column(is_active, logits), 0)).cpu()
    if choice.rule == "greedy":
        return probabilities.argmax(dim=-1).tolist()
    uniform = torch.zeros(len(logits), dtype=torch.float64)
    for row, generator in enumerate(generators):
        if is_active[row]:
            uniform[row] = torch.rand((), dtype=torch.float64, generator=generator)
    return pick(probabilities, uniform).tolist()


def _column(flags: list[bool], like: Tensor) -> Tensor:
    return torch.tensor(flags, device=like.device).unsqueeze(1)


def _vocabulary(model: SequenceModel) -> int:
    """Give the number of ids, for a model that can go on from what it says.

    Raises:
        ConfigError: If it cannot.
    """
    if not isinstance(model.inputs, TokenInput):
        got = type(model.inputs).__name__
        raise ConfigError(complain("generate", "model", "one that reads token ids, built with vocab=", got))
    model.start_cache()
    vocab, outputs = model.inputs.vocab, model.head.outputs
    if outputs != vocab:
        rule = f"one with outputs=vocab={vocab}, a score for each id"
        raise ConfigError(complain("generate", "model", rule, f"outputs={outputs}"))
    return vocab


def _check_options(stops: tuple[int, ...], forbidden: tuple[int, ...], vocab: int) -> None:
    for name, ids in (("stop", stops), ("forbidden", forbidden)):
        wrong = [identifier for identifier in ids if not 0 <= identifier < vocab]
        if wrong:
            raise ConfigError(complain("generate", name, f"ids in [0, vocab={vocab})", wrong[0]))
    if len(set(forbidden)) == vocab:
        raise ConfigError(complain("generate", "forbidden", "such that an id is left", f"all {vocab} ids"))


def _read(prompts: Prompts, vocab: int) -> list[list[int]]:
    """Bring prompts into lists of whole numbers.

    Raises:
        DataError: If there is none, one is empty, or an id is not of the vocabulary.
    """
    texts = [prompt.tolist() if isinstance(prompt, Tensor) else list(prompt) for prompt in prompts]
    if not texts:
        raise DataError(complain("generate", "prompts", "at least one", "none"))
    for row, text in enumerate(texts):
        if not text:
            remedy = "Begin with an id that texts begin with, such as that of a line end or a space."
            raise DataError(
                complain("generate", "prompts", "at least one id long", f"an empty one at row {row}", remedy)
            )
        for place, identifier in enumerate(text):
            if not 0 <= identifier < vocab:
                got = f"{identifier} at row {row}, place {place}"
                remedy = "Encode the prompt with the vocabulary that the model was trained with."
                raise DataError(complain("generate", "prompt ids", f"in [0, vocab={vocab})", got, remedy))
    return texts


def _generators(given: torch.Generator | Sequence[torch.Generator] | None, rows: int) -> list[torch.Generator]:
    if given is None or isinstance(given, torch.Generator):
        source = given if given is not None else torch.Generator().manual_seed(0)
        seeds = torch.randint(2**62, (rows,), generator=source).tolist()
        return [torch.Generator().manual_seed(seed) for seed in seeds]
    if len(given) != rows:
        raise ConfigError(complain("generate", "generator", f"one, or one for each of {rows} prompts", len(given)))
    return list(given)
