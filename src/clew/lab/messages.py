"""What passes between a comparison and its worker processes: one JSON object a line, tensors inside as safetensors.

Nothing is pickled, so a worker runs only code that is in the package.
"""

import base64
import json
import os
import sys
import traceback
from typing import Any

from safetensors.torch import load, save

from clew.data.batch import Batch
from clew.errors import ClewError


def encode_message(message: dict[str, Any]) -> str:
    """Put a message into one line of text."""
    return json.dumps(message) + "\n"


def encode_batch(batch: Batch) -> str:
    """Put a batch into text."""
    parts = {
        "inputs": batch.inputs,
        "valid": batch.valid,
        "targets": batch.targets,
        "documents": batch.documents,
    }
    tensors = {name: part.contiguous() for name, part in parts.items() if part is not None}
    return base64.b64encode(save(tensors)).decode()


def decode_batch(text: str) -> Batch:
    """Read a batch from text."""
    parts = load(base64.b64decode(text))
    return Batch(parts["inputs"], parts.get("valid"), parts.get("targets"), parts.get("documents"))


def failure_reason(error: Exception) -> str:
    """Say in one line why a job failed; the traceback goes to standard error if CLEW_DEBUG is set."""
    if os.environ.get("CLEW_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ClewError):
        return str(error)
    return f"{type(error).__name__}: {error}".splitlines()[0]
