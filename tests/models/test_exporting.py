"""ONNX files give the model's numbers for other numbers of rows and steps; and nothing half-written is left."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import onnxruntime
import pytest
import torch
from torch import Tensor

from clew.errors import ConfigError, RunError
from clew.models import build, exporting
from clew.models.exporting import export

CASES = {
    "gru tokens": {"vocab": 7, "layers": 2},
    "lstm both ways": {"features": 3, "bidirectional": True, "head": "last"},
    "rnn mean": {"features": 3, "head": "mean", "activation": "relu"},
    "lstm categories": {"features": 2, "categories": [3]},
    "transformer causal": {"vocab": 7, "causal": True, "heads": 2, "layers": 2, "max_positions": 20},
    "transformer class token": {"features": 3, "head": "class_token", "norm": "post", "positions": "sinusoidal"},
    "vit class token": {"image": (4, 6), "patch": 2},
    "vit mean": {"image": 4, "patch": 2, "head": "mean"},
}


def example(options: dict) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    if "image" in options:
        height, width = (options["image"],) * 2 if isinstance(options["image"], int) else options["image"]
        return torch.randn(3, 1, height, width, generator=generator)
    if "vocab" in options:
        return torch.randint(0, 7, (3, 9), generator=generator)
    numbers = torch.randn(3, 9, options["features"], generator=generator)
    indices = [torch.randint(0, size, (3, 9, 1), generator=generator) for size in options.get("categories", [])]
    return torch.cat([numbers, *indices], dim=-1)


@pytest.fixture(autouse=True)
def unchecked_shapes() -> Iterator[None]:
    """Sizes are tensors while a model is traced, which the checks of signatures know nothing of."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("case", CASES)
def test_the_file_gives_the_models_numbers(case: str, tmp_path: Path) -> None:
    options = CASES[case]
    model = build(case.split()[0], outputs=4, hidden=8, **options)
    path = tmp_path / "model.onnx"
    assert export(model, path, example(options)) < 1e-5
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    session = onnxruntime.InferenceSession(str(path))
    if "image" in options:
        images = example(options).repeat(3, 1, 1, 1)
        found = session.run(None, {"inputs": images.numpy()})[0]
        torch.testing.assert_close(torch.from_numpy(found), model(images).logits, atol=1e-5, rtol=0)
        return
    inputs = example(options).repeat(2, 2, *[1] * (example(options).ndim - 2))[:5, :13]
    lengths = torch.tensor([13, 1, 6, 2, 12])
    found = torch.from_numpy(session.run(None, {"inputs": inputs.numpy(), "lengths": lengths.numpy()})[0])
    expected = model(inputs, lengths=lengths).logits
    if expected.ndim == 3:
        real = torch.arange(13) < lengths.unsqueeze(1)
        found, expected = found[real], expected[real]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_a_double_model_in_training_is_left_as_it_was(tmp_path: Path) -> None:
    model = build("gru", vocab=7, outputs=4, hidden=8, dropout=0.5, layers=2).double().train()
    export(model, tmp_path / "model.onnx", example({"vocab": 7}))
    assert model.training and next(model.parameters()).dtype == torch.float64


def test_other_numbers_are_told_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = exporting._run_forward
    monkeypatch.setattr(exporting, "_run_forward", lambda layer, rows: right(layer, rows) + 0.1)
    with pytest.raises(
        RunError, match=r"export: logits of the file must be those of the model to 0\.0001 of the largest"
    ):
        export(build("gru", vocab=7, outputs=4, hidden=8), tmp_path / "model.onnx", example({"vocab": 7}))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("mine")
    model = build("gru", vocab=7, outputs=4, hidden=8)
    with pytest.raises(RunError, match="path must be a new file"):
        export(model, path, example({"vocab": 7}))
    assert path.read_text() == "mine"
    export(model, path, example({"vocab": 7}), force=True)
    assert path.stat().st_size > 100


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.models.exporting.find_spec", lambda name: None)
    with pytest.raises(ConfigError) as raised:
        export(build("gru", vocab=7, outputs=4, hidden=8), tmp_path / "model.onnx", example({"vocab": 7}))
    assert str(raised.value) == (
        "export: packages must be onnx and onnxruntime, got no onnx. Install the extra: pip install 'clew[onnx]'."
    )


def test_models_are_used_without_the_extra() -> None:
    code = "import sys, clew.models; print([name for name in ('onnx', 'onnxruntime') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
