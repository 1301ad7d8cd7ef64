"""Where planned runs are carried out: worker processes, one a core, or this process (`workers=0`).

Each worker takes the next plan, trains it, and only then is handed the sealed test to score. A run that fails is an
outcome with its reason and does not stop the others; a worker that dies is replaced.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clew.lab.examinations import examination_named
from clew.lab.jobs import score_run, train_run
from clew.lab.messages import encode_batch, encode_message, failure_reason
from clew.lab.plan import RunPlan
from clew.lab.progress import Progress
from clew.lab.splits import Splits
from clew.runs import RunFolder
from clew.threads import on_threads

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Work:
    """A planned run with what it needs.

    Attributes:
        plan: The run.
        splits: Its data; the test is opened after selection.
        examination: Name of a further measurement on the selected weights.
    """

    plan: RunPlan
    splits: Splits
    examination: str | None = None


class JobError(Exception):
    """A job failed; the text says why in one line."""


def carry_out(work: Sequence[Work], root: Path, workers: int | None, progress: Progress) -> dict[str, str]:
    """Carry out every planned run that is not finished yet.

    Args:
        work: What to run, the longest first for an even load.
        root: Folder of the run folders.
        workers: Worker processes; None: one a core, but no more than runs; 0: this process.
        progress: Told of what happens.

    Returns:
        The reason of each failure, by run identity; empty if all runs are finished.
    """
    waiting = [item for item in work if not RunFolder(root / item.plan.identity).is_scored]
    progress.begin(len(work), len(work) - len(waiting))
    count = available_cores() if workers is None else workers
    try:
        if not waiting:
            return {}
        if count == 0:
            return _carry_out_here(waiting, root, progress)
        return _Pool(waiting, root, min(count, len(waiting)), progress).run()
    finally:
        progress.close()


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _carry_out_here(waiting: Sequence[Work], root: Path, progress: Progress) -> dict[str, str]:
    failures = {}
    with on_threads(1):
        for item in waiting:
            try:
                train_run(
                    item.plan,
                    root,
                    item.splits.train,
                    item.splits.validation,
                    lambda record, seconds, item=item: _tell_epoch(progress, item, record.to_mapping(), seconds),
                )
                test = item.splits.test.open_after(RunFolder(root / item.plan.identity).best)
                score_run(item.plan, root, test, examination_named(item.examination))
                _tell_finished(progress, item, root)
            except Exception as error:
                failures[item.plan.identity] = failure_reason(error)
                progress.failed(item.plan.label, failures[item.plan.identity])
    return failures


class _Pool:
    """Worker processes, each fed by a thread of this one; what they report is told by the main thread alone."""

    def __init__(self, waiting: Sequence[Work], root: Path, count: int, progress: Progress) -> None:
        self.root = root
        self.progress = progress
        self.failures: dict[str, str] = {}
        self.waiting: queue.SimpleQueue[Work] = queue.SimpleQueue()
        for item in waiting:
            self.waiting.put(item)
        self.events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.workers: list[_Worker] = []
        self.threads = [threading.Thread(target=self._feed, daemon=True) for _ in range(count)]
        self.is_ending = False

    def run(self) -> dict[str, str]:
        for thread in self.threads:
            thread.start()
        working = len(self.threads)
        try:
            while working:
                event = self.events.get()
                if event is None:
                    working -= 1
                else:
                    event()
        finally:
            self.is_ending = True
            for worker in self.workers:
                worker.end()
        return self.failures

    def _feed(self) -> None:
        worker = None
        try:
            while not self.is_ending:
                item = self.waiting.get_nowait()
                try:
                    if worker is None or not worker.is_alive:
                        worker = _Worker()
                        self.workers.append(worker)
                    self._work_on(item, worker)
                    self.events.put(partial(_tell_finished, self.progress, item, self.root))
                except Exception as error:
                    reason = str(error) if isinstance(error, JobError) else failure_reason(error)
                    self.events.put(partial(self._fail, item, reason))
        except queue.Empty:
            pass
        finally:
            self.events.put(None)

    def _work_on(self, item: Work, worker: "_Worker") -> None:
        plan, splits = item.plan, item.splits
        job = {"plan": plan.to_mapping(), "identity": plan.identity, "root": str(self.root)}

        def report(message: dict[str, Any]) -> None:
            self.events.put(partial(_tell_epoch, self.progress, item, message["record"], message["seconds"]))

        data = {"train": encode_batch(splits.train), "validation": encode_batch(splits.validation)}
        worker.call({"kind": "train", **job, **data}, report)
        test = splits.test.open_after(RunFolder(self.root / plan.identity).best)
        worker.call({"kind": "score", **job, "test": encode_batch(test), "examination": item.examination}, report)

    def _fail(self, item: Work, reason: str) -> None:
        self.failures[item.plan.identity] = reason
        self.progress.failed(item.plan.label, reason)


class _Worker:
    """The parent's end of one worker process."""

    def __init__(self) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "clew.lab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def call(self, job: dict[str, Any], report: Report) -> None:
        """Hand over a job and wait until it is done.

        Raises:
            JobError: If the job failed or the process died.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(encode_message(job))
            self.process.stdin.flush()
        except OSError as error:
            raise JobError(self._how_it_died()) from error
        while (message := self._receive())["event"] != "done":
            if message["event"] == "failed":
                raise JobError(message["reason"])
            report(message)

    def end(self) -> None:
        """End the process now; what it has not written is done again next time."""
        self.process.kill()
        self.process.wait()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise JobError(self._how_it_died())
        return json.loads(line)

    def _how_it_died(self) -> str:
        code = self.process.wait()
        cause = f"signal {-code}" if code < 0 else f"exit status {code}"
        return f"worker: the process ended in the middle of the run ({cause}). Run the same command again to go on."


def _tell_epoch(progress: Progress, item: Work, record: dict[str, Any], seconds: float) -> None:
    epochs = item.plan.recipe.training.epochs
    loss, validation = record["train_loss_nats"], record["validation"]
    progress.epoch(item.plan.label, record["epoch"], epochs, loss, validation, seconds)


def _tell_finished(progress: Progress, item: Work, root: Path) -> None:
    result = RunFolder(root / item.plan.identity).test()
    correct = result["correct"]
    words = f"selected epoch {result['selected_epoch']}"
    if correct:
        words = f"test accuracy {correct.count('1') / len(correct):.3f}, {words}"
    progress.finished(item.plan.label, words)
