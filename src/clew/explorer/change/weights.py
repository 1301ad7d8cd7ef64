"""Forms for a single weight: choose a parameter, see its matrix, press a cell, write another number.

The cells are buttons of one form; the pressed one is `place` among the parameters. Large matrices show their first and
last rows and columns, and any cell opens by its place.
"""

from markupsafe import Markup
from torch import Tensor, nn

from clew.explorer.address import Address
from clew.explorer.change.forms import card, edit_form, entry, option, view_form
from clew.explorer.scene import Scene
from clew.ledger.grids import cut_words, window
from clew.rendering.colours import HeatScale, diverging
from clew.rendering.markup import element
from clew.rendering.numbers import format_number
from clew.rendering.page import fragments, paragraph
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_ROWS, MOST_COLUMNS = 16, 12


def weight_card(scene: Scene) -> Markup:
    """Give the list of parameters; for a chosen one its matrix, for a pressed cell the form that changes it."""
    address, parameters = scene.address, dict(scene.subject.model.named_parameters())
    name = address.shown.get("weight", "")
    name = name if name in parameters else next(iter(parameters), "")
    if not name:
        return card("A weight", paragraph("This model has no weights."))
    field = element(
        "select",
        {"name": "weight", "id": "change-weight"},
        *(option(known, f"{known} {_shape(part)}", known == name) for known, part in parameters.items()),
    )
    choose = view_form(address, "weight", "Parameter", field, "Show", "place")
    if "weight" not in address.shown:
        return card("A weight", choose)
    weight = parameters[name].detach()
    index = _index(address, weight)
    parts = [choose, _matrix(address, name, weight, index)]
    parts += [_place_form(address, weight), *([_cell_form(address, name, weight, index)] if index is not None else [])]
    return card("A weight", *parts, is_wide=True)


def _shape(part: nn.Parameter) -> str:
    return "×".join(map(str, part.shape))


def _index(address: Address, weight: Tensor) -> tuple[int, ...] | None:
    parts = address.shown.get("place", "").split(".")
    if len(parts) != weight.ndim or not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        return None
    index = tuple(map(int, parts))
    return index if all(at < size for at, size in zip(index, weight.shape, strict=True)) else None


def _matrix(address: Address, name: str, weight: Tensor, index: tuple[int, ...] | None) -> Markup:
    """Show a parameter as a table whose cells are buttons; a vector is one row."""
    rows = weight.reshape(1, -1) if weight.ndim < 2 else weight.reshape(-1, weight.shape[-1])
    down, across = window(rows.shape[0], MOST_ROWS), window(rows.shape[1], MOST_COLUMNS)
    scale = diverging(rows.flatten().tolist())
    columns = [Column("out \\ in" if weight.ndim > 1 else "", "left")]
    columns += [Column("…" if at is None else str(at)) for at in across]
    body = [
        ["…", *[""] * len(across)]
        if place is None
        else [str(place) if weight.ndim > 1 else "", *_buttons(rows, weight, place, across, scale, index)]
        for place in down
    ]
    cuts = [cut_words("row", down, rows.shape[0]), cut_words("column", across, rows.shape[1])]
    table = Table(f"{name}, {_shape_words(weight)}", columns, [Group(body)], [cut for cut in cuts if cut])
    return element(
        "form",
        {"method": "get", "action": address.path, "class": "matrices change-weights"},
        address.hidden_inputs("place"),
        table_html(table, {"data-grid": ""}),
    )


def _shape_words(weight: Tensor) -> str:
    return " by ".join(map(str, weight.shape)) or "a single number"


def _buttons(
    rows: Tensor,
    weight: Tensor,
    place: int,
    across: list[int | None],
    scale: HeatScale,
    index: tuple[int, ...] | None,
) -> list[str | Cell]:
    found: list[str | Cell] = []
    for at in across:
        if at is None:
            found.append("…")
            continue
        value = rows[place, at].item()
        own = (place, at)[2 - weight.ndim :] if weight.ndim <= 2 else None
        written = format_number(value)
        css_class = scale.classes_of([value])[0]
        if own is None:
            found.append(Cell((written,), css_class=css_class))
            continue
        where = ".".join(map(str, own))
        button = element(
            "button",
            {
                "name": "place",
                "value": where,
                "id": f"change-place-{where}",
                "aria-label": f"{', '.join(map(str, own))}: {written}",
                "aria-pressed": "true" if own == index else "false",
            },
            written,
        )
        found.append(Cell((button,), css_class=css_class))
    return found


def _place_form(address: Address, weight: Tensor) -> Markup:
    if weight.numel() <= MOST_ROWS * MOST_COLUMNS or weight.ndim > 2:
        return Markup("")
    given = address.shown.get("place", "")
    attributes: dict[str, str | float | int | None] = {
        "type": "text", "name": "place", "id": "change-place", "value": given, "size": 10, "autocomplete": "off",
    }  # fmt: skip
    return view_form(address, "place", "Any other cell, such as 20.3", element("input", attributes), "Open")


def _cell_form(address: Address, name: str, weight: Tensor, index: tuple[int, ...]) -> Markup:
    where = ".".join(map(str, index))
    edit = f"weight:{name}.{where}" if where else f"weight:{name}"
    value = weight[index].item()
    label = f"{name}[{', '.join(map(str, index))}]"
    return fragments(edit_form(address, edit, label, entry(edit, repr(value) if value == value else "NaN"), "Change"))
