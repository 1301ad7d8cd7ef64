"""A leak of 1e-4 is seen, rounding is not, and the report knows which it can tell apart."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from checks.models import BatchNormed, FourierConvolution, NarrowInside, Recurrent, Reused, RunningSum, TinyLeak
from clew.checks import audit, quick_audit

torch.set_num_threads(1)
VALUES = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", [Recurrent, RunningSum, FourierConvolution, NarrowInside, BatchNormed])
def test_rounding_and_statistics_of_training_are_no_leak(kind: type[nn.Module]) -> None:
    report = audit(kind(), VALUES)
    assert report.failures == []
    assert report.power.was_seen is True


def test_a_leak_of_a_ten_thousandth_is_seen_and_located() -> None:
    report = audit(TinyLeak(), VALUES)
    future = report["future"]
    assert report.failures == ["future"]
    assert future.module == "recurrent"
    assert future.place is not None and future.place.arises_in == ""
    example = future.counterexample
    assert example is not None and isinstance(example.changed, int) and example.moved is not None
    assert example.moved < example.changed
    assert future.movement is not None and future.floor is not None and future.movement > 1e4 * future.floor


def test_narrow_arithmetic_inside_raises_the_floor() -> None:
    wide, narrow = audit(Recurrent(), VALUES), audit(NarrowInside(), VALUES)
    assert wide.precision == narrow.precision == "float64"
    assert wide.floor < 1e-12 < narrow.floor < 1e-4


def test_statistics_shared_in_training_are_told_as_remarks() -> None:
    report = audit(BatchNormed(), VALUES)
    assert any("batch statistics" in remark for remark in report["batch_mates"].remarks)
    assert any("batch statistics" in remark for remark in report["future"].remarks)


def test_a_reused_nested_layer_is_named_with_its_call() -> None:
    place = audit(Reused(), VALUES)["future"].place
    assert place is not None
    assert (place.module, place.kind, place.call, place.calls, place.arises_in) == ("block.inner", "Linear", 3, 3, "")


def test_the_influence_map_shows_who_reads_whom() -> None:
    report = audit(Recurrent(), VALUES)
    assert report.influence.shape == report.allowed.shape == (8, 8)
    assert ((report.influence > report.floor) == report.allowed).all()


def test_long_inputs_are_varied_in_blocks() -> None:
    values = torch.randn(2, 64, 4, generator=torch.Generator().manual_seed(2))
    report = audit(TinyLeak(), values)
    assert report.influence_step == 8
    assert report.failures == ["future"]
    example = report["future"].counterexample
    assert example is not None and isinstance(example.changed, int)


LONG = torch.randn(2, 256, 3, generator=torch.Generator().manual_seed(2))


def leaking_once(output: int) -> Callable[[Tensor], Tensor]:
    """Make a causal model of which one output reads the next step, by a ten-thousandth."""

    def model(values: Tensor) -> Tensor:
        out = values.cumsum(dim=1).tanh()
        out[:, output] = out[:, output] + 1e-4 * values[:, output + 1]
        return out

    return model


@pytest.mark.parametrize("output", [0, 137, 143, 254])
def test_one_output_that_reads_its_neighbour_is_found_wherever_it_stands(output: int) -> None:
    finding = audit(leaking_once(output), LONG, ordered=False)["future"]
    assert finding.status == "failed" and finding.counterexample is not None
    assert (finding.counterexample.moved, finding.counterexample.changed) == (output, output + 1)


def test_a_convolution_with_one_step_of_lookahead_is_found_by_a_quick_audit_too() -> None:
    class Ahead(nn.Conv1d):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(nn.functional.pad(values.mT, (1, 1))).mT

    model = Ahead(3, 4, 3)
    for search in (audit, quick_audit):
        finding = search(model, LONG, ordered=False)["future"]
        example = finding.counterexample
        assert finding.status == "failed" and example is not None and isinstance(example.changed, int)
        assert example.moved == example.changed - 1


def test_the_search_says_what_it_has_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    running = lambda values: values.cumsum(dim=1).tanh()  # noqa: E731
    finding = audit(running, LONG[:, :100], ordered=False)["future"]
    assert finding.changed.endswith("all 99 cuts") and finding.remarks == ()
    monkeypatch.setattr("clew.checks.search.EVERY", 99)
    finding = audit(running, LONG[:, :100], ordered=False)["future"]
    assert finding.changed.endswith("80 of 99 cuts, one in each 2")
    assert any("may have been missed" in remark for remark in finding.remarks)


def test_a_long_causal_audit_runs_fewer_rows_than_one_pass_a_position() -> None:
    rows = 0

    def model(values: Tensor) -> Tensor:
        nonlocal rows
        rows += len(values) if values.shape[1] == 256 else 0
        return values.cumsum(dim=1).tanh()

    four = torch.cat([LONG, LONG.flip(1)])
    assert audit(model, four, ordered=False).passed
    assert rows < 4 * 256


DOCUMENTS = torch.arange(64) // 16
SEPARATE = (DOCUMENTS.unsqueeze(1) == DOCUMENTS) & torch.ones(64, 64, dtype=torch.bool).tril()


def read_within(visible: Tensor) -> Callable[[Tensor], Tensor]:
    """Make a model of which each output is a sum over what it may read, each step with a weight of its own."""
    weights = torch.rand(64, 64, generator=torch.Generator().manual_seed(4)) + 0.5
    return lambda values: (((weights * visible).to(values.dtype)) @ values).tanh()


def test_one_forbidden_pair_of_a_long_matrix_is_found() -> None:
    values = LONG[:, :64]
    assert audit(read_within(SEPARATE), values, boundary=SEPARATE).failures == []
    visible = SEPARATE.clone()
    visible[41, 9] = True
    report = audit(read_within(visible), values, boundary=SEPARATE)
    assert report.failures == ["boundary"]
    example = report["boundary"].counterexample
    assert example is not None and (example.moved, example.changed) == (41, 9)


def test_one_permitted_pair_of_a_long_matrix_that_is_never_read_is_found() -> None:
    visible = SEPARATE.clone()
    visible[41, 35] = False
    report = audit(read_within(visible), LONG[:, :64], boundary=SEPARATE)
    assert report.failures == ["position"]
    assert "permits output 41 to read step 35" in report["position"].reason


class Documents(nn.Module):
    """Each output reads its own document up to its own step; in rows that begin with document 7, one step more."""

    def forward(self, inputs_embeds: Tensor, documents: Tensor) -> Tensor:
        visible = (documents.unsqueeze(2) == documents.unsqueeze(1)).tril()
        visible[:, 41, 9] |= documents[:, 0] == 7
        weights = torch.rand(64, 64, generator=torch.Generator().manual_seed(4)) + 0.5
        return ((weights * visible).to(inputs_embeds.dtype) @ inputs_embeds).tanh()


@pytest.mark.parametrize("first", [6, 7])
def test_a_matrix_for_each_row_is_searched_in_each_row(first: int) -> None:
    documents = torch.stack([torch.arange(64) // 16, torch.arange(64) // 32 + first])
    boundary = (documents.unsqueeze(2) == documents.unsqueeze(1)).tril()
    boundary[1, 41, 9] = False
    report = audit(Documents(), {"inputs_embeds": LONG[:, :64], "documents": documents}, boundary=boundary)
    assert report.failures == (["boundary"] if first == 7 else [])
    example = report["boundary"].counterexample
    if first == 7:
        assert example is not None and (example.row, example.moved, example.changed) == (1, 41, 9)


class OppositeMask(nn.Module):
    """Attention that hides what is real, to the last bit: a row without padding has nothing to read."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.query = nn.Linear(8, 8)
        self.head = nn.Linear(8, 11)

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        rows = self.tokens(ids)
        scores = (self.query(rows) @ rows.mT).masked_fill(valid.unsqueeze(1), -torch.inf)
        return self.head(rows + scores.softmax(dim=-1) @ rows)


