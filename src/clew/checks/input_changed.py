"""`input_changed`: the model does not write into its inputs.

Nothing is varied. Must not move: the tensors that the caller handed over, bit for bit, in evaluation and in training.
"""

from typing import Any

import torch
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, passed
from clew.checks.results import tensors_in
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, TRAINING_HELD, applied
from clew.errors import AuditError


def check_input_changed(exam: Examination) -> Finding:
    """Compare the inputs with copies of them after a call."""
    for setting in (EVALUATION, TRAINING_HELD):
        for sample in (exam.sample, exam.padded_sample()):
            inputs, told = _arguments(sample or exam.sample)
            kept = [tensor.clone() for tensor in tensors_in([inputs, told])]
            exam.native.result(exam.sample)  # puts hidden state back
            try:
                with applied(exam.native.model, setting):
                    exam.native.call_with(inputs, told, setting)
            except AuditError:
                continue
            for old, new in zip(kept, tensors_in([inputs, told]), strict=True):
                if not _is_same(old, new):
                    return _told(old, new, setting.label)
    return passed("input_changed", "inputs are the same bits after the call", moved="nothing", movement=0.0)


def _arguments(sample: Sample) -> tuple[Any, Any]:
    return sample.arguments()


def _is_same(old: Tensor, new: Tensor) -> bool:
    if old.shape != new.shape:
        return False
    return torch.equal(old, new) or bool(((old == new) | ((old != old) & (new != new))).all())


def _told(old: Tensor, new: Tensor, label: str) -> Finding:
    where = "its shape" if old.shape != new.shape else f"entry {(old != new).nonzero()[0].tolist()}"
    return failed(
        "input_changed",
        f"the model wrote into its input ({label}): {where}. Usual causes: an in-place operation (relu_, masked_fill_, "
        "+=) on the tensor that was given.",
        changed="nothing",
        moved="the input itself",
        setting=label,
    )
