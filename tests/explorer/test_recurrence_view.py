"""The numbers on the page of a recurrence against torch.nn and autograd with copied weights, in double precision."""

import time
from copy import deepcopy
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import pytest
import torch
from torch import Tensor, nn

import clew.explorer.recurrence.choice as choices
from clew.data import Batch
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.view import RECURRENCE
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.models import build
from clew.report.subject import Subject
from clew.report.trace import run_trace
from clew.tasks import Tagging
from clew.walkthrough.scalar_rnn import INPUT_WEIGHT, INPUTS, OUTPUT_WEIGHT, TARGET
from explorer.recurrence_page import PageReader

TEXT = "a journey of a thousand miles begins with a step"
LAYER = "encoder.recurrent.0"
CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
SHOWN = 0.006
"""Three significant digits are shown."""


def page(studio: Studio, made: Scene) -> PageReader:
    return PageReader("".join(section.content for section in RECURRENCE.sections(made, studio)))


def near(shown, expected, floor: float = 1e-9):
    """Compare shown numbers with exact ones."""
    if isinstance(expected, Tensor):
        expected = expected.tolist()
    torch.testing.assert_close(
        torch.tensor(shown, dtype=torch.float64),
        torch.tensor(expected, dtype=torch.float64),
        rtol=SHOWN,
        atol=floor,
    )


@dataclass
class Twin:
    """The same model from torch.nn, taken step by step with a copy of the layer for each use of its weights."""

    uses: list[nn.RNNBase]
    inputs: Tensor
    states: list[tuple[Tensor, ...]]
    parameters: dict[str, Tensor]
    loss: Tensor
    direct: list[Tensor]

    def state(self, step: int) -> Tensor:
        return self.states[step][0][0, 0]

    def total(self, step: int) -> Tensor:
        found = self.states[step][0].grad
        assert found is not None
        return found[0, 0]


def run_twin(made: Scene) -> Twin:
    """Copy the weights and run: embedding, one layer of torch.nn a step, the head, the next-token loss."""
    model = made.subject.model
    weights = {name: value.detach().double() for name, value in model.named_parameters()}
    layer = CELLS[made.address.model](
        weights[f"{LAYER}.weight_ih"].shape[1], weights[f"{LAYER}.weight_hh"].shape[1], batch_first=True
    ).double()
    with torch.no_grad():
        for name in choices.PARAMETERS:
            layer.get_parameter(f"{name}_l0").copy_(weights[f"{LAYER}.{name}"])
    table = weights["inputs.embedding.weight"].clone().requires_grad_()
    head = weights["head.linear.weight"].clone().requires_grad_(), weights["head.linear.bias"].clone().requires_grad_()
    ids = made.subject.batch.inputs[0]
    uses, states = [], []
    carried: tuple[Tensor, ...] | None = None
    for token in ids[:-1]:
        uses.append(deepcopy(layer))
        given = carried[0] if carried is not None and len(carried) == 1 else carried
        _, after = uses[-1](table[token].reshape(1, 1, -1), given)
        carried = after if isinstance(after, tuple) else (after,)
        for part in carried:
            part.retain_grad()
        states.append(carried)
    rows = torch.stack([parts[0][0, 0] for parts in states])
    loss = nn.functional.cross_entropy(rows @ head[0].T + head[1], ids[1:])
    loss.backward()
    apart = rows.detach().requires_grad_()
    again = nn.functional.cross_entropy(apart @ head[0].detach().T + head[1].detach(), ids[1:])
    direct = torch.autograd.grad(again, apart)[0]
    parameters = {"inputs.embedding.weight": table, "head.linear.weight": head[0], "head.linear.bias": head[1]}
    return Twin(uses, table.detach()[ids[:-1]], states, parameters, loss, list(direct))


def contribution(twin: Twin, step: int, name: str) -> Tensor:
    found = twin.uses[step].get_parameter(f"{name}_l0").grad
    assert found is not None
    return found


