"""Going on step by step: chunks of any size give what one pass gives, rows of unequal length too, at the limit too."""

import pytest
import torch
from torch import Tensor

import clew
from clew.checks import audit
from clew.errors import ConfigError, ShapeError
from clew.models import SequenceModel, build
from clew.models.decoding import last_steps
from reference.weights import randomized

VOCAB = 7
CASES = {
    "rnn": {"layers": 2},
    "gru": {"layers": 2},
    "lstm": {"layers": 2},
    "transformer": {"layers": 2, "heads": 2, "mlp": 12, "causal": True, "max_positions": 11},
    "transformer post sinusoidal": {"norm": "post", "positions": "sinusoidal", "heads": 2, "causal": True},
    "transformer without positions": {"positions": "none", "heads": 2, "causal": True},
}


def make(case: str, **options) -> SequenceModel:
    arguments = {"vocab": VOCAB, "outputs": VOCAB, "hidden": 8} | CASES[case] | options
    model = build(case.split()[0], **arguments)
    return randomized(model).eval()


def ids(batch: int, time: int, seed: int = 1) -> Tensor:
    return torch.randint(0, VOCAB, (batch, time), generator=torch.Generator().manual_seed(seed))


def decode(
    model: SequenceModel, inputs: Tensor, chunks: list[int], valid: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    cache, logits, rows, start = model.start_cache(), [], [], 0
    for size in chunks:
        here = slice(start, start + size)
        output, cache = model.step(inputs[:, here], cache, None if valid is None else valid[:, here])
        logits.append(output.logits)
        rows.append(output.rows)
        start += size
    return torch.cat(logits, 1), torch.cat(rows, 1)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chunks", [[1] * 11, [11], [3, 4, 4], [9, 1, 1], [1, 10]])
def test_chunks_give_what_one_pass_gives(case: str, chunks: list[int]) -> None:
    model, inputs = make(case), ids(3, 11)
    full = model(inputs)
    logits, rows = decode(model, inputs, chunks)
    close(logits, full.logits)
    close(rows, full.rows)


@pytest.mark.parametrize("case", CASES)
def test_rows_of_unequal_length_give_what_each_gives_alone(case: str) -> None:
    model, inputs = make(case), ids(3, 10)
    valid = torch.tensor([[1, 1, 1, 1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 0, 1, 1], [1] * 10]).bool()
    logits, rows = decode(model, inputs, [5, 1, 2, 2], valid)
    assert bool((rows[~valid] == 0).all())
    for row in range(3):
        alone = model(inputs[row : row + 1, valid[row]])
        close(logits[row, valid[row]], alone.logits[0])
    close(logits[valid], model(inputs, valid=valid).logits[valid])


@pytest.mark.parametrize("chunks", [[1] * 12, [12], [4, 1, 7], [6, 6]])
def test_behind_the_limit_the_last_steps_are_read_anew(chunks: list[int]) -> None:
    model, inputs = make("transformer", max_positions=5), ids(2, 12)
    logits, _ = decode(model, inputs, chunks)
    for step in range(12):
        window = inputs[:, max(0, step - 4) : step + 1]
        close(logits[:, step], model(window).logits[:, -1])


def test_rows_reach_the_limit_each_at_its_own_step() -> None:
    model, inputs = make("transformer", max_positions=4), ids(2, 9)
    valid = torch.tensor([[0, 0, 0, 1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0, 1, 1]]).bool()
    logits, rows = decode(model, inputs, [2, 3, 1, 3], valid)
    assert bool((rows[~valid] == 0).all())
    for row in range(2):
        kept = inputs[row : row + 1, valid[row]]
        for step, place in enumerate(valid[row].nonzero().flatten().tolist()):
            close(logits[row, place], model(kept[:, max(0, step - 3) : step + 1]).logits[0, -1])


def test_one_may_go_on_twice_from_the_same_cache() -> None:
    model, inputs = make("lstm"), ids(2, 6)
    _, cache = model.step(inputs[:, :3])
    first, _ = model.step(inputs[:, 3:], cache)
    model.step(ids(2, 3, seed=5), cache)
    again, _ = model.step(inputs[:, 3:], cache)
    assert torch.equal(first.logits, again.logits)


def test_real_values_and_categories_go_step_by_step_too() -> None:
    options = {"features": 2, "categories": [3], "outputs": 2, "hidden": 6, "heads": 2, "causal": True}
    model = randomized(build("transformer", **options, max_positions=4)).eval()
    inputs = torch.cat([torch.randn(2, 6, 2, dtype=torch.float64), torch.randint(0, 3, (2, 6, 1)).double()], dim=-1)
    logits, _ = decode(model, inputs, [2, 1, 3])
    for step in range(6):
        close(logits[:, step], model(inputs[:, max(0, step - 3) : step + 1]).logits[:, -1])


@pytest.mark.parametrize("case", ["gru", "transformer"])
def test_the_audit_finds_the_cache_right(case: str) -> None:
    model = make(case, layers=1, max_positions=9) if case == "transformer" else make(case, layers=1)

    def step(audited, new, cache):
        output, cache = audited.step(new, cache)
        return output.logits, cache

    report = audit(model, ids(2, 6), boundary="causal", step=step, outputs="logits")
    assert [finding.status for finding in report.findings if finding.name == "cache"] == ["passed"]


@pytest.mark.parametrize("case", ["gru", "lstm", "transformer"])
def test_a_recorded_step_is_explained(case: str) -> None:
    model, inputs = make(case), ids(2, 6)
    _, cache = model.step(inputs[:, :4])
    with clew.record(model) as ledger:
        model.step(inputs[:, 4:], cache)
    if case == "transformer":
        with clew.record(model) as whole:
            model(inputs)
        name = "encoder.blocks.1.attention.weights"
        close(ledger[name].value, whole[name].value[:, :, 4:])
        assert ledger[name].hidden_by.keys() == {"causal"}


@pytest.mark.parametrize(
    ("preset", "options", "said"),
    [
        (
            "gru",
            {"bidirectional": True},
            "step: model must be one that reads in one direction, got a bidirectional one.",
        ),
        ("transformer", {}, "step: model must be causal, got a Transformer with causal=False."),
        ("gru", {"head": "last"}, "step: model must be one that predicts at every position, got one with LastHead."),
    ],
)
def test_models_that_cannot_go_on_are_told(preset: str, options: dict, said: str) -> None:
    model = build(preset, vocab=VOCAB, outputs=VOCAB, hidden=8, **options)
    with pytest.raises(ConfigError) as raised:
        model.start_cache()
    assert str(raised.value).startswith(said)
    with pytest.raises(ConfigError):
        model.step(ids(1, 2))


def test_wrong_steps_are_told() -> None:
    model = make("gru")
    _, cache = model.step(ids(2, 3))
    with pytest.raises(ShapeError, match="step: inputs must be 2 rows, as the cache, got 3"):
        model.step(ids(3, 1), cache)
    with pytest.raises(ShapeError, match="step: inputs must be at least one step, got none"):
        model.step(ids(2, 0), cache)


def test_the_last_real_steps_are_kept_in_order() -> None:
    inputs = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    valid = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 1, 0]]).bool()
    kept, real = last_steps(inputs, valid, 2)
    assert real is not None
    assert kept[0].tolist() == [3, 4] and kept[1, -1].item() == 9
    assert real.tolist() == [[True, True], [False, True]]
