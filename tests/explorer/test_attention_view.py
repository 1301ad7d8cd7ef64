"""The view "Attention": its numbers are those of torch.nn and autograd, its switches are edits, its size is bounded."""

import math
import re
import time
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from clew import visibility
from clew.data.batch import Batch
from clew.explorer.address import Address
from clew.explorer.attention.view import ATTENTION
from clew.explorer.edits.parsing import parse_edit
from clew.explorer.faults import ExplorerError
from clew.explorer.studio import Studio
from clew.models import build
from clew.models.blocks import TransformerBlock
from clew.models.interchange import attention_to_torch
from clew.models.transformer_encoder import TransformerEncoder
from clew.rendering.numbers import format_number
from clew.report.subject import Subject
from clew.tasks import Classification
from explorer.attention_page import HEADS, STUDIO, WIDTH, WORDS, FoundTable, Page, page_of, play_of, subject_of
from ledger.explicit_blocks import ExplicitEncoder

STEPS = len(WORDS) - 1
LABELS = [f"{step} {word}" for step, word in enumerate(WORDS[:-1])]
CAUSAL = torch.ones(STEPS, STEPS).tril().bool()
FULL = torch.ones(STEPS, STEPS).bool()


def twin_of(subject: Subject, visible: Tensor) -> dict[str, Tensor]:
    """Run the blocks written out in plain torch, with autograd, on the only row of a subject."""
    state = {name: part.detach().clone().requires_grad_() for name, part in subject.model.state_dict().items()}
    encoder = subject.model.encoder
    assert isinstance(encoder, TransformerEncoder)
    twin = ExplicitEncoder(state, HEADS, encoder.norm, visible.unsqueeze(0))
    ids = subject.batch.inputs
    rows = state["inputs.embedding.weight"][ids[:, :-1]] + state["encoder.positions.weight"][: ids.shape[1] - 1]
    rows = twin.encode(rows, len(encoder.blocks))
    twin.loss(rows, ids[:, 1:], torch.ones_like(ids[:, 1:]).bool()).backward()
    return twin.found | {f"weight {name}": part for name, part in state.items()}


