"""What of a recurrence is shown where: the chapter's formulas for its model alone, and nothing that takes too long."""

import time

import pytest
import torch

from clew.data.batch import Batch
from clew.explorer import limits
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.bounds import require_followed
from clew.explorer.recurrence.choice import choose
from clew.explorer.recurrence.view import RECURRENCE
from clew.explorer.scalar import HalfSquaredError
from clew.explorer.scene import Scene, play
from clew.explorer.studio import Studio
from clew.models import build
from clew.report.subject import Subject
from clew.tasks import Forecasting, NextToken, Regression, Task
from clew.walkthrough.scalar_rnn import OUTPUT_WEIGHT, TARGET
from explorer.recurrence_page import PageReader

TEXT = "a journey of a thousand miles begins with a step"
SCALAR_WORDS = "The weights as sliders"


def headings(made: Scene, studio: Studio) -> list[str]:
    return [section.heading for section in RECURRENCE.sections(made, studio)]


def read(made: Scene, studio: Studio) -> PageReader:
    return PageReader("".join(section.content for section in RECURRENCE.sections(made, studio)))


def single(studio: Studio, task: Task, outputs: int, head: str) -> Scene:
    """A model of one input and one unit, as a run may have."""
    model = build("rnn", features=1, hidden=1, outputs=outputs, head=head)
    inputs = torch.tensor([0.5, -1.0, 0.8, 0.1, 0.4]).reshape(1, -1, 1)
    targets = torch.tensor([[0.5] * outputs]) if isinstance(task, Regression) else None
    steps = 5 - (task.horizon if isinstance(task, Forecasting) else 0)
    subject = Subject(model, [[""] * steps], Batch(inputs, targets=targets), (), "", task, "step", "a sequence")
    return play(Address("recurrence", "scalar"), studio.sources["scalar"], subject, None)


@pytest.mark.parametrize(
    ("task", "outputs", "head"),
    [
        (Forecasting(horizon=1), 1, "rows"),
        (Regression(center=[2.0], scale=[3.0]), 1, "last"),
        (Regression(), 1, "last"),
    ],
)
def test_other_models_of_single_numbers_have_no_formulas_of_the_chapter(studio, task, outputs, head):
    made = single(studio, task, outputs, head)
    found = headings(made, studio)
    assert SCALAR_WORDS not in found and "The product along a path" in found


def test_the_chapters_model_has_them_whatever_its_weights(studio, scene):
    assert isinstance(scene("scalar").subject.task, HalfSquaredError)
    assert SCALAR_WORDS in headings(scene("scalar", view="recurrence"), studio)
    assert SCALAR_WORDS not in headings(scene("rnn", TEXT, view="recurrence"), studio)


def test_biases_stand_in_the_formulas_where_they_are_not_zero(studio, scene):
    plain = "".join(read(scene("scalar", view="recurrence"), studio).text.split())
    state = OUTPUT_WEIGHT * float(scene("scalar").ledger.quantity("encoder.recurrent.0.state").value[0, -1])
    assert f"ŷ=woh2={state:.3f},e=ŷ-y={state - TARGET:.3f}" in plain
    assert "zt=wxxt+whh(t-1)," in plain
    edits = ["weight:head.linear.bias.0=1", "weight:encoder.recurrent.0.bias_hh.0=0.25", "target=-2"]
    made = scene("scalar", view="recurrence", edits=edits)
    state = OUTPUT_WEIGHT * float(made.ledger.quantity("encoder.recurrent.0.state").value[0, -1])
    text, error = "".join(read(made, studio).text.split()), state + 3
    assert f"ŷ=woh2+bo={state + 1:.2f},e=ŷ-y={error:.2f},L=½e²={error**2 / 2:.2f}" in text
    assert "zt=wxxt+whh(t-1)+bh," in text


def test_a_path_and_contributions_beyond_the_limits_have_a_line_in_their_place(studio, scene, monkeypatch):
    monkeypatch.setattr(limits, "MOST_JACOBIAN_WORK", 4 * 8**3)
    monkeypatch.setattr(limits, "MOST_CONTRIBUTED", 9 * 24 * 2)
    made = scene("gru", TEXT, view="recurrence")
    found = read(made, studio)
    work = "Jacobians along time must be at most 2,048 as steps x (numbers of a state) cubed"
    assert f"{work}, got 9 x 8 cubed = 4,608. Choose a shorter input or a narrower model." in found.text
    assert f"{work}, got 8 x 8 cubed = 4,096. Choose a shorter path." in found.text
    rule = (
        "contributions to weight_hh must be at most 432 numbers, one weight a step, got 9 x 192 = 1,728. Choose a bias"
    )
    assert rule in found.text
    assert {"Values", "Norms of the gradients"} <= {table.caption for table in found.tables}
    assert any(one.get("id") == "path-submit" for _, one in found.elements)
    shorter = read(scene("gru", TEXT, view="recurrence", start=2, end=6, weight="bias_hh"), studio)
    captions = [table.caption for table in shorter.tables]
    assert "Factors along the path" in captions and "Contributions to bias_hh, by step" in captions


def test_the_state_of_an_lstm_counts_twice(scene, monkeypatch):
    monkeypatch.setattr(limits, "MOST_JACOBIAN_WORK", 9 * 16**3)
    choice = choose(scene("lstm", TEXT, view="recurrence"))
    assert choice.hidden == 8
    require_followed(choice, 9, "")
    monkeypatch.setattr(limits, "MOST_JACOBIAN_WORK", 9 * 16**3 - 1)
    with pytest.raises(ExplorerError, match="16 cubed"):
        require_followed(choice, 9, "")


def test_a_wide_cell_is_answered_in_seconds(studio):
    words = [f"w{place}" for place in range(70)]
    model = build("gru", vocab=70, outputs=70, hidden=512, embedding=4)
    subject = Subject(model, [words], Batch(torch.arange(70).unsqueeze(0)), words, "wide", NextToken(70))
    made = play(Address("recurrence", "gru"), studio.sources["gru"], subject, None)
    began = time.process_time()
    found = read(made, studio)
    assert time.process_time() - began < 10
    assert found.text.count("cubed = ") == 2 and "69 x 786,432 = 54,263,808" in found.text
