"""`clew trace`: a text through a model, every quantity by name, with sensitivities beside values on request."""

import re
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from clew.cli.faults import UsageError
from clew.cli.output import print_result, result_console
from clew.cli.settings import require_new
from clew.errors import ConfigError, LedgerError, complain
from clew.files import dump_json, write_atomically

WHERE = "clew trace"
_several = Parameter(consume_multiple=(1, None), negative=())
_switch = Parameter(negative=(), show_default=False)
_HEADING = re.compile(r"[a-z][\w.#]*( {4}.*|:.*)?")  # a layer or a quantity, with what is said of it
_EQUATION = re.compile(r" {6}.*")


def trace(
    text: str | None = None,
    file: str | None = None,
    /,
    *,
    model: str | None = None,
    show: Annotated[list[str] | None, _several] = None,
    backward: Annotated[bool, _switch] = False,
    row: int = 0,
    step: int | None = None,
    html: Path | None = None,
    force: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Follow a text, or a sequence of a file, through a model: every named quantity and how it was computed.

    Words are lowercased and split at spaces, punctuation is dropped. An untrained model takes the text's own words as
    its vocabulary; the worked example and runs of clew recall know theirs and refuse others. Another run reads text
    with its own vocabulary, a file like the one that was trained on, or the training part that it keeps.

    Args:
        text: Words in quotes, or a file with a sequence a line; or a run folder, followed by what it reads.
        file: After a run folder: a text for next tokens, or a file [default: a sequence that the run keeps].
        model: rnn, gru, lstm or transformer, untrained, with the text's words as vocabulary; worked, the worked
            example's; or a run folder, as before TEXT [default: transformer].
        show: Quantities to show as matrices, by name, by its end or with * and ? [default: states and gates, or
            attention weights].
        backward: Add the loss, of the next token or of the run's task, and the sensitivity of every quantity.
        row: Which line of the text to show, or which sequence of a run's file or training part.
        step: Which word or step to show alone, with the arithmetic of one number.
        html: Write a self-contained page to this file.
        force: Replace a page that is there.
        json: Print everything as JSON with all digits; with --show, only that.
    """
    from clew.report.trace import run_trace, trace_json, trace_page, trace_text
    from clew.report.trace_subject import MODELS, make_subject

    require_new(WHERE, html, force, "--html")
    chosen = show or []
    try:
        source, model = _what(text, file, model)
        subject = make_subject(source, model, backward, row)
        row = row if len(subject.words) > 1 or model in MODELS else 0
        found = run_trace(subject, backward)
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


def _what(text: str | None, file: str | None, model: str | None) -> tuple[str | None, str]:
    """Tell what is read, and by which model.

    Raises:
        UsageError: If there are two models, or a second text.
    """
    is_run = bool(text) and _is_folder(text or "")
    if is_run and model is not None:
        raise UsageError(complain(WHERE, "the model", "named once", f"{text} and --model {model}"))
    if is_run:
        assert text is not None
        return file, text
    if file is not None:
        remedy = "Put words in quotes." if text is None or not Path(text).is_file() else "A run folder stands first."
        raise UsageError(complain(WHERE, "arguments", "one text, or a run folder and what it reads", 2, remedy))
    return text, model or "transformer"


def _is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except (OSError, ValueError):  # too long for a path, or with a zero byte
        return False


def _print(text: str) -> None:
    """Print a trace as it stands; on a terminal names of layers and quantities are bold and equations dim."""
    console = result_console()
    if not console.is_terminal:
        print_result(text)
        return
    for line in text.split("\n"):
        style = "bold" if _HEADING.fullmatch(line) else "dim" if _EQUATION.fullmatch(line) else ""
        console.print(Text(line, style=style), soft_wrap=True)
