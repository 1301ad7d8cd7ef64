"""`clew export`: a trained model as a file that runs without this package."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result
from clew.cli.settings import require_new, usage_errors
from clew.errors import complain
from clew.files import dump_json

if TYPE_CHECKING:
    from torch import Tensor

    from clew.runs import Run

WHERE = "clew export"
EXAMPLES = 4
_switch = Parameter(negative=(), show_default=False)


def export(
    run: Path,
    /,
    *,
    onnx: Path | None = None,
    force: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Write the model of a run as an ONNX file, after it has given the same numbers as the model.

    Needs the extra: pip install 'clew[onnx]'. Inputs of the file are what the model reads, scaled and numbered as
    config.json of the run says.

    Args:
        run: The folder of a run.
        onnx: The file to write, a name in .onnx.
        force: Replace a file that is there.
        json: Print the result as JSON.
    """
    from clew.models.exporting import export as export_model
    from clew.runs import load

    if onnx is None:
        raise UsageError(complain(WHERE, "--onnx", "given, the file to write", "none", "As in: --onnx model.onnx"))
    require_new(WHERE, onnx, force, "--onnx")
    with usage_errors():
        loaded = load(run)
        difference = export_model(loaded.model, onnx, example_inputs(loaded), force=force)
    if json:
        print_result(dump_json({"file": str(onnx), "largest_difference": difference}))
    else:
        words = f"its logits are those of the model to {difference:.1e} of the largest"
        print(f"Model: {onnx}; {words}", file=sys.stderr)


def example_inputs(run: "Run") -> "Tensor":
    """Take a few training sequences, cut to the length of the shortest, to trace and to compare with.

    Raises:
        UsageError: If the run does not hold its training part.
    """
    import torch

    from clew.data import SequenceData

    folder = run.path / "train"
    if not folder.exists():
        remedy = "In Python, clew.models.exporting.export takes example inputs."
        raise UsageError(complain(WHERE, str(run.path), "a run that holds its training part", "one without", remedy))
    data = SequenceData.open(folder)
    aligned = run.task.align(data.select(torch.arange(min(EXAMPLES, len(data)))))
    if aligned.valid is None:
        return aligned.inputs
    shortest = int(aligned.valid.sum(dim=1).min())
    return aligned.inputs[:, :shortest]
