"""Transformer blocks: both placements of the normalization, their stages, and the numbers of the worked example."""

from functools import partial

import pytest
import torch
from torch import Tensor

from clew.layers.positions import sinusoids
from clew.models.blocks import BLOCKS, PreNormBlock, TransformerBlock
from clew.visibility import causal
from reference import transformer
from reference.weights import arrays, draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)
STAGES = [
    "attention_input", "attention_branch", "attention_sum", "mlp_input", "mlp_branch", "mlp_sum", "output",
]  # fmt: skip


def make(norm: str, activation: str = "relu", dropout: float = 0.0) -> TransformerBlock:
    return randomized(BLOCKS[norm](5, 3, 7, head_dim=2, value_dim=4, activation=activation, dropout=dropout))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(("batch", "time"), [(3, 4), (4, 4)])
def test_output_equals_the_numpy_twin(norm: str, activation: str, batch: int, time: int) -> None:
    block, rows = make(norm, activation), draw(batch, time, 5)
    visible = causal(time).expand(batch, time, time)
    expected = transformer.block(rows.numpy(), visible.numpy(), arrays(block), "", norm, 3, 2, activation)
    close(block(rows, visible).detach(), torch.from_numpy(expected))
    assert block.state_size(time) == block.attention.state_size(time)
    assert block.multiply_adds(time) == block.attention.multiply_adds(time) + block.mlp.multiply_adds(time)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_stages_have_names_and_add_up(norm: str) -> None:
    block, rows = make(norm), draw(3, 4, 5)
    found = block.quantities(rows, causal(4))
    assert [*found][: len(STAGES)] == STAGES
    close(found["output"], block(rows, causal(4)))
    close(found["attention_sum"], rows + found["attention_branch"])
    close(found["attention.output"], found["attention_branch"])
    close(found["mlp.output"], found["mlp_branch"])
    if norm == "pre":
        close(found["attention_input"], block.attention_norm(rows))
        close(found["mlp_input"], block.mlp_norm(found["attention_sum"]))
        close(found["output"], found["attention_sum"] + found["mlp_branch"])
    else:
        close(found["attention_input"], rows)
        close(found["mlp_input"], block.attention_norm(found["attention_sum"]))
        close(found["output"], block.mlp_norm(found["mlp_input"] + found["mlp_branch"]))


def test_silent_branches_leave_a_pre_norm_block_the_identity() -> None:
    block, rows = make("pre"), draw(3, 4, 5)
    with torch.no_grad():
        for branch in (block.attention.output_map, block.mlp.output_map):
            branch.weight.zero_()
            branch.bias.zero_()
    close(block(rows, causal(4)), rows)
    post = make("post")
    post.load_state_dict(block.state_dict())
    assert not torch.allclose(post(rows, causal(4)), rows)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_layers_draw_different_masks_and_stop_in_evaluation(norm: str) -> None:
    block, rows = make(norm, dropout=0.5), draw(3, 4, 5)
    ones = torch.ones(9, 9)
    assert not torch.equal(block.attention_dropout(ones), block.mlp_dropout(ones))
    block.attention_dropout.generator.manual_seed(3)
    first, second = block(rows, causal(4)), block(rows, causal(4))
    block.attention_dropout.generator.manual_seed(3)
    assert torch.equal(block(rows, causal(4)), first)
    assert not torch.equal(first, second)
    block.eval()
    close(block(rows, causal(4)), block.quantities(rows, causal(4))["output"])


def worked_rows() -> Tensor:
    """Embeddings of "a journey of a thousand miles begins" plus sinusoids of width five."""
    a, journey, of = [0.2, -0.1, 0.4, 0, -0.2], [0.5, 0.3, -0.2, 0.1, 0.4], [-0.1, 0.2, 0, -0.3, 0.1]
    thousand, miles, begins = [0.4, -0.4, 0.2, 0.5, -0.1], [0.1, 0.5, -0.3, 0.2, 0.3], [-0.3, 0.1, 0.5, -0.2, 0.2]
    words = torch.tensor([a, journey, of, a, thousand, miles, begins], dtype=torch.float64)
    return (words + sinusoids(torch.arange(7), 5)).unsqueeze(0)


