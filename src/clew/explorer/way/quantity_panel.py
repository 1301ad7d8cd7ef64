"""The quantity that is open: where it stands on the way, its equation, its numbers in colour, forward and backward.

Every number is a button that opens its arithmetic. Start with `quantity_panel`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from torch import Tensor

from clew.explorer.scene import Scene
from clew.explorer.way.cell_panel import cell_panel
from clew.explorer.way.picture import OPENED, identifier, link_to, title_of
from clew.explorer.way.quantity_choice import Choice
from clew.explorer.way.stations import Station, station_of
from clew.ledger.grids import flow_of
from clew.ledger.matrices import flow_table, matrix_table, pair_of_matrices
from clew.ledger.tables import shape_words
from clew.rendering.markup import element
from clew.rendering.mathml import equation_html
from clew.rendering.numbers import Value, format_number
from clew.rendering.page import definitions, fragments, paragraph

MOST_LINKS = 16
"""Places of an axis that have a link each; of more one is typed in."""


def quantity_panel(scene: Scene, stations: Sequence[Station], name: str) -> Markup:
    """Show a quantity of the way."""
    choice, station = Choice.read(scene, name), station_of(stations, name)
    quantity = scene.ledger.quantity(name)
    facts = [("Shape", shape_words(quantity))]
    facts += [("Variant", quantity.variant)] if quantity.variant else []
    facts += [("Source", quantity.source)] if quantity.source else []
    title = station.whole_title if station.group else title_of(scene, station)
    title = title_of(scene, station) if station.group == station.key else title
    heading = f"{title}: {station.words(name)}" if len(station.names) > 1 else title
    flow = flow_of(choice.quantity, choice.labels)
    return fragments(
        element("h3", {"id": OPENED}, heading),
        element("p", {"class": "address"}, element("code", None, name), *_other_view(scene, stations, station)),
        _siblings(scene, station, name),
        element("p", {"class": "way-equation"}, equation_html(quantity.equation, is_displayed=True)),
        element("div", {"class": "facts"}, definitions(facts)),
        paragraph(choice.missing) if choice.missing else Markup(""),
        cell_panel(choice),
        *_axis_choices(choice),
        _matrices(choice),
        *_side_forms(choice),
        flow_table(flow) if flow is not None else Markup(""),
        _neighbours(scene, name),
    )


def _other_view(scene: Scene, stations: Sequence[Station], station: Station) -> list[Markup]:
    """Lead to the view that shows the same layer in its own way."""
    link = scene.address.link
    if station.is_recurrent:
        href, words = link(view="recurrence", layer=station.key), "step by step in Recurrence"
    elif station.kind == "attention":
        layers = [one.key for one in stations if one.kind == "attention"]
        href, words = link(view="attention", layer=layers.index(station.key)), "heads side by side in Attention"
    else:
        return []
    return [Markup(" · "), element("a", {"href": href, "id": "other-view"}, words)]


def _siblings(scene: Scene, station: Station, name: str) -> Markup:
    """Link the quantities of the same box."""
    if len(station.names) < 2:
        return Markup("")
    links = (
        _choice_link(station.words(one), link_to(scene, one), f"of-{identifier(one)}", one == name)
        for one in station.names
    )
    return _choices(f"Quantities of {station.whole_title.lower()}", "", links)


def _axis_choices(choice: Choice) -> list[Markup]:
    """Let a place be chosen on each axis that the matrix leaves out, such as the head."""
    found: list[Markup] = []
    for axis, size, place in choice.axes_ahead:
        if size > MOST_LINKS:
            found.append(_place_form(choice, axis, f"{axis}, 0 to {size - 1}", size, place, ("cell",)))
        elif size > 1:
            links = (
                _choice_link(str(one), link_to(choice.scene, choice.name, **{axis: one}), f"{axis}-{one}", one == place)
                for one in range(size)
            )
            found.append(_choices(f"Choose a {axis}", axis, links))
    return found


def _side_forms(choice: Choice) -> list[Markup]:
    """Let the places be moved that a long side shows."""
    return [
        _place_form(choice, name, f"Show {side.axis} around", len(side.labels), None, ())
        for name, side in choice.cut_sides
    ]


def _place_form(choice: Choice, name: str, label: str, size: int, place: int | None, but: tuple[str, ...]) -> Markup:
    address, own = choice.scene.address, f"choose-{name}"
    value = address.shown.get(name) if place is None else str(place)
    box = {"id": own, "name": name, "type": "number", "min": "0", "max": str(size - 1), "value": value}
    return element(
        "form", {"method": "get", "action": address.path, "class": "inline place"},
        address.hidden_inputs(name, *but),
        element("div", {"class": "field"}, element("label", {"for": own}, label), _input(box)),
        element("button", {"id": f"{own}-show"}, "Show"),
    )  # fmt: skip


def _input(attributes: dict[str, str | None]) -> Markup:
    return Markup(str(element("input", attributes)).removesuffix("</input>"))


def _choices(label: str, words: str, links: Iterable[Markup]) -> Markup:
    lead = [element("span", {"class": "label", "aria-hidden": "true"}, words)] if words else []
    return element("nav", {"class": "way-choices", "aria-label": label}, *lead, *links)


def _choice_link(words: str, href: str, own: str, is_chosen: bool) -> Markup:
    attributes = {"href": href, "id": own, "aria-current": "true" if is_chosen else None}
    return element("a", attributes, words)


def _matrices(choice: Choice) -> Markup:
    """Show values and sensitivities side by side, each number a button."""
    quantity = choice.quantity
    sensitivity = None
    if quantity.has_sensitivity:
        sensitivity = _form(choice, _Live(choice, "Sensitivity").table(quantity.sensitivity))
    return pair_of_matrices(quantity, _form(choice, _Live(choice, "Value").table(quantity.value)), sensitivity)


def _form(choice: Choice, table: Markup) -> Markup:
    address = choice.scene.address
    hidden = address.hidden_inputs("cell")
    return element("form", {"method": "get", "action": address.path, "class": "way-cells"}, hidden, table)


@dataclass(frozen=True, eq=False)
class _Live:
    """A matrix whose cells are buttons."""

    choice: Choice
    what: str

    def table(self, values: Tensor) -> Markup:
        choice = self.choice
        return matrix_table(
            self.what, choice.frame, choice.cells(values), choice.scale(values), self.button, {"data-grid": ""}
        )

    def button(self, row: int, column: int, value: Value) -> Markup:
        index = ".".join(map(str, self.choice.index(row, column)))
        is_open = self.choice.open_place == (row, column)
        attributes = {"name": "cell", "value": index, "id": f"{self.what.lower()}-{index}"}
        attributes |= {"aria-current": "true"} if is_open else {}
        return element("button", attributes, format_number(value))


def _neighbours(scene: Scene, name: str) -> Markup:
    """Lead on along the way."""
    names = scene.ledger.names()
    place = names.index(name)
    links: list[Markup] = []
    if place > 0:
        before = names[place - 1]
        links.append(element("a", {"href": link_to(scene, before), "id": "before"}, f"← {before}"))
    if place + 1 < len(names):
        after = names[place + 1]
        links.append(element("a", {"href": link_to(scene, after), "id": "after"}, f"{after} →"))
    return element("nav", {"class": "way-neighbours", "aria-label": "Before and after in the computation"}, *links)
