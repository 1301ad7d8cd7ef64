"""`clew audit`: does a model read what it must not, and do splits of data share what they must not?

Here are the options, what is printed and the exit code: 0 clean, 1 findings, 2 a wrong command line or a subject that
cannot be audited. `audit_subjects` finds models, `audit_inputs` what they read, `audit_tables` reads data.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter
from rich.text import Text

from clew.cli.faults import FAILURE, UsageError
from clew.cli.output import print_result, result_console
from clew.errors import ClewError, complain, did_you_mean
from clew.files import dump_json, write_atomically

if TYPE_CHECKING:
    from clew.checks import Report
    from clew.checks.planted import Outcome

WHERE = "clew audit"
BOUNDARIES = ("causal", "full")
DATA_FILES = 2
Result = TypeVar("Result")

_pair = Parameter(consume_multiple=(1, None), negative=())
_switch = Parameter(negative=(), show_default=False)


def audit(
    target: str | None = None,
    /,
    *,
    boundary: str | None = None,
    inputs: str | None = None,
    vocab: int | None = None,
    data: Annotated[list[Path] | None, _pair] = None,
    validation: Path | None = None,
    time: str | None = None,
    group: str | None = None,
    label: str | None = None,
    window: int | None = None,
    horizon: int | None = None,
    self_test: Annotated[bool, _switch] = False,
    json: Annotated[bool, _switch] = False,
    html: Path | None = None,
    force: Annotated[bool, _switch] = False,
) -> int:
    """Find out what a model reads that it must not, or what splits of data share that they must not.

    Exit code 0: clean; 1: findings; 2: a wrong command line, or something that cannot be audited.

    Args:
        target: FILE.py:BUILD or package.module:BUILD, where BUILD() gives a model or a dict of clew.audit arguments,
            or a run folder, or a folder of clew recall with all its runs.
        boundary: causal or full: what an output may read [default: what BUILD says, else causal; a run's task's].
        inputs: A file (.npy, .npz, .safetensors, .pt) or a shape: 4x16 for random ids, 4x16x8 for random values
            [default: what BUILD says, else guessed from the first layer].
        vocab: Number of legal ids [default: what BUILD says, else the size of the first embedding].
        data: Audit data instead: the training and the test file, as .csv, .parquet, .jsonl or .npz.
        validation: The validation file of --data.
        time: Column of --data that holds a row's time; of a window, its last observed step.
        group: Column of --data with the unit that a row belongs to.
        label: Column of --data that is predicted.
        window: Steps that a row of --data reads.
        horizon: Steps that are predicted after a row's time.
        self_test: Audit every planted fault and its repaired twin, and count what was found and missed.
        json: Print everything as JSON with all digits.
        html: Write a self-contained page to this file.
        force: Let --html replace a file that is there.
    """
    for_models = {"--boundary": boundary, "--inputs": inputs, "--vocab": vocab}
    for_data = {"--validation": validation, "--time": time, "--group": group, "--label": label}
    for_data |= {"--window": window, "--horizon": horizon}
    ways = {"TARGET": target, "--data": data, "--self-test": self_test or None}
    way = _only(ways, {"TARGET": for_models, "--data": for_data, "--self-test": {}}, html)
    _check_boundary(boundary)
    _check_page(html, force)
    if way == "--self-test":
        return _run_self_test(json)
    if target is None:
        assert data is not None
        files = _two(data)
        return _show(_guarded(lambda: _audit_data(files, for_data)), json, html)
    if not Path(target).is_dir():
        return _show(_guarded(lambda: _audit_build(target, boundary, inputs, vocab)), json, html)
    reports = _guarded(lambda: _audit_runs(Path(target), boundary, inputs, vocab, html))
    return _show(next(iter(reports.values())), json, html) if len(reports) == 1 else _show_all(reports, json)


def _only(ways: dict[str, Any], owned: dict[str, dict[str, Any]], html: Path | None) -> str:
    """Find what is to be audited, and refuse options of another way.

    Raises:
        UsageError: If nothing or several things are named, or an option does not belong.
    """
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        remedy = f"Name a model as FILE.py:BUILD, or see `{WHERE} --help`."
        raise UsageError(complain(WHERE, "the subject", "one of TARGET, --data and --self-test", got, remedy))
    stray = [
        option
        for way, options in owned.items()
        for option, value in options.items()
        if way != given[0] and value is not None
    ]
    stray += ["--html"] if given == ["--self-test"] and html is not None else []
    if stray:
        got = ", ".join(stray)
        raise UsageError(complain(WHERE, "options", f"ones that go with {given[0]}", got, "Leave it out."))
    return given[0]


def _check_boundary(boundary: str | None) -> None:
    if boundary is not None and boundary not in BOUNDARIES:
        remedy = f"{did_you_mean(boundary, BOUNDARIES)} BUILD may give a matrix."
        raise UsageError(complain(WHERE, "--boundary", "causal or full", f"'{boundary}'", remedy))


def _check_page(html: Path | None, force: bool) -> None:
    """Look before a long audit whether its page can be written.

    Raises:
        UsageError: If there is something in its place, or no folder for it.
    """
    if html is None:
        if force:
            raise UsageError(complain(WHERE, "--force", "given with --html", "it alone", "Leave it out."))
        return
    if html.is_dir() or (html.exists() and not force):
        what, remedy = ("a folder", "Name a file.") if html.is_dir() else ("a file that is there", "Add --force.")
        raise UsageError(complain(WHERE, "--html", "a new file", f"{what}, {html}", remedy))
    if not html.parent.is_dir():
        raise UsageError(complain(WHERE, "--html", "in a folder that exists", f"{html}", "Make the folder first."))


def _two(files: list[Path]) -> tuple[Path, Path]:
    if len(files) != DATA_FILES:
        remedy = "A third one goes to --validation."
        raise UsageError(complain(WHERE, "--data", "followed by two files, TRAIN and TEST", len(files), remedy))
    return files[0], files[1]


def _guarded(work: Callable[[], Result]) -> Result:
    """Do the work with whatever foreign code prints on stderr; what cannot be audited is a wrong command line.

    Raises:
        UsageError: If the subject cannot be audited.
    """
    try:
        with redirect_stdout(sys.stderr):
            return work()
    except UsageError:
        raise
    except ClewError as error:
        raise UsageError(str(error)) from error


def _audit_build(target: str, boundary: str | None, inputs: str | None, vocab: int | None) -> "Report":
    from clew.checks import audit
    from clew.cli.audit_inputs import complete
    from clew.cli.audit_subjects import build_arguments
    from clew.cli.status import StatusLine

    arguments, note = complete(build_arguments(target), inputs, vocab)
    if note:
        print(note, file=sys.stderr)
    with StatusLine(sys.stderr) as status:
        status.show(f"auditing {target}")
        return audit(**(arguments | _chosen(boundary)))


def _audit_runs(
    path: Path, boundary: str | None, inputs: str | None, vocab: int | None, html: Path | None
) -> "dict[str, Report]":
    """Audit every run of a folder, by label."""
    from clew.checks import audit
    from clew.cli.audit_inputs import complete
    from clew.cli.audit_runs import run_arguments, runs_at
    from clew.cli.status import StatusLine

    runs = runs_at(path)
    if len(runs) > 1 and html is not None:
        remedy = f"Name one of them, such as {runs[0].path}."
        raise UsageError(complain(WHERE, "--html", "given with one run", f"a folder of {len(runs)}", remedy))
    reports: dict[str, Report] = {}
    with StatusLine(sys.stderr) as status:
        for number, run in enumerate(runs, start=1):
            label, arguments = run_arguments(run)
            status.show(f"[{number}/{len(runs)}] auditing {label}")
            if inputs is not None or vocab is not None:
                arguments, _ = complete(arguments, inputs, vocab)
            reports[label] = audit(**(arguments | _chosen(boundary)))
    return reports


def _chosen(boundary: str | None) -> dict[str, Any]:
    return {} if boundary is None else {"boundary": boundary}


def _audit_data(files: tuple[Path, Path], options: dict[str, Any]) -> "Report":
    from clew.checks import audit_data
    from clew.cli.audit_tables import column_named, read_table

    train, test = (read_table(path) for path in files)
    validation = None if options["--validation"] is None else read_table(options["--validation"])
    columns = {name: column_named(train, options[f"--{name}"]) for name in ("time", "group", "label")}
    steps = {name: options[f"--{name}"] for name in ("window", "horizon")}
    return audit_data(train, validation, test, **columns, **steps)


def _show(report: "Report", as_json: bool, html: Path | None) -> int:
    """Print a report, write its page, and give the exit code."""
    if html is not None:  # first, so that a reader of the table that left does not cost the page
        write_atomically(html, report.to_html())
        print(f"Page: {html}", file=sys.stderr)
    if as_json:
        print_result(report.to_json())
    else:
        _print(report.table())
    return 0 if report.passed else FAILURE


def _show_all(reports: "dict[str, Report]", as_json: bool) -> int:
    """Print a line a run, and those that failed in full."""
    failed = [label for label, report in reports.items() if not report.passed]
    if as_json:
        runs = [{"run": label} | report.to_dict() for label, report in reports.items()]
        print_result(dump_json({"passed": not failed, "failures": failed, "runs": runs}))
    else:
        width = max(map(len, reports))
        lines = [f"{label:<{width}}  {_verdict(report)}" for label, report in reports.items()]
        heading = f"{len(reports)} runs audited, {len(failed)} failed"
        full = [f"{label}: {reports[label].table()}" for label in failed]
        _print("\n\n".join([heading, "\n".join(lines), *full]))
    return FAILURE if failed else 0


def _verdict(report: "Report") -> str:
    return "passed" if report.passed else f"failed: {', '.join(report.failures)}"


def _run_self_test(as_json: bool) -> int:
    from clew.checks.planted import PLANTED, run_self_test, self_test_table
    from clew.cli.status import StatusLine

    outcomes = []
    with StatusLine(sys.stderr) as status:
        for outcome in run_self_test(PLANTED):
            outcomes.append(outcome)
            status.show(f"[{len(outcomes)}/{len(PLANTED)}] {outcome.plant.check}: {outcome.plant.name}")
    is_right = all(outcome.is_right for outcome in outcomes)
    if as_json:
        print_result(dump_json({"passed": is_right, "planted": [_plain(outcome) for outcome in outcomes]}))
    else:
        print_result(self_test_table(outcomes))
    return 0 if is_right else FAILURE


def _plain(outcome: "Outcome") -> dict[str, Any]:
    return {
        "name": outcome.plant.name,
        "check": outcome.plant.check,
        "is_right": outcome.is_right,
        "is_found": outcome.is_found,
        "failures": list(outcome.failures),
        "false_alarms": list(outcome.false_alarms),
        "twin_status": outcome.twin_status,
    }


def _print(text: str) -> None:
    """Print a table as it stands; on a terminal what failed is bold."""
    console = result_console()
    if not console.is_terminal:
        print_result(text)
        return
    for line in text.split("\n"):
        console.print(Text(line, style="bold red" if line.startswith("✗ ") else ""), soft_wrap=True)