def selections(*rows: dict[int, float]) -> list[list[float]]:
    return [[row.get(feature, 0.0) for feature in range(5)] for row in rows]


def worked_block() -> PreNormBlock:
    """The block of the worked example: two heads of three on width five, MLP of four, no attention biases."""
    block = PreNormBlock(5, 2, 4, head_dim=3).double()
    query = selections({0: 1}, {1: 1}, {2: 1}) + selections({3: 1}, {4: 1}, {0: 0.5, 1: 0.5})
    key = selections({0: 0.5, 3: 0.5}, {1: 1}, {2: 0.5, 4: 0.5}) + selections({3: 1}, {2: 1}, {1: 0.5, 4: 0.5})
    value = selections({0: 1}, {2: 1}, {3: 0.5, 4: 0.5}) + selections({1: 1}, {3: 1}, {0: 0.5, 4: 0.5})
    maps = {
        block.attention.input_map.weight: query + key + value,
        block.attention.output_map.weight: [
            [1, 0, 0, 0.5, 0, 0], [0, 1, 0, 0, 0.5, 0], [0, 0, 1, 0, 0, 0.5],
            [0.5, 0, 0, 0, 1, 0], [0, 0.5, 0, 1, 0, 0],
        ],
        block.mlp.hidden_map.weight: selections({0: 1, 2: -0.5}, {1: 1, 4: -0.5}, {2: 1, 3: 0.5}, {0: 0.5, 4: 1}),
        block.mlp.hidden_map.bias: [0.1, -0.2, 0.15, 0.05],
        block.mlp.output_map.weight: [
            [0.5, 0, 0.2, 0], [0, 0.5, 0, 0.2], [0.2, 0, 0.5, 0], [0, 0.2, 0, 0.5], [0.3, 0, 0, 0.3],
        ],
        block.mlp.output_map.bias: [0.05, -0.05, 0, 0.1, -0.1],
    }  # fmt: skip
    with torch.no_grad():
        for parameter, values in maps.items():
            parameter.copy_(torch.tensor(values, dtype=torch.float64))
    return block


def near(found: Tensor, worked: list[float]) -> None:
    """Equal to three significant digits, as the example prints them."""
    torch.testing.assert_close(found.detach(), torch.tensor(worked, dtype=torch.float64), rtol=6e-3, atol=6e-5)


def test_attention_gives_the_numbers_of_the_worked_example() -> None:
    attention, rows = worked_block().attention, worked_rows()
    found = attention.quantities(rows)
    near(found["scores"][0, 0, 6], [0.672, 0.257, -0.617, -1.45, -1.38, 0.776, 1.34])
    near(found["weights"][0, 0, 6], [0.185, 0.146, 0.0881, 0.0544, 0.0567, 0.197, 0.273])
    near(found["weights"][0, 1, 6], [0.147, 0.149, 0.116, 0.129, 0.16, 0.154, 0.143])
    near(found["joined"][0, 6], [-0.0248, 0.239, 0.563, 0.196, 1.06, 0.0863])
    near(attention(rows)[0, 6], [0.0732, 0.768, 0.606, 1.05, 0.315])
    near(attention.quantities(rows, causal(7))["weights"][0, 0, 1], [0.389, 0.611, 0, 0, 0, 0, 0])


def test_the_block_gives_the_numbers_of_the_worked_example() -> None:
    block, rows = worked_block(), worked_rows()
    found = {name: value[0, 6] for name, value in block.quantities(rows).items() if name in STAGES}
    near(found["attention_input"], [-1.75, 1.11, 0.393, 0.635, -0.385])
    near(found["attention_branch"], [-1.38, 0.546, 0.102, 0.537, -0.299])
    near(found["attention_sum"], [-1.96, 1.61, 0.752, 1.33, -0.0954])
    near(found["mlp_input"], [-1.78, 0.998, 0.333, 0.78, -0.327])
    near(found["mlp_branch"], [0.224, 0.431, 0.436, 0.292, -0.1])
    near(found["output"], [-1.74, 2.04, 1.19, 1.62, -0.195])
    near(block(rows)[0, 1], [2.46, 0.69, 0.137, 2.48, 0.44])
