"""`clew forecast`: series beyond their end, as rows and as a chart."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clew.cli.output import print_result
from clew.cli.settings import require_new, usage_errors
from clew.errors import RunError, complain
from clew.files import dump_json, write_atomically

WHERE = "clew forecast"
_switch = Parameter(negative=(), show_default=False)


def forecast(
    run: Path,
    file: Path | None = None,
    /,
    *,
    horizon: int | None = None,
    known: Path | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    plot: Path | None = None,
    force: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Go on beyond the end of series, by feeding predictions back; without --out the rows are printed.

    Args:
        run: The folder of a run of forecasting.
        file: The series up to now, as in training [default: the file that was trained on].
        horizon: Steps [default: the horizon of the training].
        known: A file with the columns whose future is known, for each step that is forecast.
        out: The file to write: .csv, .tsv, .parquet or .jsonl.
        plot: A chart of the end of each series and its forecast, as .svg or .html.
        force: Replace files that are there.
        json: Print the rows as a JSON object a line.
    """
    from clew.runs import load
    from clew.runs.outlook import look_ahead
    from clew.runs.writing import encode_frame

    require_new(WHERE, out, force)
    require_new(WHERE, plot, force, "--plot")
    with usage_errors():
        found = look_ahead(load(run), file, horizon, known)
        if plot is not None:
            from clew.report.outlook_chart import outlook_file

            write_atomically(plot, outlook_file(found, plot.suffix.lower()))
            print(f"Chart: {plot}", file=sys.stderr)
        if out is None:
            kind = "jsonl" if json else "csv"
            print_result(encode_frame(found.frame, kind).decode().rstrip("\n"))
            return
        content = encode_frame(found.frame, _format(out), "\t" if out.suffix.lower() in (".tsv", ".tab") else ",")
        write_atomically(out, content)
    if json:
        print_result(dump_json({"file": str(out), "rows": found.frame.height}))
    else:
        print(f"Forecast: {out} ({found.frame.height:,} rows)", file=sys.stderr)


def _format(out: Path) -> str:
    from clew.runs.writing import FORMATS

    kind = FORMATS.get(out.suffix.lower())
    if kind not in ("csv", "parquet", "jsonl"):
        rule = ".csv, .tsv, .parquet or .jsonl"
        raise RunError(complain(str(out), "the ending of the output", rule, f"'{out.suffix}'"))
    return kind
