"""`fit`: train a model on a task into a run folder, from where the folder stands to the end.

A run is what its configuration says: task, model, training, seeds, fingerprints of the data, package sources. The same
call again goes on where it was killed, to the same bits, or gives what is finished; another call into the same folder
is refused.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, RunError, complain
from clew.files import cannot_write, dump_json, write_atomically
from clew.models.presets import build
from clew.models.sequence_model import SequenceModel
from clew.runs.auditing import Audit, audit_before_fit
from clew.runs.folder import FORMAT, RunFolder, read_json, run_identity, source_fingerprint
from clew.runs.inputs import AnyPreparation
from clew.runs.keeping import train_in_folder
from clew.runs.model_options import complete_options
from clew.runs.reference_choice import keep_references
from clew.runs.run import Run, load
from clew.runs.tensorboard import TensorBoardLog
from clew.tasks import Forecasting, Task
from clew.threads import on_threads
from clew.training import (
    SeveralListeners,
    SilentTraining,
    TrainConfig,
    TrainingProgress,
    TrainingState,
    steps_of_an_epoch,
    weighted,
)

KEPT_TRAIN_BYTES = 32 * 2**20
CHANGES_SHOWN = 4
BEFORE_THE_CONFIGURATION = (".lock", "audit.json", "environment.json", "tensorboard", "train")


def fit(
    task: Task,
    model: SequenceModel | Mapping[str, Any],
    train: Batch | SequenceData | Tensor,
    validation: Batch | SequenceData | Tensor,
    *,
    training: TrainConfig | Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    seed: int = 0,
    order_seed: int = 0,
    preparation: AnyPreparation | None = None,
    audit: str = "refuse",
    progress: TrainingProgress | None = None,
    resume: bool = True,
    device: str | None = None,
    name: str | None = None,
    tensorboard: bool = False,
) -> Run:
    """Train, select on validation, and keep everything in a run folder.

    Args:
        task: Boundary, targets, loss, metrics and the metric that selects.
        model: Options of `clew.models.build` with `preset` among them, where inputs, outputs and head follow from the
            task and the data; or a model from `build`, which is trained in place from the weights that it has.
        train: What is fitted.
        validation: What selects the best epoch.
        training: Budget and rules.
        out: The run folder; by default `runs/` and a name that is the hash of the configuration.
        seed: Draws the initial weights of a model that is given by its options, and the dropout masks.
        order_seed: Draws the order of the batches.
        preparation: What turned files into these sequences; kept in the run, so that it can read files of its own.
        audit: What a fault does that the quick audit finds before the first step: "refuse" to train, "warn", or "skip".
        progress: Told of what happens.
        resume: Whether a folder that holds this run is gone on with; otherwise it must not exist.
        device: Where it runs, as "cpu" or "cuda"; by default a GPU if there is one.
        name: How reports call it; by default the preset.
        tensorboard: Whether figures are logged for TensorBoard too, in the run's folder `tensorboard`; needs the extra.

    Returns:
        The run with the selected weights.

    Raises:
        AuditError: If `audit` is "refuse" and a fault was found; nothing is written.
        ConfigError: If an option is unknown, out of range, or does not suit the task.
        RunError: If `out` holds something else, is in use, damaged, or cannot be written.
        TrainingError: If a loss or gradient is not finite.
        DataError: If a part is empty, or a step has no scored target.

    >>> from tempfile import TemporaryDirectory
    >>> from clew.tasks import NextToken
    >>> tokens = torch.randint(0, 5, (20, 8), generator=torch.Generator().manual_seed(0))
    >>> with TemporaryDirectory() as folder:
    ...     run = fit(NextToken(5), {"preset": "gru", "hidden": 4}, tokens[:16], tokens[16:],
    ...               training=TrainConfig(epochs=1), out=folder + "/run")
    >>> run.selected_epoch
    1
    """
    training = _as_training(training)
    train, validation = _as_sequences("train", train), _as_sequences("validation", validation)
    place = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
    is_given = isinstance(model, SequenceModel)
    built = model if isinstance(model, SequenceModel) else _build(model, task, train, validation, preparation, seed)
    config = _describe(task, built, train, validation, training, seed, order_seed, preparation, place, is_given, name)
    folder = RunFolder(Path(out) if out is not None else Path("runs") / run_identity(config))
    threads = _take_folder(folder, config, resume)
    progress = progress or SilentTraining()
    if tensorboard:
        progress = SeveralListeners(progress, TensorBoardLog(folder.path / "tensorboard"))
    with ExitStack() as stack:
        stack.callback(progress.close)
        stack.enter_context(on_threads(threads))
        if not (folder.path / "config.json").exists():
            audits = audit_before_fit(built, task, train, validation, audit)
            _tell_audits(audits, progress)
            _begin(folder, config | {"threads": threads}, audits, train)
        stack.enter_context(folder.locked())
        state = TrainingState.start(built.to(place), training, order_seed, seed)
        if folder.last.exists():
            state.restore(folder.last)
        steps = steps_of_an_epoch(train, training)
        progress.begin(training.epochs, steps, state.progress.total_steps)
        fitted = weighted(task, train, training)
        train_in_folder(folder, state, fitted, train, validation, training, progress.epoch, progress.step)
        if isinstance(task, Forecasting):
            keep_references(folder, task, train, validation)
    return load(folder.path, device=str(place), train=train, validation=validation)


def _as_training(training: TrainConfig | Mapping[str, Any] | None) -> TrainConfig:
    if isinstance(training, TrainConfig):
        return training
    return TrainConfig.from_mapping(training or {})


def _as_sequences(name: str, data: Batch | SequenceData | Tensor) -> Batch | SequenceData:
    data = Batch(data) if isinstance(data, Tensor) else data
    if len(data) == 0:
        raise DataError(complain("fit", name, "at least one sequence", "none"))
    return data


def _build(
    options: Mapping[str, Any],
    task: Task,
    train: Batch | SequenceData,
    validation: Batch | SequenceData,
    preparation: AnyPreparation | None,
    seed: int,
) -> SequenceModel:
    complete = complete_options(options, task, train, validation, preparation)
    return build(**complete, generator=torch.Generator().manual_seed(seed))


def _describe(
    task: Task,
    model: SequenceModel,
    train: Batch | SequenceData,
    validation: Batch | SequenceData,
    training: TrainConfig,
    seed: int,
    order_seed: int,
    preparation: AnyPreparation | None,
    device: torch.device,
    is_given: bool,
    name: str | None,
) -> dict[str, Any]:
    """Give the resolved configuration, as `config.json` holds it."""
    if model.config is None:
        remedy = "Build it with clew.models.build, so that it can be built again."
        raise ConfigError(complain("fit", "model", "one from clew.models.build", "one put together by hand", remedy))
    config = {
        "task": {"name": task.name, "config": task.config()},
        "recipe": name or model.config["preset"],
        "model": model.config,
        "training": training.to_mapping(),
        "seeds": {"initialization": seed, "order": order_seed, "dropout": seed},
        "initial_weights": _weights_fingerprint(model) if is_given else None,
        "preparation": None if preparation is None else preparation.to_mapping(),
        "data": {"train": train.fingerprint(), "validation": validation.fingerprint()},
        "sources": source_fingerprint(),
        "torch": torch.__version__,
        "device": str(device),
        "threads": torch.get_num_threads(),
    }
    if isinstance(task, Forecasting):
        config["window"] = int(train.lengths.max())
    return config


def _weights_fingerprint(model: SequenceModel) -> str:
    digest = sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _take_folder(folder: RunFolder, config: dict[str, Any], resume: bool) -> int:
    """See that a folder is new, empty or holds this run; give the number of threads that the run has.

    Raises:
        RunError: If it holds something else.
    """
    path, threads = folder.path, config["threads"]
    remedy = "Choose another folder; nothing was changed."
    if path.exists() and not path.is_dir():
        raise RunError(complain(str(path), "run folder", "a folder", "a file", remedy))
    if not (path / "config.json").exists():
        foreign = [] if not path.exists() else sorted(name for name in _names_in(path) if not _is_own(name))
        if foreign:
            got = f"one with other things in it ({foreign[0]}, ...)"
            raise RunError(complain(str(path), "run folder", "new, empty or that of this run", got, remedy))
        return threads
    if not resume:
        raise RunError(complain(str(path), "run folder", "new", "one that holds a run", remedy))
    found = read_json(path / "config.json")
    threads = found.get("threads", threads)
    changes = list(differences(found, _plain({"format": FORMAT, **config, "threads": threads})))
    is_of_other_code = bool(changes) and all(change.split()[0] in ("sources", "torch") for change in changes)
    if is_of_other_code and folder.is_trained:
        return threads
    if is_of_other_code:
        remedy = "Go on with that version, choose another folder, or delete this one to train anew."
        got = "another run: one that another version of clew or torch began"
        raise RunError(complain(str(path), "run folder", "that of this run", got, remedy))
    if changes:
        shown = "; ".join(changes[:CHANGES_SHOWN]) + ("; ..." if len(changes) > CHANGES_SHOWN else "")
        remedy = "Choose another folder, or delete this one to train anew."
        raise RunError(complain(str(path), "run folder", "that of this run", f"another run: {shown}", remedy))
    return threads


def _names_in(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.iterdir()]
    except OSError as error:
        raise cannot_write(path, error) from error


def _is_own(name: str) -> bool:
    """Say whether a file is one that a start leaves behind that was killed before it wrote the configuration."""
    return name in BEFORE_THE_CONFIGURATION or (name.startswith(".") and name.endswith(".part"))


def _begin(folder: RunFolder, config: dict[str, Any], audits: list[Audit], train: Batch | SequenceData) -> None:
    """Make the folder; its configuration is written last and says that all is there."""
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder.path, error) from error
    write_atomically(folder.path / "audit.json", dump_json({"audits": [vars(one) for one in audits]}) + "\n")
    if not (folder.path / "train").exists():
        _keep_train(folder, train)
    folder.begin(config)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(dump_json(values))


def differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """Say where two configurations differ, a line a place.

    >>> list(differences({"training": {"epochs": 3}}, {"training": {"epochs": 4}}))
    ['training.epochs is 3, not 4']
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from differences(old.get(key), new.get(key), f"{name}.{key}" if name else str(key))
    elif old != new:
        shown = [repr(value) if len(repr(value)) <= 24 else "another" for value in (old, new)]
        yield f"{name} differs" if "another" in shown else f"{name} is {shown[0]}, not {shown[1]}"


def _tell_audits(audits: list[Audit], progress: TrainingProgress) -> None:
    if audits:
        progress.note("Audit before training: " + "; ".join(f"{one.subject} {one.status}" for one in audits))
    for one in audits:
        for reason in one.reasons:
            progress.note(f"{one.subject}: {reason}")


def _keep_train(folder: RunFolder, train: Batch | SequenceData) -> None:
    """Keep a small training part in the run, which the reference predictors are fitted on when a test is scored."""
    if _size_in_bytes(train) <= KEPT_TRAIN_BYTES:
        data = SequenceData.from_batch(train) if isinstance(train, Batch) else train
        data.save(folder.path / "train")


def _size_in_bytes(data: Batch | SequenceData) -> int:
    """Tell how large sequences are on disk, from the first of them and the lengths of all; reads no more."""
    first = data.select(torch.tensor([0]))
    steps = max(1, int(first.lengths[0]))
    parts = [part for part in (first.inputs, first.targets) if part is not None]
    return sum(part.numel() * part.element_size() for part in parts) * int(data.lengths.sum()) // steps
