"""Generation: cached and uncached, alone and in a batch, give the same ids; the limit, stops, modes and errors."""

import pytest
import torch

from clew.errors import ConfigError, DataError
from clew.generation import generate
from clew.models import SequenceModel, build
from reference.weights import randomized

VOCAB = 11
PROMPTS = [[1, 2, 3, 4, 5], [6], [7, 8, 9]]
CASES = {
    "rnn": {},
    "gru": {"layers": 2},
    "lstm": {"layers": 2},
    "transformer": {"layers": 2, "heads": 2, "mlp": 12, "causal": True, "max_positions": 40},
    "transformer full": {"layers": 1, "heads": 2, "causal": True, "max_positions": 4, "norm": "post"},
}


def make(case: str, seed: int = 1, **options) -> SequenceModel:
    arguments = {"vocab": VOCAB, "outputs": VOCAB, "hidden": 8, "dropout": 0.3} | CASES[case] | options
    return randomized(build(case.split()[0], **arguments), seed)


def generators(count: int = 3) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(100 + row) for row in range(count)]


def plain(model: SequenceModel, prompt: list[int], tokens: int) -> list[int]:
    """Greedy generation in a loop over the full pass."""
    text = list(prompt)
    model.eval()
    for _ in range(tokens):
        window = text[-model.context_limit :] if model.context_limit else text
        text.append(int(model(torch.tensor([window])).logits[0, -1].argmax()))
    return text[len(prompt) :]


@pytest.mark.parametrize("case", CASES)
def test_greedy_ids_are_those_of_a_loop_over_the_full_pass(case: str) -> None:
    seen = set()
    for seed in range(2):
        model = make(case, seed)
        expected = [plain(model, prompt, 8) for prompt in PROMPTS]
        assert generate(model, PROMPTS, tokens=8) == expected
        assert generate(model, PROMPTS, tokens=8, use_cache=False) == expected
        seen |= {tuple(ids) for ids in expected if len(set(ids)) > 1}
    assert seen  # greedy ids soon repeat, but not in all of these


@pytest.mark.parametrize("case", CASES)
def test_sampled_ids_are_equal_with_and_without_a_cache_and_alone(case: str) -> None:
    model, options = make(case), {"tokens": 12, "rule": "sample", "temperature": 1.5, "top_k": 8, "top_p": 0.95}
    together = generate(model, PROMPTS, generator=generators(), **options)
    assert generate(model, PROMPTS, generator=generators(), use_cache=False, **options) == together
    for row, prompt in enumerate(PROMPTS):
        assert generate(model, [prompt], generator=[generators()[row]], **options) == [together[row]]
    assert generate(model, PROMPTS[::-1], generator=generators()[::-1], **options) == together[::-1]


def test_one_generator_seeds_all_prompts_and_equal_prompts_go_apart() -> None:
    model, options = make("gru"), {"tokens": 12, "rule": "sample", "temperature": 2.0}
    first = generate(model, [[1], [1]], generator=torch.Generator().manual_seed(3), **options)
    assert first == generate(model, [[1], [1]], generator=torch.Generator().manual_seed(3), **options)
    assert first != generate(model, [[1], [1]], generator=torch.Generator().manual_seed(4), **options)
    assert first[0] != first[1]


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("case", ["lstm", "transformer full"])
def test_a_row_ends_with_its_stop_and_the_others_go_on(case: str, use_cache: bool) -> None:
    model = make(case)
    free = generate(model, PROMPTS, tokens=12)
    stop = free[1][2]
    found = generate(model, PROMPTS, tokens=12, stop=[stop], use_cache=use_cache)
    for ended, whole in zip(found, free, strict=True):
        assert ended == (whole[: whole.index(stop) + 1] if stop in whole else whole)
    assert len(found[1]) <= 3
    assert generate(model, [PROMPTS[1]], tokens=12, stop=stop) == [found[1]]


