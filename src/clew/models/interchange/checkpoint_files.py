"""Reading the files of a published checkpoint: a JSON configuration and weights as safetensors. Never a pickle.

What is wrong with a file ends in one line that names it. What the weights mean is not known here.
"""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from clew.errors import RunError, complain

WEIGHTS = "model.safetensors"
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".jit", ".h5", ".msgpack")


def read_configuration(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        RunError: If the file is missing, is not JSON, or holds something else than an object.
    """
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError as error:
        remedy = "Name the folder that holds config.json and model.safetensors."
        raise RunError(complain(str(path), "configuration", "a JSON file", "no such file", remedy)) from error
    except (OSError, ValueError) as error:
        raise RunError(complain(str(path), "configuration", "a readable JSON file", _first_line(error))) from error
    if not isinstance(content, dict):
        raise RunError(complain(str(path), "configuration", "a JSON object", type(content).__name__))
    return content


def read_folder_weights(folder: Path) -> dict[str, Tensor]:
    """Read `model.safetensors` of a folder, and say what to do where only another form of the weights is there.

    Raises:
        RunError: If the file is missing or damaged.
    """
    path = folder / WEIGHTS
    if not path.exists() and (folder / f"{WEIGHTS}.index.json").exists():
        remedy = f"Put its parts together into one {WEIGHTS}."
        raise RunError(complain(str(folder), "weights", f"one file {WEIGHTS}", "an index of several files", remedy))
    if not path.exists():
        for other in sorted(folder.iterdir()):
            if other.suffix in PICKLES:
                raise _refused(other)
    return read_weights(path)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read every tensor of a safetensors file, by name.

    Raises:
        RunError: If the file is missing, damaged, or of a form whose reading can run code.
    """
    if path.suffix in PICKLES:
        raise _refused(path)
    if not path.is_file():
        raise RunError(complain(str(path), "weights", "a safetensors file", "no such file"))
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        remedy = "Fetch it again."
        raise RunError(
            complain(str(path), "weights", "a whole safetensors file", _first_line(error), remedy)
        ) from error


def _refused(path: Path) -> RunError:
    remedy = (
        "Reading a pickle can run code. Where you trust it, write its tensors once with "
        f"safetensors.torch.save_file(torch.load('{path.name}', weights_only=True), '{WEIGHTS}')."
    )
    return RunError(complain(str(path.parent), "weights", f"a safetensors file such as {WEIGHTS}", path.name, remedy))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
