"""Scaling of numbers to mean 0 and standard deviation 1, fitted on training data alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = 1e-9


@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of columns.

    Attributes:
        names: The columns.
        means: Mean of each over all steps, missing ones left out.
        deviations: Population standard deviation of each; 1 where it is below 1e-9 of the size of the values, so that
            a column that does not vary becomes 0.

    >>> scaling = Scaling.fit(("x",), np.array([[1.0], [3.0]]))
    >>> scaling.scale(np.array([[5.0]])).tolist()
    [[3.0]]
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]

    @classmethod
    def fit(cls, names: Sequence[str], values: NDArray[Any]) -> "Scaling":
        """Fit to rows of values, (rows, columns)."""
        fitter = ScalingFitter(names)
        fitter.update(values)
        return fitter.finish()

    @classmethod
    def identity(cls, names: Sequence[str]) -> "Scaling":
        """Leave values as they are."""
        return cls(tuple(names), (0.0,) * len(names), (1.0,) * len(names))

    def scale(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Scale values, columns last; missing ones stay NaN."""
        return (np.asarray(values, np.float64) - np.array(self.means)) / np.array(self.deviations)

    def unscale(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Give values in the units of the table again, columns last."""
        return np.asarray(values, np.float64) * np.array(self.deviations) + np.array(self.means)

    def of(self, names: Sequence[str]) -> "Scaling":
        """Scaling of some of the columns."""
        places = [self.names.index(name) for name in names]
        means, deviations = ([values[place] for place in places] for values in (self.means, self.deviations))
        return Scaling(tuple(names), tuple(means), tuple(deviations))

    def to_mapping(self) -> dict[str, Any]:
        """Give the numbers as plain JSON values."""
        return {"names": list(self.names), "means": list(self.means), "deviations": list(self.deviations)}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "Scaling":
        """Make the scaling again from what `to_mapping` gave."""
        means, deviations = ([float(value) for value in mapping[key]] for key in ("means", "deviations"))
        return cls(tuple(mapping["names"]), tuple(means), tuple(deviations))


class ScalingFitter:
    """Fits a scaling to rows that come in pieces; sums of squares are joined as Chan et al. (1979) do.

    Args:
        names: The columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._counts, self._means, self._squares, self._sizes = np.zeros((4, len(self._names)))

    def update(self, values: NDArray[Any]) -> None:
        """Take more rows, (rows, columns); NaN is left out."""
        for column in range(len(self._names)):
            given = np.asarray(values[:, column], np.float64)
            given = given[~np.isnan(given)]
            if not len(given):
                continue
            count, mean = self._counts[column] + len(given), given.mean()
            distance = mean - self._means[column]
            self._squares[column] += ((given - mean) ** 2).sum() + distance**2 * self._counts[column] * len(
                given
            ) / count
            self._means[column] += distance * len(given) / count
            self._counts[column] = count
            self._sizes[column] = max(self._sizes[column], np.abs(given).max())

    def finish(self) -> Scaling:
        """Give the scaling; a column without any value is left as it is."""
        deviations = np.sqrt(self._squares / np.maximum(self._counts, 1))
        deviations = np.where(deviations <= FLOOR * self._sizes, 1.0, deviations)
        return Scaling(self._names, tuple(self._means.tolist()), tuple(deviations.tolist()))
