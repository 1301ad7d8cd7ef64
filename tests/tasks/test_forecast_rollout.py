"""Rollouts step by step against full passes, and what they cost."""

from typing import Any

import pytest
import torch
from torch import Tensor

from clew.errors import ShapeError
from clew.models import SequenceModel, build
from clew.tasks import Forecasting
from clew.tasks import forecast_rollout as module
from clew.tasks.forecast_rollout import can_step, rollout

MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"preset": "rnn"},
    "gru": {"preset": "gru", "layers": 2},
    "lstm": {"preset": "lstm"},
    "learned positions": {"preset": "transformer", "causal": True, "layers": 2},
    "sinusoidal positions": {"preset": "transformer", "causal": True, "positions": "sinusoidal", "dropout": 0.2},
}
TASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "everything": {
        "series": 2, "past": 1, "known": 2, "lags": (3, 5), "difference": 4, "quantiles": (0.1, 0.5, 0.8)
    },
    "a difference longer than the lags": {"lags": (2,), "difference": 6},
}  # fmt: skip


def drawn(task: Forecasting, windows: int = 5, steps: int = 19) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(windows, steps, task.layout.columns, generator=generator, dtype=torch.float64)


def model_of(task: Forecasting, **options: Any) -> SequenceModel:
    return build(**options, features=task.features, outputs=task.outputs, hidden=8).double().eval()


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("settings", TASKS.values(), ids=TASKS)
def test_step_by_step_gives_what_full_passes_give(
    settings: dict[str, Any], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Forecasting(9, **settings)
    model, steps = model_of(task, **options), drawn(task)
    known = steps[:, 10:, task.series + task.past :] if task.known else None

    def found() -> Tensor:
        with torch.no_grad():
            return rollout(task.layout, model, steps[:, :10], known, 9, task.levels, task.levels // 2)

    assert can_step(model)
    stepwise = found()
    monkeypatch.setattr(module, "can_step", lambda model: False)
    full = found()
    assert stepwise.shape == (5, 9, task.series, task.levels)
    assert stepwise.std() > 1e-4
    torch.testing.assert_close(stepwise, full, rtol=0, atol=1e-10)


@pytest.mark.parametrize("preset", ["gru", "transformer"])
def test_each_step_is_read_once(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Forecasting(7, lags=(3,))
    model = model_of(task, preset=preset, **({"causal": True} if preset == "transformer" else {}))
    read, step = [], SequenceModel.step

    def counted(self: SequenceModel, inputs: Tensor, *rest: Any) -> Any:
        read.append(inputs.shape[1])
        return step(self, inputs, *rest)

    monkeypatch.setattr(SequenceModel, "step", counted)
    task.forecast(model, drawn(task)[:, :12])
    assert read == [12 - task.lead] + [1] * 6


def test_a_model_with_a_pass_of_its_own_or_that_reads_ahead_gets_full_passes() -> None:
    class Halved(SequenceModel):
        def forward(self, *inputs: Any, **more: Any) -> Any:
            output = super().forward(*inputs, **more)
            return type(output)(output.logits / 2, output.rows)

    task = Forecasting(3)
    model, steps = model_of(task, preset="gru"), drawn(task)
    halved = Halved(model.inputs, model.encoder, model.head).eval()
    assert can_step(model) and not can_step(halved)
    assert task.forecast(halved, steps)[:, 0] == pytest.approx(task.forecast(model, steps)[:, 0] / 2)
    assert not can_step(model_of(task, preset="gru", bidirectional=True))
    assert not can_step(torch.nn.Linear(1, 1))


def test_a_model_with_other_outputs_is_an_error() -> None:
    task = Forecasting(3)
    model = build("gru", features=1, outputs=2, hidden=4).double()
    with pytest.raises(ShapeError, match=r"outputs of the model must be 1, got 2. Build the model with outputs=1"):
        task.forecast(model, drawn(task))
