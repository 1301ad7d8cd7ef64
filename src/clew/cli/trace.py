"""`clew trace`: a text through a model, every quantity by name, with sensitivities beside values on request."""

import re
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from clew.cli.faults import UsageError
from clew.cli.output import print_result, result_console
from clew.errors import ConfigError, LedgerError
from clew.files import dump_json, write_atomically

_several = Parameter(consume_multiple=(1, None), negative=())
_switch = Parameter(negative=(), show_default=False)
_HEADING = re.compile(r"[a-z][\w.#]*( {4}.*|:.*)?")  # a layer or a quantity, with what is said of it
_EQUATION = re.compile(r" {6}.*")


def trace(
    text: str | None = None,
    /,
    *,
    model: str = "transformer",
    show: Annotated[list[str] | None, _several] = None,
    backward: Annotated[bool, _switch] = False,
    row: int = 0,
    step: int | None = None,
    html: Path | None = None,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Follow a text through a model: every named quantity, what it was and how it was computed.

    Words are lowercased and split at spaces, punctuation is dropped. An untrained model takes the text's own words as
    its vocabulary; a run folder and the worked example know theirs and refuse others.

    Args:
        text: Words in quotes, or a file with a sequence a line; left out, a random episode for a run folder. Words are
            lowercased and split at spaces, without punctuation.
        model: rnn, gru, lstm or transformer, untrained, with the text's words as vocabulary; worked, the worked
            example's, or a run folder of clew recall, which refuse unknown words.
        show: Quantities to show as matrices, by name, by its end or with * and ? [default: states and gates, or
            attention weights].
        backward: Add the loss of the next token and the sensitivity of every quantity.
        row: Which line of the text to show.
        step: Which word to show alone, with the arithmetic of one number.
        html: Write a self-contained page to this file.
        json: Print everything as JSON with all digits; with --show, only that.
    """
    from clew.report.trace import run_trace, trace_json, trace_page, trace_text
    from clew.report.trace_subject import make_subject

    chosen = show or []
    try:
        found = run_trace(make_subject(text, model, backward), backward)
        found.require(row, step)
        if json:
            print_result(dump_json(trace_json(found, chosen)))
        else:
            _print(trace_text(found, chosen, row, step))
    except (ConfigError, LedgerError) as error:
        raise UsageError(str(error)) from error
    if html is not None:
        write_atomically(html, trace_page(found, chosen, row))
        print(f"Page: {html}", file=sys.stderr)


def _print(text: str) -> None:
    """Print a trace as it stands; on a terminal names of layers and quantities are bold and equations dim."""
    console = result_console()
    if not console.is_terminal:
        print_result(text)
        return
    for line in text.split("\n"):
        style = "bold" if _HEADING.fullmatch(line) else "dim" if _EQUATION.fullmatch(line) else ""
        console.print(Text(line, style=style), soft_wrap=True)
