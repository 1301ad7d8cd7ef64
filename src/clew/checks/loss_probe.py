"""What a loss does with targets: which target each output is tied to, and which targets count.

The model is run once; afterwards only the loss is called, on its outputs and on targets that are varied. An output is
tied to a target if the gradient of the loss with respect to that output changes with the target.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.sample import IGNORED
from clew.errors import AuditError, ShapeError, complain
from clew.shapes import describe


@dataclass(frozen=True, eq=False)
class LossProbe:
    """A loss, the outputs it is given, and targets.

    Attributes:
        exam: Where the loss comes from.
        outputs: The model's outputs as the loss gets them, without history.
        targets: One for each row, or for each row and step.
        counted: True at targets that should count: not ignored, at real steps, and predicted by some output.
        ignored: True at targets that must not count.
        offset: Steps from an output to its target: 1 where the targets are the inputs, else 0; None if unknown.
    """

    exam: Examination
    outputs: Tensor
    targets: Tensor
    counted: Bool[Tensor, "batch *time"]
    ignored: Bool[Tensor, "batch *time"]
    offset: int | None

    @property
    def has_steps(self) -> bool:
        """Whether there is a target for each step."""
        return self.counted.ndim == 2

    @property
    def classes(self) -> int:
        """Number of classes, as far as the outputs tell."""
        return self.outputs.shape[-1]

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Call the loss.

        Raises:
            AuditError: If it raises, or gives no single number.
        """
        function = self.exam.options.loss
        assert function is not None
        try:
            value = function(outputs, targets.clone())
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise AuditError(complain("audit", "the loss", "callable on outputs and targets", what)) from error
        if not isinstance(value, Tensor) or value.numel() != 1:
            got = describe(value) if isinstance(value, Tensor) else type(value).__name__
            raise AuditError(complain("audit", "the loss", "a tensor of one number", got))
        return value.reshape(())

    def value(self, outputs: Tensor, targets: Tensor) -> float:
        """Give the loss as a number."""
        return float(self.loss(outputs, targets).detach())

    def pull(self, targets: Tensor, rows: Int[Tensor, " part"] | None = None) -> Tensor:
        """Give how the loss pulls at each output: its gradient, (batch, steps, coordinates) or (batch, coordinates).

        Args:
            targets: One for each row, or for each row and step.
            rows: Rows of outputs and targets that make a batch of their own; by default all.
        """
        outputs = self.outputs if rows is None else self.outputs[rows]
        targets = targets if rows is None else targets[rows]
        outputs = outputs.clone().requires_grad_()
        with torch.enable_grad():
            value = self.loss(outputs, targets)
            if not value.requires_grad:
                return torch.zeros_like(outputs)
            (gradient,) = torch.autograd.grad(value, outputs, allow_unused=True)
        gradient = torch.zeros_like(outputs) if gradient is None else gradient
        return gradient.flatten(2) if self.has_steps and gradient.ndim > 2 else gradient

    def other_target(self, place: tuple[int, ...]) -> Tensor:
        """Give targets of which one is another legal one."""
        changed = self.targets.clone()
        old = changed[place]
        if changed.is_floating_point():
            is_flag = bool(((self.targets == 0) | (self.targets == 1)).all())
            changed[place] = 1 - old if is_flag else old + 1
        elif old.numel() == 1:
            changed[place] = self._other_class(int(old))
        return changed

    def _other_class(self, old: int) -> int:
        seen = sorted({int(one) for one in self.targets[self.counted].flatten()} - {old})
        if self.classes > 1:
            return (old + 1) % self.classes if 0 <= old < self.classes else (seen or [0])[0]
        return seen[0] if seen else 1 - old


def probe_loss(exam: Examination) -> LossProbe:
    """Run the model and find out which targets count and where each belongs.

    Raises:
        ShapeError: If the targets do not fit the inputs.
        AuditError: If the loss cannot be called.
    """
    targets = exam.options.targets
    assert targets is not None
    if targets.ndim == 0 or len(targets) != exam.sample.batch:
        rule = f"one row for each of batch={exam.sample.batch}"
        raise ShapeError(complain("audit", "targets", rule, describe(targets)))
    try:
        return _probe(exam, exam.precise.chosen(exam.sample).detach(), targets)
    except AuditError:
        # A loss may hold constants of the model's own number type, such as weights of classes.
        return _probe(exam, exam.native.chosen(exam.sample).detach(), targets)


def _probe(exam: Examination, outputs: Tensor, targets: Tensor) -> LossProbe:
    if outputs.is_floating_point() and targets.is_floating_point():
        targets = targets.to(outputs.dtype)
    has_steps = not exam.is_single and targets.ndim > 1 and outputs.ndim > 1 and targets.shape[1] == outputs.shape[1]
    ignored = _ignored(exam, targets, has_steps)
    offset = _offset(exam, targets, ~ignored) if has_steps else 0
    counted = ~ignored
    if has_steps and offset == 1:
        counted = counted.clone()
        counted[:, 0] = False
        counted[:, 1:] &= exam.sample.real[:, :-1]
    if has_steps and offset == 0:
        counted = counted & ~_padding_as_target(exam, targets, ~ignored)
    probe = LossProbe(exam, outputs, targets, counted, ignored, offset)
    probe.value(outputs, targets)
    return probe


def _ignored(exam: Examination, targets: Tensor, has_steps: bool) -> Tensor:
    shape = targets.shape[: 2 if has_steps else 1]
    marked = torch.zeros(shape, dtype=torch.bool, device=targets.device)
    if not targets.is_floating_point():
        flags = targets == IGNORED
        marked = flags.flatten(len(shape)).all(dim=-1) if flags.ndim > len(shape) else flags
    if has_steps and exam.sample.valid is not None and exam.sample.real.shape == shape:
        marked = marked | ~exam.sample.real
    return marked


def _padding_as_target(exam: Examination, targets: Tensor, kept: Tensor) -> Tensor:
    """Mark shifted targets of last real steps that hold what stands in padding: whether they count is open."""
    content, real = exam.sample.content, exam.sample.real
    marked = torch.zeros(targets.shape[:2], dtype=torch.bool, device=targets.device)
    if content.shape == targets.shape and exam.sample.is_ids and _are_shifted(exam, targets, kept):
        marked[:, :-1] = real[:, :-1] & ~real[:, 1:] & (targets[:, :-1] == content[:, 1:])
    return marked


def _offset(exam: Examination, targets: Tensor, kept: Tensor) -> int | None:
    """Say where targets belong, by comparing them with the inputs."""
    content = exam.sample.content
    if content.shape != targets.shape:
        return 0
    content = content.to(targets.dtype)
    as_inputs = bool((content == targets)[kept].all())
    if as_inputs and _are_shifted(exam, targets, kept):
        return None
    return 1 if as_inputs else 0


def _are_shifted(exam: Examination, targets: Tensor, kept: Tensor) -> bool:
    """Say whether each target that is kept is the input after it, as far as that is real."""
    following = exam.sample.content[:, 1:].to(targets.dtype)
    return bool((following == targets[:, :-1])[kept[:, :-1] & exam.sample.real[:, 1:]].all())
