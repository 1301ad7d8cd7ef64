"""The whole model: every preset, every head, padding laws, saving."""

import json

import pytest
import torch

from clew.errors import ConfigError, DataError, RunError, ShapeError
from clew.models import build, load_model, save_model

PRESETS = ("rnn", "gru", "lstm", "transformer")
SMALL = {"vocab": 7, "outputs": 5, "hidden": 8}


def make(preset: str, **options):
    extra = {"heads": 2, "mlp": 12, "max_positions": 16} if preset == "transformer" else {}
    return build(preset, **(SMALL | extra | options), generator=torch.Generator().manual_seed(3)).double()


def ids(batch: int = 3, time: int = 6) -> torch.Tensor:
    return torch.randint(0, 7, (batch, time), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("head", "shape"), [("rows", (3, 6, 5)), ("last", (3, 5)), ("mean", (3, 5))])
def test_heads_give_their_shapes(preset, head, shape):
    output = make(preset, head=head)(ids())
    assert output.logits.shape == shape
    assert output.rows.shape == (3, 6, 8)


def test_class_token_reads_the_sequence_and_is_not_among_the_rows():
    model = make("transformer", head="class_token")
    output = model(ids())
    assert output.logits.shape == (3, 5)
    assert output.rows.shape == (3, 6, 8)
    changed = ids()
    changed[:, 4] = (changed[:, 4] + 1) % 7
    assert not torch.allclose(model(changed).logits, output.logits)


def test_class_token_does_not_carry_information_around_a_given_mask():
    model = make("transformer", head="class_token", layers=2)
    visible = torch.ones(6, 6, dtype=torch.bool).tril()
    changed = ids()
    changed[:, 5] = (changed[:, 5] + 1) % 7
    before, after = model(ids(), visible=visible), model(changed, visible=visible)
    assert torch.equal(before.rows[:, :5], after.rows[:, :5])
    assert not torch.allclose(before.logits, after.logits)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("head", ["rows", "last", "mean"])
def test_padding_does_not_change_a_prediction(preset, head):
    model = make(preset, head=head)
    lengths = torch.tensor([4, 6, 1])
    inputs = ids()
    garbage = torch.where(torch.arange(6) < lengths.unsqueeze(1), inputs, torch.full_like(inputs, 999))
    full, junk = model(inputs, lengths=lengths), model(garbage, lengths=lengths)
    assert torch.equal(full.logits, junk.logits)
    alone = model(inputs[:1, :4])
    picked = full.logits[:1, :4] if head == "rows" else full.logits[:1]
    torch.testing.assert_close(alone.logits, picked, atol=1e-12, rtol=0)


@pytest.mark.parametrize("preset", PRESETS)
def test_left_padding_gives_what_right_padding_gives(preset):
    model = make(preset, head="last")
    row = ids(1, 4)
    right = torch.cat([row, torch.zeros(1, 2, dtype=torch.long)], 1)
    left = torch.cat([torch.zeros(1, 2, dtype=torch.long), row], 1)
    on_right = model(right, valid=torch.tensor([[True] * 4 + [False] * 2])).logits
    on_left = model(left, valid=torch.tensor([[False] * 2 + [True] * 4])).logits
    torch.testing.assert_close(on_right, on_left, atol=1e-12, rtol=0)


@pytest.mark.parametrize("preset", PRESETS)
def test_features_with_nan_at_padding_give_finite_outputs_and_gradients(preset):
    extra = {"heads": 2} if preset == "transformer" else {}
    model = build(preset, features=3, outputs=2, hidden=8, head="mean", **extra).double()
    inputs = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    inputs[0, 3:] = torch.nan
    output = model(inputs, lengths=torch.tensor([3, 5])).logits
    output.sum().backward()
    assert torch.isfinite(output).all()
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters() if weight.grad is not None)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_saved_model_gives_the_same_bits(preset, tmp_path):
    model = build(preset, **SMALL, head="last", generator=torch.Generator().manual_seed(9))
    save_model(model, tmp_path)
    assert torch.equal(load_model(tmp_path)(ids()).logits, model(ids()).logits)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "model.safetensors"]


def test_a_damaged_or_foreign_model_is_one_clear_line(tmp_path):
    save_model(make("gru"), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(RunError, match=r"model\.safetensors: weights must be whole and of this model"):
        load_model(tmp_path)
    content = json.loads((tmp_path / "model.json").read_text()) | {"format": 99}
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match="format must be 1, got 99"):
        load_model(tmp_path)


def test_equal_generators_give_equal_weights_and_others_do_not():
    first, again = make("transformer"), make("transformer")
    seeded = torch.Generator().manual_seed(4)
    other = build("transformer", **SMALL, heads=2, mlp=12, max_positions=16, generator=seeded)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.head.linear.weight.float(), other.head.linear.weight)


@pytest.mark.parametrize(
    ("preset", "options", "text"),
    [
        ("gur", SMALL, "build: preset must be a known model, got 'gur'. Did you mean 'gru'?"),
        ("gru", SMALL | {"heads": 2}, "build('gru'): options must be ones that apply to it, got heads."),
        ("gru", SMALL | {"features": 3}, "build('gru'): inputs must be given by exactly one of vocab= and features="),
        ("gru", {"outputs": 2}, "got neither."),
        ("gru", SMALL | {"hidden": 0}, "build('gru'): hidden must be a whole number of at least 1, got 0."),
        ("gru", SMALL | {"dropout": 1.0}, "build('gru'): dropout must be in [0, 1), got 1.0."),
        ("gru", SMALL | {"head": "class_token"}, "head must be 'rows', 'last' or 'mean', got 'class_token'."),
        ("lstm", SMALL | {"activation": "relu"}, "options must be ones that apply to it, got activation."),
        ("transformer", SMALL | {"embedding": 4}, "build('transformer'): embedding must be hidden=8, got 4."),
        ("transformer", SMALL | {"bidirectional": True}, "options must be ones that apply to it, got bidirectional."),
        ("transformer", SMALL | {"head": "class_token", "causal": True}, "head must be another than 'class_token'"),
    ],
)
def test_a_wrong_option_is_one_clear_line(preset, options, text):
    with pytest.raises(ConfigError) as error:
        build(preset, **options)
    assert text in str(error.value)


def test_wrong_inputs_are_one_clear_line():
    model = make("gru")
    with pytest.raises(ShapeError, match=r"Build the model with features="):
        model(torch.zeros(2, 3, 4))
    with pytest.raises(DataError):
        model(torch.tensor([[1, 7]]))
    with pytest.raises(ShapeError):
        model(ids(), lengths=torch.tensor([6, 7, 6]))
    with pytest.raises(ConfigError):
        model(ids(), visible=torch.ones(6, 6, dtype=torch.bool))


def test_a_width_is_another_word_for_a_transformers_hidden():
    model = build("transformer", vocab=7, outputs=7, width=12, heads=2, mlp=24, max_positions=36)
    assert model.parameter_count() == 1915


@pytest.mark.parametrize(("hidden", "heads"), [(8, 4), (9, 3), (10, 2), (7, 1)])
def test_the_default_number_of_heads_divides_the_width(hidden, heads):
    assert build("transformer", vocab=7, outputs=7, hidden=hidden).encoder.blocks[0].attention.heads == heads
