"""Published weights of the BERT family to `clew.models.BertModel` and back: a folder of config.json and safetensors.

The rows are those of the library that published them, to rounding. Poolers and prediction heads are no part of the
encoder and stay behind; any other name that has no place here is an error.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from clew.errors import RunError, complain
from clew.files import dump_json, write_atomically
from clew.models.bert import BertModel
from clew.models.interchange.bert_config import BertDescription, configuration_of, describe_bert
from clew.models.interchange.checkpoint_files import WEIGHTS, read_configuration, read_folder_weights

ONCE = {
    "inputs.embedding": ("embeddings.word_embeddings",),
    "inputs.token_types": ("embeddings.token_type_embeddings",),
    "encoder.positions": ("embeddings.position_embeddings",),
    "encoder.entry_norm": ("embeddings.LayerNorm",),
}
EACH_BLOCK = {
    "attention.input_map": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.output_map": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "mlp.hidden_map": ("intermediate.dense",),
    "mlp.output_map": ("output.dense",),
    "mlp_norm": ("output.LayerNorm",),
}
NOT_OF_THE_ENCODER = ("pooler.", "embeddings.position_ids", "embeddings.token_type_ids")
OLD_ENDINGS = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}


def bert_from_folder(folder: Path | str, dropout: float = 0.0) -> BertModel:
    """Make the encoder whose weights and configuration are in a folder; in evaluation mode, in float32.

    Args:
        folder: Holds config.json and model.safetensors, with names with or without the prefix "bert." ("roberta.").
        dropout: Fraction dropped in training; the places are those of clew's blocks, not those of the checkpoint.

    Raises:
        RunError: If a file is missing or damaged, or the weights are pickled, incomplete, of other shapes, or of
            something that `BertModel` does not have.
        ConfigError: If the configuration is of another architecture, or has an option that `BertModel` does not have.

    Source:
        Names and layout as in the library "transformers", BertModel and RobertaModel.
    """
    folder = Path(folder)
    if not folder.is_dir():
        got = "a file" if folder.exists() else "no such folder"
        raise RunError(complain(str(folder), "checkpoint", "a folder with config.json and model.safetensors", got))
    described = describe_bert(read_configuration(folder / "config.json"), folder / "config.json")
    published = _encoder_weights(read_folder_weights(folder), described)
    model = BertModel(**described.options, dropout=dropout)
    _fill(model, published, str(folder / WEIGHTS))
    return model.eval()


def bert_to_folder(model: BertModel, folder: Path | str) -> None:
    """Write config.json and model.safetensors that `bert_from_folder` and the library "transformers" read.

    The fraction of dropout is written, the places are those of the reader.

    Raises:
        RunError: If the folder cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    own = model.state_dict()
    weights: dict[str, Tensor] = {}
    for name, theirs in published_names(own, len(model.encoder.blocks)).items():
        parts = own[name].chunk(len(theirs))
        weights |= {published: part.contiguous() for published, part in zip(theirs, parts, strict=True)}
    write_atomically(folder / WEIGHTS, save(weights, metadata={"format": "pt"}))
    write_atomically(folder / "config.json", dump_json(configuration_of(model.config)) + "\n")


def published_names(own: Iterable[str], layers: int) -> dict[str, tuple[str, ...]]:
    """Give for each parameter of a `BertModel` the published ones that it is made of, stacked in this order.

    >>> published_names(["encoder.blocks.1.mlp_norm.bias"], layers=2)
    {'encoder.blocks.1.mlp_norm.bias': ('encoder.layer.1.output.LayerNorm.bias',)}
    """
    modules: dict[str, tuple[str, ...]] = dict(ONCE)
    for index in range(layers):
        for ours, theirs in EACH_BLOCK.items():
            modules[f"encoder.blocks.{index}.{ours}"] = tuple(f"encoder.layer.{index}.{name}" for name in theirs)
    found = {}
    for name in own:
        module, _, parameter = name.rpartition(".")
        found[name] = tuple(f"{published}.{parameter}" for published in modules[module])
    return found


def _encoder_weights(published: dict[str, Tensor], described: BertDescription) -> dict[str, Tensor]:
    """Drop prefix, heads and pooler, and the rows of the position table that no token uses."""
    prefix = described.prefix
    if any(name.startswith(prefix) for name in published):
        inside = {name.removeprefix(prefix): value for name, value in published.items() if name.startswith(prefix)}
    else:
        inside = published
    found = {}
    for name, value in inside.items():
        for old, new in OLD_ENDINGS.items():
            name = name.removesuffix(old) + new if name.endswith(old) else name
        if not name.startswith(NOT_OF_THE_ENCODER):
            found[name] = value
    positions = "embeddings.position_embeddings.weight"
    if positions in found:
        found[positions] = found[positions][described.first_position :]
    return found


@torch.no_grad()
def _fill(model: BertModel, published: dict[str, Tensor], where: str) -> None:
    """Copy the published weights in, each once and all of them."""
    own = dict(model.named_parameters())
    names = published_names(own, len(model.encoder.blocks))
    needed = {published for theirs in names.values() for published in theirs}
    if missing := sorted(needed - published.keys()):
        remedy = "Is config.json the one of these weights?"
        raise RunError(complain(where, "weights", "complete", f"none named {_some(missing)}", remedy))
    if foreign := sorted(published.keys() - needed):
        remedy = "BertModel has no place for it; is config.json the one of these weights?"
        raise RunError(complain(where, "weights", "those of an encoder of the BERT family", _some(foreign), remedy))
    for name, theirs in names.items():
        parts = own[name].chunk(len(theirs))
        for part, source in zip(parts, theirs, strict=True):
            if part.shape != published[source].shape:
                rule = f"of shape {tuple(part.shape)} by config.json"
                raise RunError(complain(where, source, rule, tuple(published[source].shape)))
            part.copy_(published[source])


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
