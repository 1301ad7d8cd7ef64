"""The ledger as text: one table of all quantities, and matrices of a single one."""

import torch

from clew.ledger import Described, Quantity
from clew.ledger.tables import WIDTH, quantities_text, quantity_text, summary
from ledger.recorded import recorded

TOKENS = ["a", "journey", "of", "a", "thousand", "miles"]


def made(value: torch.Tensor, hidden: torch.Tensor | None = None, sensitivity: torch.Tensor | None = None) -> Quantity:
    rules = {} if hidden is None else {"causal": hidden}
    described = Described(("query", "source"), "A", "a paper", "a variant")
    return Quantity("layer.weights", value, described, rules, lambda: sensitivity)


def test_every_line_fits_into_a_hundred_columns() -> None:
    for preset in ("lstm", "transformer"):
        ledger = recorded(preset)
        texts = [
            ledger.table(),
            *(
                quantity_text(ledger.quantity(name).at(batch=1), TOKENS)
                for name in ledger
                if "batch" in ledger.quantity(name).axes
            ),
        ]
        assert max(len(line) for text in texts for line in text.split("\n")) <= WIDTH


def test_the_table_has_every_quantity_with_shape_numbers_and_equation() -> None:
    ledger = recorded("gru")
    lines = ledger.table().split("\n")
    (row,) = [place for place, line in enumerate(lines) if line.startswith("  update_gate")]
    gate = ledger.quantity("encoder.recurrent.0.update_gate")
    norm = gate.sensitivity.norm().item()
    assert "batch 2, time 6, hidden 4" in lines[row]
    assert lines[row].split()[-1] == f"{norm:.3g}".ljust(len(lines[row].split()[-1]), "0")
    assert lines[row + 1].strip() == gate.equation
    assert sum(line.startswith("  ") and not line.startswith("   ") for line in lines) == len(ledger)


def test_before_a_backward_pass_sensitivities_read_not_computed() -> None:
    (line,) = [line for line in recorded("rnn", backward=False).table().split("\n") if line.startswith("  state")]
    assert line.endswith("not computed")


def test_the_five_kinds_of_cells_read_differently() -> None:
    value = torch.tensor([[0.0, float("nan"), float("inf"), -float("inf"), 0.25]])
    hidden = torch.tensor([[False, False, False, False, True]])
    text = quantity_text(made(value, hidden), None)
    assert text.split("\n")[5].split() == ["0", "0", "NaN", "∞", "-∞", "hidden"]
    assert text.endswith("  hidden: by causal")


def test_hidden_cells_are_left_out_of_the_summary() -> None:
    value = torch.tensor([[0.5, 99.0]])
    found = summary(made(value, torch.tensor([[False, True]])))
    assert (found.least, found.largest, found.norm) == (0.5, 0.5, None)
    everything_hidden = summary(made(value, torch.tensor([[True, True]])))
    assert everything_hidden.least == "hidden"


def test_long_axes_are_cut_with_a_mark_and_the_cut_is_said() -> None:
    value = torch.arange(40.0 * 30.0).reshape(40, 30)
    lines = quantity_text(made(value)).split("\n")
    assert sum(line == "..." for line in lines) == 1
    assert lines[-1] == "  ... query 8 to 31 of 40 are cut; source 4 to 25 of 30 are cut"
    assert lines[5].split()[:6] == ["0", "0", "1.00", "2.00", "3.00", "..."]


def test_a_single_step_can_be_chosen() -> None:
    ledger = recorded("lstm")
    text = quantity_text(ledger.quantity("encoder.recurrent.0.cell").at(batch=0), TOKENS, step=2)
    rows = [line for line in text.split("\n") if line.startswith(("0 ", "1 ", "2 ", "3 "))]
    assert [row.split()[:2] for row in rows] == [["2", "of"], ["2", "of"]]


def test_the_parts_of_a_sensitivity_are_listed_by_step() -> None:
    text = quantity_text(recorded("gru").quantity("encoder.recurrent.0.state").at(batch=0), TOKENS)
    assert "norms of the parts of the sensitivity" in text
    assert text.split("\n")[-7].split() == ["step", "direct", "later", "together"]


def test_an_empty_ledger_is_a_table_without_rows() -> None:
    assert quantities_text([]).startswith("quantity")
