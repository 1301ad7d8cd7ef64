"""What passes between a comparison and its worker processes: one JSON object a line, tensors inside as safetensors.

Nothing is pickled, so a worker runs only code that is in the package.
"""

import base64
import json
from typing import IO, Any

from safetensors.torch import load, save

from clew.data.batch import Batch


def send(stream: IO[str], message: dict[str, Any]) -> None:
    """Write one message and flush it."""
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def encode_batch(batch: Batch) -> str:
    """Put a batch into text."""
    parts = {"inputs": batch.inputs, "valid": batch.valid, "targets": batch.targets}
    tensors = {name: part.contiguous() for name, part in parts.items() if part is not None}
    return base64.b64encode(save(tensors)).decode()


def decode_batch(text: str) -> Batch:
    """Read a batch from text."""
    parts = load(base64.b64decode(text))
    return Batch(parts["inputs"], parts.get("valid"), parts.get("targets"))
