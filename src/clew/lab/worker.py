"""A worker process: reads jobs from its standard input, trains or scores on one thread, reports on standard output.

Started by `clew.lab.pool` as `python -m clew.lab.worker`. It ends at once when its standard input closes, which is what
happens when its parent dies, however that dies; so no worker outlives its comparison.
"""

import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.errors import ClewError
from clew.lab.messages import decode_batch, send


def main() -> None:
    """Work until the parent closes standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_until_parent_ends, args=(jobs,), daemon=True).start()
    output = sys.stdout
    sys.stdout = sys.stderr  # a stray print must not be taken for a message
    import json

    import torch

    torch.set_num_threads(1)
    send(output, {"event": "ready"})
    while True:
        job = json.loads(jobs.get())
        try:
            run_job(job, lambda message: send(output, message))
            send(output, {"event": "done"})
        except Exception as error:
            send(output, {"event": "failed", "reason": failure_reason(error)})


def failure_reason(error: Exception) -> str:
    """Say in one line why a job failed; the traceback goes to standard error if CLEW_DEBUG is set."""
    if os.environ.get("CLEW_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ClewError):
        return str(error)
    return f"{type(error).__name__}: {error}".splitlines()[0]


def run_job(job: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> None:
    """Do one job, given in plain values; epochs are reported as they end."""
    from clew.lab.examinations import examination_named
    from clew.lab.jobs import score_run, train_run
    from clew.lab.plan import RunPlan

    plan, root = RunPlan.from_mapping(job["plan"]), Path(job["root"])
    if job["kind"] == "score":
        score_run(plan, root, decode_batch(job["test"]), examination_named(job["examination"]))
        return
    train, validation = decode_batch(job["train"]), decode_batch(job["validation"])
    train_run(
        plan,
        root,
        train,
        validation,
        lambda record, seconds: report({"event": "epoch", "record": record.to_mapping(), "seconds": seconds}),
    )


def _read_until_parent_ends(jobs: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
