"""`clew data`: what a file holds, before anyone trains on it."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clew.cli.output import print_result
from clew.cli.settings import usage_errors
from clew.files import dump_json

_switch = Parameter(negative=(), show_default=False)


def data(
    file: Path,
    /,
    *,
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Describe a file: columns, lengths, gaps, classes, duplicates, missing values, and what each task would do.

    Nothing is written or trained. What is wrong with the file is told all at once.

    Args:
        file: .csv, .tsv, .parquet, .jsonl, .conllu, .txt, .npz, or a folder of images.
        settings: How to read it, as columns.label=speaker or data.delimiter=";"; may be repeated.
        json: Print the description as JSON.
    """
    from clew.runs.planning import describe_file

    with usage_errors():
        found = describe_file(file, overrides=settings or [])
    print_result(dump_json(found.to_json()) if json else found.text())
