"""What a model under audit reads, where its author did not say: a file, random content of a shape, or a guess.

A guess looks at the first layer that shows what it reads, and is always told.
"""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import torch
from jaxtyping import Int
from torch import Tensor, nn

from clew.cli.faults import UsageError
from clew.errors import complain
from clew.models import SequenceModel

WHERE = "clew audit"
ROWS, STEPS = 3, 12
SEED = 0
FILES = (".npy", ".npz", ".safetensors", ".pt")
BESIDE = ("inputs", "lengths", "valid", "targets")
LARGEST = 2**28
_SHAPE = re.compile(r"\d+(x\d+)+")


def complete(arguments: Mapping[str, Any], inputs: str | None, vocab: int | None) -> tuple[dict[str, Any], str]:
    """Add inputs and vocabulary to the arguments of an audit.

    Args:
        arguments: `model`, and what else its author said.
        inputs: A file or a shape; it replaces the author's.
        vocab: Number of legal ids; it replaces the author's.

    Returns:
        The arguments, and in words what was guessed, or "".

    Raises:
        UsageError: If a file or shape cannot be used, or nothing shows what the model reads.
    """
    given, note = dict(arguments), ""
    if vocab is not None:
        if vocab < 2:
            raise UsageError(complain(WHERE, "--vocab", "at least 2", vocab))
        given["vocab"] = vocab
    model = given["model"]
    if inputs is None:
        if "inputs" not in given:
            guessed, note = guess_inputs(model, given.get("vocab"))
            given = guessed | given
    elif _SHAPE.fullmatch(inputs):
        given |= _drawn(model, [int(size) for size in inputs.split("x")], given.get("vocab"))
    else:
        given |= read_inputs(Path(inputs), _float_type(model))
    return given, note