@pytest.mark.parametrize("lengths", [[6, 4, 5], [7, 4, 5], [7, 7, 7]])
def test_an_opposite_mask_is_told_as_such_also_where_a_row_has_no_padding(lengths: list[int]) -> None:
    ids = torch.randint(0, 11, (3, 7), generator=torch.Generator().manual_seed(1))
    valid = torch.arange(7) < torch.tensor(lengths).unsqueeze(1)
    report = audit(OppositeMask(), ids, "full", valid=valid, vocab=11, ordered=False)
    assert report.failures == ["mask_polarity"]


@pytest.mark.parametrize("steps", [5, 6])
def test_a_source_of_as_many_steps_as_the_target_is_not_taken_for_it(steps: int) -> None:
    torch.manual_seed(0)
    given = {"inputs_embeds": torch.randn(3, 6, 8), "source": torch.randn(3, steps, 8)}
    given["attention_mask"] = (torch.arange(6) < torch.tensor([[6], [4], [5]])).long()
    attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def crossed(model: nn.Module, inputs: dict[str, Tensor], _: None) -> Tensor:
        source, hidden = inputs["source"], inputs["attention_mask"].unsqueeze(2) == 0
        rows = inputs["inputs_embeds"].masked_fill(hidden, 0.0)
        return rows + model(rows, source, source)[0]

    assert audit(attention, given, "full", call=crossed, ordered=False).failures == []
