"""The trained LSTM of a published voice detector: its states against torch's cell and against the detector itself."""

import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from clew.layers import LSTMLayer
from clew.models.interchange import recurrent_layer_from_file
from reference.published import require_package

HIDDEN = 128
FRAME, CONTEXT = 512, 64  # samples at 16 kHz


@pytest.fixture(scope="module")
def weights_file() -> Path:
    return require_package("silero_vad") / "data" / "silero_vad_16k.safetensors"


@pytest.fixture(scope="module")
def layer(weights_file: Path) -> LSTMLayer:
    found = recurrent_layer_from_file(weights_file, "lstm", "lstm_cell.")
    assert isinstance(found, LSTMLayer)
    return found


@pytest.fixture(scope="module")
def cell(weights_file: Path) -> nn.LSTMCell:
    """torch's cell with the weights of the file, read without clew."""
    weights = load_file(weights_file)
    cell = nn.LSTMCell(HIDDEN, HIDDEN)
    cell.load_state_dict({name: weights[f"lstm_cell.{name}"] for name in cell.state_dict()})
    return cell


@pytest.fixture(scope="module")
def detector() -> torch.jit.ScriptModule:
    """The detector as published, for comparison only: the library itself reads no such file."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return torch.jit.load(str(require_package("silero_vad") / "data" / "silero_vad.jit"))._model


def voice_like(seconds: float, seed: int) -> Tensor:
    """Harmonics of a gliding pitch in syllables, with pauses and a little noise, (samples,) at 16 kHz."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(int(16000 * seconds)) / 16000
    pitch = 120 + 30 * torch.sin(2 * torch.pi * 0.7 * time)
    phase = 2 * torch.pi * pitch.cumsum(dim=0) / 16000
    harmonics = torch.arange(1, 25).unsqueeze(1)
    formants = sum(torch.exp(-(((harmonics * 120 - centre) / 180) ** 2)) for centre in (600, 1200, 2500))
    voice = (formants * torch.sin(harmonics * phase)).sum(dim=0)
    syllables = torch.sin(2 * torch.pi * 3.5 * time).clamp_min(0) * (torch.sin(2 * torch.pi * 0.5 * time) > -0.2)
    return 0.1 * voice * syllables + 0.003 * torch.randn(len(time), generator=generator)


def framed(samples: Tensor) -> Tensor:
    """Frames with the end of the frame before in front of each, (time, CONTEXT + FRAME)."""
    count = len(samples) // FRAME
    padded = functional.pad(samples[: count * FRAME], (CONTEXT, 0))
    return torch.stack([padded[start * FRAME : start * FRAME + CONTEXT + FRAME] for start in range(count)])


def sound_features(samples: Tensor, weights_file: Path) -> Tensor:
    """What the detector's convolutions hand to its LSTM, (time, 128)."""
    weights = load_file(weights_file)
    rows = functional.pad(framed(samples), (0, 64), mode="reflect").unsqueeze(1)
    waves = functional.conv1d(rows, weights["stft_conv.weight"], stride=128)
    rows = (waves[:, :129].square() + waves[:, 129:].square()).sqrt()
    for name, stride in (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)):
        rows = functional.conv1d(rows, weights[f"{name}.weight"], weights[f"{name}.bias"], stride, padding=1).relu()
    return rows.squeeze(-1)


