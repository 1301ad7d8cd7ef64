"""The audit's own test: is every planted fault found, under its name and alone, and does every repaired twin pass?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clew.checks.planted.plant import Plant
from clew.checks.runner import audit


@dataclass(frozen=True)
class Outcome:
    """What the audit said about one planted fault.

    Attributes:
        plant: The fault.
        failures: Checks that failed on the faulty model.
        false_alarms: Checks that failed on its repaired twin.
    """

    plant: Plant
    failures: tuple[str, ...]
    false_alarms: tuple[str, ...]

    @property
    def is_found(self) -> bool:
        """Whether the right check failed, and no other."""
        return self.failures == (self.plant.check,)


def run_self_test(plants: tuple[Plant, ...]) -> Iterator[Outcome]:
    """Audit every planted fault and its twin, one after the other."""
    for plant in plants:
        failures = tuple(audit(**plant.faulty()).failures)
        yield Outcome(plant, failures, tuple(audit(**plant.repaired()).failures))


def self_test_table(outcomes: list[Outcome]) -> str:
    """Count by check: planted, found, missed, false alarms; then name every one that is not as it should be."""
    planted = Counter(outcome.plant.check for outcome in outcomes)
    found = Counter(outcome.plant.check for outcome in outcomes if outcome.is_found)
    alarms = Counter(outcome.plant.check for outcome in outcomes if outcome.false_alarms)
    lines = [f"{'check':<16} planted  found  missed  false alarms"]
    for check in sorted(planted):
        missed = planted[check] - found[check]
        lines.append(f"{check:<16} {planted[check]:>7}  {found[check]:>5}  {missed:>6}  {alarms[check]:>12}")
    wrong = [one for one in outcomes if not one.is_found or one.false_alarms]
    lines += [f"{one.plant.name}: told {list(one.failures)}, twin {list(one.false_alarms)}" for one in wrong]
    return "\n".join(lines)