def gradient(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad


def assert_map(table: FoundTable, expected: Tensor, hidden: dict[tuple[int, int], str] | None = None) -> None:
    """Compare a map with numbers, and the words of hidden cells with rules."""
    assert table.columns[1:] == LABELS
    for query, label in enumerate(LABELS):
        cells = table.row(label)
        for source, cell in enumerate(cells):
            if hidden is not None and (query, source) in hidden:
                assert cell.text == hidden[query, source] and "heat-hidden" in cell.classes
            else:
                assert cell.text == format_number(expected[query, source].item()), (query, source)
                assert "heat-hidden" not in cell.classes


CAUSALLY = {(query, source): "causal" for query in range(STEPS) for source in range(query + 1, STEPS)}


@pytest.mark.parametrize("layer", [0, 1])
def test_weights_are_those_of_multihead_attention_with_copied_weights(layer: int) -> None:
    subject = subject_of([WORDS])
    shown = play_of(subject, layer=layer)
    block = subject.model.encoder.blocks[layer]  # pyright: ignore
    assert isinstance(block, TransformerBlock)
    theirs = attention_to_torch(block.attention).double()
    rows = twin_of(subject, CAUSAL)[f"encoder.blocks.{layer}.attention_norm.output"].detach()
    mask = visibility.to_multihead_attention(visibility.causal(STEPS))
    _, weights = theirs(rows, rows, rows, attn_mask=mask, need_weights=True, average_attn_weights=False)
    page = page_of(shown)
    for head in range(HEADS):
        assert_map(page.table(f"head {head}: softmax weights"), weights[0, head], CAUSALLY)
    assert weights[0, 0, 3, 1].item() != weights[0, 1, 3, 1].item()


@pytest.mark.parametrize(
    ("stage", "heading", "name", "is_hidden"),
    [
        ("scores", "raw scores", "scores", False),
        ("scaled", "scaled", "scaled_scores", False),
        ("masked", "masked", "scaled_scores", True),
        ("weights", "softmax weights", "weights", True),
    ],
)
def test_values_and_sensitivities_of_each_stage_are_autograds(
    stage: str, heading: str, name: str, is_hidden: bool
) -> None:
    subject = subject_of([WORDS])
    page, twin = page_of(play_of(subject, stage=stage, layer=1)), twin_of(subject, CAUSAL)
    found = twin[f"encoder.blocks.1.attention.{name}"]
    symbol = {"scores": "R", "scaled": "S", "masked": "S", "weights": "A"}[stage]
    for head in range(HEADS):
        rules = CAUSALLY if is_hidden else None
        assert_map(page.table(f"head {head}: {heading}"), found[0, head], rules)
        assert_map(page.table(f"head {head}: sensitivity dL/d{symbol}"), gradient(found)[0, head], rules)


def test_contributions_are_norms_of_weight_times_value() -> None:
    subject = subject_of([WORDS])
    twin = twin_of(subject, CAUSAL)
    weights, values = (twin[f"encoder.blocks.0.attention.{name}"].detach()[0] for name in ("weights", "value"))
    page = page_of(play_of(subject, stage="contributions"))
    for head in range(HEADS):
        norms = (weights[head].unsqueeze(-1) * values[head].unsqueeze(0)).norm(dim=-1)
        assert_map(page.table(f"head {head}: contributions"), norms, CAUSALLY)


def test_the_table_of_a_query_has_each_step_of_the_way() -> None:
    subject = subject_of([WORDS])
    twin = {name: part for name, part in twin_of(subject, CAUSAL).items() if ".1.attention." in name}
    page = page_of(play_of(subject, layer=1, query=3))
    table = page.table("From score to contribution: 3 rain")
    names = ("scores", "scaled_scores", "weights", "value")
    scores, scaled, weights, value = (twin[f"encoder.blocks.1.attention.{name}"][0] for name in names)
    back = [gradient(twin[f"encoder.blocks.1.attention.{name}"])[0] for name in ("scaled_scores", "weights")]
    for head in range(HEADS):
        for source, label in enumerate(LABELS):
            numbers = [part[head, 3, source].item() for part in (scores, scaled, weights)]
            norm = (weights[head, 3, source] * value[head, source]).norm().item()
            hidden = "causal" if source > 3 else "-"
            expected = [*map(format_number, numbers[:2]), hidden, format_number(numbers[2]), format_number(norm)]
            backward = [format_number(part[head, 3, source].item()) for part in back]
            backward[1] = "hidden" if source > 3 else backward[1]
            cells = [cell.text for cell in table.row(label, f"head {head}")]
            assert cells == [*expected, *backward, "arithmetic"]
        assert table.row("sum over all sources", f"head {head}")[3].text == "1.00"


def test_the_mean_of_the_heads_stands_beside_the_heads() -> None:
    subject = subject_of([WORDS])
    weights = twin_of(subject, CAUSAL)["encoder.blocks.0.attention.weights"].detach()[0]
    table = page_of(play_of(subject, query=5)).table("Weights of 5 moon, head by head")
    assert table.columns == ["source", "hidden by", "head 0", "head 1", "mean of the heads"]
    for source, label in enumerate(LABELS):
        each = [weights[head, 5, source].item() for head in range(HEADS)]
        assert [cell.text for cell in table.row(label)[1:]] == [format_number(one) for one in (*each, sum(each) / 2)]


def test_contributions_on_demand_sum_to_the_context() -> None:
    subject = subject_of([WORDS])
    twin = twin_of(subject, CAUSAL)
    weights, value, context = (
        twin[f"encoder.blocks.0.attention.{name}"].detach()[0] for name in ("weights", "value", "context")
    )
    closed = page_of(play_of(subject, query=2))
    assert not any("adds to the context" in table.caption for table in closed.tables)
    table = page_of(play_of(subject, query=2, parts=1)).table("What each source adds to the context of 2 sun")
    for head in range(HEADS):
        for source, label in enumerate(LABELS):
            part = weights[head, 2, source] * value[head, source]
            numbers = [cell.text for cell in table.row(label, f"head {head}")]
            assert numbers == [format_number(number) for number in (*part.tolist(), part.norm().item())]
        for label in ("sum over all sources", "context, as recorded"):
            numbers = [cell.text for cell in table.row(label, f"head {head}")][:-1]
            assert numbers == [format_number(number) for number in context[head, 2].tolist()]


def test_the_arithmetic_of_a_cell_is_right_where_it_is_worked_out() -> None:
    page = page_of(play_of(subject_of([WORDS]), layer=1, cell="1.4.2"))
    lines = re.findall(r"<dt>([^<]*)</dt><dd><code>([^<]*)</code></dd>", page.html)
    worked = {term: words for term, words in lines if re.fullmatch(r"-?[0-9.e-]+ = .*", words) and words[0] != "("}
    assert len(worked) == 6
    for term, words in worked.items():
        left, right = words.split(" = ")
        found = eval(right.replace("^", "**"), {"exp": math.exp, "sqrt": math.sqrt})  # the page's own words
        assert found == pytest.approx(float(left), rel=0.03, abs=2e-4), (term, words)
    assert "One cell: 4 wind reads 2 sun, head 1" in page.text


def test_hidden_cells_name_their_rule() -> None:
    subject = subject_of([WORDS, WORDS[:4]])
    page = page_of(play_of(subject, ["hide:2.0"], row=1))
    table = page.table("head 0: softmax weights")
    assert [cell.text for cell in table.row("2 sun")[3:]] == ["causal", "padding and causal", "padding and causal"]
    assert table.row("2 sun")[0].text == "mask"
    assert [cell.text for cell in table.row("5 padding")[4:]] == ["padding"] * 2
    assert table.columns[4:] == ["3 rain", "4 padding", "5 padding"]
    packed = replace(subject.batch, documents=torch.tensor([[0, 0, 0, 1, 1, 1, 1]] * 2), valid=None)
    page = page_of(play_of(replace(subject, batch=packed, words=[WORDS, WORDS])))
    assert [cell.text for cell in page.table("head 1: softmax weights").row("4 wind")[:3]] == ["document"] * 3


def test_a_query_with_nothing_to_read_has_zero_weights_and_says_so() -> None:
    page = page_of(play_of(subject_of([WORDS]), ["hide:0.0"], query=0))
    assert "0 sun has nothing to read" in page.text
    table = page.table("Weights of 0 sun, head by head")
    assert [cell.text for cell in table.row("0 sun")] == ["mask", "0", "0", "0"]
    assert [cell.text for cell in table.row("sum over all sources")] == ["", "0", "0", "0"]
    assert "NaN" not in page.text


def moved_rows(page: Page, caption: str) -> list[int]:
    """Give the queries with a marked cell."""
    table = page.table(caption)
    return [step for step, label in enumerate(LABELS) if any("moved" in cell.classes for cell in table.row(label))]


def test_full_visibility_moves_exactly_the_rows_that_could_not_read_everything() -> None:
    subject = subject_of([WORDS])
    shown = play_of(subject, ["visible=full"])
    page = page_of(shown)
    before, after = twin_of(subject, CAUSAL), twin_of(subject, FULL)
    name = "encoder.blocks.0.attention.weights"
    for head in range(HEADS):
        assert moved_rows(page, f"head {head}: softmax weights") == [0, 1, 2, 3, 4]
        assert_map(page.table(f"head {head}: softmax weights"), after[name][0, head])
        row = page.table(f"head {head}: softmax weights").row("3 rain")
        assert [cell.below for cell in row[4:]] == ["was hidden"] * 2
        changes = (after[name] - before[name])[0, head, 3, :4].tolist()
        assert [float(cell.below) for cell in row[:4]] == pytest.approx(changes, abs=5e-4)
        assert "was hidden by causal" in row[4].title
    assert moved_rows(page_of(play_of(subject, ["visible=full"], layer=1)), "head 0: softmax weights") == list(range(6))
    assert moved_rows(page_of(play_of(subject, ["visible=full"], stage="scores")), "head 0: raw scores") == []
    table = page.table("Query by query in block 0: how far each moved")
    assert [cell.text for cell in table.row("5 moon")[:4]] == ["6", "same", "same", "same"]
    norms = (after[name] - before[name])[0].transpose(0, 1).flatten(1).norm(dim=1)
    assert [cell.text for cell in table.row("2 sun")[:2]] == ["3 → 6", format_number(norms[2].item())]


def test_what_moved_is_told_forward_and_backward() -> None:
    subject = subject_of([WORDS], layers=1)
    page = page_of(play_of(subject, ["hide:4.1"]))
    before, hidden = twin_of(subject, CAUSAL), CAUSAL.clone()
    hidden[4, 1] = False
    after = twin_of(subject, hidden)
    table = page.table("Against the same model and input without the edits")
    name = "encoder.blocks.0.attention.weights"
    values, by, sensitivities, _ = (cell.text for cell in table.row("weights", "block 0"))
    assert (values, sensitivities) == ("4 wind", "4 wind")
    assert abs(float(by)) == pytest.approx((after[name] - before[name]).abs().max().item(), abs=5e-4)
    assert table.row("scaled_scores", "block 0")[0].text == "same"
    gradients = [gradient(run["weight encoder.blocks.0.attention.input_map.weight"]) for run in (before, after)]
    told = [cell.text for cell in table.row("input_map.weight", "block 0")]
    assert told[0] == "same" and told[2] == "moved"
    assert abs(float(told[3])) == pytest.approx((gradients[1] - gradients[0]).abs().max().item(), abs=5e-4)
    assert moved_rows(page, "head 1: softmax weights") == [4]


def test_the_same_input_without_edits_has_nothing_to_compare() -> None:
    page = page_of(play_of(subject_of([WORDS])))
    assert "Nothing is edited" in page.text and "moved" not in page.html


def test_choices_carry_the_rest_of_the_address_along() -> None:
    page = page_of(play_of(subject_of([WORDS]), ["padding=1"], layer=1, query=2, stage="masked", head=1))
    common = {("model", "transformer"), ("edit", "padding=1"), ("layer", "1"), ("stage", "masked")}
    for label in ("Choose a query", "Choose a cell or a query", "Visibility of all cells", "Hide one cell"):
        assert common <= set(page.forms[label])
    assert ("query", "2") in page.forms["Visibility of all cells"]
    hidden = page.forms["Choose a cell or a query"]
    assert ("cell", "0.5.0") in hidden and ("query", "2") in hidden and ("head", "1") not in hidden
    at_the_end = [value for name, value in page.forms["Padding at the end"] if name == "edit"]
    assert at_the_end == [f"padding={count}" for count in range(1, 6)]


def test_every_switch_is_an_edit_and_replaces_the_last_one_of_its_kind() -> None:
    page = page_of(play_of(subject_of([WORDS]), ["visible=full", "hide:4.1", "padding=1"], cell="0.4.2"))
    offered = {value for form in page.forms.values() for name, value in form if name == "edit"}
    for edit in offered:
        parse_edit(edit)
    switches = {"visible=full", "visible=causal", "visible=window-3", "padding=2", "hide:4.2", "show:4.1"}
    assert switches <= offered, switches - offered
    own = page.forms["Visibility of the model itself"]
    assert [value for name, value in own if name == "edit"] == ["padding=1"]
    assert [value for name, value in page.forms["No padding"] if name == "edit"] == ["visible=full", "hide:4.1"]
    at_the_end = [value for name, value in page.forms["Padding at the end"] if name == "edit"]
    assert at_the_end == ["visible=full", "hide:4.1", *(f"padding={count}" for count in range(1, 6))]


def test_padding_cannot_be_shown() -> None:
    page = page_of(play_of(subject_of([WORDS, WORDS[:4]], causal=False), row=1, cell="0.2.4"))
    offered = {value for form in page.forms.values() for name, value in form if name == "edit"}
    assert not any(edit.startswith("show:") for edit in offered) and "padding hides stays hidden" in page.text


def test_a_model_without_attention_says_what_to_choose(studio: Studio) -> None:
    for key in ("gru", "scalar"):
        words = ATTENTION.missing(studio.scene(Address("attention", key)))
        assert "has no attention" in words and "Transformer" in words


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"layer": "2"}, "layer must be a whole number in [0, 2)"),
        ({"query": "6"}, "query must be a whole number in [0, 6)"),
        ({"head": "-1"}, "head must be a whole number in [0, 2)"),
        ({"stage": "dropout"}, "stage must be one of scores, scaled, masked, weights, contributions, got 'dropout'"),
        ({"cell": "0.1"}, "cell must be head.query.source"),
        ({"cell": "0.1.9"}, "source of the cell must be a whole number in [0, 6)"),
        ({"query": "²"}, "query must be a whole number"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(shown: dict[str, str], words: str) -> None:
    scene = play_of(subject_of([WORDS]), (), 0, **shown)
    with pytest.raises(ExplorerError, match=re.escape(words)) as raised:
        page_of(scene)
    assert "\n" not in str(raised.value) and raised.value.status in (400, 404)


def test_words_are_escaped() -> None:
    words = ["<b>", "a&b", '"x"', "<b>", "a&b"]
    page = page_of(play_of(subject_of([words]), cell="0.1.0"))
    assert "<b>" not in page.html.replace("&lt;b&gt;", "") and page.table("head 0: softmax weights").row("0 <b>")


def test_512_steps_and_12_heads_stay_small_and_say_what_is_left_out() -> None:
    words = [f"w{step % 40}" for step in range(512)]
    subject = subject_of([words], hidden=48, heads=12, layers=1, max_positions=512)
    scene = play_of(subject, ["visible=window-64"], query=250, cell="3.250.200", parts=1)
    page_of(scene)  # what the ledger computes when first asked for is not part of rendering
    start = time.process_time()
    content = "".join(part.content for part in ATTENTION.sections(scene, STUDIO))
    assert time.process_time() - start < 4
    assert len(content) < 400_000
    page = Page(content)
    assert sum(bool(cell.text) for table in page.tables for row in table.rows for cell in row) < 4000
    assert re.search(r"queries \d+ to \d+ and \d+ to \d+ of 511 are left out", page.text)
    assert re.search(r"sources \d+ to \d+ and \d+ to \d+ of 511 are left out", page.text)
    table = page.table("head 11: softmax weights")
    assert table.columns[-1] == "510 w30"
    weights = scene.ledger.quantity("encoder.blocks.0.attention.weights").at(batch=0).value
    place = table.columns.index("200 w0")
    shown = next(row for row in table.rows if row[0].text == "250 w10")[place].text
    assert shown.split(",")[0] == format_number(weights[11, 250, 200].item())


def test_a_class_token_is_a_query_like_the_patches() -> None:
    model = build("vit", image=4, patch=2, outputs=3, hidden=WIDTH, heads=HEADS, mlp=5).double().eval()
    images = torch.randn(1, 1, 4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = ["class", "0.0", "0.1", "1.0", "1.1"]
    subject = Subject(
        model, [labels], Batch(images, None, torch.tensor([1])), (), "a vit", Classification(3), "patch", "an image"
    )
    shown = play_of(subject, query=0)
    page = page_of(shown)
    table = page.table("head 0: softmax weights")
    assert table.columns[1:] == ["0 class", "1 0.0", "2 0.1", "3 1.0", "4 1.1"]
    block = model.encoder.blocks[0]  # pyright: ignore
    assert isinstance(block, TransformerBlock)
    rows = shown.ledger.quantity("encoder.blocks.0.attention_norm.output").value
    _, weights = attention_to_torch(block.attention)(rows, rows, rows, average_attn_weights=False)
    for head in range(HEADS):
        cells = page.table(f"head {head}: softmax weights").row("0 class")
        assert [cell.text for cell in cells] == [format_number(number) for number in weights[0, head, 0].tolist()]
    assert "No padding" not in page.forms
    offered = {value for form in page.forms.values() for name, value in form if name == "edit"}
    assert "visible=full" in offered and "visible=causal" not in offered
    assert page_of(play_of(subject, ["hide:0.2"])).table("head 0: softmax weights").row("0 class")[2].text == "mask"