def cell_states(cell: nn.LSTMCell, inputs: Tensor, state: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """States and cells after each step, (batch, time, hidden)."""
    states, memories = [], []
    for step in inputs.unbind(1):
        state, memory = cell(step, (state, memory))
        states.append(state)
        memories.append(memory)
    return torch.stack(states, dim=1), torch.stack(memories, dim=1)


@pytest.fixture(scope="module")
def sound(weights_file: Path) -> Tensor:
    """Features of two voices, (batch=2, time, 128)."""
    return torch.stack([sound_features(voice_like(4.0, seed), weights_file) for seed in (1, 2)])


@torch.no_grad()
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("kernel", ["derived", "fused", "explicit"])
@pytest.mark.parametrize("source", ["random", "sound"])
def test_states_are_those_of_torchs_cell(
    layer: LSTMLayer,
    cell: nn.LSTMCell,
    sound: Tensor,
    source: str,
    kernel: str,
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    generator = torch.Generator().manual_seed(4)
    inputs = sound if source == "sound" else torch.randn(3, 40, HIDDEN, generator=generator) * sound.std() * 3
    initial = tuple(torch.randn(len(inputs), HIDDEN, generator=generator).to(dtype) * 0.5 for _ in range(2))
    ours, torchs, inputs = layer.to(dtype), cell.to(dtype), inputs.to(dtype)
    states, memories = cell_states(torchs, inputs, *initial)
    rows, final = ours(inputs, initial=initial, kernel=kernel)
    torch.testing.assert_close(rows, states, rtol=0, atol=tolerance)
    torch.testing.assert_close(final[0], states[:, -1], rtol=0, atol=tolerance)
    torch.testing.assert_close(final[1], memories[:, -1], rtol=0, atol=tolerance * memories.abs().max().item())


@torch.no_grad()
def test_gates_can_be_read_and_make_the_states(layer: LSTMLayer, cell: nn.LSTMCell, sound: Tensor) -> None:
    ours, torchs, inputs = layer.double(), cell.double(), sound.double()
    zeros = torch.zeros(2, HIDDEN, dtype=torch.float64)
    states, memories = cell_states(torchs, inputs, zeros, zeros)
    found = ours.quantities(inputs)
    gates = ["input_gate", "forget_gate", "cell_candidate", "output_gate"]
    assert list(found) == [*gates, "cell", "state"]
    torch.testing.assert_close(found["state"], states, rtol=0, atol=1e-12)
    torch.testing.assert_close(found["cell"], memories, rtol=0, atol=1e-12)
    before = torch.cat([zeros.unsqueeze(1), states[:, :-1]], dim=1)
    i, f, g, o = (inputs @ torchs.weight_ih.T + torchs.bias_ih + before @ torchs.weight_hh.T + torchs.bias_hh).chunk(
        4, -1
    )
    expected = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid())
    for name, gate in zip(gates, expected, strict=True):
        torch.testing.assert_close(found[name], gate, rtol=0, atol=1e-12)
        assert found[name].shape == (2, sound.shape[1], HIDDEN)
        assert found[name].std() > 0.05  # a trained gate moves


@torch.no_grad()
def test_states_along_a_sound_are_those_of_the_detector_at_work(
    detector: torch.jit.ScriptModule, tmp_path: Path
) -> None:
    """Frame by frame through the detector, against our layer over the whole sound at once.

    The detector's script holds later weights than the file, so its own are written out and read back here.
    """
    save_file(
        {name: value.contiguous() for name, value in detector.state_dict().items()}, tmp_path / "voice.safetensors"
    )
    layer = recurrent_layer_from_file(tmp_path / "voice.safetensors", "lstm", "decoder.rnn.")
    frames = framed(voice_like(4.0, seed=1))
    state, after, probabilities = torch.zeros(0), [], []
    for frame in frames:
        probability, state = detector(frame.unsqueeze(0), state)
        after.append(state[:, 0])
        probabilities.append(probability.item())
    features = detector.encoder(detector.run_extractors(frames)).squeeze(-1)
    found = layer.quantities(features.unsqueeze(0))
    states, memories = torch.stack(after, dim=1)
    torch.testing.assert_close(found["state"][0], states, rtol=0, atol=1e-5)
    torch.testing.assert_close(found["cell"][0], memories, rtol=1e-5, atol=1e-5)
    assert max(probabilities) > 0.5 > 0.1 > min(probabilities)  # it hears a voice, and hears it stop
