"""The whole way of one input through a model as a picture, forward and backward: boxes that open, borders with labels.

On the way down stand the shapes of what crosses a border, on the way back the norm of its sensitivity. Of many blocks
only the one that is open is drawn in full. Start with `picture`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from markupsafe import Markup

from clew.explorer.scene import Scene
from clew.explorer.way.stations import Station, group_title, station_of
from clew.ledger.quantity import Quantity
from clew.ledger.tables import shape_words
from clew.models.patch_input import PatchInput
from clew.rendering.colours import HeatScale, sequential
from clew.rendering.flow import Beside, Border, Box, Bypass, Group, Label, Part, Place, flow_html
from clew.rendering.mathml import equation_html
from clew.rendering.numbers import finite, format_number

MOST_WHOLE = 2
"""Blocks that are all drawn in full; of more only the open one is."""
MOST_HEADS = 8
"""Heads with a place of their own in a box."""
_INSIDE = {
    "attention": (("query", "key", "value"), ("scores", "scaled_scores", "weights"), ("context", "joined", "output")),
    "mlp": (("preactivation", "hidden", "output_map.output"),),
}
_MOST_WORDS = 8
OPENED = "opened"
"""Identifier of what a narrow page moves to when a box opens."""


def picture(scene: Scene, stations: Sequence[Station], quantity: str, head: int | None) -> Markup:
    """Draw the way.

    Args:
        scene: What ran.
        stations: Of all its quantities.
        quantity: The one that is open.
        head: Which head of it is open, if it has heads.
    """
    return _Picture(scene, stations, quantity, head).drawn()


def link_to(scene: Scene, quantity: str, **shown: int | str | None) -> str:
    """Write the address that opens a quantity; the cell that was open is closed, the head stays."""
    chosen: dict[str, int | str | None] = {"quantity": quantity, "cell": None, "down": None, "across": None, **shown}
    return f"{scene.address.link(**chosen)}#{OPENED}"  # pyright: ignore[reportArgumentType]


def identifier(name: str) -> str:
    """Make a name of the ledger an identifier on a page."""
    return name.replace("#", "-again-").replace(".", "-")


def title_of(scene: Scene, station: Station) -> str:
    """Name a station; a recurrent layer by its kind."""
    if not station.is_recurrent or station.is_direction:
        return station.title
    kind = type(scene.subject.model.get_submodule(station.key)).__name__.removesuffix("Layer")
    return f"{kind} layer {station.key.rpartition('.')[2]}"


def norm_of_row(scene: Scene, name: str) -> float | None:
    """Give the norm of a sensitivity in the row that is shown; None where there is none."""
    quantity = row_of(scene, name)
    return quantity.sensitivity.double().norm().item() if quantity.has_sensitivity else None


def row_of(scene: Scene, name: str) -> Quantity:
    """Give a quantity in the row that is shown."""
    quantity = scene.ledger.quantity(name)
    return quantity.at(batch=scene.row) if "batch" in quantity.axes else quantity


def size_words(quantity: Quantity) -> str:
    """Write a shape for an arrow: "time 6 × features 5"."""
    return shape_words(quantity).replace(", ", " × ")


@dataclass(frozen=True, eq=False)
class _Picture:
    """Draws the stations of a scene."""

    scene: Scene
    stations: Sequence[Station]
    quantity: str
    head: int | None

    def drawn(self) -> Markup:
        parts: list[Part] = [*self._entry()]
        for group, own in groupby(self.stations, lambda station: station.group):
            members = list(own)
            is_framed = group and (len(members) > 1 or members[0].key != group)
            parts += self._framed(group, members) if is_framed else self._way(members)
        parts += self._exit()
        return flow_html(_without_last_border(parts), "The way of the input through the model")

    @cached_property
    def scale(self) -> HeatScale:
        """Colours of the norms on the way back."""
        norms = [finite(norm_of_row(self.scene, station.border)) or 0.0 for station in self.stations[:-1]]
        return sequential(0.0, max(norms, default=0.0) or 1.0)

    @cached_property
    def opened(self) -> Station:
        """The station of the open quantity."""
        return station_of(self.stations, self.quantity)

    @cached_property
    def whole_groups(self) -> set[str]:
        """The blocks and layers that are drawn in full."""
        groups = [group for group, _ in groupby(self.stations, lambda station: station.group) if group]
        return set(groups) if len(groups) <= MOST_WHOLE else {self.opened.group or groups[0]}

    def _entry(self) -> list[Part]:
        """Show what the model is given where it is no token."""
        first, batch = self.stations[0], self.scene.subject.batch
        if first.key == "inputs.embedding.ids":
            return []
        is_image = isinstance(self.scene.subject.model.inputs, PatchInput)
        axes = ("channels", "height", "width") if is_image else ("time", "features")
        words = " × ".join(f"{axis} {size}" for axis, size in zip(axes, batch.inputs.shape[1:], strict=False))
        return [Box(Place("Image" if is_image else "Numbers")), Border(Label(words, words), None)]

    def _exit(self) -> list[Part]:
        """Show the loss of a task that the ledger has no quantities of."""
        loss = self.scene.trace.loss_nats
        if loss is None or self.stations[-1].key == "loss":
            return []
        return [Box(Place("Loss"), format_number(loss))]

    def _framed(self, group: str, members: Sequence[Station]) -> list[Part]:
        if group not in self.whole_groups:
            names = " and ".join(dict.fromkeys(s.title.lower() for s in members if s.kind in ("attention", "mlp")))
            place = self._place(group_title(group), members[-1].border)
            return [Box(place, f"{names or 'both directions'}; open it"), self._border(members[-1])]
        inside = self._way(members)
        return [Group(Place(group_title(group)), inside[:-1]), inside[-1]]

    def _way(self, members: Sequence[Station]) -> list[Part]:
        """Draw stations one below the other, each with its border; a branch beside what passes it by."""
        parts: list[Part] = []
        waiting = list(members)
        while waiting:
            branch = _branch(waiting)
            if branch:
                parts.append(self._bypass(branch, waiting[len(branch)]))
            elif waiting[0].is_direction:
                branch = [station for station in waiting if station.is_direction]
                parts.append(Beside([[self._box(one), self._border(one)] for one in branch]))
            else:
                branch = waiting[:1]
                parts += [self._box(waiting[0]), self._border(waiting[0])]
            waiting = waiting[len(branch) :]
        return parts

    def _bypass(self, branch: Sequence[Station], total: Station) -> Bypass:
        """Draw a branch; its sensitivity and that of what passes it by add up above it."""
        around, through = self._split(branch[0], total)
        inside: list[Part] = [Border(Label("", "the same"), self._norm(through, "what the branch sends back"))]
        for station in branch:
            inside += [self._box(station), self._border(station)]
        return Bypass(inside, self._norm(around, "what passes the branch by"))

    def _split(self, first: Station, total: Station) -> tuple[float | None, float | None]:
        """Give the norms of the two parts of the sensitivity where a branch begins: around it, and through it."""
        place = self.stations.index(first)
        if place == 0:
            return None, None
        terms = dict(row_of(self.scene, self.stations[place - 1].border).terms)
        around = [part for reader, part in terms.items() if reader == f"{total.key} (bypass)"]
        through = [part for reader, part in terms.items() if reader != f"{total.key} (bypass)"]
        norms = (sum(parts).double().norm().item() if parts else None for parts in (around, through))  # pyright: ignore
        return tuple(norms)  # pyright: ignore[reportReturnType]

    def _norm(self, norm: float | None, spoken: str = "norm of the sensitivity") -> Label | None:
        if norm is None:
            return None
        words = format_number(norm)
        return Label(words, f"{spoken} {words}", self.scale.classes_of([norm])[0])

    def _border(self, station: Station) -> Border:
        quantity = row_of(self.scene, station.border)
        down = Label(size_words(quantity), shape_words(quantity))
        return Border(down, self._norm(norm_of_row(self.scene, station.border)))

    def _place(self, words: str, name: str, title: str | None = None, **shown: int | None) -> Place:
        is_open = name == self.quantity and shown.get("head", self.head) == self.head
        own = "-".join(str(value) for value in shown.values() if value is not None)
        return Place(words, link_to(self.scene, name, **shown), f"box-{identifier(name)}{own}", is_open, title)

    def _box(self, station: Station) -> Box:
        place = self._place(title_of(self.scene, station), station.main)
        own = "" if not place.identifier else f"{place.identifier}-box"
        place = Place(place.words, place.href, own, self.quantity in station.names, station.key)
        return Box(place, self._note(station), self._inside(station))

    def _note(self, station: Station) -> str:
        words = self.scene.tokens
        if station.key == "inputs.embedding.ids":
            return " ".join([*words[:_MOST_WORDS], *(["…"] if len(words) > _MOST_WORDS else [])])
        border = row_of(self.scene, station.border)
        if station.kind == "attention":
            heads = row_of(self.scene, station.main).shape[0]
            return f"{heads} head{'' if heads == 1 else 's'}"
        if station.is_recurrent:
            later = border.terms.get("later")
            back = "" if later is None else f"; later steps send back {format_number(later.double().norm().item())}"
            return f"{border.shape[-1]} unit{'' if border.shape[-1] == 1 else 's'}{back}"
        if station.key == "loss":
            return f"{format_number(border.value.item())} nats"
        hidden = f"{station.key}.hidden"
        if hidden in station.names:
            return f"{border.shape[-1]} to {row_of(self.scene, hidden).shape[-1]} to {border.shape[-1]} features"
        return equation_html(border.equation)

    def _inside(self, station: Station) -> list[list[Place]]:
        """Give the rows of smaller places in a box."""
        if station.is_recurrent:
            gates = [name for name in station.names if name.rpartition(".")[2] not in ("cell", "state")]
            rows = [gates, [name for name in station.names if name not in gates]]
            return [[self._place(station.words(name), name) for name in row] for row in rows]
        found: list[list[Place]] = []
        for row in _INSIDE.get(station.kind, ()):
            names = [f"{station.key}.{own}" for own in row if f"{station.key}.{own}" in station.names]
            found.append([self._place(station.words(name), name) for name in names])
            found += [self._heads(names[-1])] if names and names[-1].endswith(".weights") else []
        return [row for row in found if row]

    def _heads(self, weights: str) -> list[Place]:
        heads = row_of(self.scene, weights).shape[0]
        shown = range(min(heads, MOST_HEADS))
        places = [self._place(f"head {one}", weights, None, head=one) for one in shown]
        return places if heads > 1 else []


def _branch(waiting: Sequence[Station]) -> list[Station]:
    """Give the stations before the next residual sum that lie on its branch, if the branch begins here."""
    for place, station in enumerate(waiting):
        if station.kind.endswith("_sum"):
            branch = list(waiting[:place])
            return branch if branch and all(one.passes_to(station) for one in branch) else []
    return []


def _without_last_border(parts: Sequence[Part]) -> list[Part]:
    return list(parts[:-1]) if parts and isinstance(parts[-1], Border) else list(parts)
