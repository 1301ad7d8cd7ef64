"""Edits: what a person changes in a model or in what it reads, before the real model runs again.

    token:STEP=WORD    value:STEP.FEATURE=NUMBER    weight:NAME.INDEX.INDEX=NUMBER    padding=N
    visible=full|causal|window-N    hide:QUERY.SOURCE    show:QUERY.SOURCE
    activation=NAME    norm=pre|post    target:STEP=WORD    target=CLASS_OR_NUMBER

An address holds them in order. Of two edits of the same place the later one counts. Start with `apply_edits`.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from clew.errors import ConfigError, complain, did_you_mean
from clew.explorer.edits.draft import Draft, Edit, Read
from clew.explorer.edits.inputs import PaddingEdit, TokenEdit, ValueEdit
from clew.explorer.edits.layers import ActivationEdit, NormEdit
from clew.explorer.edits.targets import TargetEdit
from clew.explorer.edits.visibility import HideEdit, ShowEdit, VisibleEdit
from clew.explorer.edits.weights import WeightEdit

__all__ = ["KINDS", "Draft", "Edit", "Read", "apply_edits", "parse_edit", "with_edit"]

KINDS: dict[str, type[Edit]] = {
    edit.kind: edit
    for edit in (
        TokenEdit, ValueEdit, WeightEdit, VisibleEdit, HideEdit, ShowEdit, PaddingEdit, ActivationEdit, NormEdit,
        TargetEdit,
    )
}  # fmt: skip


def parse_edit(text: str) -> Edit:
    """Read an edit from its text.

    Raises:
        ConfigError: If it is none.

    >>> parse_edit("token:2=miles")
    TokenEdit(step=2, word='miles')
    """
    side, equals, value = text.partition("=")
    kind, _, place = side.partition(":")
    if kind not in KINDS:
        shown = kind if len(kind) <= 40 else f"{kind[:40]}…"
        raise ConfigError(complain("edit", "kind", "a known one", f"'{shown}'", did_you_mean(shown, KINDS)))
    if kind not in ("hide", "show") and (not equals or not value):
        raise ConfigError(complain(f"edit '{text[:60]}'", "value", "given behind =", "none"))
    return KINDS[kind].parse(place, value)


def with_edit(edits: Sequence[str], new: str) -> tuple[str, ...]:
    """Add an edit behind others; one of the same place goes.

    >>> with_edit(["token:2=miles", "norm=post"], "token:2=of")
    ('norm=post', 'token:2=of')
    """
    address = parse_edit(new).address
    return *(text for text in edits if text != new and parse_edit(text).address != address), new


def apply_edits(draft: Draft, edits: Sequence[str], row: int) -> None:
    """Change a draft by edits, in their order.

    Args:
        draft: Is changed in place.
        edits: Their texts; of two of the same place only the later one is applied.
        row: The row of the batch that edits of what is read are about.

    Raises:
        ConfigError: If an edit cannot be read, or does not apply to this model.
        DataError: If a word is unknown to the model.
    """
    counting: tuple[str, ...] = ()
    for text in edits:
        counting = with_edit(counting, text)
    for text in counting:
        parse_edit(text).apply(draft, row)
    if draft.encoder_visible is not None:
        _hide_in_encoder(draft, draft.encoder_visible)


def _hide_in_encoder(draft: Draft, mask: Tensor) -> None:
    """Hand the encoder a mask that the model in front of it could not pass on: one of its class token too."""

    def given(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return arguments, named | {"visible": mask}

    draft.model.encoder.register_forward_pre_hook(given, with_kwargs=True)
