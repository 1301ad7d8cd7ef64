"""The ledger as files: nothing is lost, and five kinds of cells stay apart."""

import csv
import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from clew.ledger import Described, Quantity
from clew.ledger.export import csv_text, quantities_json, safetensors_bytes
from ledger.recorded import PRESETS, recorded


def strange() -> Quantity:
    value = torch.tensor([[0.0, float("nan"), float("inf"), -float("inf"), 0.25]])
    rules = {
        "causal": torch.tensor([[False, False, False, False, True]]),
        "padding": torch.zeros(1, 5, dtype=torch.bool),
    }
    return Quantity("layer.weights", value, Described(("query", "source"), "A"), rules)


def refuse(word: str) -> float:
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.parametrize("preset", PRESETS)
def test_json_gives_every_number_back(preset: str, tmp_path: Path) -> None:
    ledger = recorded(preset)
    text = ledger.to_json(tmp_path / "ledger.json")
    content = json.loads(text, parse_constant=refuse)
    assert json.loads((tmp_path / "ledger.json").read_text()) == content
    assert [one["name"] for one in content["quantities"]] == ledger.names()
    for one in content["quantities"]:
        quantity = ledger.quantity(one["name"])
        assert (one["axes"], one["shape"]) == (list(quantity.axes), list(quantity.shape))
        if quantity.hidden_by or not quantity.value.is_floating_point():
            continue
        assert torch.equal(torch.tensor(one["value"], dtype=torch.float64), quantity.value)
        if quantity.has_sensitivity:
            assert torch.equal(torch.tensor(one["sensitivity"], dtype=torch.float64), quantity.sensitivity)
    assert all(one["relative"] <= one["bound"] for one in content["distances"])


def test_json_keeps_five_kinds_of_cells_apart() -> None:
    (one,) = json.loads(json.dumps(quantities_json([strange()])["quantities"]), parse_constant=lambda word: word)
    assert one["value"][0][0] == 0 and one["value"][0][4] == "hidden"
    assert one["sensitivity"] is None
    assert one["hidden_by"]["causal"] == [[False, False, False, False, True]]


def test_json_text_spells_what_json_cannot_hold() -> None:
    from clew.ledger.export import json_text

    (one,) = json.loads(json_text([strange()]), parse_constant=refuse)["quantities"]
    assert one["value"] == [[0.0, "NaN", "Infinity", "-Infinity", "hidden"]]


def test_attention_says_which_rule_hid_a_cell() -> None:
    content = json.loads(recorded("transformer").to_json())
    (weights,) = [one for one in content["quantities"] if one["name"].endswith("attention.weights")]
    assert set(weights["hidden_by"]) == {"padding", "causal"}
    assert weights["value"][0][1][0][1] == "hidden" and weights["sensitivity"][0][1][0][1] == "hidden"
    assert weights["hidden_by"]["causal"][0][0][0][1] is True
    assert weights["hidden_by"]["padding"][0][0][0][1] is False


def test_csv_has_a_line_for_each_number(tmp_path: Path) -> None:
    ledger = recorded("transformer")
    ledger.to_csv(tmp_path / "ledger.csv")
    with (tmp_path / "ledger.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum(quantity.value.numel() for quantity in ledger.quantities())
    (cell,) = [
        row
        for row in rows
        if row["name"] == "encoder.blocks.0.attention.scaled_scores"
        and [row[axis] for axis in ("batch", "heads", "query", "source")] == ["1", "0", "3", "2"]
    ]
    quantity = ledger.quantity("encoder.blocks.0.attention.scaled_scores")
    assert float(cell["value"]) == quantity.value[1, 0, 3, 2].item()
    assert float(cell["sensitivity"]) == quantity.sensitivity[1, 0, 3, 2].item()
    assert cell["hidden_by"] == "" and cell["time"] == ""
    both = {row["hidden_by"] for row in rows if row["value"] == "hidden"}
    assert both == {"causal", "padding", "padding+causal"}


def test_csv_spells_the_five_kinds_of_cells() -> None:
    rows = list(csv.DictReader(csv_text([strange()]).splitlines()))
    assert [row["value"] for row in rows] == ["0.0", "NaN", "Infinity", "-Infinity", "hidden"]
    assert [row["sensitivity"] for row in rows] == ["not computed"] * 4 + ["hidden"]


def test_safetensors_hold_values_and_sensitivities_bit_for_bit(tmp_path: Path) -> None:
    ledger = recorded("lstm")
    ledger.to_safetensors(tmp_path / "ledger.safetensors")
    with safe_open(tmp_path / "ledger.safetensors", "pt") as file:
        described = json.loads(file.metadata()["ledger"])
        for one in described["quantities"]:
            quantity = ledger.quantity(one["name"])
            assert torch.equal(file.get_tensor(one["name"]), quantity.value)
            if quantity.value.is_floating_point():
                assert torch.equal(file.get_tensor(f"{one['name']}.sensitivity"), quantity.sensitivity)
    assert [one["name"] for one in described["quantities"]] == ledger.names()


def test_without_a_backward_pass_there_is_no_sensitivity(tmp_path: Path) -> None:
    ledger = recorded("gru", backward=False)
    assert all(one["sensitivity"] is None for one in json.loads(ledger.to_json())["quantities"])
    path = tmp_path / "ledger.safetensors"
    path.write_bytes(safetensors_bytes(ledger.quantities()))
    with safe_open(path, "pt") as file:
        assert not [name for name in file.keys() if name.endswith(".sensitivity")]  # noqa: SIM118
