"""Edits of the layers themselves: the activation, and where the normalizations stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from clew.errors import ConfigError, complain, did_you_mean
from clew.explorer.edits.draft import Draft, Edit, Read
from clew.explorer.edits.inputs import require_no_place
from clew.explorer.edits.rebuilding import activation_of, changed_weights, rebuilt_recurrence, rebuilt_transformer
from clew.layers.activations import ACTIVATIONS
from clew.layers.rnn import RNN_ACTIVATIONS
from clew.models import SequenceModel
from clew.models.blocks import BLOCKS
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder


@dataclass(frozen=True)
class ActivationEdit(Edit):
    """Another activation: of a Transformer's MLPs, or of a simple recurrent layer."""

    kind: ClassVar[str] = "activation"
    name: str

    @classmethod
    def parse(cls, place: str, value: str) -> "ActivationEdit":
        """Read `activation=NAME`."""
        require_no_place(cls.kind, place)
        return cls(value)

    @property
    def address(self) -> tuple[str, ...]:
        """There is one activation."""
        return (self.kind,)

    def apply(self, draft: Draft, row: int) -> None:
        """Build the encoder with it."""
        encoder, known = draft.model.encoder, activations_of(draft)
        if not known:
            assert isinstance(encoder, RecurrentEncoder)
            rule, remedy = "asked for where there is a choice", "Choose rnn or transformer."
            got = f"{encoder.cell}, whose gates and candidate have their own"
            raise ConfigError(complain("activation", "activation", rule, got, remedy))
        if self.name not in known:
            rule = f"one of {', '.join(known)}"
            raise ConfigError(complain("activation", "name", rule, f"'{self.name}'", did_you_mean(self.name, known)))
        if self.name == activation_of(encoder):
            return
        if isinstance(encoder, TransformerEncoder):
            _put(draft.model, rebuilt_transformer(encoder, activation=self.name), activation=self.name)
        else:
            _put(draft.model, rebuilt_recurrence(encoder, self.name), activation=self.name)

    def words(self, before: Read, row: int) -> str:
        """Name the old one and the new one."""
        return f"activation: {activation_of(before.model.encoder) or 'none'} → {self.name}"


@dataclass(frozen=True)
class NormEdit(Edit):
    """The normalizations before the branches, or after the sums."""

    kind: ClassVar[str] = "norm"
    norm: str

    @classmethod
    def parse(cls, place: str, value: str) -> "NormEdit":
        """Read `norm=pre` or `norm=post`."""
        require_no_place(cls.kind, place)
        if value not in BLOCKS:
            raise ConfigError(complain("norm", "placement", "pre or post", f"'{value}'"))
        return cls(value)

    @property
    def address(self) -> tuple[str, ...]:
        """There is one placement."""
        return (self.kind,)

    def apply(self, draft: Draft, row: int) -> None:
        """Build the blocks of the other class."""
        encoder = _normalized(draft)
        if encoder.norm != self.norm:
            _put(draft.model, rebuilt_transformer(encoder, norm=self.norm), norm=self.norm)

    def words(self, before: Read, row: int) -> str:
        """Name the old placement and the new one."""
        encoder = before.model.encoder
        return f"normalization: {getattr(encoder, 'norm', 'none')} → {self.norm}"

    def remarks(self, before: Read) -> Sequence[str]:
        """Say which weights are new and which are gone."""
        encoder = _normalized(before)
        new, gone = changed_weights(encoder, rebuilt_transformer(encoder, norm=self.norm))
        told = []
        if gone:
            told.append(f"Gone: {', '.join(f'encoder.{name}' for name in gone)}; the last sum is normalized already.")
        if new:
            names = ", ".join(f"encoder.{name}" for name in new)
            told.append(f"New, at scale 1 and shift 0: {names}. All other weights are kept.")
        return told


def activations_of(read: Read) -> tuple[str, ...]:
    """Name the activations that the model can have; none where its cell has its own."""
    if activation_of(read.model.encoder) is None:
        return ()
    return tuple(ACTIVATIONS) if isinstance(read.model.encoder, TransformerEncoder) else RNN_ACTIVATIONS


def _normalized(read: Read) -> TransformerEncoder:
    if isinstance(read.model.encoder, TransformerEncoder):
        return read.model.encoder
    rule, remedy = "asked for in a Transformer", "A recurrent layer has no normalization."
    raise ConfigError(complain("norm", "placement", rule, "a recurrent model", remedy))


def _put(model: SequenceModel, encoder: nn.Module, **changed: str) -> None:
    """Give a model another encoder, and say so in its configuration."""
    assert isinstance(encoder, TransformerEncoder | RecurrentEncoder)
    model.encoder = encoder
    if model.config is not None:
        model.config = model.config | changed
