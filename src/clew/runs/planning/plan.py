"""`plan_training`: from a file, a task and a few options to everything that `clew.fit` needs.

What is not said is chosen by fixed rules and told in `TrainingPlan.notes`; nothing is fitted to anything but the
training part. The test part is sealed: the plan holds it, training never gets it, and `clew evaluate RUN` scores it.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clew.data import SequenceData
from clew.errors import ConfigError, complain
from clew.files import dump_json, write_atomically
from clew.runs.fitting import fit
from clew.runs.inputs import AnyPreparation
from clew.runs.planning.defaults import usual_model, usual_training
from clew.runs.planning.files import IMAGES, TEXT, check_task, kind_of_file
from clew.runs.planning.options import (
    TASK_SETTINGS,
    DataOptions,
    RunOptions,
    SplitOptions,
    check_sections,
    section_of,
    sections,
)
from clew.runs.planning.pictures import prepare_images
from clew.runs.planning.prepared import Prepared, Request
from clew.runs.planning.series import prepare_series
from clew.runs.planning.streamed_tables import prepare_stream, read_training_start
from clew.runs.planning.tables import is_streamed, prepare_table, read_training_table
from clew.runs.planning.texts import prepare_text
from clew.runs.run import Run
from clew.tasks import Task
from clew.training import TrainConfig, TrainingProgress, check_keys, with_overrides

PLAN = "plan.json"
SEALED = "test"
FILES = ("file", "validation", "test")


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """Everything that a training needs, and how it was decided.

    Attributes:
        task: What is predicted.
        model: Preset and options of `clew.models.build`; what follows from the data is left to `clew.fit`.
        train: What is fitted.
        validation: What selects.
        test: What is scored once, after selection; None where there is none. Training never gets it.
        training: Budget and rules.
        preparation: What turns files into sequences, fitted on the training part.
        run: Seeds, audit and device.
        config: Every setting as it was decided, in sections; the same again makes the same plan.
        notes: What was chosen for the user, a sentence each.
    """

    task: Task
    model: dict[str, Any]
    train: SequenceData
    validation: SequenceData
    test: SequenceData | None
    training: TrainConfig
    preparation: AnyPreparation
    run: RunOptions
    config: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def fit(
        self, out: Path | str | None = None, *, progress: TrainingProgress | None = None, resume: bool = True
    ) -> Run:
        """Train into a run folder, and put the sealed test part and the plan beside the weights.

        Args:
            out: The run folder; by default a name in `runs/` that is the hash of the configuration.
            progress: Told of what happens.
            resume: Whether a folder that holds this run is gone on with.

        Raises:
            ClewError: As `clew.fit` does.
        """
        run = fit(
            self.task, self.model, self.train, self.validation, training=self.training, out=out, seed=self.run.seed,
            order_seed=self.run.order_seed, preparation=self.preparation, audit=self.run.audit, device=self.run.device,
            progress=progress, resume=resume, tensorboard=self.run.tensorboard,
        )  # fmt: skip
        with run.folder.locked():
            if self.test is not None and not (run.path / SEALED).exists():
                self.test.save(run.path / SEALED)
            write_atomically(run.path / PLAN, dump_json(self.config) + "\n")
        return run


def plan_training(
    file: Path | str,
    *,
    task: str | None = None,
    model: str | None = None,
    validation: Path | str | None = None,
    test: Path | str | None = None,
    options: Mapping[str, Any] | None = None,
    overrides: Mapping[str, str] | Sequence[str] = (),
) -> TrainingPlan:
    """Plan a training from a file.

    Args:
        file: A table (CSV, Parquet, JSON Lines), a treebank (CoNLL-U), text (.txt) or images (.npz or a folder).
        task: "classification", "tagging", "next_token", "forecasting" or "regression"; guessed where it is plain.
        model: A preset of `clew.models.build`.
        validation: A file that selects; split off by default.
        test: A file that is scored once after selection; split off by default, unless `validation` is given.
        options: Sections of settings: columns, data, split, task, model, training, run.
        overrides: Settings in words that go over the others, such as "training.epochs=5".

    Raises:
        ConfigError: If settings are unknown or out of range, or the task is not plain.
        DataError: If a file is wrong, with a line a problem.
    """
    values = with_overrides(check_sections(options or {}), overrides, sections())
    task, preset = _names(values, task, model)
    place = Path(file)
    data = section_of(DataOptions, values.get("data", {}))
    kind = kind_of_file(place, data.format)
    task = check_task(place, kind, task)
    settings = {name: value for name, value in values.get("task", {}).items() if name != "name"}
    _check_settings(task, settings)
    request = Request(
        file=place,
        kind=kind,
        task=task,
        validation=None if validation is None else Path(validation),
        test=None if test is None else Path(test),
        preset=preset,
        columns=values.get("columns", {}),
        data=data,
        split=section_of(SplitOptions, values.get("split", {})),
        settings=settings,
    )
    prepared = _prepare(request)
    return _complete(request, prepared, values, preset)


def _names(values: dict[str, Any], task: str | None, model: str | None) -> tuple[str | None, str | None]:
    """Find task and model among arguments and sections; what stands outside the sections goes first."""
    return task or values.get("task", {}).get("name"), model or values.get("model", {}).get("preset")


def _check_settings(task: str | None, settings: Mapping[str, Any]) -> None:
    if task is not None:
        check_keys(f"task {task}", settings, list(TASK_SETTINGS[task]))


def _prepare(request: Request) -> Prepared:
    if request.kind == TEXT:
        return prepare_text(request)
    if request.kind == IMAGES:
        return prepare_images(request)
    on_disk = is_streamed(request)
    read = read_training_start(request) if on_disk else read_training_table(request)
    name = read[1]
    _check_settings(name, request.settings)
    request = replace(request, task=name)
    if on_disk:
        return prepare_stream(request, read)
    return prepare_series(request, read) if name == "forecasting" else prepare_table(request, read)


def _complete(request: Request, prepared: Prepared, values: dict[str, Any], preset: str | None) -> TrainingPlan:
    """Choose model and budget, and write down what was decided."""
    task = prepared.task
    given = {name: value for name, value in values.get("model", {}).items() if name != "preset"}
    model = usual_model(task, prepared.preparation, preset, given)
    training = TrainConfig.from_mapping(
        usual_training(task, model["preset"], len(prepared.train), values.get("training", {}))
    )
    run = section_of(RunOptions, values.get("run", {}))
    if preset is None:
        prepared.notes.append(f"model {model['preset']}; --model NAME for another")
    resolved = {
        **{name: None if path is None else str(path) for name, path in _files(request)},
        "columns": prepared.resolved.get("columns") or None,
        "data": _given(vars(request.data)) | prepared.resolved.get("data", {}),
        "split": _given(vars(request.split)) | prepared.resolved.get("split", {}),
        "task": {"name": task.name} | dict(request.settings) | prepared.resolved.get("task", {}),
        "model": model,
        "training": training.to_mapping(),
        "run": vars(run),
    }
    config = {name: part for name, part in resolved.items() if part is not None}
    return TrainingPlan(
        task, model, prepared.train, prepared.validation, prepared.test, training, prepared.preparation, run, config,
        prepared.notes,
    )  # fmt: skip


def _files(request: Request) -> list[tuple[str, Path | None]]:
    return [("file", request.file), ("validation", request.validation), ("test", request.test)]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def sealed_test(run: Run) -> SequenceData:
    """Open the test part that was split off when a run was planned.

    Raises:
        ConfigError: If there is none.
    """
    folder = run.path / SEALED
    if not folder.exists():
        remedy = "Name a file to score: clew evaluate RUN FILE."
        raise ConfigError(complain(str(run.path), "sealed test part", "in the run", "none", remedy))
    return SequenceData.open(folder)


def remove_run(path: Path) -> None:
    """Remove a run folder, and nothing that is not one.

    Raises:
        ConfigError: If it is something else.
    """
    if not path.exists():
        return
    if not (path / "config.json").exists() or not (path / "metrics.jsonl").exists():
        remedy = "Choose another folder; nothing was changed."
        raise ConfigError(complain(str(path), "folder to replace", "a run folder", "something else", remedy))
    shutil.rmtree(path)
