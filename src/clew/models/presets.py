"""`build`: the usual models by name.

Each preset takes only the options that mean something for it; an option that does not apply is an error, never ignored.
Equal arguments and equal generator states give equal weights.
"""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import torch

from clew.errors import ConfigError, complain, did_you_mean
from clew.layers.dropout import share_dropout_generator
from clew.models.heads import HEADS, ClassTokenHead
from clew.models.inputs import FeatureInput, TokenInput
from clew.models.mixed_input import MixedInput
from clew.models.patch_input import PatchInput
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder

RECURRENT_OPTIONS = {"bidirectional": False, "activation": "tanh"}
TRANSFORMER_OPTIONS = {
    "heads": None,
    "mlp": None,
    "causal": False,
    "norm": "pre",
    "positions": "learned",
    "max_positions": 512,
    "head_dim": None,
    "value_dim": None,
    "activation": "relu",
}
WHOLE_NUMBERS = (
    "vocab", "features", "outputs", "hidden", "embedding", "layers", "heads", "mlp", "max_positions", "channels",
)  # fmt: skip
USUAL_HEADS = (4, 3, 2, 1)
SIZE_OPTIONS = {"outputs": None, "hidden": 64, "layers": 1, "dropout": 0.0, "head": "rows"}
SEQUENCE_OPTIONS = {"vocab": None, "features": None, "categories": None, "embedding": None}
IMAGE_OPTIONS = {"image": None, "patch": None, "channels": 1}
VIT_OPTIONS = {"head": "class_token", "activation": "gelu"}
FOREIGN_TO_IMAGES = ("causal", "max_positions")
SHARED_OPTIONS = SIZE_OPTIONS | SEQUENCE_OPTIONS
PRESETS: dict[str, dict[str, Any]] = {
    "rnn": SHARED_OPTIONS | RECURRENT_OPTIONS,
    "gru": SHARED_OPTIONS | {"bidirectional": False},
    "lstm": SHARED_OPTIONS | {"bidirectional": False},
    "transformer": SHARED_OPTIONS | TRANSFORMER_OPTIONS,
    "vit": {
        name: value
        for name, value in (SIZE_OPTIONS | TRANSFORMER_OPTIONS | IMAGE_OPTIONS | VIT_OPTIONS).items()
        if name not in FOREIGN_TO_IMAGES
    },
}
VIT_HEADS = ("rows", "mean", "class_token")
POSITION_SCALE = 0.02
"""Standard deviation of an image model's learned positions at the start, as published ones have it."""


def build(
    preset: str,
    *,
    outputs: int,
    vocab: int | None = None,
    features: int | None = None,
    categories: Sequence[int] | None = None,
    hidden: int | None = None,
    width: int | None = None,
    embedding: int | None = None,
    layers: int | None = None,
    head: str | None = None,
    dropout: float | None = None,
    bidirectional: bool | None = None,
    activation: str | None = None,
    heads: int | None = None,
    mlp: int | None = None,
    causal: bool | None = None,
    norm: str | None = None,
    positions: str | None = None,
    max_positions: int | None = None,
    head_dim: int | None = None,
    value_dim: int | None = None,
    image: int | Sequence[int] | None = None,
    patch: int | Sequence[int] | None = None,
    channels: int | None = None,
    generator: torch.Generator | None = None,
) -> SequenceModel:
    """Build a model by name.

    Args:
        preset: "rnn", "gru", "lstm", "transformer", or "vit" for images.
        outputs: Number of logits or values of a prediction.
        vocab: Number of token ids, for inputs (batch, time) of ids; exactly one of `vocab` and `features`.
        features: Width of real-valued inputs (batch, time, features).
        categories: For each category column how many indices are legal, 0 = unknown among them. Inputs are then
            (batch, time, features + categories), the columns of indices last; `features` may be 0 or left out.
        hidden: Width of the state, or of a Transformer's rows: the width of `output.rows` (for one direction).
        width: Another word for `hidden`, for a Transformer only.
        embedding: Width of the token embedding; by default `hidden`. A Transformer's is its width. With categories,
            the width of each one's table; by default half of its size rounded up, at most 16.
        layers: Recurrent layers or Transformer blocks.
        head: "rows" (a prediction a position), "last", "mean" or "class_token" (one a sequence); for vit "class_token"
            by default.
        dropout: Fraction dropped between recurrent layers, or in a Transformer's branches, while training.
        bidirectional: Recurrent only: read in both directions.
        activation: "tanh", "relu", "identity", "sigmoid" for rnn; "relu" or "gelu" for a Transformer's MLP (for vit
            "gelu" by default).
        heads: Attention heads; by default 4, or as many of 3, 2 and 1 as divide the width.
        head_dim, value_dim: Query/key and value width of a head; by default width / heads.
        mlp: Hidden width of a Transformer's MLP; by default four times its width.
        causal: Transformer only: a position reads itself and earlier ones.
        norm: "pre" or "post".
        positions: "learned", "sinusoidal" or "none".
        max_positions: Size of the position table.
        image: vit only: height and width of the images in pixels, or the side of square ones; inputs are (batch,
            channels, height, width). For images of another size later, see `resize_positions`.
        patch: vit only: height and width of a patch, or the side of a square one; divide those of the image.
        channels: vit only: numbers of a pixel.
        generator: Draws the initial weights; by default a new one seeded with 0.

    Raises:
        ConfigError: If a name is unknown, an option does not apply to the preset, or a value is out of range.

    >>> build("gru", vocab=7, outputs=7, hidden=17, embedding=16).parameter_count()
    2023
    """
    if preset not in PRESETS:
        raise ConfigError(complain("build", "preset", "a known model", f"'{preset}'", did_you_mean(preset, PRESETS)))
    given = {name: value for name, value in locals().items() if name not in ("preset", "generator", "width")}
    given = {name: value for name, value in given.items() if value is not None}
    config = resolve_options(preset, given, width)
    generator = generator if generator is not None else torch.Generator().manual_seed(0)
    makers: dict[str, Callable[..., SequenceModel]] = {"transformer": _build_transformer, "vit": _build_vit}
    model = makers.get(preset, _build_recurrent)(config, generator)
    share_dropout_generator(model, torch.Generator().manual_seed(generator.initial_seed()))
    return model


