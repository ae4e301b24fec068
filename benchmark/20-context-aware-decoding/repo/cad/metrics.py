"""Metrics of answers and summaries."""

import re

ARTICLES = frozenset({"a", "an", "the"})


def exact_match(prediction: str, reference: str) -> float:
    """EM of the paper for one answer: 1.0 or 0.0."""
    return float(_words(prediction) == _words(reference))


def rouge_l(prediction: str, reference: str) -> float:
    """ROUGE-L of the paper for one summary, between 0 and 1; 0.0 if either text has no word.

    Words are what is left between blanks. Upper and lower case are the same.
    """
    predicted, expected = prediction.lower().split(), reference.lower().split()
    lengths = [0] * (len(expected) + 1)  # of the longest common subsequence with each beginning of `expected`
    for word in predicted:
        diagonal = 0
        for column, other in enumerate(expected, start=1):
            above = lengths[column]
            lengths[column] = diagonal + 1 if word == other else max(above, lengths[column - 1])
            diagonal = above
    if not lengths[-1]:
        return 0.0
    precision, recall = lengths[-1] / len(predicted), lengths[-1] / len(expected)
    return 2 * precision * recall / (precision + recall)


def _words(text: str) -> list[str]:
    """Words of an answer that count for EM."""
    return [word for word in re.sub(r"[^\w\s]", "", text.lower()).split() if word not in ARTICLES]
