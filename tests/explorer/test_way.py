"""The whole way: every quantity is a box away, every number is what torch computes, every cell opens."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.data import Batch
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import Scene, play
from clew.explorer.studio import Studio
from clew.explorer.way.stations import stations_of
from clew.explorer.way.view import WAY
from clew.models import SequenceModel, build
from clew.models.interchange import block_to_torch
from clew.rendering.numbers import format_number
from clew.report.subject import Subject, batch_of
from clew.tasks import Classification, NextToken
from reference.weights import randomized

STUDIO = Studio()
WORDS = ["sun", "moon", "sun", "rain", "wind", "moon", "rain"]
VOCABULARY = ["sun", "moon", "rain", "wind"]


class Page(HTMLParser):
    """Reads what a person finds: links, tables by caption with the values of their buttons, labels of arrows, words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.links: dict[str, str] = {}
        self.identifiers: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.cells: dict[str, str] = {}
        self.spoken: list[str] = []
        self.words: list[str] = []
        self._in: list[tuple[str, str]] = []
        self._caption, self._link, self._button = "", "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert not any(name == "style" or name.startswith("on") for name in given)
        self.identifiers += [given["id"]] if "id" in given else []
        if tag in ("input", "br", "line", "path"):
            return
        self._in.append((tag, given.get("class", "")))
        self._link = given.get("href", "") if tag == "a" else self._link
        self._button = given["value"] if tag == "button" and given.get("name") == "cell" else ""
        self._caption = "" if tag == "table" else self._caption
        if tag == "tr" and self._caption:
            self.tables.setdefault(self._caption, []).append([])
        if tag in ("td", "th") and self._caption:
            self.tables[self._caption][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("input", "br", "line", "path"):
            assert self._in.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        tags = [tag for tag, _ in self._in]
        if "caption" in tags:
            self._caption += data
        elif "td" in tags or "th" in tags:
            self.tables[self._caption][-1][-1] += data
            if self._button:
                self.cells[f"{self._caption}:{self._button}"] = data
        if "a" in tags:
            self.links[self._link] = self.links.get(self._link, "") + data
        if any(css_class == "flow-spoken" for _, css_class in self._in):
            self.spoken.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def numbers(self, caption: str) -> list[list[str]]:
        """Give the cells of a table without its headings."""
        return [row[1:] for row in self.tables[caption][1:]]


def page_of(scene: Scene) -> Page:
    return Page("".join(part.content for part in WAY.sections(scene, STUDIO)))


def scene_of(model: SequenceModel, task: Any, words: Sequence[str], batch: Batch | None = None, **shown: str) -> Scene:
    given = batch_of([list(words)], VOCABULARY) if batch is None else batch
    subject = Subject(model.eval(), [list(words)], given, VOCABULARY, "a model", task)
    return play(Address("way", shown=shown), STUDIO.source("worked"), subject, None)


def small(preset: str, **options: Any) -> SequenceModel:
    return randomized(build(preset, vocab=4, outputs=4, hidden=6, **options)).eval()


def of(preset: str, shown: dict[str, str] | None = None, **options: Any) -> Scene:
    return scene_of(small(preset, **options), NextToken(4), WORDS, **(shown or {}))


def written(values: Tensor) -> list[list[str]]:
    return [[format_number(number) for number in row] for row in values.tolist()]


@pytest.mark.parametrize(
    ("preset", "options"),
    [
        pytest.param("transformer", {"heads": 2, "layers": 2, "causal": True}, marks=pytest.mark.slow),
        ("transformer", {"heads": 2, "norm": "post", "causal": True}),
        ("gru", {"layers": 2, "bidirectional": True}),
        ("lstm", {}),
        ("rnn", {}),
    ],
)
def test_every_quantity_is_a_box_and_a_link_away(preset: str, options: dict[str, Any]) -> None:
    scene = of(preset, **options)
    names = set(scene.ledger.names())
    stations = stations_of(scene.ledger.names())
    assert {name for station in stations for name in station.names} == names
    assert len({station.key for station in stations}) == len(stations)
    linked = quantities_linked(page_of(scene))
    assert {station.main for station in stations} <= linked
    for station in stations:
        opened = of(preset, {"quantity": station.main}, **options)
        assert set(station.names) <= quantities_linked(page_of(opened))


def quantities_linked(page: Page) -> set[str]:
    return {query["quantity"][0] for link in page.links if "quantity" in (query := parse_qs(urlsplit(link).query))}


def test_a_block_shows_what_torch_computes_forward_and_backward() -> None:
    model = small("transformer", heads=2, mlp=5, causal=True, layers=2)
    ids = batch_of([WORDS], VOCABULARY).inputs[:, :-1]
    positions = model.encoder.positions  # pyright: ignore[reportAttributeAccessIssue]
    entry = positions(model.inputs(ids)).detach().requires_grad_()
    layers = [block_to_torch(block).eval() for block in model.encoder.blocks]  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
    mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], dtype=torch.float64)
    middle = layers[0](entry, src_mask=mask)
    middle.retain_grad()
    rows = layers[1](middle, src_mask=mask)
    final = model.encoder.final_norm  # pyright: ignore[reportAttributeAccessIssue]
    rows = functional.layer_norm(rows, rows.shape[-1:], final.weight, final.bias)
    logits = functional.linear(rows, model.head.linear.weight, model.head.linear.bias)
    targets = batch_of([WORDS], VOCABULARY).inputs[0, 1:]
    loss = functional.cross_entropy(logits[0], targets)
    loss.backward()

    for name, value in (("encoder.blocks.0.mlp_sum", middle), ("encoder.positions.output", entry)):
        assert value.grad is not None
        page = page_of(scene_of(model, NextToken(4), WORDS, quantity=name))
        assert page.numbers("Value") == written(value.detach()[0])
        assert page.numbers("Sensitivity") == written(value.grad[0])
        assert f"up: norm of the sensitivity {format_number(value.grad.norm().item())}" in page.spoken
    assert f"{format_number(loss.item())} nats" in page_of(scene_of(model, NextToken(4), WORDS)).text


