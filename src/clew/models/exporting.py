"""Export: a model as an ONNX file, which runs without torch and without this package, and a proof that it does.

The file takes any number of rows and, for sequences, of steps. Before it gets its name it is run and compared with the
model. Needs the extra: `pip install 'clew[onnx]'`. Not in the file: packed documents, visibility, padding elsewhere
than behind a row; and checks of the inputs, which are the caller's there.
"""

from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from warnings import catch_warnings, simplefilter

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from clew.errors import ConfigError, RunError, complain
from clew.files import write_atomically
from clew.layers.bidirectional import BidirectionalLayer
from clew.layers.recurrent import RecurrentLayer
from clew.models.patch_input import PatchInput
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.sequence_model import SequenceModel

PACKAGES = ("onnx", "onnxruntime")
TOLERANCE = 1e-4
"""Largest accepted difference, in units of the largest logit or 1: single precision in another order of summation."""
TRACED_STEPS = 7


def export(
    model: SequenceModel, path: Path | str, example: Shaped[Tensor, "batch *sizes"], force: bool = False
) -> float:
    """Write a model as an ONNX file, in single precision and for evaluation.

    The file's inputs are `inputs`, as for the model, and for sequences `lengths` (batch,) int64: the real steps of each
    row, which is padded on the right. Its output is `logits`.

    Args:
        model: The model; it is left as it is.
        path: Where the file goes, a name in `.onnx`.
        example: Some real inputs without padding, to trace and to compare with.
        force: Whether a file that exists is replaced.

    Returns:
        The largest difference between logits of the file and of the model, in units of the largest logit or 1.

    Raises:
        ConfigError: If the extra is not installed, or the model cannot be expressed.
        RunError: If the file exists, or gives other numbers than the model.
    """
    path = Path(path)
    _require_packages()
    if path.exists() and not force:
        raise RunError(complain("export", "path", "a new file", f"'{path}', which exists", "Give force to replace it."))
    plain = _Exported(deepcopy(model).float().cpu()).eval()
    example = example.detach().cpu()
    example = example.float() if example.is_floating_point() else example.long()
    with TemporaryDirectory() as folder, torch.no_grad():
        draft = Path(folder) / "model.onnx"
        _write(plain, draft, example)
        difference = _largest_difference(plain.model, draft, example)
        if not difference <= TOLERANCE:
            rule = f"those of the model to {TOLERANCE:g} of the largest"
            remedy = "No file was written. This is a fault of the export, not of the model."
            raise RunError(complain("export", "logits of the file", rule, f"{difference:.1e} away", remedy))
        write_atomically(path, draft.read_bytes())
    return difference


class _Exported(nn.Module):
    """The model as operations that ONNX has: torch's own recurrences instead of loops over steps."""

    def __init__(self, model: SequenceModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        if lengths is None:
            return self.model(inputs).logits
        steps = torch.arange(inputs.shape[1])
        valid = steps < lengths.unsqueeze(1)
        encoder = self.model.encoder
        if not isinstance(encoder, RecurrentEncoder):
            return self.model(inputs, valid=valid).logits
        rows = self.model.embed(inputs, valid)
        for layer in encoder.recurrent:
            rows = _run(layer, rows, steps, lengths.unsqueeze(1)) * valid.unsqueeze(-1)
        return self.model.head(rows, valid)


def _run(layer: nn.Module, rows: Tensor, steps: Tensor, lengths: Tensor) -> Tensor:
    """Run a recurrent layer over rows that are padded on the right; what stands at padding means nothing."""
    if not isinstance(layer, BidirectionalLayer):
        assert isinstance(layer, RecurrentLayer)
        return _run_forward(layer, rows)
    backwards = torch.where(steps < lengths, lengths - 1 - steps, steps).unsqueeze(-1)
    turned = rows.gather(1, backwards.expand(-1, -1, rows.shape[2]))
    found = _run_forward(layer.backward_layer, turned)
    found = found.gather(1, backwards.expand(-1, -1, found.shape[2]))
    return torch.cat([_run_forward(layer.forward_layer, rows), found], dim=-1)


def _run_forward(layer: RecurrentLayer, rows: Tensor) -> Tensor:
    initial = tuple(torch.zeros(rows.shape[0], layer.hidden) for _ in layer.state_parts)
    return layer(rows, initial=initial, kernel="fused")[0]


def _write(plain: _Exported, path: Path, example: Tensor) -> None:
    is_image = isinstance(plain.model.inputs, PatchInput)
    names = ["inputs"] if is_image else ["inputs", "lengths"]
    axes = {"inputs": {0: "batch"} if is_image else {0: "batch", 1: "time"}, "lengths": {0: "batch"}}
    axes["logits"] = {0: "batch", 1: "time"} if plain.model.head.predictions(2) == 2 and not is_image else {0: "batch"}
    traced = example[:2] if is_image else example[:2, :TRACED_STEPS]
    arguments = (traced,) if is_image else (traced, torch.full((len(traced),), traced.shape[1]))
    with catch_warnings():
        # Tracing turns checks of the inputs into constants and says so. That it turned nothing else into one is what
        # the comparison with other numbers of rows and steps is for.
        simplefilter("ignore")
        torch.onnx.export(
            plain,
            arguments,
            str(path),
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: axes[name] for name in [*names, "logits"]},
            dynamo=False,
        )


def _largest_difference(model: SequenceModel, path: Path, example: Tensor) -> float:
    """Compare file and model for several numbers of rows and steps, and for rows of unequal length."""
    runtime: Any = import_module("onnxruntime")
    found = 0.0
    for inputs, lengths in _trials(model, example):
        fed = {"inputs": inputs.numpy()} | ({} if lengths is None else {"lengths": lengths.numpy()})
        try:
            session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            (logits,) = session.run(["logits"], fed)
        except Exception as error:  # onnxruntime's own classes have no common base
            got = f"{type(error).__name__}: {error}".splitlines()[0]
            remedy = "No file was written. This is a fault of the export, not of the model."
            raise RunError(complain("export", "file", "one that onnxruntime can run", got, remedy)) from error
        expected = model(inputs, lengths=lengths).logits
        found = max(found, _difference(torch.from_numpy(logits), expected, lengths))
    return found


def _difference(
    logits: Float[Tensor, "batch *rest"], expected: Float[Tensor, "batch *rest"], lengths: Int[Tensor, " batch"] | None
) -> float:
    """Give the largest difference at real steps, in units of the largest logit or 1."""
    if lengths is not None and expected.ndim == 3:
        real = torch.arange(expected.shape[1]) < lengths.unsqueeze(1)
        logits, expected = logits[real], expected[real]
    return float((logits - expected).abs().max() / expected.abs().max().clamp_min(1))


def _trials(model: SequenceModel, example: Tensor) -> Iterator[tuple[Tensor, Tensor | None]]:
    for rows in (len(example), 1, len(example) + 1):
        inputs = example[torch.arange(rows) % len(example)]
        if isinstance(model.inputs, PatchInput):
            yield inputs, None
            continue
        limit = model.context_limit or 2 * example.shape[1]
        for time in {1, example.shape[1], min(2 * example.shape[1], limit)}:
            longer = inputs[:, torch.arange(time) % example.shape[1]]
            yield longer, torch.full((rows,), time)
            yield longer, torch.arange(rows) % time + 1


def _require_packages() -> None:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        remedy = "Install the extra: pip install 'clew[onnx]'."
        raise ConfigError(complain("export", "packages", f"{' and '.join(PACKAGES)}", f"no {missing[0]}", remedy))
