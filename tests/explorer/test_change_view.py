"""The view "Change and compare": its numbers against the passes, its forms against the edits that they make."""

from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

import pytest
import torch

from clew.explorer.address import EDIT_FIELD, Address
from clew.explorer.change.forms import step_links
from clew.explorer.change.movement import merged, movement, movements, weight_movements
from clew.explorer.change.view import CHANGE
from clew.explorer.edits.parsing import parse_edit, with_edit
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.rendering.numbers import format_number

MakeScene = Callable[..., Scene]
WEIGHTS = "encoder.blocks.0.attention.weights"
HIDDEN_MAP = "encoder.blocks.0.mlp.hidden_map.weight"


class Page(HTMLParser):
    """The parts of a fragment that the tests ask for: tables by caption, links, forms, headings, labels and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.classes: dict[str, list[list[str]]] = {}
        self.links: dict[str, str] = {}
        self.forms: list[dict[str, str]] = []
        self.fields: list[dict[str, str]] = []
        self.buttons: list[dict[str, str]] = []
        self.identifiers: list[str] = []
        self.labelled: set[str] = set()
        self.headings: list[str] = []
        self.words: list[str] = []
        self._cell: list[str] | None = None
        self._caption: list[str] | None = None
        self._named = ""
        self._select: dict[str, str] | None = None
        self.feed(html)

    @property
    def text(self) -> str:
        """All text, with single spaces."""
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = {name: value or "" for name, value in attrs}
        assert "style" not in given and not any(name.startswith("on") for name in given)
        if "id" in given:
            self.identifiers.append(given["id"])
        if tag == "a":
            self.links[given.get("id", given["href"])] = given["href"]
        elif tag == "form":
            self.forms.append({})
        elif tag == "label":
            self.labelled.add(given["for"])
        elif tag in ("input", "select"):
            self.fields.append({"tag": tag} | given)
            self._select = given if tag == "select" else None
            if tag == "input":
                self.forms[-1].setdefault(given["name"], given.get("value", ""))
        elif tag == "option" and self._select is not None and "selected" in given:
            self.forms[-1][self._select["name"]] = given["value"]
        elif tag == "button":
            self.buttons.append(given)
        elif tag == "caption":
            self._caption = []
        elif tag == "tr" and self._named:
            self.tables[self._named].append([])
            self.classes[self._named].append([])
        elif tag in ("td", "th"):
            self._cell = []
            if self._named:
                self.classes[self._named][-1].append(given.get("class", ""))
        elif tag in ("h2", "h3", "h4"):
            self.headings.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Finish a caption or a cell."""
        if tag == "caption" and self._caption is not None:
            self._named, self._caption = "".join(self._caption), None
            assert self._named not in self.tables, f"two tables are called {self._named}"
            self.tables[self._named], self.classes[self._named] = [[]], [[]]
        elif tag in ("td", "th") and self._cell is not None:
            if self._named:
                self.tables[self._named][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None
        elif tag == "table":
            self._named = ""

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self.words.append(data)
        for part in (self._cell, self._caption):
            if part is not None:
                part.append(data)

    def rows(self, caption: str) -> list[list[str]]:
        """Give the rows of a table below its headings."""
        return [row for row in self.tables[caption] if row][1:]


def shown(scene: Scene, studio: Studio) -> Page:
    """Make the view's page."""
    return Page("".join(str(part.content) for part in CHANGE.sections(scene, studio)))


def edits_of(link: str) -> list[str]:
    """Give the edits of an address."""
    query = parse_qsl(urlsplit(link).query, keep_blank_values=True)
    return list(Address.parse("change", query).edits)


def sent(form: dict[str, str], **values: str) -> Address:
    """Give the address that a browser would ask for."""
    return Address.parse("change", list((form | values).items()))


# --- movement ---


def test_exactly_equal_rounding_and_moved_are_three_things() -> None:
    ones = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    assert movement(ones, ones.clone()).status == "equal"
    nearly = ones.clone()
    nearly[1] = torch.nextafter(ones[1], ones[0])
    found = movement(ones, nearly)
    assert (found.status, found.cells) == ("rounding", 0) and not found.is_apart
    moved = ones.clone()
    moved[1] = -2.5
    found = movement(ones, moved, ("hidden",))
    assert (found.status, found.largest, found.cells, found.count) == ("moved", 0.5, 1, 3)
    assert found.place == {"hidden": 1}
    assert found.relative == pytest.approx(0.5 / ones.norm().item())


def test_what_is_no_number_is_compared_as_such() -> None:
    nan, inf = float("nan"), float("inf")
    ones = torch.tensor([nan, inf, 1.0, 2.0])
    assert movement(ones, ones.clone()).status == "equal"
    found = movement(ones, torch.tensor([nan, inf, nan, 2.0]))
    assert found.status == "moved" and found.cells == 1 and found.largest != found.largest
    assert found.place == {"axis 0": 2}
    assert movement(ones, torch.tensor([nan, inf, 1.0, inf])).largest == inf
    assert movement(torch.zeros(2), torch.ones(2)).relative == inf


def test_what_is_hidden_in_both_passes_does_not_count(scene: MakeScene) -> None:
    edited = scene(edits=["token:5=of"])
    assert edited.base is not None
    pairs = {pair.name: pair for pair in movements(edited.base.ledger, edited.ledger)}
    scores = pairs["encoder.blocks.0.attention.scores"]
    assert scores.first is not None and scores.second is not None
    assert not torch.equal(scores.first.value[:, :, :5], scores.second.value[:, :, :5])  # only at hidden sources
    assert scores.forward.count == 2 * 21 and scores.forward.cells <= 2 * 6


def test_names_of_two_passes_keep_both_orders() -> None:
    assert merged(["a", "b", "x", "c"], ["a", "y", "c", "d"]) == ["a", "b", "x", "y", "c", "d"]
    assert merged(["a"], []) == ["a"] and merged([], ["a"]) == ["a"]


def test_gradients_of_weights_move_with_them(scene: MakeScene) -> None:
    edited = scene(edits=[f"weight:{HIDDEN_MAP}.1.2=0.75"])
    assert edited.base is not None
    found = {pair.name: pair for pair in weight_movements(edited.base.subject.model, edited.subject.model)}
    assert found[HIDDEN_MAP].forward.cells == 1 and found[HIDDEN_MAP].forward.largest == 0.75
    assert all(pair.forward.status == "equal" for name, pair in found.items() if name != HIDDEN_MAP)
    before, after = (one.subject.model.get_parameter(HIDDEN_MAP).grad for one in (edited.base, edited))
    assert before is not None and after is not None
    assert found[HIDDEN_MAP].backward.largest == (after - before).abs().max().item()


# --- what moved ---


def test_the_page_says_how_many_moved_and_where_it_began(scene: MakeScene, studio: Studio) -> None:
    edited = scene(edits=["hide:3.1"], view="change")
    page = shown(edited, studio)
    assert edited.base is not None
    base, after = edited.base.ledger, edited.ledger
    difference = base.compare(after)
    assert difference is not None and difference.name == WEIGHTS
    hidden = {name: base.quantity(name).is_hidden() for name in base}
    equal = 0
    for name in base:
        first, second, cells = base.quantity(name).value, after.quantity(name).value, hidden[name]
        is_same = first == second
        equal += bool((is_same if cells is None else is_same | cells).all())
    moved = len(base) - equal
    words = f"Forward : of {len(base)} quantities {moved} moved and {equal} exactly equal, bit for bit. "
    assert f"{words}The first to differ is {WEIGHTS}" in page.text


def test_the_table_gives_the_largest_and_the_relative_change_of_each_quantity(scene: MakeScene, studio: Studio) -> None:
    edited = scene(edits=["token:2=miles"], view="change", every=1)
    assert edited.base is not None
    rows = [
        row
        for row in shown(edited, studio).rows("Quantities in the order of computation, before and after")
        if len(row) > 1
    ]
    names = edited.ledger.names()
    assert len(rows) == len(names)
    for name, row in zip(names, rows, strict=True):
        assert row[0].split()[0] == name.rpartition(".")[2]
        first, second = edited.base.ledger.quantity(name), edited.ledger.quantity(name)
        if first.value.is_floating_point() and first.is_hidden() is None and row[1] != "equal":
            change = second.value - first.value
            assert row[2] == format_number(change.abs().max().item())
            assert row[3] == f"{format_number(100 * (change.norm() / first.value.norm()).item())} %"
            back = second.sensitivity - first.sensitivity
            assert row[5] == format_number(back.abs().max().item()) or row[4] == "equal"


def test_only_what_moved_is_listed_until_all_is_asked_for(scene: MakeScene, studio: Studio) -> None:
    caption = "Quantities in the order of computation, before and after"
    some = shown(scene(edits=["target:2=miles"], view="change"), studio)
    every = shown(scene(edits=["target:2=miles"], view="change", every=1), studio)
    listed = [row for row in some.rows(caption) if len(row) > 1]
    assert len(listed) < len([row for row in every.rows(caption) if len(row) > 1])
    assert all(row[1] == "equal" for row in listed if not row[0].startswith(("per_position", "loss")))
    assert "every=1" in some.links["quantity-every"] and "every" not in every.links["quantity-every"]


def test_an_opened_quantity_is_shown_before_after_and_as_difference(scene: MakeScene, studio: Studio) -> None:
    edited = scene(edits=["hide:3.1"], view="change", quantity=WEIGHTS, grid=1)
    page = shown(edited, studio)
    assert edited.base is not None
    before, after = (one.ledger.quantity(WEIGHTS).value[0, 1] for one in (edited.base, edited))
    rows = {name: page.rows(f"Value, {name}, head 1") for name in ("before", "after", "difference")}
    for query in range(6):
        for source in range(6):
            cells = [rows[name][query][source + 1] for name in ("before", "after", "difference")]
            css_class = page.classes["Value, difference, head 1"][query + 2][source + 1]
            if source > query:
                assert cells == ["hidden"] * 3 and "moved" not in css_class
            elif (query, source) == (3, 1):
                assert cells == [format_number(before[3, 1].item()), "hidden", "now hidden"] and "moved" in css_class
            else:
                change = (after - before)[query, source].item()
                assert cells[:2] == [format_number(part[query, source].item()) for part in (before, after)]
                assert cells[2] == format_number(change)
                assert ("moved" in css_class) == (query == 3)


def test_a_quantity_that_only_one_pass_has_is_said_to_be_that(scene: MakeScene, studio: Studio) -> None:
    page = shown(scene(edits=["norm=post"], view="change", quantity="encoder.final_norm.mean"), studio)
    assert "Values are only before." in page.text and "5 only before" not in page.text.partition("Forward")[0]
    assert "Value, before" in page.tables and "Value, after" not in page.tables


def test_loss_and_predictions_are_those_of_the_two_passes(scene: MakeScene, studio: Studio) -> None:
    edited = scene(edits=["token:2=miles"], view="change")
    page = shown(edited, studio)
    rows = page.rows("Predictions step by step, before and after")
    assert [row[1] for row in rows] == ["journey", "of → miles", "a", "thousand", "miles", "begins"]
    assert edited.base is not None
    for one, column in ((edited.base, 4), (edited, 5)):
        logits = one.ledger.quantity("loss.logits").value[0]
        targets = one.subject.task.align(one.subject.batch).targets[0]
        losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
        assert [row[column] for row in rows] == [format_number(loss) for loss in losses.tolist()]
        best = [edited.subject.vocabulary[number] for number in logits.argmax(dim=1).tolist()]
        assert [row[column - 2].split()[0] for row in rows] == best
    assert f"Loss before {format_number(edited.base.trace.loss_nats)}" in page.text.replace("\xa0", " ")


def test_nothing_changed_says_so_and_moves_nothing(scene: MakeScene, studio: Studio) -> None:
    page = shown(scene(view="change"), studio)
    assert "Nothing is changed." in page.text and not page.tables
    page = shown(scene(view="change", edits=["visible=causal"]), studio)
    assert "of 40 quantities 40 exactly equal, bit for bit." in page.text and "0, exactly equal" in page.text


def test_nan_is_shown_as_nan(scene: MakeScene, studio: Studio) -> None:
    edited = scene(edits=[f"weight:{HIDDEN_MAP}.1.2=NaN"], view="change", quantity="encoder.blocks.0.mlp.preactivation")
    page = shown(edited, studio)
    assert "Loss after NaN" in page.text
    after, difference = page.rows("Value, after"), page.rows("Value, difference")
    assert [row[2] for row in after] == ["NaN"] * 6 and [row[2] for row in difference] == ["NaN"] * 6
    assert all("heat-nan moved" in row[2] for row in page.classes["Value, difference"][2:])


# --- forms ---


def test_every_form_makes_an_edit_that_can_be_applied(scene: MakeScene, studio: Studio) -> None:
    for model in ("worked", "rnn", "gru", "lstm", "transformer", "scalar"):
        here = scene(model, view="change", step=1, weight=_first_weight(scene(model)), place="0.0")
        page = shown(here, studio)
        kinds = set()
        for form in page.forms:
            made = [name for name in form if name.startswith(EDIT_FIELD)]
            assert len(made) <= 1
            for name in made:
                kinds.add(name.removeprefix(EDIT_FIELD).partition(":")[0])
                again = studio.scene(sent(form))
                assert again.base is not None
                # Each form shows what is so: sent as it stands, it changes nothing.
                assert again.base.ledger.compare(again.ledger) is None, name
        assert {"weight", "target"} <= kinds and ("value" if model == "scalar" else "token") in kinds
        assert ("norm" in kinds) == ("visible" in kinds) == (model in ("worked", "transformer"))
        assert ("activation" in kinds) == (model not in ("gru", "lstm"))


def _first_weight(scene: Scene) -> str:
    return next(name for name, part in scene.subject.model.named_parameters() if part.ndim == 2)


def test_a_form_replaces_the_edit_of_its_own_place_and_keeps_all_else(scene: MakeScene, studio: Studio) -> None:
    edits = ["token:2=miles", "norm=post", "token:1=of"]
    here = scene(edits=edits, view="change", step=2, every=1)
    page = shown(here, studio)
    (form,) = [one for one in page.forms if f"{EDIT_FIELD}token:2" in one]
    made = Address.parse(
        "change", [("model", "worked"), *[("edit", e) for e in _kept(here, "token:2")], ("every", "1")]
    )
    assert made.edits == ("norm=post", "token:1=of")
    assert form["every"] == "1" and form["step"] == "2"
    assert form[f"{EDIT_FIELD}token:2"] == "miles"  # what is read now


def _kept(scene: Scene, place: str) -> list[str]:
    return list(with_edit(scene.address.edits, f"{place}=a")[:-1])


def test_a_source_is_hidden_and_shown_again_by_its_link(scene: MakeScene, studio: Studio) -> None:
    page = shown(scene(view="change", step=3), studio)
    assert edits_of(page.links["change-source-1"]) == ["hide:3.1"]
    assert edits_of(page.links["change-source-5"]) == ["show:3.5"]
    page = shown(scene(view="change", step=3, edits=["hide:3.1", "norm=post"]), studio)
    assert edits_of(page.links["change-source-1"]) == ["norm=post"]
    page = shown(scene(view="change", step=3, edits=["padding=1"]), studio)
    assert "change-source-5" not in page.links and "5 padding: padding, never read" in page.text


def test_each_edit_can_be_undone_by_itself(scene: MakeScene, studio: Studio) -> None:
    edits = ["token:2=miles", "hide:3.1", "norm=post"]
    page = shown(scene(view="change", edits=edits, step=4), studio)
    assert edits_of(page.links["change-undo-1"]) == ["token:2=miles", "norm=post"]
    assert edits_of(page.links["change-undo-all"]) == []
    assert "step=4" in page.links["change-undo-1"]
    page = shown(scene(view="change", edits=["token:2=miles", "token:2=of"]), studio)
    assert "A later edit of the same place counts instead." in page.text


def test_a_weight_is_chosen_seen_and_changed(scene: MakeScene, studio: Studio) -> None:
    here = scene(view="change", weight=HIDDEN_MAP, place="1.2")
    page = shown(here, studio)
    weight = here.subject.model.get_parameter(HIDDEN_MAP)
    rows = page.rows(f"{HIDDEN_MAP}, 4 by 5")
    assert [row[1:] for row in rows] == [[format_number(v) for v in row] for row in weight.tolist()]
    pressed = [button for button in page.buttons if button.get("aria-pressed") == "true"]
    assert [button["value"] for button in pressed] == ["1.2"]
    (form,) = [one for one in page.forms if f"{EDIT_FIELD}weight:{HIDDEN_MAP}.1.2" in one]
    made = sent(form, **{f"{EDIT_FIELD}weight:{HIDDEN_MAP}.1.2": "0.75"})
    assert made.edits == (f"weight:{HIDDEN_MAP}.1.2=0.75",)
    assert studio.scene(made).subject.model.get_parameter(HIDDEN_MAP)[1, 2] == 0.75


def test_many_steps_are_windowed_around_the_chosen_one() -> None:
    labels = [f"w{step}" for step in range(512)]
    page = Page(str(step_links(Address("change"), labels, 300, "Choose a word")))
    steps = [int(name.removeprefix("change-step-")) for name in page.links]
    assert len(steps) <= 26 and steps == sorted(steps)
    assert {0, 511, *range(297, 304)} <= set(steps)


def test_the_page_has_names_for_everything_and_no_identifier_twice(scene: MakeScene, studio: Studio) -> None:
    for model in ("worked", "gru", "scalar"):
        here = scene(
            model, view="change", edits=["activation=tanh"] if model == "worked" else [], beside="lstm", every=1,
            quantity=WEIGHTS, weight=_first_weight(scene(model)), place="0.0",
        )  # fmt: skip
        page = shown(here, studio)
        assert len(page.identifiers) == len(set(page.identifiers))
        for field in page.fields:
            assert field.get("type") == "hidden" or field["id"] in page.labelled, field
        levels = [int(tag[1]) for tag in page.headings]
        assert levels[0] == 3 and all(after - before <= 1 for before, after in pairwise(levels))


# --- two models ---


def test_two_models_stand_side_by_side_with_what_only_one_has(scene: MakeScene, studio: Studio) -> None:
    here = scene("gru", view="change", beside="lstm", edits=["token:1=of"])
    other = scene("lstm", edits=["token:1=of"])
    page = shown(here, studio)
    names, others = set(here.ledger.names()), set(other.ledger.names())
    assert f"Of {len(names | others)} names both have {len(names & others)}." in page.text
    assert f"{len(names - others)} only in GRU, untrained, edited" in page.text
    assert f"{len(others - names)} only in LSTM, untrained" in page.text
    assert "encoder.recurrent.0.forget_gate" in page.text
    rows = page.rows("Predictions step by step, GRU, untrained, edited and LSTM, untrained")
    for one, column in ((here, 4), (other, 5)):
        losses = one.ledger.quantity("loss.per_position").value[0].tolist()
        assert [row[column] for row in rows] == [format_number(loss) for loss in losses]
    assert here.ledger.compare(other.ledger) is not None
    assert f"The first difference: {here.ledger.compare(other.ledger)}." in page.text


def test_a_pair_is_opened_side_by_side(scene: MakeScene, studio: Studio) -> None:
    here = scene("gru", view="change", beside="lstm", pair="inputs.embedding.output")
    page = shown(here, studio)
    before, after = page.rows("Value, GRU, untrained"), page.rows("Value, LSTM, untrained")
    expected = here.ledger.quantity("inputs.embedding.output").value[0]
    assert before == after and [row[1:] for row in before] == [
        [format_number(v) for v in row] for row in expected.tolist()
    ]


def test_models_that_read_something_else_get_a_line(scene: MakeScene, studio: Studio) -> None:
    page = shown(scene("scalar", view="change", beside="gru"), studio)
    assert "These two cannot stand side by side." in page.text
    page = shown(scene(view="change", beside="nothing"), studio)
    assert "clew explore: model must be one that is offered, got 'nothing'." in page.text


def test_words_of_every_edit_fit_a_link(scene: MakeScene) -> None:
    base = scene()
    for edit in ("token:2=miles", "visible=window-3", "hide:3.1", "padding=1", "norm=post", "target:2=a"):
        assert parse_edit(edit).words(base.subject, base.row)
