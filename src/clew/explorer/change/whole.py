"""Forms for what is about the whole: the rule of visibility, padding, the activation and the norm placement."""

from markupsafe import Markup

from clew.explorer.change.forms import card, choice, edit_form
from clew.explorer.edits.draft import read_steps
from clew.explorer.edits.layers import activations_of
from clew.explorer.edits.rebuilding import activation_of
from clew.explorer.scene import Scene
from clew.models.blocks import BLOCKS
from clew.models.heads import ClassTokenHead
from clew.models.patch_input import PatchInput
from clew.models.transformer_encoder import TransformerEncoder
from clew.rendering.page import paragraph
from clew.tasks import NextToken

MOST_WINDOWS = 16


def whole_cards(scene: Scene) -> list[Markup]:
    """Give the forms that are about all steps or all layers."""
    return [card("Who reads whom", *_visibility(scene)), card("Layers", *_activation(scene), *_norm(scene))]


def _visibility(scene: Scene) -> list[Markup]:
    encoder, subject = scene.subject.model.encoder, scene.subject
    parts: list[Markup] = []
    if not isinstance(encoder, TransformerEncoder):
        words = "A recurrent state carries all that was read to every later step: no source can be hidden from one."
        parts.append(paragraph(words))
    elif not isinstance(subject.model.head, ClassTokenHead):
        given = next((e.partition("=")[2] for e in reversed(scene.address.edits) if e.startswith("visible=")), "")
        chosen = given or ("causal" if encoder.causal else "full")
        options = [("full", "full: each reads every other"), ("causal", "causal: itself and all before")]
        options += [
            (f"window-{size}", _window_words(size)) for size in range(1, min(read_steps(subject), MOST_WINDOWS))
        ]
        field = choice("visible", options, chosen)
        parts.append(edit_form(scene.address, "visible", "Visibility", field, "Change"))
    return [*parts, *_padding(scene)]


def _window_words(size: int) -> str:
    return "window 1: itself alone" if size == 1 else f"window {size}: itself and {size - 1} before"


def _padding(scene: Scene) -> list[Markup]:
    subject = scene.subject
    if isinstance(subject.model.inputs, PatchInput):
        return []
    base = (scene.base or scene).subject
    most = min(read_steps(base), len(base.words[scene.row])) - (2 if isinstance(base.task, NextToken) else 1)
    if most < 1:
        return []
    chosen = next((e.partition("=")[2] for e in reversed(scene.address.edits) if e.startswith("padding=")), "0")
    options = [(str(count), "none" if count == 0 else f"the last {count}") for count in _counts(most)]
    if chosen not in dict(options):
        options.append((chosen, f"the last {chosen}"))
    return [edit_form(scene.address, "padding", "Padding", choice("padding", options, chosen), "Change")]


def _counts(most: int) -> list[int]:
    """List numbers to choose from: each of a few, then powers of two, and the most there can be."""
    few = list(range(min(most, MOST_WINDOWS) + 1))
    powers = [2**power for power in range(5, 10) if 2**power < most]
    return [*few, *powers, *([most] if most > MOST_WINDOWS else [])]


def _activation(scene: Scene) -> list[Markup]:
    known = activations_of(scene.subject)
    if not known:
        return [paragraph("The gates and the candidate of this cell have their own activations.")]
    chosen = activation_of(scene.subject.model.encoder) or ""
    field = choice("activation", [(name, name) for name in known], chosen)
    return [edit_form(scene.address, "activation", "Activation", field, "Change")]


def _norm(scene: Scene) -> list[Markup]:
    encoder = scene.subject.model.encoder
    if not isinstance(encoder, TransformerEncoder):
        return [paragraph("A recurrent layer has no normalization to place.")]
    words = {"pre": "pre: before each branch", "post": "post: after each sum"}
    field = choice("norm", [(name, words[name]) for name in BLOCKS], encoder.norm)
    return [edit_form(scene.address, "norm", "Normalization", field, "Change")]
