"""The table at the end of `clew recall` fits 100 columns, holds the results, and is plain where nobody looks."""

import io
from typing import Any

from rich.console import Console

from clew.report.comparison_table import print_comparison

Json = dict[str, Any]


def printed(results: Json, width: int = 100, terminal: bool = False) -> str:
    stream = io.StringIO()
    print_comparison(results, Console(file=stream, width=width, force_terminal=terminal, highlight=False))
    return stream.getvalue()


def test_a_pipe_gets_plain_text_of_at_most_100_columns(results: Json) -> None:
    text = printed(results)
    assert "\x1b" not in text and not set(text) & set("│─━┃┏")
    assert max(map(len, text.splitlines())) <= 100
    assert max(map(len, printed(results, width=160).splitlines())) <= 100


def test_every_seed_verdict_chance_and_oracle_are_there(results: Json) -> None:
    lines = [" ".join(line.replace("|", " ").split()) for line in printed(results).splitlines()]
    assert "RNN 0.443 ± 0.051 0/3 0.392 0.444 0.494 above chance on 3/3 0.440" in lines
    assert "GRU 0.732 ± 0.378 1/3 1 0.465 failed solved 1/3, 1 above 0.814" in lines
    assert lines.count("Chance 0.250") == lines.count("Oracle 1") == 3
    assert "1 of 27 runs failed; the numbers are of the others." in lines


def test_a_terminal_gets_weight_and_the_same_words(results: Json) -> None:
    assert "\x1b[1m" in printed(results, terminal=True)


def test_a_narrow_terminal_wraps_and_loses_nothing(results: Json) -> None:
    text = printed(results, width=72)
    assert max(map(len, text.splitlines())) <= 72
    assert "0.9997" in text and "0.0006" in text and "not" in text and "Published" in text


def test_names_in_square_brackets_are_no_markup_and_quick_is_told(quick: Json) -> None:
    text = printed(quick, terminal=True)
    assert "'co' [bold] beat the oracle" in text and "Too small to conclude from" in text
    assert "±" not in text.replace("Mean ± sd", "")
