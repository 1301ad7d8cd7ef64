"""Which forecast without learning a model has to beat: the best one on validation, chosen before a test is scored."""

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.files import dump_json, write_atomically
from clew.runs.folder import RunFolder, read_json
from clew.runs.run import Run
from clew.tasks import Forecasting
from clew.tasks.forecast_arguments import MODES
from clew.tasks.forecast_references import best_reference

REFERENCES = "references.json"


def keep_references(
    folder: RunFolder, task: Forecasting, train: Batch | SequenceData, validation: Batch | SequenceData
) -> None:
    """Write down what the references score on validation, and the best of each mode, unless it is there already.

    Raises:
        RunError: If the folder cannot be written.
    """
    path = folder.path / REFERENCES
    if not path.exists():
        rows = task.references(train, validation)
        chosen = {mode: best_reference(rows, mode) for mode in MODES}
        write_atomically(path, dump_json({"chosen": chosen, "validation": rows}) + "\n")


def chosen_reference(run: Run, mode: str) -> str | None:
    """Name the reference that was best on validation; None where a run does not know it."""
    path = run.path / REFERENCES
    return read_json(path)["chosen"].get(mode) if path.exists() else None