def build_options() -> tuple[str, ...]:
    """Names of the options of `build`, for checking configurations."""
    return tuple(name for name in signature(build).parameters if name not in ("preset", "generator"))


def resolve_options(preset: str, given: dict[str, Any], width: int | None = None) -> dict[str, Any]:
    """Fill in the defaults of a preset and check that every given option applies to it and is in range."""
    known = PRESETS[preset]
    foreign = [name for name in given if name not in known]
    if width is not None:
        if preset not in ("transformer", "vit"):
            foreign.append("width")
        elif given.get("hidden", width) != width:
            raise ConfigError(complain("build", "width", f"hidden={given['hidden']} or left out", width))
        given = given | {"hidden": width}
    if foreign:
        remedy = f"Options of {preset}: {', '.join(known)}."
        where = f"build('{preset}')"
        raise ConfigError(complain(where, "options", "ones that apply to it", ", ".join(foreign), remedy))
    config = {"preset": preset} | known | given
    if preset == "vit":
        _resolve_images(config)
    else:
        _resolve_sequences(config)
    _check_ranges(config)
    return config


def _check_ranges(config: dict[str, Any]) -> None:
    where = f"build('{config['preset']}')"
    for name in WHOLE_NUMBERS:
        value, least = config.get(name), 0 if name == "features" and config.get("categories") else 1
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise ConfigError(complain(where, name, f"a whole number of at least {least}", value))
    if not 0 <= config["dropout"] < 1:
        raise ConfigError(complain(where, "dropout", "in [0, 1)", config["dropout"]))
    if config["head"] not in HEADS:
        got, remedy = f"'{config['head']}'", did_you_mean(str(config["head"]), HEADS)
        raise ConfigError(complain(where, "head", "a known head", got, remedy))


def _resolve_sequences(config: dict[str, Any]) -> None:
    """Check that it is said once what a step is: a token, or numbers and categories."""
    where = f"build('{config['preset']}')"
    if config["categories"] is not None:
        config["categories"] = _sizes(where, "categories", config["categories"])
        config["features"] = 0 if config["features"] is None and config["vocab"] is None else config["features"]
    if (config["vocab"] is None) == (config["features"] is None) or (config["vocab"] and config["categories"]):
        got = "both" if config["vocab"] is not None else "neither"
        rule = "given by exactly one of vocab= and features= (with categories= where there are some)"
        raise ConfigError(complain(where, "inputs", rule, got))
    if config["features"] is not None and config["embedding"] is not None and not config["categories"]:
        raise ConfigError(complain(where, "embedding", "left out for real-valued inputs", config["embedding"]))


