"""The page on the ledger does what it says: its Python blocks run, its commands exist, the glossary knows the names."""

import re
import shlex
from pathlib import Path

import pytest

from clew.cli.application import build_application

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "ledger.md").read_text()
GLOSSARY = (DOCS / "glossary.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_python_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks("python"):
        exec(compile(block, "ledger.md", "exec"), names)
    printed = capsys.readouterr()
    assert printed.err == "" and "('batch', 'time', 'hidden') (1, 6, 4)" in printed.out
    assert "encoder.recurrent.0.reset_gate differs" in printed.out
    assert {"ledger.json", "ledger.csv", "ledger.safetensors", "ledger.html"} == {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize("line", [line for text in blocks("bash") for line in text.splitlines()])
def test_every_command_exists(line: str) -> None:
    program, *words = shlex.split(line)
    assert program == "clew"
    build_application().parse_args(words, exit_on_error=False, print_error=False)


def test_the_glossary_names_every_quantity_of_the_usual_models() -> None:
    import torch

    import clew
    from clew.data import Batch
    from clew.models import build
    from clew.tasks import NextToken

    section = GLOSSARY.split("## Quantities of a recurrent layer")[1].split("## The memory experiment")[0]
    known = set(re.findall(r"`\.?([\w.]+)`", section))
    batch = Batch(torch.tensor([[0, 1, 2, 3], [1, 2, 0, 0]]), torch.tensor([[True] * 4, [True, True, False, False]]))
    for preset in ("rnn", "gru", "lstm", "transformer"):
        model = build(preset, vocab=4, outputs=4, hidden=8)
        with clew.record(model) as ledger:
            NextToken(4).loss(model, batch)
        layers, quantities = zip(*(name.rsplit(".", 1) for name in ledger), strict=True)
        assert set(quantities) <= known
        assert [layer for layer in layers if not {layer, layer.rsplit(".", 1)[-1]} & known] == []
