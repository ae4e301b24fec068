"""Measures of classification."""

from collections.abc import Sequence

#: The three polarities.
LABELS = ("positive", "negative", "neutral")


def accuracy(labels: Sequence[str], answers: Sequence[str]) -> float:
    """Share of answers that are right."""
    return sum(answer == label for answer, label in zip(answers, labels, strict=True)) / len(labels)


def macro_f1(labels: Sequence[str], answers: Sequence[str]) -> float:
    """The paper's second measure, from 0 to 1, of answers to the questions that have these labels."""
    scores = []
    for label in LABELS:
        found = [answer == label for answer in answers]
        true = [truth == label for truth in labels]
        hits = sum(f and t for f, t in zip(found, true, strict=True))
        scores.append(2 * hits / max(sum(found) + sum(true), 1))
    return sum(scores) / len(scores)
