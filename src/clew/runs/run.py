"""`load`: a run folder as an object that predicts, evaluates, generates and forecasts.

Loading a folder from a stranger runs no code: it holds JSON, safetensors and numpy files, and nothing is unpickled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clew.data import ImagePreparation, Preparation, SequenceData, TextPreparation
from clew.data.batch import Batch
from clew.data.unknown_tokens import refuse_unknown
from clew.data.vocabulary import Vocabulary
from clew.errors import ClewError, ConfigError, DataError, RunError, complain
from clew.files import append_line, dump_json
from clew.models.saving import build_from_config
from clew.models.sequence_model import SequenceModel
from clew.runs.folder import FORMAT, RunFolder, read_json, read_lines
from clew.runs.inputs import AnyPreparation, ReadInputs, read_inputs, windows_of
from clew.runs.predictions import Predictions
from clew.tasks import Forecasting, NextToken, Task, task_from_config
from clew.training import TrainConfig, load_weights

PREPARATIONS = {"table": Preparation, "text": TextPreparation, "images": ImagePreparation}
EVALUATIONS = "evaluations.jsonl"


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model with everything that says how it came about.

    Attributes:
        path: The run folder.
        config: What `config.json` holds.
        task: What is predicted.
        training: Budget and rules of the training.
        preparation: What turns files into sequences; None where it was trained on arrays.
        device: Where the model is.
    """

    path: Path
    config: dict[str, Any]
    task: Task
    training: TrainConfig
    preparation: AnyPreparation | None
    device: str = "cpu"
    _parts: dict[str, Batch | SequenceData] = field(default_factory=dict, repr=False)

    @property
    def folder(self) -> RunFolder:
        """The files of the run."""
        return RunFolder(self.path)

    @cached_property
    def model(self) -> SequenceModel:
        """The model with the selected weights, in evaluation mode."""
        return self._loaded[0]

    @property
    def selected_epoch(self) -> int:
        """The epoch whose weights were selected on validation."""
        return self._loaded[1]

    @property
    def vocabulary(self) -> Vocabulary | None:
        """What turns text into ids and back: of a text, or of a table's column of tokens; None where there is none."""
        preparation = self.preparation
        return preparation.vocabulary if isinstance(preparation, Preparation | TextPreparation) else None

    @cached_property
    def _loaded(self) -> tuple[SequenceModel, int]:
        try:
            model = build_from_config(self.config["model"])
        except ClewError as error:
            raise _of_another_version(self.path, str(error)) from error
        epoch = load_weights(model, self.folder.best)
        return model.to(self.device).eval(), epoch

    def metrics(self) -> list[dict[str, Any]]:
        """What each epoch gave, a mapping an epoch."""
        return self.folder.metrics()

    @property
    def selection(self) -> dict[str, Any]:
        """The metric that selected on validation, and its value at the selected epoch."""
        value = self.metrics()[self.selected_epoch - 1]["validation"][self.task.selection]
        return {"metric": self.task.selection, "value": value}

    def _repr_html_(self) -> str:
        """Show a page of the training in a notebook."""
        from clew.rendering.notebook import framed
        from clew.runs.page import run_page

        test = self.folder.test() if self.folder.is_scored else None
        page = run_page(self.path.name, self.config, self.metrics(), self.selected_epoch, self.selection, test)
        return framed(page, f"Run {self.path.name}")

    def predict(self, source: Any, *, chunk: int = 512) -> Predictions:
        """Predict, whatever the size of the chunks, for each sequence what it gets alone.

        Args:
            source: A path, a table, texts or images as in training, or sequences.
            chunk: Sequences that are computed together.

        Returns:
            Predictions with the names of the sequences, in their order.

        Raises:
            DataError: If the input is wrong, as for a column that is missing.
        """
        read = self._read(source, is_scored=False)
        values = self.task.predict(self.model, read.data, chunk)
        classes = tuple(getattr(self.preparation, "classes", ()))
        if not classes and isinstance(self.task, NextToken) and self.vocabulary is not None:
            classes = tuple(self.vocabulary.token(number) for number in range(self.vocabulary.size))
        return Predictions(
            task=self.task.name,
            ids=read.ids,
            lengths=read.data.lengths.cpu().numpy(),
            values=values,
            classes=classes,
            names=self._names,
            table=read.table,
            quantiles=getattr(self.task, "quantiles", ()),
        )

    def evaluate(self, source: Any, *, chunk: int = 512, references: bool = True) -> dict[str, Any]:
        """Score sequences that have targets, beside the task's reference predictors.

        The first data that were not trained or selected on are the sealed test: their score is written to `test.json`
        once, and given again whenever the same data come. Scores of other data are lines of `evaluations.jsonl`.

        Args:
            source: A path, a table, texts or images as in training, or sequences.
            chunk: Sequences that are computed together; changes nothing.
            references: Whether reference predictors are scored too; they are fitted on the training part, which the
                run holds where it is small.

        Returns:
            Metrics, references (None where they cannot be fitted), the selected epoch, and when it was scored.

        Raises:
            DataError: If the input is wrong, or has no targets.
            RunError: If the folder is in use or cannot be written.
        """
        read = self._read(source, is_scored=True)
        fingerprint = read.data.fingerprint()
        with self.folder.locked():
            known = self._scored_before(fingerprint)
            if known is not None:
                return known
            is_sealed = not self.folder.is_scored and self._is_sealed(fingerprint)
            result = {
                "data": fingerprint,
                "source": read.where,
                "sequences": len(read.data),
                "selected_epoch": self.selected_epoch,
                "selection": self.selection,
                "metrics": self.task.evaluate(self.model, read.data, chunk),
                "references": self._references(read.data) if references else None,
                "parameters": self.model.parameter_count(),
                "scored_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            if is_sealed:
                self.folder.write_test(result)
            else:
                append_line(self.path / EVALUATIONS, dump_json(result, indent=None))
        return result

    def generate(
        self,
        prompt: str | Sequence[int],
        *,
        tokens: int = 200,
        rule: str = "sample",
        temperature: float | int = 1.0,
        top_k: int | None = None,
        top_p: float | int | None = None,
        stop: str | int | Sequence[int] = (),
        seed: int = 0,
    ) -> str | list[int]:
        """Go on from a prompt.

        Args:
            prompt: Text, where the run has a vocabulary, of a column of tokens with spaces between them; or ids.
            tokens: Most tokens to add.
            rule, temperature, top_k, top_p: How a token is chosen; see `clew.generation.Choice`.
            stop: Ids that end the text, or a text of one token.
            seed: Draws for rule "sample".

        Returns:
            What follows the prompt: text for text, ids for ids.

        Raises:
            ConfigError: If the run predicts no tokens, or an option is out of range.
            DataError: If the prompt or the stop has tokens that the vocabulary does not know; all of them at once.
        """
        from clew.generation import generate

        if not isinstance(self.task, NextToken):
            remedy = "Only a run of next_token generates."
            raise ConfigError(complain(str(self.path), "task", "next_token", self.task.name, remedy))
        ids = self._encode(prompt, "prompt") if isinstance(prompt, str) else list(prompt)
        stops = self._stop_ids(stop)
        generator = torch.Generator().manual_seed(seed)
        found = generate(
            self.model, [ids], tokens=tokens, rule=rule, temperature=temperature, top_k=top_k, top_p=top_p,
            stop=stops, forbidden=self._forbidden, generator=generator if rule == "sample" else None,
        )[0]  # fmt: skip
        return self._require_vocabulary().decode(found) if isinstance(prompt, str) else found

    def forecast(
        self, horizon: int | None = None, history: Any = None, known: Any = None
    ) -> dict[str, NDArray[np.float64]]:
        """Go on beyond the end of series, by feeding predictions back.

        Args:
            horizon: Steps; by default the task's.
            history: A path or table with the series up to the last step that is known; by default the end of the
                validation part, where this run was trained in this process.
            known: Known covariates of the steps that are forecast, (horizon, columns) or (series, horizon, columns).

        Returns:
            For each series of the file its forecast in its own units, (horizon, series), or (horizon, series,
            quantiles) where quantiles are predicted.

        Raises:
            ConfigError: If the run does not forecast, or there is no history.
            DataError: If the history is too short, or what is known of the future is missing.
        """
        task = self.task
        if not isinstance(task, Forecasting):
            remedy = "Only a run of forecasting forecasts."
            raise ConfigError(complain(str(self.path), "task", "forecasting", task.name, remedy))
        history = self._parts.get("validation") if history is None else history
        if history is None:
            remedy = "Name the file that holds the series up to now."
            raise ConfigError(complain(str(self.path), "history", "given", "none", remedy))
        read = read_inputs(history, task, self.preparation, is_scored=False)
        future = None if known is None else torch.as_tensor(np.asarray(known), dtype=torch.float32)
        found = {}
        context = self.config.get("window", 0) - task.horizon
        for place, name in enumerate(read.ids):
            inputs = read.data.select(torch.tensor([place])).inputs
            inputs = inputs[:, -context:] if 0 < context < inputs.shape[1] else inputs
            mine = None if future is None else (future if future.ndim == 2 else future[place]).unsqueeze(0)
            values = task.forecast(self.model, inputs.to(self.device), mine, horizon)[0]
            found[name] = values if task.quantiles else values[..., 0]
        return found

    @property
    def _forbidden(self) -> tuple[int, ...]:
        """Ids that are never said: those that stand for no text."""
        return () if self.vocabulary is None else tuple(self.vocabulary.specials.values())

    @property
    def _names(self) -> tuple[str, ...]:
        preparation = self.preparation
        if not isinstance(preparation, Preparation):
            return ()
        return preparation.series if self.task.name == "forecasting" else preparation.columns.labels

    def _read(self, source: Any, is_scored: bool) -> ReadInputs:
        read = read_inputs(source, self.task, self.preparation, is_scored=is_scored)
        if isinstance(self.task, Forecasting) and read.table is not None and isinstance(read.data, SequenceData):
            data = windows_of(read.data, self.task, self.config["window"])
            return ReadInputs(data, list(data.ids), read.where, read.table)
        return read

    def _is_sealed(self, fingerprint: str) -> bool:
        """Say whether data are the test: the part that was split off, where one was, else any that are new."""
        sealed = self.path / "test"
        if sealed.exists():
            return SequenceData.open(sealed).fingerprint() == fingerprint
        return fingerprint not in self.config["data"].values()

    def _scored_before(self, fingerprint: str) -> dict[str, Any] | None:
        if self.folder.is_scored:
            test = self.folder.test()
            if test.get("data", self.config["data"].get("test")) == fingerprint:
                return test
        lines = read_lines(self.path / EVALUATIONS)
        return next((line for line in lines if line["data"] == fingerprint), None)

    def _references(self, data: Batch | SequenceData) -> list[dict[str, Any]] | None:
        train = self._parts.get("train")
        if train is None and (self.path / "train").exists():
            train = SequenceData.open(self.path / "train")
        return None if train is None else self.task.references(train, data)

    def _encode(self, text: str, what: str) -> list[int]:
        vocabulary = self._require_vocabulary()
        refuse_unknown(vocabulary, text, "generate", what)
        return vocabulary.encode(text)

    def _require_vocabulary(self) -> Vocabulary:
        if self.vocabulary is None:
            remedy = "It was trained on ids; give the prompt as ids."
            raise ConfigError(complain(str(self.path), "run", "one with a vocabulary", "none", remedy))
        return self.vocabulary

    def _stop_ids(self, stop: str | int | Sequence[int]) -> Sequence[int]:
        if isinstance(stop, int):
            return [stop]
        if not isinstance(stop, str):
            return list(stop)
        ids = self._encode(stop, "stop")
        if len(ids) != 1:
            raise ConfigError(complain("generate", "stop", "one token", f"'{stop}', which is {len(ids)}"))
        return ids


def load(
    path: Path | str,
    *,
    device: str = "cpu",
    train: Batch | SequenceData | Tensor | None = None,
    validation: Batch | SequenceData | Tensor | None = None,
) -> Run:
    """Open a run folder; no code of the folder is run.

    Args:
        path: The folder that `fit`, `clew train` or a comparison made.
        device: Where the model goes.
        train: The training sequences, for reference predictors, where the folder does not hold them.
        validation: The validation sequences, from whose end a forecast may go on.

    Raises:
        RunError: If it is no run folder, damaged, unfinished or of another version.
    """
    folder = RunFolder(Path(path))
    config = _read_config(folder)
    try:
        task = task_from_config(config["task"]["name"], config["task"]["config"])
        training = TrainConfig.from_mapping(config["training"])
        preparation = _preparation(config.get("preparation"))
        assert isinstance(config["model"], dict)
        assert isinstance(config["data"], dict)
    except (KeyError, TypeError, AttributeError, AssertionError, ClewError) as error:
        raise _of_another_version(folder.path, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    if not folder.best.exists():
        remedy = "Run the same training again; it goes on where it was."
        raise RunError(complain(str(folder.path), "run", "one with selected weights", "no best.safetensors", remedy))
    parts = {"train": train, "validation": validation}
    given = {name: Batch(part) if isinstance(part, Tensor) else part for name, part in parts.items()}
    run = Run(
        folder.path, config, task, training, preparation, device,
        {name: part for name, part in given.items() if part is not None},
    )  # fmt: skip
    _ = run.model
    return run


def _read_config(folder: RunFolder) -> dict[str, Any]:
    path = folder.path / "config.json"
    if not path.exists():
        if (folder.path / "runs").is_dir():
            inside = next((found.parent for found in sorted(folder.path.glob("runs/*/config.json"))), None)
            remedy = "It holds several runs; name one of them" + (f", as {inside}." if inside else ".")
            raise RunError(complain(str(folder.path), "path", "a run folder", "a comparison", remedy))
        got = "none" if not folder.path.exists() else "one without config.json" if folder.path.is_dir() else "a file"
        remedy = "Make one with clew.fit or `clew train`."
        raise RunError(complain(str(folder.path), "path", "a run folder", got, remedy))
    config = read_json(path)
    if config.get("format") != FORMAT:
        remedy = "Open it with the version of clew that made it."
        raise RunError(complain(str(path), "format", str(FORMAT), repr(config.get("format")), remedy))
    return config


def _preparation(mapping: dict[str, Any] | None) -> AnyPreparation | None:
    if mapping is None:
        return None
    kind = mapping["kind"]
    if kind not in PREPARATIONS:
        raise DataError(complain("preparation", "kind", "known", repr(kind)))
    return PREPARATIONS[kind].from_mapping(mapping)


def _of_another_version(path: Path, what: str) -> RunError:
    remedy = "Open it with the version of clew that made it, or train again."
    return RunError(complain(str(path / "config.json"), "run", "whole and of this version of clew", what, remedy))
