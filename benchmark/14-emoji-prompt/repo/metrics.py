"""Utility and overlap measures."""

from collections import Counter
from collections.abc import Sequence


def balanced_accuracy(labels: Sequence[str], predictions: Sequence[str]) -> float:
    """Mean recall over the classes that occur in `labels`, whatever their sizes."""
    recalls = []
    for label in sorted(set(labels)):
        hits = [guess == label for truth, guess in zip(labels, predictions, strict=True) if truth == label]
        recalls.append(sum(hits) / len(hits))
    return sum(recalls) / len(recalls)


def token_f1(reference: str, candidate: str) -> float:
    """Surface overlap of an original and a recovered text, as in the paper: a float from 0 to 1."""
    expected, found = Counter(reference.split()), Counter(candidate.split())
    common = sum((expected & found).values())
    if common == 0:
        return 0.0
    precision, recall = common / found.total(), common / expected.total()
    return 2 * precision * recall / (precision + recall)
