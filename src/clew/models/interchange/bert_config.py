"""What the `config.json` of a BERT-family checkpoint says, brought into the arguments of `clew.models.BertModel`.

An option that `BertModel` does not have is an error, never left out.
"""

from pathlib import Path
from typing import Any, NamedTuple

from clew.errors import ConfigError, complain, did_you_mean

FAMILIES = {"bert": "bert.", "roberta": "roberta.", "xlm-roberta": "roberta.", "camembert": "roberta."}
"""By `model_type`, what stands before the encoder's names in a checkpoint that has heads too."""

SIZES = {
    "vocab_size": "vocab",
    "hidden_size": "width",
    "num_attention_heads": "heads",
    "intermediate_size": "mlp",
    "num_hidden_layers": "layers",
    "max_position_embeddings": "max_positions",
    "type_vocab_size": "types",
}
ACTIVATIONS = {"gelu": "gelu", "gelu_python": "gelu", "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid"}
REQUIRED = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "pruned_heads": {},
}
"""Options whose other values change the rows in a way that `BertModel` does not have."""


class BertDescription(NamedTuple):
    """A checkpoint in clew's words.

    Attributes:
        options: Arguments of `BertModel`.
        prefix: What may stand before the encoder's names.
        first_position: Row of the published position table that the first token of a sequence uses.
    """

    options: dict[str, Any]
    prefix: str
    first_position: int


def describe_bert(config: dict[str, Any], path: Path) -> BertDescription:
    """Read a configuration.

    Args:
        config: The JSON object.
        path: Where it stands, for the error texts.

    Raises:
        ConfigError: If the architecture is unknown, a size is missing or no whole number, or an option is one that
            `BertModel` does not have.
    """
    family = _family(config, path)
    options: dict[str, Any] = {ours: config.get(theirs) for theirs, ours in SIZES.items()}
    wrong = [f"{theirs}={config.get(theirs)!r}" for theirs, ours in SIZES.items() if not _is_size(options[ours])]
    if wrong:
        raise ConfigError(complain(str(path), "sizes", "whole numbers of at least 1", ", ".join(wrong)))
    for name, value in REQUIRED.items():
        if (config.get(name) or value) != value:
            raise ConfigError(complain(str(path), name, repr(value), repr(config[name]), "BertModel has no other."))
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        rule = f"one of {', '.join(ACTIVATIONS)}"
        raise ConfigError(complain(str(path), "hidden_act", rule, repr(activation), "BertModel has no other."))
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, int | float) or not epsilon > 0:
        raise ConfigError(complain(str(path), "layer_norm_eps", "a number above 0", repr(epsilon)))
    first = 0 if family == "bert" else _padding_id(config, path) + 1
    options |= {
        "max_positions": options["max_positions"] - first,
        "activation": ACTIVATIONS[activation],
        "epsilon": float(epsilon),
    }
    return BertDescription(options, FAMILIES[family], first)


def configuration_of(options: dict[str, Any]) -> dict[str, Any]:
    """Write the arguments of `BertModel` as a `config.json` of the family "bert"."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        **{theirs: options[ours] for theirs, ours in SIZES.items()},
        "hidden_act": options["activation"],
        "layer_norm_eps": options["epsilon"],
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": options["dropout"],
        "attention_probs_dropout_prob": options["dropout"],
    }


def _family(config: dict[str, Any], path: Path) -> str:
    family = config.get("model_type")
    named = config.get("architectures") or [None]
    if family is None and str(named[0]).startswith("Bert"):  # configurations from before there was a model_type
        return "bert"
    if family not in FAMILIES:
        remedy = did_you_mean(str(family), FAMILIES)
        raise ConfigError(complain(str(path), "model_type", "of the BERT family", repr(family), remedy))
    return family


def _padding_id(config: dict[str, Any], path: Path) -> int:
    """Give the padding id: in RoBERTa, tables of positions start behind it."""
    found = config.get("pad_token_id", 1)
    if not isinstance(found, int) or not 0 <= found < config["max_position_embeddings"] - 1:
        raise ConfigError(complain(str(path), "pad_token_id", "a token id below max_position_embeddings - 1", found))
    return found


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