def gates_by_hand(twin: Twin, step: int, cell: str) -> dict[str, Tensor]:
    """Write the equations out once more, with torch.nn's weights."""
    layer = twin.uses[step]
    w_ih, w_hh, b_ih, b_hh = (layer.get_parameter(f"{name}_l0").detach() for name in choices.PARAMETERS)
    before = twin.states[step - 1][0].detach()[0, 0]
    own, carried = w_ih @ twin.inputs[step] + b_ih, w_hh @ before + b_hh
    if cell == "rnn":
        return {"z": own + carried}
    if cell == "gru":
        (x_r, x_u, x_n), (h_r, h_u, h_n) = own.chunk(3), carried.chunk(3)
        reset = torch.sigmoid(x_r + h_r)
        return {"reset": reset, "update": torch.sigmoid(x_u + h_u), "candidate": torch.tanh(x_n + reset * h_n)}
    i, f, g, o = (own + carried).chunk(4)
    return {
        "input": torch.sigmoid(i),
        "forget": torch.sigmoid(f),
        "candidate": torch.tanh(g),
        "output": torch.sigmoid(o),
        "cell": twin.states[step][1].detach()[0, 0],
    }


@pytest.mark.parametrize("cell", CELLS)
def test_gates_and_states_are_those_of_torch_nn(studio, scene, cell):
    made = scene(cell, TEXT, view="recurrence", step=4)
    twin, shown = run_twin(made), page(studio, made).table("Values")
    near(shown.column("state"), twin.state(4), 1e-6)
    near(shown.column("h before"), twin.state(3), 1e-6)
    for name, values in gates_by_hand(twin, 4, cell).items():
        near(shown.column(name), values, 1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_direct_and_later_terms_are_those_of_autograd(studio, scene, cell):
    made = scene(cell, TEXT, view="recurrence", step=4)
    twin, read = run_twin(made), page(studio, made)
    shown = read.table("state: direct + later = g[h]")
    near(shown.column("direct"), twin.direct[4], 1e-7)
    near(shown.column("g[h]"), twin.total(4), 1e-7)
    near(shown.column("later"), twin.total(4) - twin.direct[4], 1e-7)
    along = read.table("Norms, a line a step")
    near(along.column("state"), [twin.total(step).norm().item() for step in range(len(twin.states))])
    near(along.column("direct"), [twin.direct[step].norm().item() for step in range(len(twin.states))])


def test_a_cell_gets_its_own_state_and_later_cells_apart(studio, scene):
    made = scene("lstm", TEXT, view="recurrence", step=4)
    twin, read = run_twin(made), page(studio, made)
    shown = read.table("cell: direct + later + own state = g[c]")
    _, cell = twin.states[4]
    # In torch.nn the cell that comes out is read by the next step alone; its own state is computed inside.
    assert cell.grad is not None
    later = cell.grad[0, 0]
    inside = torch.tanh(cell.detach()[0, 0])
    own = twin.total(4) * gates_by_hand(twin, 4, "lstm")["output"] * (1 - inside**2)
    near(shown.column("later"), later, 1e-7)
    near(shown.column("own state"), own, 1e-7)
    near(shown.column("g[c]"), later + own, 1e-7)
    assert shown.column("direct") == [0.0] * 8


def test_nothing_comes_back_to_the_last_step(studio, scene):
    read = page(studio, scene("gru", TEXT, view="recurrence", step=8))
    shown = read.table("state: direct + later")
    assert shown.column("later") == [0.0] * 8
    assert shown.column("direct") == shown.column("g[h]")


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("name", ["weight_hh", "bias_ih"])
def test_contributions_of_the_steps_add_up_to_the_gradient(studio, scene, cell, name):
    made = scene(cell, TEXT, view="recurrence", step=3, weight=name)
    twin, read = run_twin(made), page(studio, made)
    norms = read.table(f"Contributions to {name}, by step").column("norm")
    near(norms, [contribution(twin, step, name).norm().item() for step in range(len(twin.uses))])
    hidden = made.subject.model.encoder.hidden
    own = contribution(twin, 3, name)[-hidden:].reshape(hidden, -1)
    whole = sum(contribution(twin, step, name) for step in range(len(twin.uses)))[-hidden:].reshape(hidden, -1)
    near(read.table("Contribution of step 3").numbers(), own, 1e-8)
    near(read.table("Sum over 9 steps").numbers(), whole, 1e-7)
    near(read.table(f"{name}.grad").numbers(), whole, 1e-7)
    assert "no entry differs by more than" in read.text


def test_the_rows_of_a_gate_are_those_of_torch(studio, scene):
    made = scene("lstm", TEXT, view="recurrence", step=2, weight="weight_ih", gate="forget_gate")
    twin, read = run_twin(made), page(studio, made)
    near(read.table("Contribution of step 2").numbers(), contribution(twin, 2, "weight_ih")[8:16], 1e-8)


@pytest.mark.parametrize("cell", CELLS)
def test_the_product_along_a_path_is_the_jacobian(studio, scene, cell):
    start, end = 2, 6
    made = scene(cell, TEXT, view="recurrence", start=start, end=end)
    twin, read = run_twin(made), page(studio, made)
    hidden = made.subject.model.encoder.hidden

    def advance(joined: Tensor, steps: range) -> Tensor:
        parts = tuple(part.reshape(1, 1, -1) for part in joined.split(hidden))
        for step in steps:
            given = parts if len(parts) > 1 else parts[0]
            after = twin.uses[step](twin.inputs[step].reshape(1, 1, -1), given)[1]
            parts = after if isinstance(after, tuple) else (after,)
        return torch.cat([part.flatten() for part in parts])

    def at(step: int) -> Tensor:
        return torch.cat([part.detach().flatten() for part in twin.states[step]])

    def jacobian(first: int, last: int) -> Tensor:
        found = torch.autograd.functional.jacobian(
            lambda joined: advance(joined, range(first + 1, last + 1)), at(first)
        )
        assert isinstance(found, Tensor)
        return found

    product = jacobian(start, end)
    factors = [torch.linalg.matrix_norm(jacobian(step, step + 1), ord=2).item() for step in range(start, end)]
    table = read.table("Factors along the path")
    near(table.column("factor"), factors)
    norms = [torch.linalg.matrix_norm(jacobian(start, last), ord=2).item() for last in range(start + 1, end + 1)]
    near(table.column("product"), norms)
    near(table.column("bound"), torch.tensor(factors).cumprod(0), 1e-6)
    near(read.table("Product: d new state / d old state").numbers(), product, 1e-6)


def test_the_carry_alone_is_the_product_of_the_gate(studio, scene):
    made = scene("gru", TEXT, view="recurrence", start=1, end=5)
    twin, read = run_twin(made), page(studio, made)
    gates = torch.stack([gates_by_hand(twin, step, "gru")["update"] for step in range(2, 6)])
    near(read.table("Carry only, and full").column("carry only"), gates.prod(0), 1e-6)
    near(read.table("Factors along the path").column("carry, mean"), gates.mean(1), 1e-6)
    without = page(studio, scene("rnn", TEXT, view="recurrence"))
    assert "A simple RNN has no carry" in without.text


@pytest.mark.parametrize("threshold", [0.05, 100.0])
def test_clipping_is_that_of_torch(studio, scene, threshold):
    made = scene("gru", TEXT, view="recurrence", clip=threshold)
    twin, read = run_twin(made), page(studio, made)
    gradients = {name: value.grad for name, value in twin.parameters.items()}
    for name in choices.PARAMETERS:
        gradients[f"{LAYER}.{name}"] = torch.stack([contribution(twin, step, name) for step in range(9)]).sum(0)
    parameters = {name: nn.Parameter(torch.zeros_like(value)) for name, value in gradients.items() if value is not None}
    for name, parameter in parameters.items():
        parameter.grad = gradients[name]
    before = {name: parameter.grad.norm().item() for name, parameter in parameters.items()}
    norm = nn.utils.clip_grad_norm_(list(parameters.values()), threshold).item()
    table = read.table("Norms of the gradients")
    shown = {row[0]: row[1:] for row in table.rows}
    assert set(shown) == {*parameters, "all together"}
    for name, parameter in parameters.items():
        near([float(words) for words in shown[name][1:]], [before[name], parameter.grad.norm().item()])
    near([float(words) for words in shown["all together"][1:]], [norm, min(norm, threshold)])
    assert ("multiplied by" in read.text) == (norm > threshold)
    near(read.table("Gradient after").numbers(), parameters[f"{LAYER}.weight_hh"].grad[-8:], 1e-7)


@pytest.mark.parametrize("recurrent", [0.9, -1.7])
def test_the_scalar_model_follows_its_slider_by_hand_formulas(studio, scene, recurrent):
    edits = [f"weight:{LAYER}.weight_hh.0.0={recurrent}"]
    read = page(studio, scene("scalar", view="recurrence", edits=edits))
    z, h = [], [torch.zeros((), dtype=torch.float64)]
    for x in INPUTS:
        z.append(INPUT_WEIGHT * x + recurrent * h[-1])
        h.append(torch.tanh(z[-1]))
    slopes = [1 - state**2 for state in h[1:]]
    error = OUTPUT_WEIGHT * h[3] - TARGET
    g = [torch.zeros(())] * 3
    g[2] = error * OUTPUT_WEIGHT
    for step in (1, 0):
        g[step] = g[step + 1] * slopes[step + 1] * recurrent
    table = read.table("States, slopes and sensitivities")
    for name, values in {"zt": z, "ht": h[1:], "φ'(zt)": slopes, "ght": g}.items():
        near(table.column(name), [float(value) for value in values])
    assert table.rows[0][4] == "no transition"
    near([float(row[4]) for row in table.rows[1:]], [float(recurrent * slope) for slope in slopes[1:]])
    near(table.column("direct"), [0.0, 0.0, float(g[2])])
    near(table.column("later"), [float(g[0]), float(g[1]), 0.0])
    sums = read.table("Contributions, a step a column").rows
    at_z = [float(sensitivity * slope) for sensitivity, slope in zip(g, slopes, strict=True)]
    from_inputs = [sensitivity * x for sensitivity, x in zip(at_z, INPUTS, strict=True)]
    from_states = [sensitivity * float(state) for sensitivity, state in zip(at_z, h, strict=False)]
    near([float(words) for words in sums[0][1:]], [*from_inputs, sum(from_inputs), sum(from_inputs)])
    near([float(words) for words in sums[1][1:]], [*from_states, sum(from_states), sum(from_states)])
    near([float(words) for words in sums[2][3:]], [float(error * h[3])] * 3)


def test_a_slider_without_script_replaces_the_earlier_edit_of_its_weight_and_keeps_the_others(studio, scene):
    edits = [f"weight:{LAYER}.weight_hh.0.0=1.3", f"weight:{LAYER}.weight_ih.0.0=0.2"]
    read = page(studio, scene("scalar", view="recurrence", edits=edits, clip="0.5"))
    (form,) = [form for form in read.forms if form[0][1].get("id") == "slider-w-h-form"]
    (slider,) = [attributes for tag, attributes in form if attributes.get("type") == "range"]
    assert slider["value"] == "1.3"
    sent = [(one["name"], one["value"]) for tag, one in form if tag == "input" and one is not slider]
    address = Address.parse("recurrence", [*sent, (slider["name"], "-0.4")])
    assert address.edits == (edits[1], f"weight:{LAYER}.weight_hh.0.0=-0.4")
    assert address.shown["clip"] == "0.5"
    words = {label["for"] for tag, label in read.elements if tag == "label"}
    assert slider["id"] in words
    assert any(tag == "output" and one["for"] == slider["id"] for tag, one in read.elements)
    assert any(tag == "button" for tag, _ in form)


def test_a_number_opens_the_arithmetic_of_its_unit(studio, scene):
    made = scene("gru", TEXT, view="recurrence", step=3, cell="update_gate.5")
    read = page(studio, made)
    told = made.ledger.explain(f"{LAYER}.update_gate", row=0, step=3, hidden=5).split("\n")
    assert all(line in read.text for line in told)
    (form,) = [form for form in read.forms if form[0][1].get("class") == "cells-form"]
    button = next(one for tag, one in form if tag == "button" and one["value"] == "candidate.2")
    sent = [(one["name"], one["value"]) for tag, one in form if tag == "input"]
    address = Address.parse("recurrence", [*sent, (button["name"], button["value"])])
    assert address.shown == {"step": "3", "cell": "candidate.2"}
    assert address.text == TEXT


def test_every_step_of_the_graph_is_a_link_to_the_same_view_at_that_step(studio, scene):
    made = scene("gru", TEXT, view="recurrence", weight="bias_ih")
    read = page(studio, made)
    links = [one["href"] for tag, one in read.elements if tag == "a" and one.get("id", "").startswith("graph-step")]
    opened = [Address.parse("recurrence", parse_qsl(urlsplit(link).query)) for link in links]
    assert [address.shown["step"] for address in opened] == [str(step) for step in range(9)]
    assert all(address.key == made.address.key and address.shown["weight"] == "bias_ih" for address in opened)


def bidirectional(studio: Studio, **shown: str) -> tuple[Scene, nn.GRU]:
    """Make a scene of two rows through two layers that read in both directions, and a torch.nn twin of its layers."""
    torch.manual_seed(3)
    model = build("gru", features=2, outputs=3, hidden=4, layers=2, bidirectional=True).double().eval()
    valid = torch.tensor([[True] * 5, [True, True, True, False, False]])
    batch = Batch(torch.randn(2, 5, 2, dtype=torch.float64), valid, torch.randint(0, 3, (2, 5)))
    words = [[f"x{step}" for step in range(5)], [f"x{step}" for step in range(3)]]
    subject = Subject(model, words, batch, (), "two directions", Tagging(3), "step", "rows")
    address = Address("recurrence", "gru", None, 1, (), shown)
    twin = nn.GRU(2, 4, num_layers=2, bidirectional=True, batch_first=True).double()
    with torch.no_grad():
        for layer in (0, 1):
            for name in choices.PARAMETERS:
                for direction, suffix in (("forward", ""), ("backward", "_reverse")):
                    own = model.get_parameter(f"encoder.recurrent.{layer}.{direction}_layer.{name}")
                    twin.get_parameter(f"{name}_l{layer}{suffix}").copy_(own)
    return Scene(address, studio.source("gru"), subject, run_trace(subject, True), 1), twin


def test_a_layer_that_reads_from_the_end_is_shown_in_its_order(studio):
    layer = "encoder.recurrent.1.backward_layer"
    made, twin = bidirectional(studio, layer=layer, step="0", start="2", end="0")
    read = page(studio, made)
    given = made.subject.batch.inputs[1:, :3]
    rows, _ = twin(given)
    near(read.table("Values").column("state"), rows[0, 0, 4:])
    near(read.table("Values").column("h before"), rows[0, 1, 4:])
    assert read.table("state: direct + later").column("later") == [0.0] * 4
    (first, _) = nn.GRU.forward(_first_layer(twin), given)

    def last(first_state: Tensor) -> Tensor:
        state = first_state
        for step in (1, 0):
            state = _second_backward(twin, first[0, step], state)
        return state

    product = torch.autograd.functional.jacobian(last, rows[0, 2, 4:].detach())
    near(read.table("Product: d new state / d old state").numbers(), product, 1e-9)
    assert [row[0] for row in read.table("Factors along the path").rows] == ["1 x1", "0 x0"]


def _first_layer(twin: nn.GRU) -> nn.GRU:
    first = nn.GRU(2, 4, bidirectional=True, batch_first=True).double()
    first.load_state_dict({name: value for name, value in twin.state_dict().items() if "_l0" in name})
    return first


def _second_backward(twin: nn.GRU, observed: Tensor, state: Tensor) -> Tensor:
    cell = nn.GRUCell(8, 4).double()
    cell.load_state_dict({name: twin.get_parameter(f"{name}_l1_reverse") for name in choices.PARAMETERS})
    return cell(observed.detach().unsqueeze(0), state.unsqueeze(0))[0]


def test_the_proof_of_one_row_of_several_tells_the_rows_apart(studio):
    made, _ = bidirectional(studio, weight="weight_ih")
    read = page(studio, made)
    name = f"{choices.recurrent_layers(made)[-1]}.weight_ih"
    gradient = made.subject.model.get_parameter(name).grad
    own = made.ledger.contributions(name, 1).value.sum(0)
    assert gradient is not None and not torch.allclose(own, gradient)
    near(read.table("Sum over 3 steps of row 1").numbers(), own[-4:], 1e-9)
    near(read.table("What the other rows add").numbers(), (gradient - own)[-4:], 1e-9)
    assert "add up to weight_ih.grad" in read.text


def test_padding_is_no_step_of_the_recurrence(studio):
    made, _ = bidirectional(studio)
    assert choices.real_steps(made) == [0, 1, 2]
    assert choices.layer_words("encoder.recurrent.1.forward_layer") == "layer 1, read from the start"
    assert len(choices.recurrent_layers(made)) == 4


@pytest.mark.parametrize("cell", CELLS)
def test_512_steps_stay_small_and_fast(studio, scene, cell):
    text = " ".join(f"w{(place * 7) % 40}" for place in range(512))
    made = scene(cell, text, view="recurrence", step=255)
    began = time.process_time()
    sections = RECURRENCE.sections(made, studio)
    assert time.process_time() - began < 4
    html = "".join(section.content for section in sections)
    assert len(html.encode()) < 300_000
    assert html.count("<td") + html.count("<rect") < 3000
    assert "9 of 511 steps are shown" in html
    read = PageReader(html)
    for caption in ("Norms, a line a step", "Contributions to weight_hh, by step"):
        assert f"255 {made.tokens[255]}" in [row[0] for row in read.table(caption).rows]


def test_a_text_of_one_word_shows_the_forward_pass_alone(studio, scene):
    read = page(studio, scene("gru", "alone", view="recurrence"))
    assert "no backward pass has run" in read.text
    assert [table.caption for table in read.tables] == ["Values"]


def test_a_model_without_recurrence_says_so_and_names_one(scene):
    assert "Choose rnn, gru, lstm or scalar" in RECURRENCE.missing(scene("transformer", TEXT))
    assert RECURRENCE.missing(scene("gru", TEXT)) == ""


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"step": "9"}, "clew explore: step must be in [0, 8], a step that is read, got '9'."),
        ({"step": "-1"}, "clew explore: step must be in [0, 8], a step that is read, got '-1'."),
        ({"start": "5", "end": "2"}, "start=5 and end=2. Exchange them"),
        ({"weight": "weight_xx"}, "weight must be one of this model, got 'weight_xx'."),
        ({"layer": "encoder.recurrent.7"}, "layer must be one of this model, got 'encoder.recurrent.7'."),
        ({"gate": "forget_gate"}, "gate must be one of this model, got 'forget_gate'."),
        ({"cell": "state.8"}, "unit must be a whole number in [0, 8), got '8'."),
        ({"cell": "nothing"}, "quantity must be one of this model, got ''."),
        ({"clip": "0"}, "clip must be a number above 0, got '0'."),
        ({"clip": "nan"}, "clip must be a number above 0, got 'nan'."),
    ],
)
def test_what_is_not_there_is_one_clear_line(studio, scene, shown, words):
    made = scene("gru", TEXT, view="recurrence", **shown)
    with pytest.raises(ExplorerError) as caught:
        RECURRENCE.sections(made, studio)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", [*CELLS, "scalar"])
def test_the_page_is_labelled_and_has_no_inline_style_or_script(studio, scene, model):
    read = page(studio, scene(model, None if model == "scalar" else TEXT, view="recurrence"))
    identifiers = [one["id"] for _, one in read.elements if "id" in one]
    assert len(identifiers) == len(set(identifiers))
    labelled = {one["for"] for tag, one in read.elements if tag == "label"}
    fields = [one for tag, one in read.elements if tag == "input" and one["type"] != "hidden"]
    assert fields and all(one["id"] in labelled for one in fields)
    assert not any(name == "style" or name.startswith("on") for _, one in read.elements for name in one)
    assert not any(tag == "script" for tag, _ in read.elements)
    assert all(table.caption and table.columns for table in read.tables)
