"""`clew train`: a model from a file of one's own, into a run folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result
from clew.cli.settings import FILE_KEYS, read_configuration, usage_errors
from clew.errors import complain
from clew.files import dump_json

if TYPE_CHECKING:
    from clew.runs import Run
    from clew.runs.planning import TrainingPlan

WHERE = "clew train"
_switch = Parameter(negative=(), show_default=False)
_settings = Parameter(name="--set", negative=())


def train(
    file: Path | None = None,
    /,
    *,
    task: str | None = None,
    model: str | None = None,
    validation: Path | None = None,
    test: Path | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    seed: int | None = None,
    settings: Annotated[list[str] | None, _settings] = None,
    config: Path | None = None,
    force: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
) -> None:
    """Train a model on a file: a table of sequences, a treebank, text or images.

    Parts for validation and test are split off where they are not given; the test part stays sealed until `clew
    evaluate`. What is not said is chosen and told. A command that was stopped goes on where it was.

    Args:
        file: .csv, .tsv, .parquet, .jsonl, .conllu, .txt, .npz, or a folder of images; `clew data FILE` describes it.
        task: classification, tagging, next_token, forecasting or regression [default: guessed where it is plain].
        model: rnn, gru, lstm, transformer or vit [default: by the task].
        validation: A file that selects the best epoch [default: a part of FILE].
        test: A file that is scored once, by `clew evaluate` [default: a part of FILE].
        out: The run folder [default: runs/ and the name of FILE].
        seed: Draws the initial weights [default: 0].
        settings: Any setting, as training.epochs=20 or columns.label=speaker; may be repeated.
        config: A TOML file with settings, and the files.
        force: Replace a run of another configuration in --out.
        json: Print the result as JSON.
    """
    values = read_configuration(config)
    files = {name: values.pop(name, None) for name in FILE_KEYS}
    given = file or (Path(files["file"]) if files["file"] else None)
    if given is None:
        remedy = "As in: clew train examples/data/japanese-vowels.csv"
        raise UsageError(complain(WHERE, "FILE", "given, here or in --config", "none", remedy))
    overrides = [*(settings or []), *([f"run.seed={seed}"] if seed is not None else [])]
    with usage_errors():
        plan = _plan(given, task, model, validation or files["validation"], test or files["test"], values, overrides)
        run = _fit(plan, out or Path("runs") / given.stem, force)
    _show(run, plan, json)


def _plan(
    file: Path,
    task: str | None,
    model: str | None,
    validation: Path | str | None,
    test: Path | str | None,
    values: dict[str, Any],
    overrides: list[str],
) -> "TrainingPlan":
    from clew.runs.planning import plan_training

    plan = plan_training(
        file, task=task, model=model, validation=validation, test=test, options=values, overrides=overrides
    )
    for note in plan.notes:
        print(note, file=sys.stderr)
    return plan


def _fit(plan: "TrainingPlan", out: Path, force: bool) -> "Run":
    from clew.cli.training_progress import training_progress_for
    from clew.errors import RunError
    from clew.runs.planning import remove_run

    try:
        return plan.fit(out, progress=training_progress_for(sys.stderr))
    except KeyboardInterrupt:
        words = f"What was trained is kept in {out}, and the same command goes on from there."
        raise KeyboardInterrupt(words) from None
    except RunError as error:
        if not force or "another run" not in str(error):
            raise
    remove_run(out)
    return plan.fit(out, progress=training_progress_for(sys.stderr))


def _show(run: "Run", plan: "TrainingPlan", as_json: bool) -> None:
    from clew.report.training import write_training_report

    selected = run.metrics()[run.selected_epoch - 1]
    report = write_training_report(run, validation=plan.validation)
    if as_json:
        result = {
            "run": str(run.path),
            "task": run.task.name,
            "model": run.config["model"]["preset"],
            "parameters": run.model.parameter_count(),
            "epochs": len(run.metrics()),
            "selected_epoch": run.selected_epoch,
            "validation": selected["validation"],
            "notes": plan.notes,
        }
        print_result(dump_json(result))
        return
    figures = "".join(f"\n  {name:<18} {value:.4g}" for name, value in selected["validation"].items())
    count = f"{run.model.parameter_count():,} parameters"
    print_result(
        f"{run.path}: {run.task.name} with {run.config['model']['preset']}, {count}, epoch {run.selected_epoch} of "
        f"{len(run.metrics())} selected\nvalidation{figures}"
    )
    print(f"Report: {report}", file=sys.stderr)
    if plan.test is not None and not run.folder.is_scored:
        print(f"The test part is sealed; score it once with: clew evaluate {run.path}", file=sys.stderr)
