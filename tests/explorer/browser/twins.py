"""What the models of the explorer compute, once more with torch.nn, autograd and copied weights, in double precision.

The weights come from the models that `clew explore` offers, the equations from torch alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.models import SequenceModel
from clew.report.trace_subject import make_subject
from clew.walkthrough.proverb import TEXT


class Recurrent(NamedTuple):
    """States (time, hidden), update gates, their sensitivities, the gradients of the weights, and the loss."""

    states: Tensor
    state_sensitivities: Tensor
    update_gates: Tensor
    gradients: dict[str, Tensor]
    loss: float


class Attention(NamedTuple):
    """Weights (heads, query, source) and their sensitivities."""

    weights: Tensor
    hidden: Tensor


def offered(name: str) -> tuple[SequenceModel, list[str], Sequence[str]]:
    """Give a model that `clew explore` offers, in double precision, the words that it reads and its vocabulary."""
    subject = make_subject(TEXT, name, True, 0, may_be_file=False)
    return subject.model.double(), subject.words[0], subject.vocabulary


def copied_cell(model: SequenceModel) -> nn.GRUCell:
    """Give torch's cell the weights of a model's first layer."""
    layer = model.get_submodule("encoder.recurrent.0")
    cell = nn.GRUCell(layer.weight_ih.shape[1], layer.weight_hh.shape[1]).double()
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).copy_(getattr(layer, name))
    return cell


def answers(model: SequenceModel, ids: Tensor) -> Tensor:
    """Give the probability of each token after each step, (time, vocabulary)."""
    cell, head = copied_cell(model), model.get_submodule("head.linear")
    state, found = torch.zeros(1, cell.hidden_size, dtype=torch.float64), []
    with torch.no_grad():
        for row in model.get_submodule("inputs.embedding").weight[ids]:
            state = cell(row.unsqueeze(0), state)
            found.append(functional.linear(state, head.weight, head.bias).softmax(1))
    return torch.cat(found)


def gru(words: Sequence[str], vocabulary: Sequence[str], model: SequenceModel) -> Recurrent:
    """Run torch.nn.GRUCell over words, and the loss of each next word back through time."""
    cell, head = copied_cell(model), model.get_submodule("head.linear")
    table, hidden = model.get_submodule("inputs.embedding").weight.detach(), cell.hidden_size
    ids = torch.tensor([list(vocabulary).index(word) for word in words])
    states, gates = [torch.zeros(1, hidden, dtype=torch.float64)], []
    for place in ids[:-1]:
        inputs = table[place].unsqueeze(0)
        gates.append(_update_gate(cell, inputs, states[-1]))
        states.append(cell(inputs, states[-1]))
        states[-1].retain_grad()
    joined = torch.cat(states[1:])
    logits = functional.linear(joined, head.weight.detach(), head.bias.detach())
    loss = functional.cross_entropy(logits, ids[1:])
    loss.backward()
    grads = torch.cat([_gradient(state) for state in states[1:]])
    gradients = {name: _gradient(getattr(cell, name)) for name in ("weight_ih", "weight_hh")}
    return Recurrent(joined.detach(), grads, torch.cat(gates).detach(), gradients, loss.item())


def _gradient(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad


def _update_gate(cell: nn.GRUCell, inputs: Tensor, state: Tensor) -> Tensor:
    """Give the gate that retains: the second of torch's r, z, n."""
    of_inputs = functional.linear(inputs, cell.weight_ih, cell.bias_ih).chunk(3, 1)[1]
    of_state = functional.linear(state, cell.weight_hh, cell.bias_hh).chunk(3, 1)[1]
    return torch.sigmoid(of_inputs + of_state)


def attention(words: Sequence[str], vocabulary: Sequence[str], model: SequenceModel, hidden: Tensor) -> Attention:
    """Run torch.nn.MultiheadAttention on what the first block's attention reads; `hidden` is True where a cell is."""
    block = model.get_submodule("encoder.blocks.0")
    norm, attending = block.attention_norm, block.attention
    ids = torch.tensor([[list(vocabulary).index(word) for word in words[:-1]]])
    with torch.no_grad():
        rows = model.get_submodule("encoder.positions")(model.get_submodule("inputs.embedding")(ids))
        rows = functional.layer_norm(rows, rows.shape[-1:], norm.weight, norm.bias, 1e-5)
        width = rows.shape[-1]
        twin = nn.MultiheadAttention(width, attending.heads, batch_first=True).double()
        twin.in_proj_weight.copy_(attending.input_map.weight)
        twin.in_proj_bias.copy_(attending.input_map.bias)
        twin.out_proj.weight.copy_(attending.output_map.weight)
        twin.out_proj.bias.copy_(attending.output_map.bias)
        _, weights = twin(rows, rows, rows, attn_mask=hidden, average_attn_weights=False)
    return Attention(weights[0], hidden.expand(attending.heads, -1, -1))


def causal(steps: int) -> Tensor:
    """Give the cells that a causal model hides."""
    return torch.ones(steps, steps, dtype=torch.bool).triu(1)
