"""A way of boxes from top to bottom: each box a link, between two boxes an arrow down and one back up, both labelled.

Boxes are HTML, so that links are links and words wrap on a narrow screen; arrows are inline SVG. Parts may be framed as
a group, stand side by side, or be passed by: a line on the left leads around them, and one on the right leads back.
It knows no model. Start with `flow_html`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clew.rendering.markup import element, joined


@dataclass(frozen=True)
class Place:
    """Something that can be opened.

    Attributes:
        words: Its name.
        href: Where it leads; None for something that does not open.
        identifier: Stays the same from page to page, so that the focus can be kept.
        is_open: Whether it is what is open now.
        title: For the pointer, where the words are short.
    """

    words: str
    href: str | None = None
    identifier: str | None = None
    is_open: bool = False
    title: str | None = None


@dataclass(frozen=True)
class Box:
    """One station: its place, a line below it, and rows of smaller places inside."""

    place: Place
    note: str = ""
    inside: Sequence[Sequence[Place]] = ()


@dataclass(frozen=True)
class Label:
    """What stands at an arrow, for the eye and, in `spoken`, for the ear; `css_class` may be a heat class."""

    words: str
    spoken: str
    css_class: str = ""


@dataclass(frozen=True)
class Border:
    """What crosses between two stations: on the way down, and on the way back; None leaves an arrow out."""

    down: Label | None
    up: Label | None


@dataclass(frozen=True)
class Bypass:
    """Parts that are passed by, and what takes the line around them back up."""

    inside: "Sequence[Part]"
    up: Label | None


@dataclass(frozen=True)
class Beside:
    """Ways that run side by side."""

    ways: "Sequence[Sequence[Part]]"


@dataclass(frozen=True)
class Group:
    """Parts in a frame with a heading."""

    place: Place
    inside: "Sequence[Part]"


Part = Box | Border | Bypass | Beside | Group


def flow_html(parts: Sequence[Part], label: str) -> Markup:
    """Draw the way; `label` says what it shows."""
    return element("div", {"class": "flow", "role": "group", "aria-label": label}, _parts(parts))


def _parts(parts: Sequence[Part]) -> Markup:
    return joined(map(_part, parts))


def _part(part: Part) -> Markup:
    if isinstance(part, Border):
        return _border(part)
    if isinstance(part, Box):
        return _box(part)
    if isinstance(part, Bypass):
        return _bypass(part)
    if isinstance(part, Beside):
        ways = (element("div", {"class": "flow-way"}, _parts(way)) for way in part.ways)
        return element("div", {"class": "flow-beside"}, *ways)
    heading = element("p", {"class": "flow-heading"}, _place(part.place, "flow-name"))
    return element(
        "div", {"class": "flow-group", "role": "group", "aria-label": part.place.words}, heading, _parts(part.inside)
    )


def _box(box: Box) -> Markup:
    content = [element("span", {"class": "flow-title"}, box.place.words)]
    content += [element("span", {"class": "flow-note"}, box.note)] if box.note else []
    head = _place(box.place, "flow-head", *content)
    rows = (element("div", {"class": "flow-row"}, *(_place(one, "flow-part") for one in row)) for row in box.inside)
    inside = element("div", {"class": "flow-inside"}, *rows) if box.inside else Markup("")
    open_class = "flow-box open" if box.place.is_open or _has_open(box) else "flow-box"
    return element("div", {"class": open_class}, head, inside)


def _has_open(box: Box) -> bool:
    return any(place.is_open for row in box.inside for place in row)


def _place(place: Place, css_class: str, *content: Markup) -> Markup:
    attributes: dict[str, str | None] = {"class": css_class, "id": place.identifier, "title": place.title}
    inside = content or (Markup(element("span", None, place.words)),)
    if place.href is None:
        return element("span", attributes, *inside)
    return element("a", {**attributes, "href": place.href, "aria-current": "true" if place.is_open else None}, *inside)


def _border(border: Border) -> Markup:
    down = [_label(border.down, "down"), _arrow("down")] if border.down else []
    up = [_arrow("up"), _label(border.up, "up")] if border.up else []
    return element(
        "div", {"class": "flow-border"}, element("div", {"class": "flow-down"}, *down),
        element("div", {"class": "flow-up"}, *up),
    )  # fmt: skip


def _label(label: Label, direction: str) -> Markup:
    classes = f"flow-label {label.css_class}".strip()
    spoken = element("span", {"class": "flow-spoken"}, f"{direction}: {label.spoken}")
    return element("span", {"class": classes}, element("span", {"aria-hidden": "true"}, label.words), spoken)


def _arrow(direction: str) -> Markup:
    """Draw an arrow over the whole height of its border: a line that stretches, and a head that does not."""
    start, head = ("0", "M1 33L6 40L11 33") if direction == "down" else ("40", "M1 7L6 0L11 7")
    shapes = (
        element("line", {"x1": 6, "y1": start, "x2": 6, "y2": 40 - int(start), "class": "flow-line"}),
        element("path", {"d": head, "class": "flow-tip"}),
    )
    attributes = {"class": f"flow-arrow {direction}", "viewBox": "0 0 12 40", "width": 12, "height": 40}
    return element("svg", attributes | {"aria-hidden": "true", "focusable": "false"}, *shapes)


def _bypass(bypass: Bypass) -> Markup:
    up = element("div", {"class": "flow-rail-label"}, _label(bypass.up, "up, around")) if bypass.up else Markup("")
    rails = element("div", {"class": "flow-rail down", "aria-hidden": "true"})
    rails += element("div", {"class": "flow-rail up", "aria-hidden": "true"}) + up if bypass.up else Markup("")
    return element(
        "div", {"class": "flow-bypass"}, rails, element("div", {"class": "flow-passed"}, _parts(bypass.inside))
    )