def read_inputs(path: Path, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """Read inputs from a file; nothing in it is run.

    Args:
        path: .npy holds an array, .npz, .safetensors and .pt (a tensor or a dict of tensors) hold named ones. With a
            tensor named `inputs` the names mean arguments of `clew.audit` (inputs, lengths, valid, targets); several
            without one are keyword tensors for the model.
        dtype: Type for real values.

    Raises:
        UsageError: If the file is missing, of another kind, damaged or empty.
    """
    if path.suffix not in FILES:
        rule = f"a shape such as 4x16, or a file that ends in {', '.join(FILES)}"
        raise UsageError(complain(WHERE, "--inputs", rule, f"'{path}'"))
    if not path.is_file():
        raise UsageError(complain(WHERE, "--inputs", "a file that exists", f"'{path}'"))
    try:
        read = _read(path)
    except Exception as error:
        got = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UsageError(complain(WHERE, str(path), f"a readable {path.suffix} file of plain tensors", got)) from error
    tensors = {name: _as_model_reads(value, dtype) for name, value in read.items()}
    if not tensors:
        raise UsageError(complain(WHERE, str(path), "a file with at least one tensor", "none"))
    if "inputs" in tensors:
        unknown = sorted(set(tensors) - set(BESIDE))
        if unknown:
            raise UsageError(complain(WHERE, str(path), f"a file of {', '.join(BESIDE)}", ", ".join(unknown)))
        return tensors
    return {"inputs": next(iter(tensors.values())) if len(tensors) == 1 else tensors}


def _read(path: Path) -> dict[str, Any]:
    if path.suffix == ".npy":
        return {"inputs": torch.from_numpy(numpy.load(path, allow_pickle=False))}
    if path.suffix == ".npz":
        with numpy.load(path, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(path))
    loaded = torch.load(path, weights_only=True, map_location="cpu")
    named = {"inputs": loaded} if isinstance(loaded, Tensor) else dict(loaded)
    if not all(isinstance(value, Tensor) for value in named.values()):
        raise TypeError("something else than tensors")
    return named


def _as_model_reads(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Give real values the model's type and whole numbers int64, which embeddings want."""
    if tensor.is_floating_point():
        return tensor.to(dtype)
    return tensor if tensor.dtype == torch.bool else tensor.long()


def _drawn(model: Any, sizes: list[int], vocab: int | None) -> dict[str, Any]:
    count = 1
    for size in sizes:
        count *= size
    if not 0 < count <= LARGEST:
        raise UsageError(complain(WHERE, "--inputs", f"a shape of 1 to {LARGEST:,} numbers", "x".join(map(str, sizes))))
    generator = torch.Generator().manual_seed(SEED)
    if len(sizes) > 2:
        return {"inputs": torch.randn(sizes, generator=generator).to(_float_type(model))}
    table = None if vocab is not None else _first_table(model)
    if vocab is None and table is None:
        remedy = "Say how many ids there are with --vocab, or give a shape (batch, time, features) for real values."
        raise UsageError(
            complain(WHERE, "--inputs", "a shape with a known vocabulary", "no embedding in the model", remedy)
        )
    size, padding = (vocab, None) if table is None else table[1:]
    assert size is not None
    return {"inputs": _ids(sizes[0], sizes[1], size, padding), "vocab": size}


def guess_inputs(model: Any, vocab: int | None = None) -> tuple[dict[str, Any], str]:
    """Draw inputs for a model by its first layer that shows what it reads.

    Returns:
        `inputs`, with `vocab` for ids, and the guess in words.

    Raises:
        UsageError: If nothing shows it, or a torch layer alone would take the rows for steps.
    """
    remedy = "Say what it reads with --inputs, or let BUILD return a dict with inputs."
    if not isinstance(model, nn.Module):
        raise UsageError(complain(WHERE, "inputs", "given for a model that is no torch module", "none", remedy))
    if _is_time_first(model):
        remedy = "Build it with batch_first=True."
        raise UsageError(
            complain(WHERE, "a torch layer alone", "one that reads (batch, time, features)", "time first", remedy)
        )
    table = _first_table(model)
    features = None if table is not None else _first_features(model)
    if table is not None:
        place, size, padding = table
        size = vocab or size
        content: Tensor = _ids(ROWS, STEPS, size, padding)
        words = f"random ids ({ROWS}, {STEPS}) of {size}"
    elif features is not None:
        place, width = features
        steps = STEPS + (width == STEPS)  # a time axis that cannot be mistaken for the features
        content = torch.randn(ROWS, steps, width, generator=torch.Generator().manual_seed(SEED)).to(_float_type(model))
        size, words = None, f"random values ({ROWS}, {steps}, {width})"
    else:
        raise UsageError(
            complain(WHERE, "inputs", "given for a model whose layers do not show what it reads", "none", remedy)
        )
    arguments: dict[str, Any] = {"inputs": _keyed(model, content)}
    if size is not None:
        arguments["vocab"] = size
    if isinstance(model, SequenceModel):
        arguments["lengths"] = torch.tensor([STEPS, STEPS - 3, STEPS - 5])
    return arguments, f"Inputs: {words}, guessed from {place}; --inputs gives others."


def _keyed(model: nn.Module, content: Tensor) -> Tensor | dict[str, Tensor]:
    """Put ids where a model of the Hugging Face style takes them, with its mask."""
    known = inspect.signature(model.forward).parameters
    if content.is_floating_point() or "input_ids" not in known:
        return content
    mask = {"attention_mask": torch.ones_like(content)} if "attention_mask" in known else {}
    return {"input_ids": content} | mask


def _is_time_first(model: nn.Module) -> bool:
    if isinstance(model, nn.TransformerEncoder | nn.TransformerEncoderLayer | nn.MultiheadAttention):
        return not next(m for m in model.modules() if isinstance(m, nn.MultiheadAttention)).batch_first
    return isinstance(model, nn.RNNBase) and not model.batch_first


def _first_table(model: Any) -> tuple[str, int, int | None] | None:
    """Name the embedding that takes ids, with its size and padding id; tables of positions are passed over."""
    if isinstance(model, SequenceModel) and model.config is not None:
        vocab = model.config.get("vocab")
        return None if vocab is None else ("its vocabulary", vocab, None)
    for name, module in model.named_modules() if isinstance(model, nn.Module) else ():
        if isinstance(module, nn.Embedding) and "pos" not in name.lower():
            return f"`{name or type(model).__name__}`, an Embedding", module.num_embeddings, module.padding_idx
    return None


def _first_features(model: nn.Module) -> tuple[str, int] | None:
    if isinstance(model, SequenceModel) and model.config is not None:
        return "its features", model.config["features"]
    for name, module in model.named_modules():
        width = _width(module)
        if width:
            return f"`{name or type(model).__name__}`, a {type(module).__name__}", width
    return None


def _width(module: nn.Module) -> int | None:
    match module:
        case nn.Linear():
            return module.in_features
        case nn.RNNBase() | nn.RNNCellBase():
            return module.input_size
        case nn.Conv1d():
            return module.in_channels
        case nn.MultiheadAttention():
            return module.embed_dim
        case nn.LayerNorm():
            return module.normalized_shape[-1]
        case _:
            return None


def _ids(rows: int, steps: int, size: int, padding: int | None) -> Int[Tensor, "rows steps"]:
    """Draw ids, of which none is padding."""
    drawn = torch.randint(0, size, (rows, steps), generator=torch.Generator().manual_seed(SEED))
    return drawn if padding is None else torch.where(drawn == padding, (drawn + 1) % size, drawn)


def _float_type(model: Any) -> torch.dtype:
    parameters = model.parameters() if isinstance(model, nn.Module) else ()
    return next((one.dtype for one in parameters if one.is_floating_point()), torch.float32)
