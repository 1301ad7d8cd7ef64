"""The address of a page holds the whole view: what is read, every edit, and what is opened.

    /way?model=worked&text=a+journey&edit=token:1%3Dmiles&quantity=encoder.blocks.0.attention.weights

So a link restores exactly what somebody saw, two tabs never disturb each other, and undo is the address with one edit
fewer. A form that adds an edit has a hidden input for everything else (`hidden_inputs`) and either a button
`name="edit" value="hide:3.1"` or a field `name="edit:token:2"` whose content is the value. Start with `Address.parse`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from urllib.parse import urlencode

from markupsafe import Markup

from clew.errors import complain
from clew.explorer import limits
from clew.explorer.faults import ExplorerError
from clew.rendering.markup import element, joined

DEFAULT_MODEL = "worked"
WHERE = "clew explore"
EDIT_FIELD = "edit:"
"""Begins the name of a field whose content is the value of an edit."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_MODEL = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_NUMBER = re.compile(r"[0-9]{1,6}")
_OWN = ("model", "text", "row", "edit")


@dataclass(frozen=True)
class Address:
    """One view.

    Attributes:
        view: Its name, such as "way".
        model: Key of a model that the server offers.
        text: What is read; None for what the model reads by default.
        row: Which row, sequence or episode.
        edits: In the order in which they were made.
        shown: The view's own parameters, such as which quantity is open.
    """

    view: str
    model: str = DEFAULT_MODEL
    text: str | None = None
    row: int = 0
    edits: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The address without its query: the `action` of a form that stays in the view."""
        return f"/{self.view}"

    @property
    def key(self) -> tuple[str, str | None, int, tuple[str, ...]]:
        """What decides the numbers: everything but the view."""
        return self.model, self.text, self.row, self.edits

    def pairs(self) -> list[tuple[str, str]]:
        """Give the query, name by name, in the order in which it is always written."""
        own = [("model", self.model)]
        own += [("text", self.text)] if self.text is not None else []
        own += [("row", str(self.row))] if self.row else []
        return [*own, *(("edit", edit) for edit in self.edits), *self.shown.items()]

    @property
    def url(self) -> str:
        """Write the address of exactly this view."""
        return f"{self.path}?{urlencode(self.pairs())}"

    def link(
        self,
        *,
        view: str | None = None,
        model: str | None = None,
        text: str | EllipsisType | None = ...,
        row: int | None = None,
        edits: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        **shown: str | int | None,
    ) -> str:
        """Write the address of a view near this one.

        Args:
            view: Another view, which begins with none of this one's parameters.
            model: Another model.
            text: Another text; None for the model's own.
            row: Another row.
            edits: All edits of the other view.
            drop: Parameters of the view to leave out.
            shown: Parameters of the view to set; None leaves one out.

        >>> Address("way", shown={"quantity": "head"}).link(cell="0.1", quantity=None)
        '/way?model=worked&cell=0.1'
        """
        kept = {} if view not in (None, self.view) else {k: v for k, v in self.shown.items() if k not in drop}
        kept |= {name: str(value) for name, value in shown.items() if value is not None}
        other = Address(
            self.view if view is None else view,
            self.model if model is None else model,
            self.text if isinstance(text, EllipsisType) else text,
            self.row if row is None else row,
            self.edits if edits is None else tuple(edits),
            {name: value for name, value in kept.items() if name not in shown or shown[name] is not None},
        )
        return other.url

    def hidden_inputs(self, *but: str) -> Markup:
        """Give what a form of this view must carry along, except the parameters in `but`."""
        return joined(
            element("input", {"type": "hidden", "name": name, "value": value})
            for name, value in self.pairs()
            if name not in but
        )

    def with_edits(self, edits: Sequence[str]) -> "Address":
        """Give the same view with other edits."""
        return replace(self, edits=tuple(edits))

    @classmethod
    def parse(cls, view: str, query: Sequence[tuple[str, str]]) -> "Address":
        """Read a query.

        Raises:
            ExplorerError: If a parameter is malformed, too long, or given twice.

        >>> Address.parse("way", [("model", "gru"), ("edit:token:1", "miles"), ("cell", "2.0")]).url
        '/way?model=gru&edit=token%3A1%3Dmiles&cell=2.0'
        """
        single = _single([(name, value) for name, value in query if not name.startswith("edit")])
        edits = _edits([(name, value) for name, value in query if name.startswith("edit")])
        # Browsers send the lines of a field with both signs; what they show, and count, has one.
        text = single.get("text", "").replace("\r\n", "\n")
        _require_short("text", text, limits.MOST_TEXT)
        model = single.get("model") or DEFAULT_MODEL
        if not _MODEL.fullmatch(model):
            raise ExplorerError(complain(WHERE, "model", "the name of one that is offered", _quoted(model)))
        row = single.get("row") or "0"
        if not _NUMBER.fullmatch(row):
            raise ExplorerError(complain(WHERE, "row", f"a whole number in [0, {limits.MOST_ROW}]", _quoted(row)))
        shown = {name: value for name, value in single.items() if name not in _OWN}
        _require_shown(shown)
        return cls(view, model, text if text.strip() else None, int(row), edits, shown)


def _single(query: Sequence[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in query:
        if found.get(name, value) != value:
            raise ExplorerError(complain(WHERE, _quoted(name), "given once", "several"))
        found[name] = value
    return found


def _edits(query: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Read the edits; what a field says of a place that an earlier edit changed takes that one's place."""
    edits: list[str] = []
    for name, value in query:
        is_field = name.startswith(EDIT_FIELD)
        if not is_field and name != "edit":
            raise ExplorerError(complain(WHERE, "parameter", "a known one", _quoted(name), "Did you mean 'edit'?"))
        if is_field and not value.strip():
            continue
        edit = f"{name.removeprefix(EDIT_FIELD)}={value.strip()}" if is_field else value
        _require_short("edit", edit, limits.MOST_EDIT)
        if is_field:
            edits = [one for one in edits if one.partition("=")[0] != edit.partition("=")[0]]
        edits.append(edit)
    if len(edits) > limits.MOST_EDITS:
        rule, got = f"at most {limits.MOST_EDITS}", f"{len(edits)}"
        raise ExplorerError(complain(WHERE, "edits", rule, got, "Undo some."), 413)
    return tuple(edits)


def _require_shown(shown: Mapping[str, str]) -> None:
    if len(shown) > limits.MOST_SHOWN:
        rule = f"at most {limits.MOST_SHOWN}"
        raise ExplorerError(complain(WHERE, "parameters of a view", rule, len(shown)), 413)
    for name, value in shown.items():
        if not _NAME.fullmatch(name):
            raise ExplorerError(complain(WHERE, "parameter", "a word of small letters", _quoted(name)))
        _require_short(name, value, limits.MOST_VALUE)


def _require_short(name: str, value: str, most: int) -> None:
    if len(value) > most:
        raise ExplorerError(complain(WHERE, name, f"at most {most} characters", len(value), "Shorten it."), 413)


def _quoted(value: str) -> str:
    return f"'{value if len(value) <= 40 else value[:39] + '…'}'"
