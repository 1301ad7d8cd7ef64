"""Long inputs through deep models: every view stays small, is made in a few seconds, and says what it leaves out."""

import time

import pytest

from clew.explorer.address import Address
from clew.explorer.scene import Scene, play
from clew.explorer.studio import Studio
from clew.explorer.views import VIEWS
from clew.models import build
from clew.report.subject import Subject, batch_of
from clew.tasks import NextToken

STEPS, LAYERS = 256, 4
SECONDS, CHARACTERS, CELLS = 4.0, 1_500_000, 4000
"""Of the processor, on a machine that checks every shape; without those checks it is a third."""
DEEP = {
    "transformer": {"heads": 4, "causal": True, "max_positions": STEPS},
    "lstm": {},
}


@pytest.fixture(scope="module", params=DEEP)
def deep(request: pytest.FixtureRequest) -> Scene:
    words = [f"w{step % 40}" for step in range(STEPS + 1)]
    vocabulary = list(dict.fromkeys(words))
    model = build(request.param, vocab=40, outputs=40, hidden=32, layers=LAYERS, **DEEP[request.param]).eval()
    batch = batch_of([words], vocabulary)
    subject = Subject(model, [words], batch, vocabulary, request.param, NextToken(40))
    return play(Address("way", "worked", None, 0, (), {}), Studio().source("worked"), subject, None)


@pytest.mark.parametrize(
    "view", [view for view in VIEWS if view.name not in ("run", "audit", "keep")], ids=lambda view: view.name
)
def test_a_view_of_256_steps_and_4_layers_is_usable(view, deep: Scene) -> None:
    if view.missing(deep):
        pytest.skip(view.missing(deep))
    start = time.process_time()
    content = "".join(part.content for part in view.sections(deep, Studio()))
    assert time.process_time() - start < SECONDS
    assert 1000 < len(content) < CHARACTERS
    assert content.count("<td") < CELLS
