"""`clew trace`: a text through a model, every quantity by name, with sensitivities beside values on request."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result
from clew.errors import ConfigError, LedgerError
from clew.files import dump_json, write_atomically

_several = Parameter(consume_multiple=(1, None), negative=())
_switch = Parameter(negative=(), show_default=False)


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
        text: Words in quotes, or a file with a sequence a line; left out, a random episode for a run folder.
        model: rnn, gru, lstm or transformer, untrained; worked, the worked example's; or a run folder of clew recall.
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
        printed = dump_json(trace_json(found, chosen)) if json else trace_text(found, chosen, row, step)
    except (ConfigError, LedgerError) as error:
        raise UsageError(str(error)) from error
    print_result(printed)
    if html is not None:
        write_atomically(html, trace_page(found, chosen, row))
        print(f"Page: {html}", file=sys.stderr)
