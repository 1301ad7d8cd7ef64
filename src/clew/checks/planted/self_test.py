"""The audit's own test: is every planted fault found, under its name and alone, and does every repaired twin pass?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

from clew.checks.data_runner import DATA_CHECKS
from clew.checks.planted.plant import Plant
from clew.checks.runner import CHECKS


@dataclass(frozen=True)
class Outcome:
    """What the audit said about one planted fault.

    Attributes:
        plant: The fault.
        failures: Checks that failed on what is faulty.
        false_alarms: Checks that failed on its repaired twin.
        twin_status: What the check of this fault said of the twin; "passed" unless something is wrong.
        elapsed_seconds: Time that both audits took.
    """

    plant: Plant
    failures: tuple[str, ...]
    false_alarms: tuple[str, ...]
    twin_status: str = "passed"
    elapsed_seconds: float = 0.0

    @property
    def is_found(self) -> bool:
        """Whether the right check failed, and no other."""
        return self.failures == (self.plant.check,)

    @property
    def is_right(self) -> bool:
        """Whether the fault was found, and its twin passed, by the check of this fault too."""
        return self.is_found and not self.false_alarms and self.twin_status == "passed"

    @property
    def text(self) -> str:
        """Say in a line what was wrong; "" if nothing was."""
        told = [] if self.is_found else [f"told {_words(self.failures)} in place of {self.plant.check}"]
        told += [f"false alarm {_words(self.false_alarms)} on the twin"] if self.false_alarms else []
        if not self.false_alarms and self.twin_status != "passed":
            told.append(f"{self.plant.check} is {self.twin_status} on the twin")
        return f"{self.plant.name}: {', '.join(told)}" if told else ""


def _words(names: tuple[str, ...]) -> str:
    return " and ".join(names) or "nothing"


def run_self_test(plants: Iterable[Plant]) -> Iterator[Outcome]:
    """Audit every planted fault and its twin, one after the other; give each outcome as soon as it is there."""
    for plant in plants:
        started = perf_counter()
        faulty, repaired = plant.audit(plant.faulty()), plant.audit(plant.repaired())
        yield Outcome(
            plant,
            tuple(faulty.failures),
            tuple(repaired.failures),
            repaired[plant.check].status,
            perf_counter() - started,
        )


def self_test_table(outcomes: Iterable[Outcome]) -> str:
    """Count by check: planted, found, missed, false alarms, seconds; then explain every outcome that is wrong."""
    kept = list(outcomes)
    known = [*CHECKS, *DATA_CHECKS]
    names = sorted({one.plant.check for one in kept}, key=known.index)
    lines = [f"{'check':<17} planted  found  missed  false alarms  seconds"]
    lines += [_counts(name, [one for one in kept if one.plant.check == name]) for name in names]
    lines.append(_counts("all", kept))
    wrong = [one.text for one in kept if not one.is_right]
    return "\n".join(lines + (["", *wrong] if wrong else []))


def _counts(name: str, outcomes: list[Outcome]) -> str:
    found = sum(one.is_found for one in outcomes)
    alarms = sum(bool(one.false_alarms) for one in outcomes)
    seconds = sum(one.elapsed_seconds for one in outcomes)
    return f"{name:<17} {len(outcomes):>7}  {found:>5}  {len(outcomes) - found:>6}  {alarms:>12}  {seconds:>7.1f}"
