"""Values and sensitivities inside a Transformer, against the same blocks written out and against torch.nn."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import clew
from clew.data import Batch
from clew.layers import LayerNorm, MultiHeadAttention
from clew.ledger import Ledger
from clew.models import build
from clew.models.interchange import (
    attention_to_torch,
    block_from_torch,
    block_to_torch,
    layer_norm_to_torch,
)
from clew.tasks import NextToken
from ledger.cases import assert_equal, valid_steps
from ledger.explicit_blocks import ExplicitEncoder
from ledger.explicit_cells import gradient
from reference.weights import draw, randomized

VOCAB, HIDDEN, HEADS, TIME, LAYERS = 5, 6, 2, 5, 2


class Both:
    """The loss of next-token prediction from a recorded model and from blocks written out."""

    def __init__(self, norm: str, padding: str, causal: bool) -> None:
        options: dict[str, Any] = {"heads": HEADS, "layers": LAYERS, "norm": norm, "causal": causal, "max_positions": 9}
        self.model = randomized(build("transformer", vocab=VOCAB, outputs=VOCAB, hidden=HIDDEN, **options))
        ids = torch.randint(0, VOCAB, (3, TIME + 1), generator=torch.Generator().manual_seed(1))
        valid = valid_steps(padding, 3, TIME + 1)
        batch = Batch(ids, None if padding == "none" else valid)
        with clew.record(self.model) as ledger:
            NextToken(VOCAB).loss(self.model, batch).backward()
        self.ledger: Ledger = ledger
        self._write_out(ids, valid, norm, causal)

    def _write_out(self, ids: Tensor, valid: Tensor, norm: str, causal: bool) -> None:
        self.state = {n: w.detach().clone().requires_grad_() for n, w in self.model.state_dict().items()}
        visible = valid[:, :-1].unsqueeze(1).expand(3, TIME, TIME)
        visible = visible & torch.ones(TIME, TIME).tril().bool() if causal else visible
        self.reads = visible.any(-1, keepdim=True)
        self.twin = ExplicitEncoder(self.state, HEADS, norm, visible)
        is_real = valid[:, :-1].unsqueeze(-1)
        rows = self.state["inputs.embedding.weight"][ids[:, :-1]] * is_real
        numbers = torch.where(valid[:, :-1], valid[:, :-1].cumsum(1) - 1, 0)
        rows = rows + self.state["encoder.positions.weight"][numbers]
        rows = self.twin.encode(rows, LAYERS) * is_real
        self.twin.loss(rows, ids[:, 1:], valid[:, 1:] & valid[:, :-1]).backward()


@pytest.mark.parametrize("padding", ["none", "empty row"])
@pytest.mark.parametrize(("norm", "causal"), [("pre", False), ("pre", True), ("post", True)])
def test_every_quantity_has_the_value_and_the_sensitivity_of_the_blocks_written_out(
    norm: str, causal: bool, padding: str
) -> None:
    both = Both(norm, padding, causal)
    compared = 0
    for name, expected in both.twin.found.items():
        quantity = both.ledger.quantity(name)
        value = quantity.value
        if name.endswith("attention.output_map.output"):  # a kernel gives anything where a query reads nothing
            value = torch.where(both.reads, value, expected.detach())
        assert_equal(value, expected.detach())
        if name != "loss.probabilities":
            assert_equal(quantity.sensitivity, gradient(expected))
        compared += 1
    assert compared == len(both.twin.found) > 40
    for name, weight in both.model.named_parameters():
        found = both.ledger.contributions(name).value.sum(0)
        assert_equal(found, gradient(both.state[name]))
        assert_equal(found, gradient(weight))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_terms_of_a_residual_are_bypass_and_branch(norm: str) -> None:
    both = Both(norm, "left", causal=True)
    name = "encoder.blocks.0.attention_sum" if norm == "pre" else "encoder.blocks.0.attention_norm.output"
    quantity = both.ledger.quantity(name)
    bypass, branch = "encoder.blocks.0.mlp_sum (bypass)", "encoder.blocks.0.mlp_norm (rows)"
    branch = branch if norm == "pre" else "encoder.blocks.0.mlp.hidden_map (rows)"
    assert set(quantity.terms) == {bypass, branch}
    assert_equal(quantity.terms[bypass], both.ledger.quantity("encoder.blocks.0.mlp_sum").sensitivity)
    assert_equal(quantity.terms[bypass] + quantity.terms[branch], quantity.sensitivity)
    assert quantity.terms[branch].abs().max() > 1e-3


def test_probabilities_and_losses_of_positions_are_those_of_the_softmax() -> None:
    both = Both("pre", "right", causal=True)
    logits = both.ledger.quantity("head.linear.output")
    probabilities = both.ledger.quantity("loss.probabilities")
    assert_equal(probabilities.value, torch.softmax(logits.value, dim=-1))
    scored = both.ledger.quantity("loss.per_position")
    assert_equal(scored.value.sum() / (scored.value != 0).sum(), both.ledger.quantity("loss.loss").value)
    assert_equal(scored.sensitivity, torch.full_like(scored.value, 1 / int((scored.value != 0).sum())))


def test_a_hidden_cell_says_which_rule_hid_it() -> None:
    both = Both("pre", "left", causal=True)
    weights = both.ledger.quantity("encoder.blocks.1.attention.weights")
    assert set(weights.hidden_by) == {"padding", "causal"}
    hidden = weights.is_hidden()
    assert hidden is not None
    assert bool(((weights.value == 0) == hidden).all())
    assert weights.at(row=0, head=1, query=3).shape == (TIME,)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_block_has_the_sensitivities_that_torch_has_at_its_layers(norm_first: bool) -> None:
    theirs = nn.TransformerEncoderLayer(HIDDEN, HEADS, 8, 0.0, batch_first=True, norm_first=norm_first).double()
    theirs = randomized(theirs)
    seen: dict[str, Tensor] = {}
    for name in ("norm1", "norm2", "linear1", "linear2"):

        def keep(_module: nn.Module, _read: object, output: Tensor, name: str = name) -> None:
            output.retain_grad()
            seen[name] = output

        getattr(theirs, name).register_forward_hook(keep)
    ours, rows = block_from_torch(theirs), draw(3, TIME, HIDDEN)
    (theirs(rows) ** 3).sum().backward()
    with clew.record(ours) as ledger:
        (ours(rows) ** 3).sum().backward()
    names = {"norm1": "attention_norm.output", "norm2": "mlp_norm.output"}
    names |= {"linear1": "mlp.preactivation", "linear2": "mlp.output_map.output"}
    for name, output in seen.items():
        quantity = ledger.quantity(names[name])
        assert_equal(quantity.value, output.detach())
        assert_equal(quantity.sensitivity, gradient(output))
    again = block_to_torch(ours)
    (again(rows) ** 3).sum().backward()
    assert_equal(ledger.contributions("mlp_norm.weight").value.sum(0), gradient(again.norm2.weight))
    assert_equal(ledger.contributions("attention.input_map.bias").value.sum(0), gradient(again.self_attn.in_proj_bias))


def test_attention_and_normalization_agree_with_torch_alone() -> None:
    layer, rows = randomized(MultiHeadAttention(HIDDEN, HEADS)), draw(3, TIME, HIDDEN)
    with clew.record(layer) as ledger:
        (layer(rows) ** 2).sum().backward()
    output, weights = attention_to_torch(layer)(rows, rows, rows, average_attn_weights=False)
    assert_equal(ledger.quantity("weights").value, weights.detach())
    assert_equal(ledger.quantity("output_map.output").value, output.detach())
    norm = randomized(LayerNorm(HIDDEN))
    with clew.record(norm) as ledger:
        (norm(rows) ** 2).sum().backward()
    theirs = layer_norm_to_torch(norm)
    (theirs(rows) ** 2).sum().backward()
    assert_equal(ledger.quantity("output").value, theirs(rows).detach())
    assert_equal(ledger.contributions("weight").value.sum(0), gradient(theirs.weight))
