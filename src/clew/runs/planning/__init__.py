"""Planning a training from a file: what it holds, what is predicted, which parts, which model. See `plan_training`."""

from clew.runs.planning.looking import FileDescription, describe_file
from clew.runs.planning.options import check_sections, sections
from clew.runs.planning.plan import PLAN, SEALED, TrainingPlan, plan_training, remove_run, sealed_test

__all__ = [
    "PLAN",
    "SEALED",
    "FileDescription",
    "TrainingPlan",
    "check_sections",
    "describe_file",
    "plan_training",
    "remove_run",
    "sealed_test",
    "sections",
]
