"""Layers: each equation of the models, written once. Recurrent cells, attention, positions, normalization, MLP.

A layer knows its own shapes and weights and nothing of models; encoders are put together in `clew.models`.
"""

from clew.layers.activations import ACTIVATIONS, Activation, activation_named
from clew.layers.attention import MultiHeadAttention
from clew.layers.bidirectional import BidirectionalLayer
from clew.layers.dropout import Dropout
from clew.layers.embedding import Embedding
from clew.layers.feedforward import MLP
from clew.layers.gru import GRULayer, gru_step
from clew.layers.linear import Linear
from clew.layers.lstm import LSTMLayer, lstm_step
from clew.layers.normalization import LayerNorm
from clew.layers.packed_documents import PackedDocuments
from clew.layers.patches import Patches
from clew.layers.positions import LearnedPositions, SinusoidalPositions, sinusoids
from clew.layers.recurrent import RecurrentLayer
from clew.layers.rnn import RNNLayer, rnn_step

__all__ = [
    "ACTIVATIONS",
    "MLP",
    "Activation",
    "BidirectionalLayer",
    "Dropout",
    "Embedding",
    "GRULayer",
    "LSTMLayer",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "MultiHeadAttention",
    "PackedDocuments",
    "Patches",
    "RNNLayer",
    "RecurrentLayer",
    "SinusoidalPositions",
    "activation_named",
    "gru_step",
    "lstm_step",
    "rnn_step",
    "sinusoids",
]