def test_a_recurrence_shows_what_torch_computes_forward_and_backward() -> None:
    model = small("gru", embedding=3)
    layer = model.encoder.recurrent[0]  # pyright: ignore[reportIndexIssue, reportAttributeAccessIssue]
    twin = nn.GRU(3, 6, batch_first=True).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(twin, f"{name}_l0").data = getattr(layer, name).data.clone()
    batch = batch_of([WORDS], VOCABULARY)
    states = twin(functional.embedding(batch.inputs[:, :-1], model.inputs.embedding.weight))[0]  # pyright: ignore
    logits = functional.linear(states, model.head.linear.weight, model.head.linear.bias)
    direct = torch.autograd.grad(functional.cross_entropy(logits[0], batch.inputs[0, 1:]), states)[0]
    name = "encoder.recurrent.0.state"
    page = page_of(scene_of(model, NextToken(4), WORDS, quantity=name, cell="2.4"))
    assert page.numbers("Value") == written(states.detach()[0])
    flow = page.numbers("Parts of the sensitivity, a norm each")
    assert [row[0] for row in flow] == [format_number(norm) for norm in direct[0].norm(dim=1).tolist()]
    assert f"{states[0, 2, 4].item()!r}"[:12] in page.text
    assert format_number(direct[0, 2, 4].item()).lstrip("-") in page.text
    assert "GRU layer 0: state" in page.text and "later steps send back" in page.text


def test_a_branch_and_what_passes_it_by_share_the_sensitivity_above_them() -> None:
    scene = of("transformer", heads=2, causal=True)
    above = scene.ledger.quantity("encoder.positions.output")
    around = scene.ledger.quantity("encoder.blocks.0.attention_sum").sensitivity
    page = page_of(scene)
    through = above.sensitivity - around
    assert f"up: what the branch sends back {format_number(through.norm().item())}" in page.spoken
    assert f"up, around: what passes the branch by {format_number(around.norm().item())}" in page.spoken


def test_every_number_is_a_button_with_the_index_of_the_whole_quantity() -> None:
    scene = of("transformer", {"quantity": "encoder.blocks.0.attention.key", "head": "1"}, heads=2, causal=True)
    page = page_of(scene)
    key = scene.ledger.quantity("encoder.blocks.0.attention.key")
    assert page.cells["Value, head 1:1.2.0"] == format_number(key.value[0, 1, 2, 0].item())
    assert page.cells["Sensitivity, head 1:1.2.0"] == format_number(key.sensitivity[0, 1, 2, 0].item())
    assert len(page.cells) == 2 * 6 * 3


def test_a_cell_opens_into_the_arithmetic_of_both_passes() -> None:
    name = "encoder.blocks.0.attention.scaled_scores"
    scene = of("transformer", {"quantity": name, "cell": "1.4.2"}, heads=2, causal=True)
    page, quantity = page_of(scene), scene.ledger.quantity(name)
    assert "head 1, query 4 wind, source 2 sun" in page.text
    assert "√(3)" in page.text
    assert repr(quantity.value[0, 1, 4, 2].item()) in page.text
    assert repr(quantity.sensitivity[0, 1, 4, 2].item()) in page.text
    assert page.html.count('aria-current="true" id="') == 0 and page.html.count('<button name="cell"') > 1
    assert len(re.findall(r'<button name="cell" value="1.4.2"[^>]*aria-current="true"', page.html)) == 2


def test_a_hidden_cell_says_which_rule_hid_it() -> None:
    name = "encoder.blocks.0.attention.weights"
    page = page_of(of("transformer", {"quantity": name, "cell": "0.1.3"}, heads=2, causal=True))
    assert page.numbers("Value, head 0")[1][3] == "hidden" and "hidden by causal" in page.text


