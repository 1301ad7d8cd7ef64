"""Numbers and categories together: a numpy twin, torch's tables, gradients, padding, names in the ledger, errors."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import clew
from clew.errors import ConfigError, DataError, ShapeError
from clew.models import MixedInput, build, load_model, save_model
from reference.weights import arrays, randomized

CATEGORIES = (4, 3)


def inputs(numbers: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    columns = [torch.randn(3, 5, numbers, generator=generator, dtype=torch.float64)]
    columns += [torch.randint(0, size, (3, 5, 1), generator=generator).double() for size in CATEGORIES]
    return torch.cat(columns, dim=-1)


@pytest.mark.parametrize("width", [None, 6])
@pytest.mark.parametrize("numbers", [0, 2])
def test_rows_are_those_of_the_numpy_twin(width: int | None, numbers: int) -> None:
    layer, values = randomized(MixedInput(numbers, CATEGORIES, width, embedding=3)), inputs(numbers)
    weights, x = arrays(layer), values.numpy()
    expected = np.zeros((3, 5, numbers + 6))
    for row in range(3):
        for step in range(5):
            tables = [weights[f"embeddings.{c}.weight"][int(x[row, step, numbers + c])] for c in range(2)]
            expected[row, step] = np.concatenate([x[row, step, :numbers], *tables])
    if width:
        expected = expected @ weights["projection.weight"].T + weights["projection.bias"]
    np.testing.assert_allclose(layer(values).detach().numpy(), expected, atol=1e-12, rtol=0)
    assert layer.width == expected.shape[-1]


def test_gradients_are_those_of_torchs_tables() -> None:
    layer, values = randomized(MixedInput(2, CATEGORIES, 6, embedding=3)), inputs()
    tables = [nn.Embedding(size, 3).double() for size in CATEGORIES]
    linear = nn.Linear(8, 6).double()
    with torch.no_grad():
        for theirs, ours in zip([*tables, linear], [*layer.embeddings, layer.projection], strict=True):
            for name, weight in theirs.named_parameters():
                weight.copy_(ours.get_parameter(name))
    joined = [values[..., :2], tables[0](values[..., 2].long()), tables[1](values[..., 3].long())]
    (linear(torch.cat(joined, dim=-1)) ** 3).sum().backward()
    (layer(values) ** 3).sum().backward()
    for theirs, ours in zip([*tables, linear], [*layer.embeddings, layer.projection], strict=True):
        for name, weight in theirs.named_parameters():
            torch.testing.assert_close(ours.get_parameter(name).grad, weight.grad, atol=1e-10, rtol=0)


def test_tables_are_half_as_wide_as_their_category_is_large_but_at_most_sixteen() -> None:
    layer = MixedInput(0, [1, 5, 31, 1000])
    assert [table.weight.shape[1] for table in layer.embeddings] == [1, 3, 16, 16]


@pytest.mark.parametrize("preset", ["rnn", "gru", "lstm", "transformer"])
def test_padding_is_never_looked_up(preset: str) -> None:
    model = randomized(build(preset, features=2, categories=CATEGORIES, outputs=3, hidden=8))
    valid = torch.tensor([[1, 1, 0, 1, 0], [1] * 5, [0, 1, 1, 1, 0]]).bool()
    values = inputs().masked_fill(~valid.unsqueeze(-1), torch.nan)
    output = model(values, valid=valid)
    (output.logits[valid] ** 2).sum().backward()
    assert all(bool(weight.grad.isfinite().all()) for weight in model.parameters() if weight.grad is not None)
    for row in range(3):
        alone = model(values[row : row + 1, valid[row]])
        torch.testing.assert_close(output.logits[row, valid[row]], alone.logits[0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("preset", ["gru", "transformer"])
def test_the_ledger_names_tables_and_the_joined_row(preset: str) -> None:
    model = randomized(build(preset, features=2, categories=CATEGORIES, outputs=3, hidden=8))
    valid = torch.tensor([[1, 1, 0, 1, 0], [1] * 5, [0, 1, 1, 1, 0]]).bool()
    with clew.record(model) as ledger:
        (model(inputs(), valid=valid).logits[valid] ** 2).sum().backward()
    assert max(distance.relative for distance in ledger.distances) < 1e-12
    joined = ledger["inputs.joined"]
    table = model.get_parameter("inputs.embeddings.1.weight")
    ids = torch.where(valid, inputs()[..., 3], 0).long()
    torch.testing.assert_close(joined.value[..., -table.shape[1] :], table[ids].detach())
    assert joined.sensitivity is not None and ledger["inputs.embeddings.0.output"].sensitivity is not None
    found = ledger.contributions("inputs.embeddings.1.weight").value.sum(0)
    torch.testing.assert_close(found, table.grad, atol=1e-10, rtol=0)


def test_a_model_with_categories_is_saved_and_loaded(tmp_path) -> None:
    model = build("gru", categories=CATEGORIES, outputs=3, hidden=8)
    assert model.config is not None and model.config["features"] == 0
    save_model(model, tmp_path)
    values = inputs(0).float()
    assert torch.equal(load_model(tmp_path)(values).logits, model(values).logits)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (2, 4.0, "MixedInput: category column 0 must be a whole number in [0, 4), got 4 at row 1, step 3."),
        (3, 0.5, "MixedInput: category column 1 must be a whole number in [0, 3), got 0.5 at row 1, step 3."),
        (3, -1.0, "MixedInput: category column 1 must be a whole number in [0, 3), got -1 at row 1, step 3."),
        (3, float("nan"), "MixedInput: category column 1 must be a whole number in [0, 3), got nan at row 1, step 3."),
    ],
)
def test_a_wrong_index_is_named_with_its_place(column: int, value: float, said: str) -> None:
    values = inputs()
    values[1, 3, column] = value
    with pytest.raises(DataError) as raised:
        MixedInput(2, CATEGORIES).double()(values)
    assert str(raised.value).startswith(said)


def test_wrong_sizes_are_told() -> None:
    with pytest.raises(
        ShapeError, match=r"floats of shape \(batch, time, features=2 \+ categories=2\), got \(3, 5, 2\)"
    ):
        MixedInput(2, CATEGORIES)(torch.zeros(3, 5, 2))
    for options, said in (
        ({"categories": []}, "build('gru'): categories must be whole numbers of at least 1, got []."),
        ({"categories": [3, 0]}, "build('gru'): categories must be whole numbers of at least 1, got [3, 0]."),
        ({"vocab": 5, "categories": [3]}, "inputs must be given by exactly one of vocab= and features= (with"),
        ({"features": 0}, "build('gru'): features must be a whole number of at least 1, got 0."),
    ):
        with pytest.raises(ConfigError) as raised:
            build("gru", outputs=2, **options)
        assert said in str(raised.value)
    with pytest.raises(ConfigError, match="MixedInput: sizes must be at least 1"):
        MixedInput(-1, [2])
