"""The markup of a view without anything that asks the server: what a file that stands alone can hold.

The content of cells and what was chosen stay as text; other choices, controls that only change something, whatever is
marked `data-live`, and the elements that these leave empty go. Links within the page stay links; those that lead
elsewhere keep their text. Start with `inert`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markupsafe import Markup

from clew.rendering.markup import element, joined, text

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_GONE = frozenset({"script", "noscript", "template", "link", "meta", "img", "dialog"})
_FOLDED = frozenset({"div", "p", "ul", "ol", "li", "dl", "fieldset", "label", "span", "form", "figure", "aside", "nav"})
"""Elements that go when a control was all that they held."""
_HOLDERS = frozenset({"div", "p", "ul", "ol", "nav", "fieldset"})
_DRAWN = frozenset({"table", "svg", "math", "hr"})
_UNTYPED = ("hidden", "submit", "reset", "button", "image", "file", "password")
_DROPPED = ("target", "contenteditable", "accesskey", "draggable", "aria-controls", "aria-owns", "aria-expanded")
_DROPPED_BEGINNINGS = ("hx-", "on", "data-")


@dataclass(eq=False)
class _Node:
    """An element, its attributes as they were read, and what it holds."""

    tag: str
    given: Mapping[str, str | None] = field(default_factory=dict)
    parts: "list[_Node | Markup]" = field(default_factory=list)

    def walk(self) -> "Iterator[_Node]":
        """Give this element and all within it."""
        yield self
        for part in self.parts:
            if isinstance(part, _Node):
                yield from part.walk()

    @property
    def words(self) -> str:
        """The text within."""
        return "".join(part.words if isinstance(part, _Node) else part for part in self.parts).strip()


class _Reader(HTMLParser):
    """Reads markup into elements; text stays escaped as it was."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.root = _Node("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = _Node(_TAGS.get(tag, tag), {_ATTRIBUTES.get(name, name): value for name, value in attrs})
        self.open[-1].parts.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if any(node.tag.lower() == tag for node in self.open[1:]):
            while self.open.pop().tag.lower() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(Markup(data))

    def handle_entityref(self, name: str) -> None:
        self.open[-1].parts.append(Markup(f"&{name};"))

    def handle_charref(self, name: str) -> None:
        self.open[-1].parts.append(Markup(f"&#{name};"))


_TAGS = {"foreignobject": "foreignObject", "lineargradient": "linearGradient", "clippath": "clipPath"}
_ATTRIBUTES = {
    name.lower(): name
    for name in ("viewBox", "preserveAspectRatio", "markerWidth", "markerHeight", "refX", "refY", "gradientUnits")
}
"""Names of SVG that the parser of the standard library writes small."""


def identifiers(markup: Markup) -> set[str]:
    """Give the places of a section that a link can lead to."""
    return {f"{node.given['id']}" for node in _read(markup).walk() if "id" in node.given}


def inert(markup: Markup, places: Collection[str] = ()) -> Markup:
    """Give the markup of a section for a file; `places` are those of the other sections, which links may lead to.

    >>> print(inert(Markup('<form><input type="hidden"><p><a href="/way">0.5</a></p><button>Go</button></form>')))
    <div><p><a>0.5</a></p></div>
    """
    root = _read(markup)
    _drop_choices(root)
    own = {f"#{place}" for place in identifiers(markup).union(places)}
    return joined(_written(part, own, False) for part in root.parts)


def _read(markup: Markup) -> _Node:
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.root


def _drop_choices(root: _Node) -> None:
    """Of links among which one is taken, leave that one."""
    for holder in root.walk():
        if holder.tag not in _HOLDERS:
            continue
        within = list(holder.walk())
        is_outer = any(one.tag in _HOLDERS and one is not holder and _has_taken(one) for one in within)
        if is_outer or not _has_taken(holder) or any(one.tag in _DRAWN for one in within):
            continue
        for link in within:
            if link.tag == "a" and not _is_taken(link):
                link.given = {"data-live": ""}


