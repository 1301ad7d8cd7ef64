"""`clew generate`: text that goes on from a prompt."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result
from clew.cli.settings import usage_errors
from clew.errors import complain
from clew.files import dump_json

_switch = Parameter(negative=(), show_default=False)


def generate(
    run: Path,
    /,
    *,
    prompt: str | None = None,
    tokens: int = 200,
    rule: str = "sample",
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: str | None = None,
    seed: int = 0,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Let a model of next tokens go on from a prompt, and print both.

    Args:
        run: The folder of a run of next_token.
        prompt: Where to begin, in tokens that the training data had, those of a table with spaces between them; \\n
            stands for a line end.
        tokens: Most tokens to add: characters, words, bytes, pieces or tokens of a table, as in training.
        rule: greedy takes the most probable token, sample draws one.
        temperature: Below 1 makes probable tokens more probable [default: 1]; for sample only.
        top_k: Draw among so many most probable tokens only.
        top_p: Draw among the fewest tokens whose probabilities add up to this.
        stop: A token that ends the text; \\n stands for a line end.
        seed: Draws; the same seed gives the same text.
        json: Print prompt and text as JSON.
    """
    from clew.runs import load

    if not prompt:
        remedy = "As in: --prompt 'In the beginning'"
        raise UsageError(complain("clew generate", "--prompt", "at least one token long", "none", remedy))
    text = prompt.replace("\\n", "\n")
    with usage_errors():
        loaded = load(run)
        found = loaded.generate(
            text,
            tokens=tokens,
            rule=rule,
            temperature=1.0 if temperature is None else temperature,
            top_k=top_k,
            top_p=top_p,
            stop=() if stop is None else stop.replace("\\n", "\n"),
            seed=seed,
        )
    if json:
        print_result(dump_json({"prompt": text, "text": found}))
    else:
        vocabulary = loaded.vocabulary
        assert vocabulary is not None  # or it had not read the prompt
        print_result(vocabulary.go_on(text, str(found)))
