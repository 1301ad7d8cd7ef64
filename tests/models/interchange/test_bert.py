"""Checkpoints of the BERT family: what is read, what is refused, and a small one against its numpy twin."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from clew.errors import ClewError, ConfigError, RunError
from clew.models import BertModel
from clew.models.interchange import bert_from_folder, bert_to_folder
from reference.bert import encode

LAYERS, HEADS, WIDTH, MLP, VOCAB, PLACES, TYPES = 2, 3, 6, 8, 11, 7, 2
CONFIG = {
    "model_type": "bert",
    "vocab_size": VOCAB,
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "intermediate_size": MLP,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": PLACES,
    "type_vocab_size": TYPES,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "hidden_dropout_prob": 0.1,
    "position_embedding_type": "absolute",
}
IDS = torch.tensor([[5, 2, 7, 10, 0], [1, 3, 8, 0, 0], [4, 0, 0, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 1])


def published_weights() -> dict[str, Tensor]:
    """Every tensor of a small checkpoint, random everywhere, pooler and buffer too."""
    affine = {"embeddings.LayerNorm": (WIDTH,), "pooler.dense": (WIDTH, WIDTH)}
    for layer in (f"encoder.layer.{index}." for index in range(LAYERS)):
        affine |= {f"{layer}attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        affine |= {f"{layer}attention.output.dense": (WIDTH, WIDTH), f"{layer}attention.output.LayerNorm": (WIDTH,)}
        affine |= {f"{layer}intermediate.dense": (MLP, WIDTH), f"{layer}output.dense": (WIDTH, MLP)}
        affine |= {f"{layer}output.LayerNorm": (WIDTH,)}
    tables = {"word_embeddings": VOCAB, "position_embeddings": PLACES, "token_type_embeddings": TYPES}
    shapes = {f"embeddings.{name}.weight": (rows, WIDTH) for name, rows in tables.items()}
    shapes |= {f"{name}.weight": shape for name, shape in affine.items()}
    shapes |= {f"{name}.bias": shape[:1] for name, shape in affine.items()}
    generator = torch.Generator().manual_seed(3)
    weights = {name: torch.randn(*shape, generator=generator) * 0.6 for name, shape in sorted(shapes.items())}
    return weights | {"embeddings.position_ids": torch.arange(PLACES).unsqueeze(0)}


def write(folder: Path, weights: dict[str, Tensor] | None = None, **changes: object) -> Path:
    """Write a checkpoint; a change of None drops the option."""
    config = {name: value for name, value in (CONFIG | changes).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    save_file(published_weights() if weights is None else weights, folder / "model.safetensors")
    return folder


def twin_rows(ids: Tensor, segments: Tensor, lengths: Tensor, first_position: int = 0) -> Tensor:
    """Rows by numpy, each sequence by itself, zero at padding."""
    published = {name: value.double().numpy() for name, value in published_weights().items()}
    rows = np.zeros((*ids.shape, WIDTH))
    for row, length in enumerate(lengths.tolist()):
        words, types = ids[row, :length].tolist(), segments[row, :length].tolist()
        rows[row, :length] = encode(words, types, published, LAYERS, HEADS, first_position)
    return torch.from_numpy(rows)


def test_token_rows_equal_the_numpy_twin(tmp_path: Path) -> None:
    model = bert_from_folder(write(tmp_path)).double()
    assert not model.training
    rows = model(IDS, LENGTHS, token_types=SEGMENTS)
    torch.testing.assert_close(rows, twin_rows(IDS, SEGMENTS, LENGTHS), rtol=0, atol=1e-10)
    one_segment = twin_rows(IDS, torch.zeros_like(SEGMENTS), LENGTHS)
    torch.testing.assert_close(model(IDS, LENGTHS), one_segment, rtol=0, atol=1e-10)


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "camembert"])
def test_roberta_starts_its_positions_behind_the_padding_id(tmp_path: Path, family: str) -> None:
    model = bert_from_folder(write(tmp_path, model_type=family, pad_token_id=1)).double()
    assert model.encoder.positions.max_positions == PLACES - 2
    expected = twin_rows(IDS, SEGMENTS, LENGTHS, first_position=2)
    torch.testing.assert_close(model(IDS, LENGTHS, token_types=SEGMENTS), expected, rtol=0, atol=1e-10)


def with_heads(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    inside = {f"bert.{name}": value for name, value in weights.items() if not name.startswith("pooler.")}
    return inside | {"cls.predictions.bias": torch.zeros(VOCAB), "classifier.weight": torch.zeros(2, WIDTH)}


def with_old_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    endings = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {}
    for name, value in weights.items():
        for new, old in endings.items():
            name = name.replace(new, old)
        renamed[name] = value
    return renamed


@pytest.mark.parametrize("change", [with_heads, with_old_names])
def test_names_with_prefix_heads_or_old_endings_mean_the_same(tmp_path: Path, change) -> None:
    expected = bert_from_folder(write(tmp_path)).state_dict()
    found = bert_from_folder(write(tmp_path, change(published_weights()))).state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_a_configuration_from_before_model_types_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path, model_type=None, architectures=["BertForMaskedLM"], position_embedding_type=None)
    assert bert_from_folder(folder).config["epsilon"] == 1e-12


def test_half_precision_weights_are_widened(tmp_path: Path) -> None:
    halves = {
        name: value.bfloat16() if value.is_floating_point() else value for name, value in published_weights().items()
    }
    model = bert_from_folder(write(tmp_path, halves))
    word = model.inputs.embedding.weight
    assert word.dtype == torch.float32
    assert torch.equal(word, halves["embeddings.word_embeddings.weight"].float())


def test_there_and_back_keeps_every_weight_and_shares_none(tmp_path: Path) -> None:
    model = bert_from_folder(write(tmp_path))
    (tmp_path / "again").mkdir()
    bert_to_folder(model, tmp_path / "again")
    published, again = published_weights(), load_file(tmp_path / "again" / "model.safetensors")
    assert again.keys() == {name for name in published if not name.startswith(("pooler.", "embeddings.position_ids"))}
    assert all(torch.equal(value, published[name]) for name, value in again.items())
    back = bert_from_folder(tmp_path / "again")
    assert back.config == model.config
    for name, value in model.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
    assert back.inputs.embedding.weight.data_ptr() != model.inputs.embedding.weight.data_ptr()


def test_a_model_of_ones_own_can_be_written_and_read(tmp_path: Path) -> None:
    model = BertModel(VOCAB, WIDTH, HEADS, MLP, 1, max_positions=9, types=3, activation="relu", epsilon=1e-5).eval()
    bert_to_folder(model, tmp_path / "new")
    back = bert_from_folder(tmp_path / "new")
    assert torch.equal(back(IDS, LENGTHS), model(IDS, LENGTHS))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "gpt2"}, "model_type must be of the BERT family, got 'gpt2'. Known: bert,"),
        ({"model_type": "robrta"}, "got 'robrta'. Did you mean 'roberta'?"),
        ({"model_type": None}, "model_type must be of the BERT family, got None."),
        (
            {"position_embedding_type": "relative_key"},
            "position_embedding_type must be 'absolute', got 'relative_key'.",
        ),
        ({"is_decoder": True}, "is_decoder must be False, got True."),
        ({"add_cross_attention": True}, "add_cross_attention must be False, got True."),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads must be {}, got {'0': [1]}."),
        (
            {"hidden_act": "gelu_new"},
            "hidden_act must be one of gelu, gelu_python, relu, tanh, sigmoid, got 'gelu_new'.",
        ),
        (
            {"hidden_size": None, "num_hidden_layers": "6", "vocab_size": 0},
            "sizes must be whole numbers of at least 1, got vocab_size=0, hidden_size=None, num_hidden_layers='6'.",
        ),
        ({"num_attention_heads": 4}, "heads must be a divisor of width=6, got 4."),
        ({"layer_norm_eps": "small"}, "layer_norm_eps must be a number above 0, got 'small'."),
        ({"model_type": "roberta", "pad_token_id": 9}, "pad_token_id must be a token id below"),
    ],
)
def test_a_configuration_that_bert_model_cannot_have_is_refused_in_one_line(
    tmp_path: Path, change: dict, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        bert_from_folder(write(tmp_path, **change))
    assert said in str(caught.value)
    assert str(tmp_path / "config.json") in str(caught.value) or "MultiHeadAttention" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encoder.layer.1.output.dense.bias": None}, "got none named encoder.layer.1.output.dense.bias."),
        (
            {"encoder.layer.2.output.dense.bias": torch.zeros(6)},
            "got encoder.layer.2.output.dense.bias. BertModel has no",
        ),
        (
            {"embeddings.word_embeddings.weight": torch.zeros(10, 6)},
            "embeddings.word_embeddings.weight must be of shape (11, 6) by config.json, got (10, 6).",
        ),
        (
            {"embeddings.LayerNorm.weight": None, "embeddings.LayerNorm.bias": None},
            "got none named embeddings.LayerNorm.bias and 1 more. Is config.json the one of these weights?",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_in_one_line(tmp_path: Path, change: dict, said: str) -> None:
    weights = {name: value for name, value in (published_weights() | change).items() if value is not None}
    with pytest.raises(RunError) as caught:
        bert_from_folder(write(tmp_path, weights))
    assert str(caught.value).startswith(f"{tmp_path / 'model.safetensors'}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def no_folder(folder: Path) -> Path:
    return folder / "absent"


def a_file(folder: Path) -> Path:
    return folder / "config.json"


def no_configuration(folder: Path) -> Path:
    (folder / "config.json").unlink()
    return folder


def broken_configuration(folder: Path) -> Path:
    (folder / "config.json").write_text("{")
    return folder


def listed_configuration(folder: Path) -> Path:
    (folder / "config.json").write_text("[]")
    return folder


def no_weights(folder: Path) -> Path:
    (folder / "model.safetensors").unlink()
    return folder


def pickled_weights(folder: Path) -> Path:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    return folder


def cut_weights(folder: Path) -> Path:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    return folder


def weights_in_parts(folder: Path) -> Path:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    (folder / "model.safetensors.index.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (no_folder, "checkpoint must be a folder with config.json and model.safetensors, got no such folder."),
        (a_file, "checkpoint must be a folder with config.json and model.safetensors, got a file."),
        (no_configuration, "config.json: configuration must be a JSON file, got no such file."),
        (broken_configuration, "config.json: configuration must be a readable JSON file, got Expecting property name"),
        (listed_configuration, "config.json: configuration must be a JSON object, got list."),
        (no_weights, "model.safetensors: weights must be a safetensors file, got no such file."),
        (
            pickled_weights,
            "weights must be a safetensors file such as model.safetensors, got pytorch_model.bin. "
            "Reading a pickle can run code. Where you trust it, write its tensors once with "
            "safetensors.torch.save_file(torch.load('pytorch_model.bin', weights_only=True), 'model.safetensors').",
        ),
        (cut_weights, "model.safetensors: weights must be a whole safetensors file, got "),
        (weights_in_parts, "weights must be one file model.safetensors, got an index of several files."),
    ],
)
def test_files_that_are_not_as_they_should_be_are_refused_in_one_line(tmp_path: Path, damage, said: str) -> None:
    with pytest.raises(ClewError) as caught:
        bert_from_folder(damage(write(tmp_path)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