def test_a_single_number_is_open_at_once() -> None:
    page = page_of(of("gru", {"quantity": "loss.loss"}))
    assert "The one number" in page.text and "derivative of the loss with respect to itself" in page.text


def test_without_a_loss_nothing_comes_back() -> None:
    page = page_of(STUDIO.scene(Address("way", "gru", "sun", shown={"quantity": "encoder.recurrent.0.state"})))
    assert "nothing comes back" in page.text and "not computed" in page.text
    assert not any(words.startswith("up") for words in page.spoken)


def test_long_sides_are_windowed_and_can_be_moved() -> None:
    words = [VOCABULARY[step % 4] for step in range(80)]
    name = "encoder.blocks.0.attention.weights"
    model = small("transformer", heads=2, causal=True)
    page = page_of(scene_of(model, NextToken(4), words, quantity=name))
    assert "query 16 to 62 of 79 are cut" in page.text and "source 6 to 72 of 79 are cut" in page.text
    assert len(page.cells) < 1000
    moved = page_of(scene_of(model, NextToken(4), words, quantity=name, down="40", across="39"))
    assert "query 24 to 55 of 79 are shown" in moved.text and "source 33 to 44 of 79 are shown" in moved.text
    assert "Value, head 0:0.40.39" in moved.cells
    opened = page_of(scene_of(model, NextToken(4), words, quantity=name, cell="0.30.29"))
    assert "Value, head 0:0.30.29" in opened.cells


def test_of_many_blocks_the_open_one_is_drawn_in_full() -> None:
    options: dict[str, Any] = {"heads": 2, "layers": 4, "causal": True}
    first = page_of(of("transformer", **options))
    third = page_of(of("transformer", {"quantity": "encoder.blocks.2.mlp_sum"}, **options))
    assert "encoder.blocks.0.attention.weights" in quantities_linked(first)
    assert "encoder.blocks.2.attention.weights" not in quantities_linked(first)
    assert "encoder.blocks.2.attention.weights" in quantities_linked(third)
    assert {f"encoder.blocks.{place}.mlp_sum" for place in (0, 1, 3)} <= quantities_linked(third)


def test_directions_stand_side_by_side() -> None:
    page = page_of(of("lstm", bidirectional=True, head="rows"))
    assert page.html.count('class="flow-way"') == 2
    assert "Forward in time" in page.text and "Both directions joined" in page.text


def test_an_image_and_its_class_token_keep_their_places() -> None:
    model = randomized(build("vit", image=8, patch=4, outputs=3, hidden=4, heads=2))
    labels = ["class", *(f"{row}.{column}" for row in range(2) for column in range(2))]
    batch = Batch(torch.randn(1, 1, 8, 8, dtype=torch.float64), targets=torch.tensor([1]))
    scene = scene_of(model, Classification(3), labels, batch, quantity="encoder.positions.output")
    page = page_of(scene)
    assert [row[0] for row in page.tables["Value"][1:]] == [f"{i} {label}" for i, label in enumerate(labels)]
    assert "channels 1 × height 8 × width 8" in page.text
    before = page_of(scene_of(model, Classification(3), labels, batch, quantity="inputs.patches.projection.output"))
    assert [row[0] for row in before.tables["Value"][1:]] == [f"{i} {label}" for i, label in enumerate(labels[1:])]


def test_what_is_not_there_is_said_and_what_is_no_number_is_refused() -> None:
    assert "no quantity “encoder.nothing”" in page_of(of("gru", {"quantity": "encoder.nothing"})).text
    gone = {"quantity": "encoder.recurrent.0.state", "cell": "40.0"}
    assert "There is no cell 40.0 here" in page_of(of("gru", gone)).text
    for shown in ({"cell": "x"}, {"cell": "1..2"}, {"cell": "1" * 9}, {"cell": "²"}):
        with pytest.raises(ExplorerError, match="cell must be"):
            page_of(of("gru", {"quantity": "encoder.recurrent.0.state", **shown}))
    with pytest.raises(ExplorerError, match="head must be a whole number"):
        page_of(of("transformer", {"quantity": "encoder.blocks.0.attention.key", "head": "-1"}, heads=2))


def test_identifiers_are_unique_and_links_keep_the_rest_of_the_address() -> None:
    address = Address("way", "transformer", "sun moon sun rain", edits=("token:1=rain",), shown={"head": "1"})
    page = page_of(STUDIO.scene(address))
    assert len(page.identifiers) == len(set(page.identifiers))
    boxes = [parse_qs(urlsplit(link).query) for link in page.links if "quantity=" in link]
    assert len(boxes) > 20
    assert all(box["edit"] == ["token:1=rain"] and box["text"] == ["sun moon sun rain"] for box in boxes)


def test_words_of_the_text_cannot_bring_markup_along() -> None:
    page = page_of(STUDIO.scene(Address("way", "gru", "<b>x</b> & <script> a")))
    assert "<script" not in page.html and "<b>" not in page.html
