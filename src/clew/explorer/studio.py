"""Where scenes are made and kept: the models on offer, and the last few passes.

Nothing that a person does is kept here, so that two tabs, or a tab and a link, never disturb each other; what is kept
is only what was computed. Start with `Studio.scene`.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock

import torch

from clew.errors import ConfigError, complain, did_you_mean
from clew.explorer import limits
from clew.explorer.address import WHERE, Address
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import Scene, pairs_of, play
from clew.explorer.sources import OFFERED, Source, offer
from clew.report.subject import Subject
from clew.report.trace_runs import text_rows
from clew.report.trace_subject import WORKED

INPUT_EDITS = ("token", "value", "padding", "target")
"""Edits of what is read, which a second model reads too."""


class Studio:
    """What a server offers.

    Attributes:
        sources: The models by key; the first one is shown where an address names none.
    """

    def __init__(self, run: Path | None = None, beside: Sequence[Path] = (), text: str | None = None) -> None:
        self.sources = offer(run, beside, text)
        self._scenes: OrderedDict[tuple[str, str | None, int, tuple[str, ...]], Scene] = OrderedDict()
        # One pass at a time: the ledger hears every layer that runs while it listens.
        self.lock = RLock()

    @classmethod
    def open(cls, model: str | None, beside: Sequence[Path] = (), text: str | None = None) -> "Studio":
        """Make a studio that begins with a model: a key, or the path of a run folder; None for the worked example.

        Raises:
            ConfigError: If it is neither, or the text is too long.
            RunError: If a folder holds no run.
        """
        if model is not None and model not in OFFERED:
            if not Path(model).is_dir():
                rule, remedy = "a run folder or a known model", did_you_mean(model, OFFERED)
                raise ConfigError(complain(WHERE, "model", rule, f"'{model}'", remedy))
            return cls(Path(model), beside, text)
        studio = cls(None, beside, text)
        first = model or WORKED
        studio.sources = {first: studio.sources[first], **studio.sources}
        return studio

    def source(self, key: str) -> Source:
        """Give a model that is offered.

        Raises:
            ExplorerError: If there is none of that key.
        """
        if key not in self.sources:
            remedy = did_you_mean(key, self.sources)
            raise ExplorerError(complain(WHERE, "model", "one that is offered", f"'{key}'", remedy), 404)
        return self.sources[key]

    def settle(self, address: Address) -> Address:
        """Give the address that a form means: what was typed for one model does not go along to another.

        The form for what is read says by `was` which model it stood beside.
        """
        shown = dict(address.shown)
        was = shown.pop("was", None)
        source, before = self.sources.get(address.model), self.sources.get(was or "")
        text, edits = address.text, address.edits
        if before is not None and text is not None and text.strip() == (before.default_text or "").strip():
            text = None
        if source is not None and (not source.reads_text or text == source.default_text):
            text = None
        if before is not None and before is not source:
            edits = ()
        return replace(address, text=text, edits=edits, shown=shown)

    def scene(self, address: Address) -> Scene:
        """Run what an address names, or find it among the last few.

        Raises:
            ExplorerError: If there is no such model or row, or it is too large.
            ClewError: If the text or an edit does not fit the model.
        """
        with self.lock:
            source = self.source(address.model)
            if not source.reads_text and address.text is not None:
                address = replace(address, text=None)
            if address.key in self._scenes:
                self._scenes.move_to_end(address.key)
                return self._scenes[address.key].at(address)
            base = self.scene(address.with_edits(())) if address.edits else None
            subject = self._subject(source, address) if base is None else base.subject
            scene = play(address, source, subject, base)
            self._keep(scene)
            return scene

    def beside(self, address: Address) -> Scene | None:
        """Run the second model of an address, `beside` among its parameters, on the same input; None without one.

        Edits of what is read apply to both models, those of weights and rules to the first one only.

        Raises:
            ExplorerError: If it does not read the same.
        """
        key = address.shown.get("beside")
        if not key:
            return None
        first, second = self.scene(address), self.source(key)
        text = first.source.default_text if address.text is None and second.reads_text else address.text
        edits = tuple(edit for edit in address.edits if edit.partition(":")[0].partition("=")[0] in INPUT_EDITS)
        found = self.scene(replace(address, model=key, text=text, edits=edits))
        if not _reads_same(first.subject, found.subject):
            remedy = "Give a text that both can read, or runs that were trained on the same data."
            got = f"'{second.label}' reading something else"
            raise ExplorerError(complain(WHERE, "beside", "a model that reads the same input", got, remedy))
        return found

    def _subject(self, source: Source, address: Address) -> Subject:
        text = address.text
        # A row of one word has no next one: it is read, and nothing is learned from it.
        shown = source.default_text if text is None else text
        is_short = (
            source.reads_text
            and shown is not None
            and len(shown) < 100
            and len(text_rows(shown)) == 1 == len(text_rows(shown)[0])
        )
        return source.subject(text, address.row, not is_short)

    def _keep(self, scene: Scene) -> None:
        self._scenes[scene.address.key] = scene
        while len(self._scenes) > limits.MOST_SCENES or (
            len(self._scenes) > 2 and sum(map(_size, self._scenes.values())) > limits.MOST_KEPT_PAIRS
        ):
            self._scenes.popitem(last=False)


def _size(scene: Scene) -> int:
    """Tell roughly how much memory a scene takes, in pairs of a query and a source."""
    subject = scene.subject
    steps, rows = max(map(len, subject.words)), len(subject.words)
    return rows * (pairs_of(subject, steps) + steps * sum(part.numel() for part in subject.model.parameters()) // 1000)


def _reads_same(first: Subject, second: Subject) -> bool:
    inputs, others = first.batch.inputs, second.batch.inputs
    if first.words != second.words:
        return False
    return not (inputs.is_floating_point() or others.is_floating_point()) or torch.equal(
        inputs.double(), others.double()
    )