def test_forbidden_ids_are_never_given() -> None:
    model = make("gru")
    free = generate(model, PROMPTS, tokens=8)
    banned = {free[0][0], free[1][0]}
    found = generate(model, PROMPTS, tokens=8, forbidden=sorted(banned))
    assert not banned & {identifier for ids in found for identifier in ids}
    sampled = generate(model, PROMPTS, tokens=30, rule="sample", temperature=5, forbidden=sorted(banned))
    assert not banned & {identifier for ids in sampled for identifier in ids}


def test_the_model_is_evaluated_and_put_back_as_it_was_found() -> None:
    model = make("transformer").train()
    model.encoder.blocks[1].eval()
    before = {name: module.training for name, module in model.named_modules()}
    assert generate(model, PROMPTS, tokens=6) == generate(model, PROMPTS, tokens=6)
    assert {name: module.training for name, module in model.named_modules()} == before
    with pytest.raises(RuntimeError, match="stopped by hand"):
        generate(model, PROMPTS, tokens=6, progress=stop_by_hand)
    assert {name: module.training for name, module in model.named_modules()} == before
    assert all(weight.grad is None for weight in model.parameters())


def stop_by_hand(_done: int, _tokens: int) -> None:
    raise RuntimeError("stopped by hand")


def test_progress_is_told_after_each_id() -> None:
    told = []
    generate(make("rnn"), PROMPTS, tokens=3, progress=lambda done, tokens: told.append((done, tokens)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_prompts_may_be_tensors() -> None:
    model = make("gru")
    expected = generate(model, [[1, 2], [3, 4]], tokens=4)
    assert generate(model, torch.tensor([[1, 2], [3, 4]]), tokens=4) == expected
    assert generate(model, [torch.tensor([1, 2]), torch.tensor([3, 4])], tokens=4) == expected


@pytest.mark.parametrize(
    ("preset", "options", "said"),
    [
        (
            "gru",
            {"bidirectional": True},
            "step: model must be one that reads in one direction, got a bidirectional one.",
        ),
        ("transformer", {"causal": False}, "step: model must be causal, got a Transformer with causal=False."),
        (
            "gru",
            {"outputs": 5},
            "generate: model must be one with outputs=vocab=11, a score for each id, got outputs=5.",
        ),
        ("gru", {"vocab": None, "features": 3}, "generate: model must be one that reads token ids, built with vocab="),
        ("gru", {"head": "last"}, "step: model must be one that predicts at every position"),
    ],
)
def test_models_that_cannot_generate_are_told(preset: str, options: dict, said: str) -> None:
    model = build(preset, **({"vocab": VOCAB, "outputs": VOCAB, "hidden": 8} | options))
    with pytest.raises(ConfigError) as raised:
        generate(model, PROMPTS, tokens=2)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("prompts", "options", "error", "said"),
    [
        ([], {}, DataError, "generate: prompts must be at least one, got none."),
        ([[1], []], {}, DataError, "generate: prompts must be at least one id long, got an empty one at row 1."),
        ([[1], [2, 11]], {}, DataError, "generate: prompt ids must be in [0, vocab=11), got 11 at row 1, place 1."),
        ([[1]], {"tokens": 0}, ConfigError, "generate: tokens must be at least 1, got 0."),
        ([[1]], {"rule": "sample", "temperature": 0}, ConfigError, "generate: temperature must be greater than 0"),
        ([[1]], {"stop": 11}, ConfigError, "generate: stop must be ids in [0, vocab=11), got 11."),
        ([[1]], {"forbidden": [-1]}, ConfigError, "generate: forbidden must be ids in [0, vocab=11), got -1."),
        ([[1]], {"forbidden": range(11)}, ConfigError, "generate: forbidden must be such that an id is left"),
        ([[1]], {"generator": generators()}, ConfigError, "generate: generator must be one, or one for each of 1"),
    ],
)
def test_wrong_requests_are_one_clear_line(prompts, options: dict, error, said: str) -> None:
    with pytest.raises(error) as raised:
        generate(make("gru"), prompts, **({"tokens": 2} | options))
    assert str(raised.value).startswith(said)