def _resolve_images(config: dict[str, Any]) -> None:
    """Bring image and patch into the form (height, width) and check them."""
    where = "build('vit')"
    for name in ("image", "patch"):
        if config[name] is None:
            rule = "given: height and width in pixels, or the side of a square"
            raise ConfigError(complain(where, name, rule, "none"))
        sizes = [config[name]] * 2 if isinstance(config[name], int) else config[name]
        config[name] = _sizes(where, name, sizes)
        if len(config[name]) != 2:
            raise ConfigError(complain(where, name, "(height, width) or one side", config[name]))
    if config["head"] in HEADS and config["head"] not in VIT_HEADS:
        remedy = "The last patch is not the last of anything."
        raise ConfigError(complain(where, "head", f"one of {', '.join(VIT_HEADS)}", f"'{config['head']}'", remedy))


def _sizes(where: str, name: str, sizes: Sequence[int]) -> list[int]:
    """Check whole numbers of at least 1, and give them as a list, which JSON has too."""
    found = list(sizes)
    if not found or not all(isinstance(size, int) and not isinstance(size, bool) and size >= 1 for size in found):
        raise ConfigError(complain(where, name, "whole numbers of at least 1", found))
    return found


def _build_recurrent(config: dict[str, Any], generator: torch.Generator) -> SequenceModel:
    if config["head"] == "class_token":
        remedy = "Use head='last', or a transformer."
        where = f"build('{config['preset']}')"
        raise ConfigError(complain(where, "head", "'rows', 'last' or 'mean'", "'class_token'", remedy))
    if config["vocab"] is not None:
        config["embedding"] = config["embedding"] or config["hidden"]
        inputs = TokenInput(config["vocab"], config["embedding"], generator=generator)
    elif config["categories"]:
        inputs = MixedInput(config["features"], config["categories"], None, config["embedding"], generator)
    else:
        inputs = FeatureInput(config["features"])
    encoder = RecurrentEncoder(
        config["preset"],
        inputs.width,
        config["hidden"],
        layers=config["layers"],
        bidirectional=config["bidirectional"],
        dropout=config["dropout"],
        activation=config.get("activation", "tanh"),
        generator=generator,
    )
    head = HEADS[config["head"]](encoder.width, config["outputs"], generator=generator)
    return SequenceModel(inputs, encoder, head, config)


def _build_transformer(config: dict[str, Any], generator: torch.Generator) -> SequenceModel:
    where, width = "build('transformer')", config["hidden"]
    if config["embedding"] not in (None, width) and not config["categories"]:
        remedy = "A Transformer's embedding is as wide as its rows; leave embedding out."
        raise ConfigError(complain(where, "embedding", f"hidden={width}", config["embedding"], remedy))
    if config["head"] == "class_token" and config["causal"]:
        remedy = "A class token stands first and could read nothing; use head='last' or causal=False."
        raise ConfigError(complain(where, "head", "another than 'class_token' if causal", "both", remedy))
    if config["vocab"] is not None:
        inputs = TokenInput(config["vocab"], width, generator=generator)
    elif config["categories"]:
        inputs = MixedInput(config["features"], config["categories"], width, config["embedding"], generator)
    else:
        inputs = FeatureInput(config["features"], width, generator=generator)
    return _with_encoder(inputs, config, config["causal"], config["max_positions"], generator)


def _build_vit(config: dict[str, Any], generator: torch.Generator) -> SequenceModel:
    inputs = PatchInput(config["image"], config["patch"], config["channels"], config["hidden"], generator)
    rows = inputs.patches.count + (config["head"] == "class_token")
    model = _with_encoder(inputs, config, False, rows, generator)
    if config["positions"] == "learned":
        with torch.no_grad():
            model.get_parameter("encoder.positions.weight").mul_(POSITION_SCALE)
    return model


def _with_encoder(
    inputs: TokenInput | FeatureInput | MixedInput | PatchInput,
    config: dict[str, Any],
    causal: bool,
    max_positions: int,
    generator: torch.Generator,
) -> SequenceModel:
    """Put a Transformer and a head behind the inputs."""
    width = config["hidden"]
    config["mlp"] = config["mlp"] or 4 * width
    config["heads"] = config["heads"] or next(heads for heads in USUAL_HEADS if width % heads == 0)
    encoder = TransformerEncoder(
        width,
        config["heads"],
        config["mlp"],
        layers=config["layers"],
        causal=causal,
        norm=config["norm"],
        positions=None if config["positions"] == "none" else config["positions"],
        max_positions=max_positions,
        head_dim=config["head_dim"],
        value_dim=config["value_dim"],
        activation=config["activation"],
        dropout=config["dropout"],
        generator=generator,
    )
    if config["head"] == "class_token":
        head = ClassTokenHead(width, config["outputs"], width, generator=generator)
    else:
        head = HEADS[config["head"]](width, config["outputs"], generator=generator)
    return SequenceModel(inputs, encoder, head, config)
