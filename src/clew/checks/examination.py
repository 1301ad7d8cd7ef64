"""What all checks of one audit share: the model in two number types, the sample, the boundary and the rounding floor.

A check asks an `Examination` for outputs and for what moved between two samples. What earlier checks found stands in
`found`, so that each fault is told once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.checks.content import drawn_content, quiet_fill
from clew.checks.engine import Call, Engine, RefusedError, precise_engine
from clew.checks.finding import Counterexample, Finding
from clew.checks.reading import read_boundary
from clew.checks.results import Chooser, movement
from clew.checks.rounding import rounding_floor
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, Setting
from clew.errors import AuditError, complain

STACKED_STEPS = 4096
"""Steps that one stacked pass may hold: enough to fill a kernel, few enough for memory."""


@dataclass(eq=False)
class Options:
    """What the caller of an audit said about the model, apart from its inputs."""

    call: Call | None = None
    chosen: Chooser = None
    loss: Callable[[Tensor, Tensor], Tensor] | None = None
    targets: Tensor | None = None
    step: Callable[[Any, Any, Any], tuple[Any, Any]] | None = None
    is_ordered: bool = True
    is_stateful: bool = False
    is_matrix: bool = False
    is_quick: bool = False


@dataclass(eq=False)
class Examination:
    """One model under audit.

    Attributes:
        sample: The rows that are varied; each has at least one real step.
        options: What the caller said.
        native: The model in its own number type.
        precise: The model in float64, or `native` where it cannot be run so.
        allowed: True where an output may read a source.
        judged: True at outputs that count: those at real steps that have something to read.
        base: Outputs of `sample` from `precise`.
        floor: Movement of `precise` above which a difference is no rounding.
        generator: Draws all made-up content.
        found: Findings of the checks that ran so far, by name.
        is_stacked: Whether several batches may be run as one, because rows do not touch.
        broken_padding: Whether the sample as given had outputs that are not finite because of its padding.
        is_repeatable: Whether two calls give the same once hidden state and random generators are put back.
    """

    sample: Sample
    options: Options
    native: Engine
    precise: Engine
    allowed: Bool[Tensor, "batch outputs time"]
    judged: Bool[Tensor, "batch outputs"]
    base: Float[Tensor, "batch outputs coordinates"]
    floor: float
    generator: torch.Generator
    found: dict[str, Finding] = field(default_factory=dict)
    is_stacked: bool = False
    broken_padding: bool = False
    is_repeatable: bool = True
    _last: tuple[Engine, Sample, Setting, Float[Tensor, "batch outputs coordinates"]] | None = None

    @property
    def is_single(self) -> bool:
        """Whether an output belongs to a whole row."""
        return self.precise.is_single

    @property
    def relative_floor(self) -> float:
        """The rounding floor as a fraction of the outputs' largest value."""
        scale = float(self.base[self.judged].abs().max()) if bool(self.judged.any()) else 1.0
        return self.floor / max(scale, torch.finfo(torch.float64).tiny)

    @property
    def has_steps(self) -> bool:
        """Whether output and input share the time axis."""
        return not self.is_single and self.base.shape[1] == self.sample.time

    @property
    def can_pad(self) -> bool:
        """Whether the call can express padding."""
        return self.sample.form.padding != "none"

    @property
    def can_pad_left(self) -> bool:
        """Whether the call can express padding on the left."""
        return self.sample.form.padding in ("valid", "mask", "pad")

    def has_failed(self, name: str) -> bool:
        """Say whether a check that ran before has failed."""
        return name in self.found and self.found[name].status == "failed"

    def drawn(self, sample: Sample) -> Sample:
        """Replace the content at real steps by random content."""
        return sample.filled(drawn_content(sample, self.generator), sample.real)

    def full_sample(self) -> Sample:
        """Give the sample without padding: content is made up where padding stood."""
        if not self.sample.has_padding:
            return self.sample
        filled = self.sample.filled(drawn_content(self.sample, self.generator), ~self.sample.real)
        return filled.with_valid(torch.ones_like(self.sample.real))

    def padded_sample(self) -> Sample | None:
        """Give the sample with padding on the right in some rows and none in others, or None if that has no words."""
        if self.sample.has_padding or not self.can_pad or self.sample.time < 2:
            return self.sample if self.sample.has_padding else None
        sample = self.sample if self.sample.batch > 1 else self.drawn(self.sample.rows(torch.tensor([0, 0])))
        rows = torch.arange(sample.batch)
        lengths = torch.where(rows % 2 == 0, sample.time, (sample.time * 2 + 2) // 3 - rows // 2 % 2).clamp(1)
        lengths[1::2] = lengths[1::2].clamp(max=sample.time - 1)
        valid = torch.arange(sample.time) < lengths.unsqueeze(1)
        valid = valid.to(sample.content.device)
        return sample.filled(quiet_fill(sample).expand_as(sample.content), ~valid).with_valid(valid)

    def judged_in(self, sample: Sample) -> Bool[Tensor, "batch outputs"]:
        """Say which outputs of another sample count."""
        has_sources = self.allowed.any(dim=2).any(dim=0)
        if not self.has_steps:
            return has_sources.expand(sample.batch, -1)
        return sample.real & has_sources if sample.time == len(has_sources) else sample.real

    def moved(
        self, before: Sample, after: Sample, setting: Setting = EVALUATION, engine: Engine | None = None
    ) -> Float[Tensor, "batch outputs"]:
        """Say how far each output moves from one sample to another of the same size."""
        engine = engine or self.precise
        # Many changes in a row are made to the same sample: its outputs are kept, and the sample with them.
        known = self._last
        if known is None or known[:3] != (engine, before, setting):
            known = self._last = (engine, before, setting, engine.outputs(before, setting))
        return movement(known[3], engine.outputs(after, setting))

    def many_outputs(
        self, samples: list[Sample], setting: Setting = EVALUATION, stacks: bool = True
    ) -> list[Float[Tensor, "batch outputs coordinates"]]:
        """Give the outputs of several samples of one size, in few passes where rows do not touch."""
        if not samples:
            return []
        # In training rows may share statistics and dropout masks follow the shape, so that each batch runs alone.
        is_stacked = stacks and self.is_stacked and not setting.training
        size = max(1, STACKED_STEPS // (samples[0].batch * samples[0].time)) if is_stacked else 1
        outputs = []
        for start in range(0, len(samples), size):
            part = samples[start : start + size]
            outputs += self.precise.outputs(part[0].together(part), setting).split(part[0].batch)
        return outputs

    def example(
        self,
        before: Sample,
        after: Sample,
        place: tuple[int, int],
        changed: int | str,
        setting: Setting = EVALUATION,
    ) -> Counterexample:
        """Give the values at one output before and after a change, in the model's own number type."""
        row, output = place
        old, new = (self.native.outputs(sample, setting)[row, output] for sample in (before, after))
        at = int((new - old).abs().nan_to_num(torch.inf, torch.inf).argmax())
        index = changed if isinstance(changed, int) else None
        return Counterexample(
            row,
            changed,
            None if self.is_single else output,
            float(old[at]),
            float(new[at]),
            None if index is None else _plain(before.content[row, index]),
            None if index is None else _plain(after.content[row, index]),
        )

    def worst(self, moved: Float[Tensor, "batch outputs"]) -> tuple[float, tuple[int, int]]:
        """Give the largest movement and its place, row and output."""
        at = int(moved.argmax())
        row, output = divmod(at, moved.shape[1])
        return float(moved[row, output]), (row, output)

    def measured(self, before: Sample, after: Sample, place: tuple[int, int], setting: Setting) -> float | None:
        """Give the movement at one place in the model's own number type."""
        if self.native is self.precise:
            return None
        return float(self.moved(before, after, setting, self.native)[place])


def _plain(value: Tensor) -> Any:
    listed = value.flatten()[:4].tolist()
    return listed[0] if value.numel() == 1 else listed


def examine(model: Any, sample: Sample, boundary: Any, options: Options, generator: torch.Generator) -> Examination:
    """Run a model for the first time and find out what it can be asked.

    Raises:
        AuditError: If the model raises, gives no tensor, or gives outputs that are not finite.
    """
    native = Engine(model, None, options.call, options.chosen)
    first = native.chosen(sample)
    precise = precise_engine(model, options.call, options.chosen, sample) or native
    outputs = _settle_axes(native, first, sample, boundary)
    precise.is_single, precise.follows_time = native.is_single, native.follows_time
    allowed = read_boundary(boundary, sample, outputs, native.is_single)
    options.is_matrix = isinstance(boundary, Tensor)
    base = precise.outputs(sample)
    readable = (allowed & sample.real.unsqueeze(1)).any(dim=2)
    judged = readable & sample.real if not native.is_single and outputs == sample.time else readable
    if precise is not native and _overflows_only_in(precise, native, sample):
        precise, base = native, native.outputs(sample)
    is_broken = not bool(base[judged].isfinite().all())
    exam = Examination(sample, options, native, precise, allowed, judged, base, 0.0, generator)
    if is_broken:
        exam = _without_padding(exam, model, boundary)
    exam.floor = rounding_floor(exam.precise, exam.sample, exam.judged, generator)
    exam.is_stacked = _rows_can_be_stacked(exam)
    return exam


def _overflows_only_in(precise: Engine, native: Engine, sample: Sample) -> bool:
    """Say whether outputs are finite in the model's own number type and not in float64.

    So it is where a softmax is taken in float32 over scores in which float64's lowest number hides a source.
    """
    for probe in (sample, *_padded_otherwise(sample)):
        try:
            wide, own = precise.outputs(probe), native.outputs(probe)
        except AuditError:
            continue
        if wide.shape == own.shape and bool((own.isfinite() & ~wide.isfinite()).any()):
            return True
    return False


def _padded_otherwise(sample: Sample) -> Iterator[Sample]:
    """Give the sample with padding on the right, with padding on the left, and with an empty row."""
    if sample.form.padding == "none":
        return
    steps = torch.arange(sample.time, device=sample.content.device)
    right = (steps < (sample.time + 1) // 2).expand(sample.batch, -1)
    empty = sample.real.clone()
    empty[-1] = False
    patterns = (right, empty) if sample.form.padding == "lengths" else (right, ~right, empty)
    for valid in patterns:
        yield sample.filled(quiet_fill(sample).expand_as(sample.content), ~valid).with_valid(valid)


def _without_padding(exam: Examination, model: Any, boundary: Any) -> Examination:
    """Go on without the padding that made outputs infinite, or with padding where its absence did; else complain."""
    is_wrong = ~exam.base.isfinite().all(dim=2) & exam.judged
    wider = _padded_everywhere(exam, is_wrong.any(dim=1))
    if wider is not None:
        return examine(model, wider, boundary, exam.options, exam.generator)
    row, output = is_wrong.nonzero()[0].tolist()
    if not exam.sample.has_padding or exam.sample.form.padding == "pad":
        where = f"NaN or infinity at row {row}, output {output}"
        remedy = "" if exam.sample.form.padding == "none" else "A mask that means the opposite hides every real step."
        raise AuditError(complain("audit", "the outputs", "finite at real steps", where, remedy))
    fuller = examine(model, exam.full_sample(), boundary, exam.options, exam.generator)
    fuller.broken_padding = True
    return fuller


def _padded_everywhere(exam: Examination, broken: Bool[Tensor, " batch"]) -> Sample | None:
    """Give the sample with padding in every row, if rows without any were the broken ones and this mends them.

    A mask that means the opposite hides everything from a row without padding.
    """
    sample = exam.sample
    if not exam.can_pad or exam.options.is_matrix or bool((broken & ~sample.real.all(dim=1)).any()):
        return None
    wider = sample.extended(2, quiet_fill(sample))
    try:
        outputs = exam.precise.outputs(wider)
    except AuditError:
        return None
    steps = wider.real if exam.has_steps else torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
    is_mended = outputs.shape[:2] == steps.shape and bool(outputs[steps].isfinite().all())
    return wider if is_mended else None


def _settle_axes(engine: Engine, first: Tensor, sample: Sample, boundary: Any) -> int:
    """Find out whether the output has a time axis, and give its length."""
    if first.ndim < 2:
        return 1
    length = first.shape[1]
    if isinstance(boundary, Tensor) and boundary.ndim > 1 and boundary.shape[-2] == length != sample.time:
        engine.is_single = False
        return length
    longest = int(sample.real.any(dim=0).nonzero().max()) + 1
    if length not in (sample.time, longest) or (length != sample.time and first.ndim < 3):
        return 1
    engine.follows_time = length != sample.time or _follows_time(engine, first, sample)
    engine.is_single = not engine.follows_time
    return 1 if engine.is_single else sample.time


def _follows_time(engine: Engine, first: Tensor, sample: Sample) -> bool:
    """Ask for one step less or more: a time axis follows, a feature axis of the same size does not."""
    shorter = sample.steps(torch.arange(sample.time - 1)) if sample.time > 1 else None
    if shorter is None or not bool(shorter.real.any(dim=1).all()):
        shorter = sample.steps(torch.tensor([*range(sample.time), sample.time - 1]))
    try:
        other = engine.chosen(shorter)
    except (RefusedError, AuditError):
        return True
    return other.ndim == first.ndim and other.shape[1] != first.shape[1]


def _rows_can_be_stacked(exam: Examination) -> bool:
    try:
        twice = exam.precise.outputs(exam.sample.together([exam.sample, exam.sample]))
    except AuditError:
        return False
    if twice.shape[1:] != exam.base.shape[1:]:
        return False
    moved = movement(torch.cat([exam.base, exam.base]), twice)[torch.cat([exam.judged, exam.judged])]
    return bool((moved <= exam.floor).all())
