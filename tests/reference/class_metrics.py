"""Numpy twins of the class metrics, one target at a time."""

import numpy as np


def cross_entropy(probabilities: np.ndarray, targets: list[int], weights: list[float] | None = None) -> float:
    weights = weights or [1.0] * probabilities.shape[1]
    total = sum(-np.log(row[target]) * weights[target] for row, target in zip(probabilities, targets, strict=True))
    return float(total / sum(weights[target] for target in targets))


def accuracy(probabilities: np.ndarray, targets: list[int]) -> float:
    return sum(int(np.argmax(row)) == target for row, target in zip(probabilities, targets, strict=True)) / len(targets)


def macro_f1(probabilities: np.ndarray, targets: list[int]) -> float:
    answers = [int(np.argmax(row)) for row in probabilities]
    pairs = list(zip(answers, targets, strict=True))
    scores = []
    for label in {*answers, *(target for target in targets if target >= 0)}:
        hits = sum(answer == target == label for answer, target in pairs)
        precision = hits / max(1, answers.count(label))
        recall = hits / max(1, targets.count(label))
        scores.append(2 * precision * recall / (precision + recall) if hits else 0.0)
    return sum(scores) / len(scores)


def calibration_error(probabilities: np.ndarray, targets: list[int], bins: int = 15) -> float:
    total = 0.0
    for index in range(bins):
        inside = [
            (row.max(), int(np.argmax(row)) == target)
            for row, target in zip(probabilities, targets, strict=True)
            if index / bins < row.max() <= (index + 1) / bins
        ]
        if inside:
            confidence = sum(pair[0] for pair in inside) / len(inside)
            total += len(inside) * abs(confidence - sum(pair[1] for pair in inside) / len(inside))
    return total / len(targets)


def confusion(probabilities: np.ndarray, targets: list[int], classes: int) -> list[list[int]]:
    table = [[0] * classes for _ in range(classes)]
    for row, target in zip(probabilities, targets, strict=True):
        table[target][int(np.argmax(row))] += 1
    return table