def _has_taken(part: _Node) -> bool:
    return any(one.tag == "a" and _is_taken(one) for one in part.walk())


def _written(part: _Node | Markup, own: set[str], is_in_table: bool) -> Markup:
    if isinstance(part, Markup):
        return part
    if part.tag in _GONE or _is_for_editing(part):
        return Markup("")
    is_in_table = is_in_table or part.tag == "table"
    inside = [_written(one, own, is_in_table) for one in part.parts]
    if part.tag in _CONTROLS:
        return _CONTROLS[part.tag](part, inside, is_in_table)
    if part.tag in _FOLDED and part.parts and not any(one.strip() for one in inside):
        return Markup("")
    if part.tag in VOID:
        return Markup(element(part.tag, _kept(part)).removesuffix(f"</{part.tag}>"))
    if part.tag in ("form", "label"):
        return element("div" if part.tag == "form" else "span", _look(part), *inside)
    if part.tag == "a":
        link = part.given.get("href")
        return element("a", {**_kept(part), "href": link} if link in own else _look(part), *inside)
    return element(part.tag, _kept(part), *inside)


def _button(part: _Node, inside: Sequence[Markup], is_in_table: bool) -> Markup:
    """Give the number that opens, or the choice that is taken; what another button would do is no content."""
    if is_in_table:
        look = _look(part)
        return element("span", look | {"class": f"{look.get('class', '')} cell-text".strip()}, *inside)
    return element("span", _look(part), *inside) if _is_taken(part) else Markup("")


def _select(part: _Node, inside: Sequence[Markup], is_in_table: bool) -> Markup:
    options = [node for node in part.walk() if node.tag == "option"]
    chosen = [node for node in options if "selected" in node.given] or options[:1]
    return _chosen(Markup(", ".join(node.words for node in chosen)))


def _input(part: _Node, inside: Sequence[Markup], is_in_table: bool) -> Markup:
    kind = part.given.get("type") or "text"
    if kind in _UNTYPED:
        return Markup("")
    if kind in ("checkbox", "radio"):
        return Markup("☑ " if "checked" in part.given else "☐ ")
    return _chosen(text(part.given.get("value") or ""))


def _textarea(part: _Node, inside: Sequence[Markup], is_in_table: bool) -> Markup:
    return _chosen(Markup(part.words))


def _chosen(words: Markup) -> Markup:
    return element("span", {"class": "chosen"}, words) if words else words


_CONTROLS: Mapping[str, Callable[[_Node, Sequence[Markup], bool], Markup]] = {
    "button": _button,
    "select": _select,
    "input": _input,
    "textarea": _textarea,
}


def _is_for_editing(part: _Node) -> bool:
    """Say whether an element is there only to change something: marked so, or a form of edits without a picture."""
    if "data-live" in part.given:
        return True
    if part.tag != "form":
        return False
    within = list(part.walk())
    fields = [node for node in within if node.tag in _CONTROLS and node.given.get("type") != "hidden"]
    has_edit = any((node.given.get("name") or "").startswith("edit") for node in fields)
    return has_edit and not any(node.tag in _DRAWN for node in within)


def _kept(part: _Node) -> dict[str, str | float | int | None]:
    """Leave out the attributes that make an element do something."""
    return {
        name: "" if value is None else value
        for name, value in part.given.items()
        if name not in _DROPPED
        and not name.startswith(_DROPPED_BEGINNINGS)
        and (name != "tabindex" or part.given.get("role") == "region")
        and (name != "href" or part.tag == "use")
    }


def _look(part: _Node) -> dict[str, str | float | int | None]:
    """Keep only what an element looks like and where it is: it is no longer what its role and label said."""
    kept: dict[str, str | float | int | None] = {
        name: part.given.get(name) or "" for name in ("id", "class", "title") if name in part.given
    }
    return kept | {"class": f"{kept.get('class', '')} chosen".strip()} if _is_taken(part) else kept


def _is_taken(part: _Node) -> bool:
    taken = part.given.get("aria-pressed") or part.given.get("aria-current") or "false"
    return taken != "false"
