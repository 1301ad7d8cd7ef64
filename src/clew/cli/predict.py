"""`clew predict`: what a run says of the sequences of a file, as a file of the same kind."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result
from clew.cli.settings import require_new, usage_errors
from clew.errors import complain, did_you_mean

if TYPE_CHECKING:
    from clew.runs import Run

WHERE = "clew predict"
OTHER_COMMANDS = {"next_token": "clew generate RUN --prompt TEXT", "forecasting": "clew forecast RUN FILE"}
_switch = Parameter(negative=(), show_default=False)


def predict(
    run: Path,
    file: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    batch_size: int = 512,
    force: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Predict the label of each sequence of a file, or of each step in tagging, with its probabilities.

    Names of sequences and their order are those of the file. Without --out the predictions are printed.

    Args:
        run: The folder of a run.
        file: A file like the one that was trained on; labels are not needed and not looked at.
        out: The file to write; its ending says the format: .csv, .tsv, .parquet, .jsonl, .conllu for treebanks, .npz
            for images.
        batch_size: Sequences that are computed together; changes memory and time, not the result.
        force: Replace a file that is there.
        json: Print predictions as a JSON object a line.
    """
    from clew.runs import load
    from clew.runs.writing import FORMATS, encode_predictions, usual_format, write_predictions

    require_new(WHERE, out, force)
    if out is not None and out.suffix.lower() not in FORMATS:
        rule, remedy = f"one of {', '.join(FORMATS)}", did_you_mean(out.suffix.lower(), FORMATS)
        raise UsageError(complain(WHERE, "the ending of --out", rule, f"'{out.suffix}'", remedy))
    if batch_size < 1:
        raise UsageError(complain(WHERE, "--batch-size", "at least 1", batch_size))
    with usage_errors():
        loaded = load(run)
        if loaded.task.name in OTHER_COMMANDS:
            remedy = f"Use {OTHER_COMMANDS[loaded.task.name]}."
            raise UsageError(complain(WHERE, "task of the run", "one with labels", loaded.task.name, remedy))
        predictions = loaded.predict(_source(loaded, file), chunk=batch_size)
        label = _label(loaded)
        if out is None:
            kind = "jsonl" if json else usual_format(predictions)
            kind = "csv" if kind == "parquet" else kind
            print_result(encode_predictions(predictions, kind, label=label).decode().rstrip("\n"))
            return
        write_predictions(predictions, out, label=label, force=force)
    if json:
        from clew.files import dump_json

        print_result(dump_json({"file": str(out), "sequences": len(predictions)}))
    else:
        print(f"Predictions: {out} ({len(predictions):,} sequences)", file=sys.stderr)


def _label(run: "Run") -> str:
    """Name the annotation that a run on treebanks predicts."""
    from clew.data.conllu import LABELS

    names = getattr(getattr(run.preparation, "columns", None), "labels", ())
    return next((name for name in names if name in LABELS), "upos")


def _source(run: "Run", file: Path) -> Any:
    """Read what needs other words for prediction than for evaluation; the rest the run reads itself."""
    from clew.data import ImagePreparation, read_conllu, read_images

    if file.suffix.lower() == ".conllu" and run.task.name == "tagging":
        return read_conllu(file, _label(run), needs_label=False)
    if isinstance(run.preparation, ImagePreparation):
        return read_images(file, needs_label=False)
    return file
