"""`gradients`: every gradient is finite, and every parameter gets one.

Varied: the content, a few times. Must not happen: a gradient that is not finite. Must happen: for each parameter, a
gradient other than 0 from some of the model's outputs, in training mode without dropout.
"""

import torch
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.gradient_probe import parameter_gradients, parameters_of
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION_WITH_GRADIENTS, TRAINING, Setting
from clew.errors import AuditError

DRAWS = 3


def check_gradients(exam: Examination) -> Finding:
    """Differentiate the outputs for several draws of content."""
    if not parameters_of(exam.precise.model):
        return not_applicable("gradients", "the model has no trainable parameter")
    if exam.has_failed("mask_polarity"):
        return not_applicable("gradients", "the mask hides what is real: told under mask_polarity")
    reached: set[str] = set()
    for sample in (exam.sample, *(exam.drawn(exam.sample) for _ in range(DRAWS - 1))):
        gradients = _gradients(exam, sample)
        if gradients is None:
            reason = "no output has a gradient. Usual causes: detach, no_grad, or a choice such as argmax on the way."
            return failed("gradients", reason, moved="no gradient")
        for name, value in gradients.items():
            if value is not None and not bool(value.isfinite().all()):
                if exam.sample.has_padding and exam.has_failed("empty_row"):
                    return not_applicable("gradients", "not finite where nothing is read: told under empty_row")
                reason = f"the gradient of {name} is not finite. Usual causes: a root or logarithm of 0, overflow."
                return failed("gradients", reason, moved=name, movement=torch.inf)
            if value is not None and bool((value != 0).any()):
                reached.add(name)
    missing = [name for name in parameters_of(exam.precise.model) if name not in reached]
    if missing and exam.sample.time > 1:  # in a single step a recurrent weight multiplies an empty state
        listed = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        reason = f"{listed} never get{'s' if len(missing) == 1 else ''} a gradient. Usual causes: a layer that is not "
        return failed("gradients", reason + "used, or detached from what comes after it.", moved=listed)
    return passed("gradients", f"{len(reached)} parameters get finite gradients", changed="content")


def _gradients(exam: Examination, sample: Sample) -> dict[str, Tensor | None] | None:
    """Try training mode, then evaluation for a model that cannot be trained on these inputs."""
    for setting in (TRAINING, EVALUATION_WITH_GRADIENTS):
        try:
            return _in_setting(exam, sample, setting)
        except AuditError:
            continue
        except RuntimeError:
            return None
    return None


def _in_setting(exam: Examination, sample: Sample, setting: Setting) -> dict[str, Tensor | None]:
    """Differentiate in the precise type; what is not finite there is looked at in the model's own.

    A model that takes a softmax in float32 over scores of the lowest float64 gives NaN that it never gives as it is.
    """
    found = parameter_gradients(exam, sample, setting, every_output=True)
    if all(value is None or bool(value.isfinite().all()) for value in found.values()):
        return found
    return parameter_gradients(exam, sample, setting, every_output=True, engine=exam.native)
