"""The view "Attention": heads side by side, stage by stage; one query and its sources; who may read whom, as an edit.

The numbers are read in `attention_reading.py`, what is chosen in `attention_choice.py`. Start with `ATTENTION`.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.explorer.attention.cell import cell_html
from clew.explorer.attention.choice import Choice, layer_words, left_out_words
from clew.explorer.attention.maps import Layer, heads_html
from clew.explorer.attention.moves import Moves, moves_html
from clew.explorer.attention.query import button, form, query_html
from clew.explorer.attention.reading import attention_layers
from clew.explorer.attention.visibility import switches_html
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import View
from clew.rendering.markup import element, joined
from clew.rendering.mathml import equation_html
from clew.rendering.page import Section, bullets, paragraph, subsection

SHARES = ("weights", "contributions")
"""Of a long sequence most are so small that only beside the others of their row they can be told apart."""


def missing(scene: Scene) -> str:
    """Say why a model has no attention to look at."""
    if attention_layers(scene.ledger):
        return ""
    return (
        f"{scene.source.label} has no attention: it reads step by step, and its state carries what it keeps. "
        "Choose the worked example or the Transformer above."
    )


def sections(scene: Scene, studio: Studio) -> Sequence[Section]:
    """Make the view of a scene that has attention."""
    choice = Choice.read(scene)
    moves = Moves(scene, choice)
    words = f"What {choice.word(choice.query)} reads"
    return [
        Section("Heads side by side", "heads", _heads(choice, moves)),
        Section("Who may read whom", "visibility", joined([switches_html(scene, choice), moves_html(moves)])),
        Section(words, "query", query_html(choice)),
    ]


def _heads(choice: Choice, moves: Moves) -> Markup:
    stage, reading = choice.stage, choice.reading
    equation = equation_html(stage.equation)
    values = Layer(
        stage.heading, reading.values(stage), choice.twin.values(stage) if choice.twin else None,
        moves.cells(stage), stage.is_hidden, True, not choice.is_numbered and stage.key in SHARES,
    )  # fmt: skip
    maps = form(choice, "attend-maps", "Choose a cell or a query", heads_html(choice, values), "cell", "query", "head")
    parts = [_layers(choice), _stages(choice), paragraph(equation, ". ", stage.words), maps, cell_html(choice)]
    return joined([*parts, _notes(choice), subsection("Backward"), _sensitivities(choice, moves)])


def _layers(choice: Choice) -> Markup:
    if len(choice.layers) == 1:
        return Markup("")
    buttons = [
        button("layer", str(number), layer_words(layer), layer == choice.reading.layer)
        for number, layer in enumerate(choice.layers)
    ]
    label = element("span", {"class": "attend-label"}, "Layer")
    return form(choice, "attend-choices", "Choose a layer", joined([label, *buttons]), "layer", "head", "cell")


def _stages(choice: Choice) -> Markup:
    buttons = [button("stage", stage.key, stage.heading, stage == choice.stage) for stage in choice.reading.stages]
    label = element("span", {"class": "attend-label"}, "Stage")
    return form(choice, "attend-choices", "Choose a stage", joined([label, *buttons]), "stage")


def _sensitivities(choice: Choice, moves: Moves) -> Markup:
    """Show the loss's derivatives with respect to the stage, head by head."""
    stage, reading = choice.stage, choice.reading
    if stage.key == "dropout":
        return paragraph("The mask was drawn; the loss has no derivative with respect to it.")
    if stage.key == "contributions":
        words = "The context is the sum of the contributions, so the loss's derivative with respect to each of them is "
        return paragraph(words, "that of the context. Softmax weights and scores have maps of their own.")
    found = reading.sensitivities(stage)
    if found is None:
        return paragraph("Sensitivity: not computed, no backward pass has run.")
    before = choice.twin.sensitivities(stage) if choice.twin else None
    name = f"dL/d{stage.symbol}"
    layer = Layer(f"sensitivity {name}", found, before, moves.sensitivities(stage), stage.is_hidden, False)
    words = f"{name}: how the loss moves with one cell of the stage. "
    words += "" if stage.is_hidden or not reading.rules else "Nothing comes back to a cell that is hidden: 0."
    return joined([paragraph(words), heads_html(choice, layer)])


def _notes(choice: Choice) -> Markup:
    reading = choice.reading
    notes = [left_out_words("queries", choice.shown_queries, reading.queries)]
    notes += [left_out_words("sources", choice.shown_sources, reading.sources)]
    notes += [left_out_words("heads", choice.heads, reading.heads)]
    rules = " or ".join(reading.rules)
    notes += [f"{rules} in a cell: the rule that hides it"] if choice.stage.is_hidden and rules else []
    silent = [query for query in choice.shown_queries if query is not None and query in reading.silent]
    notes += [f"{choice.word(query)} has nothing to read: its weights are 0" for query in silent[:4]]
    below = ", by the number below it" if choice.is_numbered else ""
    notes += [f"a marked corner: an edit moved this cell{below}"] if choice.twin else []
    kept = [note for note in notes if note]
    return element("div", {"class": "made"}, bullets(kept)) if kept else Markup("")


ATTENTION = View(
    "attention",
    "Attention",
    "Which query reads which source, head by head: scores, masks, weights and contributions, forward and backward.",
    missing,
    sections,
)
