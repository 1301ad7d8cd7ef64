"""A model on disk: `model.json` says how to build it, `model.safetensors` holds its weights. No pickle.

Both files are written under a temporary name, flushed and renamed, so that an interrupted write leaves the old ones.
"""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from clew.errors import RunError, complain
from clew.files import write_atomically
from clew.models.presets import build
from clew.models.sequence_model import SequenceModel

FORMAT = 1


def save_model(model: SequenceModel, folder: Path | str) -> None:
    """Write a model that came from `clew.models.build` into a folder.

    Raises:
        RunError: If the model was put together by hand, so that no configuration can build it again.
    """
    if model.config is None:
        raise RunError(complain("save_model", "model", "one from clew.models.build", "a model put together by hand"))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    write_atomically(folder / "model.safetensors", save(weights))
    text = json.dumps({"format": FORMAT, "model": model.config}, indent=2) + "\n"
    write_atomically(folder / "model.json", text.encode())


def load_model(folder: Path | str) -> SequenceModel:
    """Build the model that a folder describes and give it the saved weights.

    Raises:
        RunError: If a file is missing, damaged or of another format.
    """
    folder = Path(folder)
    model = build_from_config(_read_config(folder / "model.json"))
    path = folder / "model.safetensors"
    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise RunError(complain(str(path), "weights", "whole and of this model", f"{error}".splitlines()[0])) from error
    return model


def build_from_config(config: dict[str, Any]) -> SequenceModel:
    """Build a model again from the `config` of another one."""
    options = {name: value for name, value in config.items() if name != "preset"}
    return build(config["preset"], **options)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(complain(str(path), "model description", "a readable JSON file", str(error))) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        got = content.get("format") if isinstance(content, dict) else type(content).__name__
        remedy = "Save the model again with this version of clew."
        raise RunError(complain(str(path), "format", str(FORMAT), got, remedy))
    return content["model"]
