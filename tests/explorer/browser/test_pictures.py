"""Pictures of every view for a person to look at: light and dark, on a desk and on a phone.

    CLEW_PICTURES=pictures .venv/bin/python -m pytest -m slow tests/explorer/browser/test_pictures.py

Nothing is compared: a picture that is wrong is seen. `CLEW_PICTURES_RUN` names a run folder to show instead of a tiny
one. Each view is saved whole, and its file that opens from disk beside it.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.browser.conftest import Explored, Visitor
from explorer.browser.test_everywhere import LOOKS, VIEWS

FOLDER = os.environ.get("CLEW_PICTURES", "")


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="CLEW_PICTURES names no folder")
@pytest.mark.parametrize("name", [name for name in VIEWS if name != "a fault"])
def test_pictures_are_taken(
    visit: Callable[..., Visitor], explore: Callable[..., Explored], recall_run: Path, name: str
) -> None:
    run = os.environ.get("CLEW_PICTURES_RUN") or str(recall_run)
    visitor = visit(VIEWS[name], at=explore(run))
    folder = Path(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for scheme, width in LOOKS:
        visitor.page.emulate_media(color_scheme=scheme)
        visitor.page.set_viewport_size({"width": width, "height": 900})
        path = folder / f"{name.replace(' ', '-')}-{scheme}-{width}.png"
        visitor.page.screenshot(path=path, full_page=True, animations="disabled")
        assert path.stat().st_size > 10_000
