"""Models: inputs, encoders and heads put together, built by name, saved without pickle."""

from clew.models.bert import BertInput, BertModel
from clew.models.decoding import Cache
from clew.models.encoded import Encoded
from clew.models.heads import HEADS, ClassTokenHead, Head, LastHead, MeanHead, RowsHead
from clew.models.inputs import FeatureInput, TokenInput
from clew.models.mixed_input import MixedInput
from clew.models.patch_input import PatchInput
from clew.models.pooling import last_valid_row, masked_mean, unit_vectors
from clew.models.presets import PRESETS, build, build_options
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.resizing import resize_positions
from clew.models.saving import load_model, save_model
from clew.models.sequence_model import ModelOutput, SequenceModel
from clew.models.transformer_encoder import TransformerEncoder

__all__ = [
    "HEADS",
    "PRESETS",
    "BertInput",
    "BertModel",
    "Cache",
    "ClassTokenHead",
    "Encoded",
    "FeatureInput",
    "Head",
    "LastHead",
    "MeanHead",
    "MixedInput",
    "ModelOutput",
    "PatchInput",
    "RecurrentEncoder",
    "RowsHead",
    "SequenceModel",
    "TokenInput",
    "TransformerEncoder",
    "build",
    "build_options",
    "last_valid_row",
    "load_model",
    "masked_mean",
    "resize_positions",
    "save_model",
    "unit_vectors",
]
