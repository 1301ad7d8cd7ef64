"""The other modes in which a check is tried again, and when what moves there is no fault of the kind.

Start with `other_settings`: what holds in evaluation must hold with gradients, in training, and with weights asked for.
"""

from clew.checks.batch_mates import shares_rows_in_training
from clew.checks.examination import Examination
from clew.checks.results import movement
from clew.checks.settings import (
    EVALUATION_WITH_GRADIENTS,
    TRAINING,
    TRAINING_HELD,
    TRAINING_WITH_DROPOUT,
    Setting,
    has_statistics,
    weight_keywords,
)

ASIDE = "rows share statistics in training"


def other_settings(exam: Examination) -> list[Setting]:
    """List every mode but evaluation without gradients; a quick audit leaves out what costs most."""
    is_normalized = has_statistics(exam.precise.model)
    if exam.options.is_quick:
        return [TRAINING_HELD if is_normalized else TRAINING]
    held = [TRAINING_HELD] if is_normalized else []
    words = weight_keywords(exam.precise.model) if exam.options.call is None else []
    asked = [Setting(keyword=word) for word in words]
    return [EVALUATION_WITH_GRADIENTS, *held, TRAINING_WITH_DROPOUT, TRAINING, *asked]


def settings_without_noise(exam: Examination) -> list[Setting]:
    """List the other modes whose outputs may be compared between batches of another size or arrangement."""
    is_normalized = has_statistics(exam.precise.model)
    return [one for one in other_settings(exam) if not one.has_dropout and not (one is TRAINING and is_normalized)]


def excuse(exam: Examination, setting: Setting) -> str:
    """Say why outputs of a mode cannot be held against others of it, or nothing."""
    if not setting.training:
        return ""
    first, second = (exam.precise.outputs(exam.sample, setting, seed=seed) for seed in (1, 2))
    if first.shape != exam.base.shape:
        return "the output has another shape"
    if bool((movement(first, second).where(exam.judged, 0) > exam.floor).any()):
        return "two seeds differ, although dropout is 0"
    return ASIDE if shares_rows_in_training(exam, setting) else ""
