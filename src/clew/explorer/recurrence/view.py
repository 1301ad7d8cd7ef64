"""The view "Recurrence": the unrolled graph, a step's inside, sensitivities along time, contributions, paths, clipping.

Each part of the view is a file of its own; what is open stands in the address. Start with `RECURRENCE`.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from clew.explorer.recurrence.backward import along_time_html
from clew.explorer.recurrence.choice import Choice, choose, layer_words, real_steps, recurrent_layers
from clew.explorer.recurrence.clipping import clipping_html
from clew.explorer.recurrence.contributions import contributions_html
from clew.explorer.recurrence.forms import number_field, submit
from clew.explorer.recurrence.graph import graph_html
from clew.explorer.recurrence.path import path_html
from clew.explorer.recurrence.scalar import is_scalar, scalar_html
from clew.explorer.recurrence.step import step_html
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import View
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.markup import element
from clew.rendering.page import Section, fragments, paragraph

NO_LOSS = "There is no loss here, so no backward pass has run and no sensitivity is computed."


def _missing(scene: Scene) -> str:
    layers = recurrent_layers(scene)
    if not layers:
        return (
            "This model has no recurrent layer: nothing is carried from step to step. Choose rnn, gru, lstm or scalar."
        )
    if scene.ledger.quantity(f"{layers[0]}.state").shape[0] != len(scene.subject.words):
        return "Several documents are packed into one row here, and each starts its own recurrence. Choose another row."
    return "" if real_steps(scene) else "Every step of this row is padding, so nothing is read. Undo an edit."


def _sections(scene: Scene, studio: Studio) -> Sequence[Section]:
    choice = choose(scene)
    with studio.lock:  # asking for Jacobians and contributions lets the layers stand in for themselves for a while
        following = list(_following(choice))
    return [Section("The unrolled graph", "unrolled", _unrolled(choice, following)), *following]


def _following(choice: Choice) -> Iterator[Section]:
    """Everything below the graph."""
    if is_scalar(choice):
        yield Section("The weights as sliders", "scalar", scalar_html(choice))
    yield Section(f"Step {choice.step}, {choice.word(choice.step)}", "step", step_html(choice))
    if choice.scene.has_backward:
        yield Section("Sensitivities along time", "along-time", along_time_html(choice))
        yield Section("Contributions to the shared weights", "contributions", contributions_html(choice))
    yield Section("The product along a path", "path", path_html(choice))
    if choice.scene.has_backward:
        yield Section("Clipping the gradient", "clipping", clipping_html(choice))


def _unrolled(choice: Choice, following: Sequence[Section]) -> Markup:
    places = (element("a", {"href": f"#{part.identifier}"}, part.heading) for part in following)
    below = element(
        "ul", {"class": "within", "aria-label": "Further down"}, *(element("li", None, link) for link in places)
    )
    return fragments(below, _layers(choice), _steps(choice), graph_html(choice), _legend(choice))


def _layers(choice: Choice) -> Markup:
    """Links to the layers and directions; none where there is only one."""
    if len(choice.layers) == 1:
        return Markup("")
    items = []
    for layer in choice.layers:
        attributes = {
            "href": choice.scene.address.link(layer=layer, cell=None, gate=None, start=None, end=None),
            "id": f"layer-{layer.replace('.', '-')}",
            "aria-current": "true" if layer == choice.layer else None,
        }
        items.append(element("li", None, element("a", attributes, layer_words(layer))))
    return element("ul", {"class": "choices", "aria-label": "Layer and direction"}, *items)


def _steps(choice: Choice) -> Markup:
    """A form for the number of a step, and links to its neighbours."""
    address, steps = choice.scene.address, sorted(choice.order)
    place = steps.index(choice.step)
    field = number_field("step", "Open step", choice.step, steps[0], steps[-1])
    parts = [address.hidden_inputs("step"), field, submit("Open", "step-submit")]
    for words, other in (("earlier", place - 1), ("later", place + 1)):
        if 0 <= other < len(steps):
            attributes = {"href": address.link(step=steps[other]), "id": f"step-{words}"}
            parts.append(element("a", attributes, f"{words} step"))
    return element("form", {"method": "get", "action": address.path, "class": "controls"}, *parts)


def _legend(choice: Choice) -> Markup:
    entries = [LegendEntry("carried forward", "forward")]
    if not choice.scene.has_backward:
        return legend(entries) + paragraph(NO_LOSS)
    entries.append(LegendEntry("sent back, with the norm of the sensitivity", "backward"))
    name = layer_words(choice.layer)
    shown = "Each state shows its number h and its sensitivity g."
    if choice.hidden > 1:
        shown = (
            "Each state shows its units from top to bottom, on the left the value and on the right the sensitivity; "
            "blue is negative, orange positive."
        )
    words = f"{name[0].upper()}{name[1:]}. {shown} Choose a state to open its step."
    return legend(entries) + element("p", {"class": "made"}, words)


RECURRENCE = View(
    "recurrence",
    "Recurrence",
    "The state that is carried from step to step, and the sensitivities that come back.",
    _missing,
    _sections,
)
